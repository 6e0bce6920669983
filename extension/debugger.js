// @ts-check

import { SHORT, within } from './deadline.js';
import { censored, check, describe } from './methods.js';
import { Refusal } from './refusal.js';
import { originOf } from './rules.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./methods.js').World} World */
/** @typedef {import('./rules.js').Rules} Rules */

/** The version of the protocol that is asked for. */
const PROTOCOL = '1.3';

/** Events that are nobody's to hear: they carry the cookies of every site that
 * the page loads something from. */
const UNTOLD = new Set([
  'Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo',
  'Network.webSocketWillSendHandshakeRequest', 'Network.webSocketHandshakeResponseReceived',
]);

/**
 * The hold on one tab.
 *
 * @typedef {object} Attachment
 * @property {number} tabId
 * @property {Connection} connection that drives it
 * @property {string} session of the connection, so that a reconnect is another one
 * @property {Rules} rules
 * @property {boolean} own
 * @property {string} url of the top document
 * @property {boolean} live the debugger is attached
 * @property {number} used when it was used last, in ms since 1970
 * @property {{what: string, at: number} | null} doing
 * @property {Map<string, {frame: string, url: string}>} children what the sessions below the tab's own are of
 * @property {Map<string, Map<number, World & {unique: string}>>} worlds by session ("" for the tab's own) and number
 * @property {Promise<unknown> | null} gate what the next command waits for
 * @property {'' | 'some' | 'leaving'} dialog that is open: one that asks before the page is left, or another
 * @property {boolean} closing the tab is being closed: dialogs are answered here
 */

/**
 * What the relay asks and tells.
 *
 * @typedef {object} Keeper
 * @property {() => Promise<void>} protect installs the network rules for all that is held
 * @property {(a: Attachment, reason: string) => void} detached by somebody else; the tab may be there still
 * @property {(tabId: number) => void} cancelled by the user, in the debugger's bar
 * @property {(a: Attachment, what: string) => void} doing
 * @property {(a: Attachment, origin: string) => void} askEval
 * @property {(a: Attachment, origin: string) => boolean | undefined} evalAnswer
 * @property {(a: Attachment, url: string) => void} download
 * @property {(a: Attachment) => void} moved its top document is another
 */

/** Moves commands and events between servers and the tabs they drive. */
export class Relay {
  /** @param {Keeper} keeper */
  constructor(keeper) {
    this.keeper = keeper;
    /** @type {Map<number, Attachment>} */
    this.held = new Map();
    /** Attaching and detaching of one tab run one after another. @type {Map<number, Promise<unknown>>} */
    this.turns = new Map();
    /** Tabs that the debugger was attached to in a hurry, see seize. @type {Map<number, Promise<boolean>>} */
    this.seized = new Map();
    /** Dialogs that opened in a tab before it was attached to in full. @type {Map<number, {source: chrome.debugger.DebuggerSession, method: string, params: any}>} */
    this.early = new Map();
  }

  /**
   * @template T
   * @param {number} tabId
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  inTurn(tabId, work) {
    const done = (this.turns.get(tabId) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {}).then(() => {
      if (this.turns.get(tabId) === settled) this.turns.delete(tabId);
    });
    this.turns.set(tabId, settled);
    return done;
  }

  /**
   * Attaches the debugger to a tab for a connection; again and again does no
   * harm. A hold of an earlier connection is given up first: what it enabled
   * would tell this one nothing.
   *
   * @param {Connection} connection
   * @param {number} tabId
   * @param {Rules} rules
   * @param {boolean} own
   * @returns {Promise<void>}
   */
  attach(connection, tabId, rules, own) {
    return this.inTurn(tabId, async () => {
      const old = this.held.get(tabId);
      if (old?.live && old.connection === connection && old.session === connection.session) return;
      if (old) await this.letGo(old);
      /** @type {Attachment} */
      const a = {
        tabId, connection, session: connection.session, rules, own, url: '', live: false,
        used: Date.now(), doing: null, children: new Map(), worlds: new Map(), gate: null,
        dialog: '', closing: false,
      };
      this.held.set(tabId, a);
      try {
        try {
          await this.keeper.protect();
        } catch (e) {
          throw new Refusal('POLICY_DENIED', `the network rules for the tab cannot be installed, so it is not driven: ${message(e)}`);
        }
        await this.take(tabId);
        const tab = await within(SHORT, chrome.tabs.get(tabId), 'finding the tab');
        a.url = tab.url || 'about:blank'; // a tab that was just opened has none yet
        if (this.held.get(tabId) !== a) { // unshared meanwhile
          await detach(tabId);
          throw new Refusal('DETACHED', `tab ${tabId} was unshared`);
        }
        a.live = true;
        const dialog = this.early.get(tabId);
        if (dialog) this.onEvent(dialog.source, dialog.method, dialog.params);
      } catch (e) {
        if (this.held.get(tabId) === a) {
          this.held.delete(tabId);
          await this.keeper.protect().catch(() => {});
        }
        throw e;
      } finally {
        this.early.delete(tabId);
      }
    });
  }

  /**
   * Attaches the debugger to a tab that the page of a driven one has just
   * opened, ahead of all that decides whether it may be driven: until attach
   * is through no command reaches it. A dialog that its page opened before
   * could not be answered at all.
   *
   * @param {number} tabId
   */
  seize(tabId) {
    if (this.held.has(tabId) || this.seized.has(tabId)) return;
    this.seized.set(tabId, within(SHORT, chrome.debugger.attach({ tabId }, PROTOCOL), 'attaching the debugger').then(() => {
      // Not waited for: it would be answered after the dialog.
      void chrome.debugger.sendCommand({ tabId }, 'Page.enable').catch(() => {});
      return true;
    }, () => false));
  }

  /** Gives up what was seized and not attached to since. @param {number} tabId */
  async unseize(tabId) {
    const seized = this.seized.get(tabId);
    if (!seized) return;
    this.seized.delete(tabId);
    this.early.delete(tabId);
    if (await seized) await detach(tabId);
  }

  /** @param {number} tabId */
  async take(tabId) {
    const seized = this.seized.get(tabId);
    this.seized.delete(tabId);
    if (await seized) return;
    const attach = () => within(SHORT, chrome.debugger.attach({ tabId }, PROTOCOL), 'attaching the debugger');
    try {
      await attach();
    } catch (e) {
      if (!/already attached/i.test(message(e))) throw attachRefusal(tabId, message(e));
      // It may be ourselves: a hold outlives the worker that took it.
      await detach(tabId);
      try {
        await attach();
      } catch (again) {
        if (/already attached/i.test(message(again))) {
          throw new Refusal('DEVTOOLS_OPEN', `another debugger holds tab ${tabId}: close the developer tools there, or the other extension that debugs it`);
        }
        throw attachRefusal(tabId, message(again));
      }
    }
  }

  /**
   * Gives a tab up, at once: commands that run end with DETACHED.
   *
   * @param {number} tabId
   * @returns {Promise<void>}
   */
  release(tabId) {
    const a = this.held.get(tabId);
    if (!a) return Promise.resolve();
    this.held.delete(tabId); // no event and no command passes from here on
    const detached = a.live ? detach(tabId) : Promise.resolve();
    return this.inTurn(tabId, async () => {
      await detached;
      await this.keeper.protect().catch(() => {}); // fewer rules; the next attach tries again
    });
  }

  /**
   * Readies a tab that is attached to for being closed: what its page asks
   * from here on, whether to be left too, is answered with yes, and no more of
   * it is told.
   *
   * @param {number} tabId
   */
  async closing(tabId) {
    const a = this.held.get(tabId);
    if (!a?.live) return;
    a.closing = true;
    const target = { tabId };
    void chrome.debugger.sendCommand(target, 'Page.enable').catch(() => {});
    if (a.dialog === '') return;
    // What is open otherwise is dismissed: it may lead anywhere.
    await within(SHORT, chrome.debugger.sendCommand(target, 'Page.handleJavaScriptDialog', { accept: a.dialog === 'leaving' }), 'answering a dialog').catch(() => {});
  }

  /** @param {Attachment} a */
  async letGo(a) {
    this.held.delete(a.tabId);
    if (a.live) await detach(a.tabId);
  }

  /** @param {Connection} connection @param {number} tabId @returns {Attachment | undefined} */
  holdOf(connection, tabId) {
    const a = this.held.get(tabId);
    return a?.live && a.connection === connection && a.session === connection.session ? a : undefined;
  }

  /**
   * Sends a command to a tab. Commands reach the tab in the order of the
   * calls: nothing here waits unless a check has to ask something, and then
   * those behind it wait too.
   *
   * @param {Attachment} a
   * @param {string} sessionId "" for the tab's own
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   * @returns {Promise<any>} the browser's own answer
   */
  command(a, sessionId, method, params, timeoutMs) {
    if (a.gate) return a.gate.then(() => this.command(a, sessionId, method, params, timeoutMs));
    if (this.held.get(a.tabId) !== a) throw new Refusal('DETACHED', 'the debugger was taken away from the tab');
    const checked = check(method, params, this.situation(a, sessionId));
    if (method === 'Runtime.disable') a.worlds.delete(sessionId); // of those that go nothing is told any more
    a.used = Date.now();
    if (!(checked instanceof Promise)) return this.send(a, sessionId, method, checked, timeoutMs);
    const gate = checked.then(() => {}, () => {}).then(() => {
      if (a.gate === gate) a.gate = null;
    });
    a.gate = gate;
    return checked.then((ready) => {
      if (this.held.get(a.tabId) !== a) throw new Refusal('DETACHED', 'the debugger was taken away from the tab');
      return this.send(a, sessionId, method, ready, timeoutMs);
    });
  }

  /**
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   */
  async send(a, sessionId, method, params, timeoutMs) {
    const what = describe(method, params, this.situation(a, sessionId));
    if (what) {
      a.doing = { what, at: a.used };
      this.keeper.doing(a, what);
    }
    try {
      const target = sessionId === '' ? { tabId: a.tabId } : { tabId: a.tabId, sessionId };
      const result = await within(timeoutMs, chrome.debugger.sendCommand(target, method, params), method) ?? {};
      if (!a.closing) return censored(method, result, a.rules);
    } catch (e) {
      throw await commandRefusal(a.tabId, message(e));
    }
    throw new Refusal('TARGET_GONE', 'the tab was closed'); // and what ran was cut off, whatever its answer
  }

  /** @param {Attachment} a @param {string} sessionId @returns {import('./methods.js').Situation} */
  situation(a, sessionId) {
    const worlds = a.worlds.get(sessionId);
    return {
      rules: a.rules, url: a.url, own: a.own, child: sessionId !== '',
      site: a.children.get(sessionId)?.url ?? '',
      originOfFrame: (frame) => {
        for (const world of worlds?.values() ?? []) if (world.main && world.frame === frame) return world.origin;
        return undefined;
      },
      worldById: (id) => worlds?.get(id),
      worldByUnique: (unique) => {
        for (const world of worlds?.values() ?? []) if (world.unique === unique) return world;
        return undefined;
      },
      evalAnswer: (origin) => this.keeper.evalAnswer(a, origin),
      askEval: (origin) => this.keeper.askEval(a, origin),
      history: async () => {
        const h = /** @type {any} */ (await within(SHORT, chrome.debugger.sendCommand({ tabId: a.tabId }, 'Page.getNavigationHistory'), 'reading the history'));
        return h?.entries ?? [];
      },
    };
  }

  /**
   * @param {chrome.debugger.DebuggerSession} source
   * @param {string} method
   * @param {any} params
   */
  onEvent(source, method, params) {
    if (source.tabId === undefined) return;
    const a = this.held.get(source.tabId);
    if (!a?.live) {
      if (!a && !this.seized.has(source.tabId)) return;
      if (method === 'Page.javascriptDialogOpening') this.early.set(source.tabId, { source, method, params });
      if (method === 'Page.javascriptDialogClosed') this.early.delete(source.tabId);
      return;
    }
    const sessionId = source.sessionId ?? '';
    this.follow(a, sessionId, method, params ?? {});
    if (a.closing) return; // nobody is to act on what is told now
    if (UNTOLD.has(method)) return;
    if (a.connection.session !== a.session || a.connection.state !== 'connected') return;
    a.connection.send({
      type: 'event', event: 'cdp',
      data: { tabId: a.tabId, ...(sessionId === '' ? {} : { sessionId }), method, params: params ?? {} },
    });
  }

  /**
   * Keeps what the checks stand on.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  follow(a, sessionId, method, params) {
    switch (method) {
      case 'Runtime.executionContextCreated': {
        const { id, uniqueId, origin, auxData } = params.context;
        let worlds = a.worlds.get(sessionId);
        if (!worlds) a.worlds.set(sessionId, worlds = new Map());
        worlds.set(id, { unique: uniqueId, frame: auxData?.frameId, main: auxData?.isDefault !== false, origin: /^https?:/.test(origin) ? originOf(origin) : '' });
        break;
      }
      case 'Runtime.executionContextDestroyed':
        a.worlds.get(sessionId)?.delete(params.executionContextId);
        break;
      case 'Runtime.executionContextsCleared':
        a.worlds.delete(sessionId);
        break;
      case 'Target.attachedToTarget':
        a.children.set(params.sessionId, { frame: params.targetInfo.targetId, url: params.targetInfo.url });
        break;
      case 'Target.detachedFromTarget':
        a.children.delete(params.sessionId);
        a.worlds.delete(params.sessionId);
        break;
      case 'Page.frameNavigated':
        if (sessionId === '' && !params.frame.parentId) {
          a.url = params.frame.url + (params.frame.urlFragment ?? '');
          this.keeper.moved(a);
        } else if (a.children.get(sessionId)?.frame === params.frame.id) {
          a.children.set(sessionId, { frame: params.frame.id, url: params.frame.url });
        }
        break;
      case 'Page.downloadWillBegin':
        this.keeper.download(a, params.url);
        break;
      case 'Page.javascriptDialogOpening':
        a.dialog = params.type === 'beforeunload' ? 'leaving' : 'some';
        if (a.closing) void chrome.debugger.sendCommand({ tabId: a.tabId }, 'Page.handleJavaScriptDialog', { accept: true }).catch(() => {});
        break;
      case 'Page.javascriptDialogClosed':
        a.dialog = '';
        break;
    }
  }

  /**
   * @param {chrome.debugger.Debuggee} source
   * @param {string} reason
   */
  onDetach(source, reason) {
    const { tabId } = source;
    if (tabId === undefined) return;
    const a = this.held.get(tabId);
    if (reason === 'canceled_by_user') {
      if (a) this.held.delete(tabId);
      this.keeper.cancelled(tabId);
      return;
    }
    if (!a?.live) return; // our own doing
    this.held.delete(tabId);
    this.keeper.protect().catch(() => {});
    this.keeper.detached(a, reason);
  }
}

/** @param {number} tabId */
async function detach(tabId) {
  try {
    await within(SHORT, chrome.debugger.detach({ tabId }), 'detaching the debugger');
  } catch {
    // it was not attached, or the tab is gone
  }
}

/** @param {number} tabId @param {string} text */
function attachRefusal(tabId, text) {
  if (/no tab with given id/i.test(text)) return new Refusal('TAB_NOT_FOUND', `there is no tab ${tabId}`);
  if (/gallery/i.test(text)) return new Refusal('POLICY_DENIED', "the browser's web store cannot be driven: open another page in the tab");
  if (/file/i.test(text)) return new Refusal('POLICY_DENIED', 'files of this computer cannot be driven: open a web page in the tab');
  if (/cannot (access|attach)/i.test(text)) return new Refusal('POLICY_DENIED', "the tab shows one of the browser's own pages, which cannot be driven: open a web page in it");
  return new Refusal('INTERNAL', `the debugger could not be attached: ${text}`);
}

/** @param {number} tabId @param {string} text */
async function commandRefusal(tabId, text) {
  if (text.startsWith('{')) {
    try {
      const { code, message: words } = JSON.parse(text);
      return new Refusal('CDP_ERROR', String(words), { code: Number(code) || 0, message: String(words) });
    } catch {
      // not the protocol's own
    }
  }
  if (/did not finish in time/.test(text)) return new Refusal('TIMEOUT', text);
  if (/detached|not attached/i.test(text)) {
    const there = await within(SHORT, chrome.tabs.get(tabId), 'finding the tab').then(() => true, () => false);
    return there ? new Refusal('DETACHED', 'the debugger was taken away from the tab') : new Refusal('TARGET_GONE', 'the tab was closed');
  }
  if (/no tab with given id/i.test(text)) return new Refusal('TARGET_GONE', 'the tab was closed');
  return new Refusal('CDP_ERROR', text, { code: -32000, message: text });
}

/** @param {unknown} e */
function message(e) {
  return e instanceof Error ? e.message : String(e);
}
