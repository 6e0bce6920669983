// @ts-check

import { SHORT, within } from './deadline.js';
import { censored, check, describe, needsSite } from './methods.js';
import { Refusal } from './refusal.js';
import { decide, isBlank, originOf } from './rules.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./methods.js').World} World */
/** @typedef {import('./rules.js').Rules} Rules */

/** The version of the protocol that is asked for. */
const PROTOCOL = '1.3';

/** Events that are nobody's to hear: they carry the cookies of every site that
 * the page loads something from, or show frames that the policy denies. */
const UNTOLD = new Set([
  'Page.screencastFrame',
  'Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo',
  'Network.webSocketWillSendHandshakeRequest', 'Network.webSocketHandshakeResponseReceived',
]);

/** Events with content or messages of a document. Those of denied documents are not sent. */
const SAYS = /^(Accessibility|DOM|Log)\.|^Runtime\.(consoleAPICalled|exceptionThrown|inspectRequested)$/;

/** Headers with cookies, which events of requests that wait carry for every site. */
const COOKIES = /^(cookie|set-cookie)$/i;

/** Commands whose results contain what a document shows. */
const READS = /^(Accessibility|DOM|Runtime)\.|^Page\.(captureScreenshot|printToPDF)$/;

/** Events that only say what a page says, as often as it likes: see Budget. */
const LOGS = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown']);

/** Reports events that were dropped here. It stands for them among the events. */
const DROPPED = 'ChromeMCP.eventsDropped';

/** How long dropped events are counted before they are reported, in ms. */
const DROPPED_PAUSE = 250;

/** The limits of one log event of one session, in characters: at once, and a second
 * after that. Each event counts as EXTRA more. internal/cdpconn has the same limits. */
const BURST = 8 << 20;
const RATE = 2 << 20;
const EXTRA = 200;

/** Limits what is sent of log events: a page can log faster than the WebSocket and
 * the server take it, and the responses to commands would wait behind it. */
class Budget {
  constructor() {
    this.left = BURST;
    this.at = performance.now();
    this.dropped = 0;
  }

  /** Takes a number of characters, if they are there. @param {number} size */
  take(size) {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + (now - this.at) * RATE / 1000);
    this.at = now;
    if (this.left < size) return false;
    this.left -= size;
    return true;
  }
}

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
 * @property {string} top id of the top frame, "" until it is known
 * @property {number} steps how often the top document's URL changed without another document
 * @property {Map<string, string>} urls of the documents of other frames, if known
 * @property {Set<string>} names of the isolated worlds that the server made
 * @property {boolean} live the debugger is attached
 * @property {number} used when it was used last, in ms since 1970
 * @property {{what: string, at: number} | null} doing
 * @property {Map<string, {frame: string, url: string}>} children what the sessions below the tab's own are of
 * @property {Map<string, Map<number, Omit<World, 'ours'> & {unique: string, name: string}>>} worlds by session ("" for the tab's own) and number
 * @property {Promise<unknown> | null} gate what the next command waits for
 * @property {'' | 'some' | 'leaving'} dialog that is open: one that asks before the page is left, or another
 * @property {boolean} closing the tab is being closed: dialogs are answered here
 * @property {Map<string, Budget>} budgets by session and log event
 */

/**
 * What the relay asks and tells.
 *
 * @typedef {object} Keeper
 * @property {(a?: Attachment) => Promise<void>} protect installs the network rules for all held tabs and a new one
 * @property {(a: Attachment, reason: string) => void} detached by somebody else; the tab may be there still
 * @property {(tabId: number) => void} cancelled by the user, in the debugger's bar
 * @property {(a: Attachment, what: string, url: string) => void} doing what a command does, and the URL of the page that it concerns, "" if that is unknown
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
        tabId, connection, session: connection.session, rules, own, url: '', top: '', steps: 0, urls: new Map(), names: new Set(), live: false,
        used: Date.now(), doing: null, children: new Map(), worlds: new Map(), gate: null,
        dialog: '', closing: false, budgets: new Map(),
      };
      this.held.set(tabId, a);
      try {
        try {
          await this.keeper.protect(a);
        } catch (e) {
          throw new Refusal('POLICY_DENIED', `the network rules for the tab cannot be installed, so it is not driven: ${message(e)}`);
        }
        await this.take(tabId);
        // From here on, events report the document of the tab. Not awaited: a hung page does not respond.
        void chrome.debugger.sendCommand({ tabId }, 'Page.enable').catch(() => {});
        const targets = await within(SHORT, chrome.debugger.getTargets(), 'listing targets');
        a.top = targets.find((t) => t.tabId === tabId && t.type === 'page')?.id ?? ''; // also the id of the top frame
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
    const child = a.children.get(sessionId);
    const checked = child?.url === '' && needsSite(method)
      ? this.findSite(a, sessionId).then(() => check(method, params, this.situation(a, sessionId)))
      : check(method, params, this.situation(a, sessionId));
    if (typeof params.worldName === 'string') a.names.add(params.worldName);
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
      this.keeper.doing(a, what, method === 'Page.navigate' ? String(params.url) : method === 'Page.navigateToHistoryEntry' ? '' : a.url);
    }
    const { steps } = a;
    try {
      const target = sessionId === '' ? { tabId: a.tabId } : { tabId: a.tabId, sessionId };
      const result = await within(timeoutMs, chrome.debugger.sendCommand(target, method, params), method) ?? {};
      if (!a.closing) {
        // pushState may have changed the URL before the page was read.
        const why = a.steps !== steps && READS.test(method) ? decide(a.rules, a.url) : null;
        if (why) throw new Refusal('POLICY_DENIED', why);
        if (method === 'Page.getFrameTree') this.learn(a, /** @type {any} */ (result).frameTree);
        return censored(method, result, a.rules);
      }
    } catch (e) {
      throw e instanceof Refusal ? e : await commandRefusal(a.tabId, message(e));
    }
    throw new Refusal('TARGET_GONE', 'the tab was closed'); // and what ran was cut off, whatever its answer
  }

  /** Stores the URLs of frames that no event reported from a frame tree. @param {Attachment} a @param {any} tree */
  learn(a, tree) {
    const frame = tree?.frame;
    if (frame && frame.id !== a.top && !a.urls.has(frame.id)) a.urls.set(frame.id, String(frame.url));
    for (const child of tree?.childFrames ?? []) this.learn(a, child);
  }

  /**
   * Queries the document of an out-of-process frame whose session started before
   * the document existed.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   */
  async findSite(a, sessionId) {
    const tree = await within(SHORT, chrome.debugger.sendCommand({ tabId: a.tabId, sessionId }, 'Page.getFrameTree'), 'querying the document').catch(() => null);
    const child = a.children.get(sessionId);
    const frame = /** @type {any} */ (tree)?.frameTree?.frame;
    if (child?.url === '' && frame?.id === child.frame) child.url = String(frame.url);
  }

  /** @param {Attachment} a @param {string} sessionId @returns {import('./methods.js').Situation} */
  situation(a, sessionId) {
    const worlds = a.worlds.get(sessionId);
    const child = a.children.get(sessionId);
    const originOfFrame = (/** @type {string} */ frame) => {
      for (const world of worlds?.values() ?? []) if (world.main && world.frame === frame) return world.origin;
      return undefined;
    };
    const withOurs = (/** @type {any} */ world) => world && { ...world, ours: a.names.has(world.name) };
    return {
      rules: a.rules, url: a.url, top: a.top, own: a.own, child: sessionId !== '',
      site: child && isBlank(child.url) ? originOfFrame(child.frame) || '' : child?.url ?? '',
      originOfFrame,
      urlOfFrame: (frame) => (frame === a.top ? a.url : a.urls.get(frame)),
      worldById: (id) => withOurs(worlds?.get(id)),
      worldByUnique: (unique) => withOurs([...(worlds?.values() ?? [])].find((world) => world.unique === unique)),
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
    if (SAYS.test(method) && this.unheard(a, sessionId, params ?? {})) return;
    if (LOGS.has(method) && !this.affords(a, sessionId, method, params ?? {})) return;
    tell(a, sessionId, method, withoutCookies(method, params ?? {}));
  }

  /**
   * Whether a log event is within its limit. One that is not is counted, and the
   * number reported soon.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  affords(a, sessionId, method, params) {
    const key = `${sessionId} ${method}`;
    let budget = a.budgets.get(key);
    if (!budget) a.budgets.set(key, budget = new Budget());
    if (budget.take(sizeOf(params) + EXTRA)) return true;
    const spent = budget;
    if (spent.dropped++ === 0) {
      setTimeout(() => {
        if (this.held.get(a.tabId) === a) tell(a, sessionId, DROPPED, { method, count: spent.dropped });
        spent.dropped = 0;
      }, DROPPED_PAUSE);
    }
    return false;
  }

  /**
   * Whether what an event says is of a denied document: the tab's, or that of
   * the frame that it comes from, as far as these are known.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {any} params
   */
  unheard(a, sessionId, params) {
    const world = a.worlds.get(sessionId)?.get(params.executionContextId ?? params.exceptionDetails?.executionContextId);
    const urls = [a.url, a.children.get(sessionId)?.url, world?.frame === a.top ? '' : a.urls.get(world?.frame ?? '')];
    return urls.some((url) => url && decide(a.rules, url) !== null);
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
        const { id, uniqueId, origin, name, auxData } = params.context;
        let worlds = a.worlds.get(sessionId);
        if (!worlds) a.worlds.set(sessionId, worlds = new Map());
        worlds.set(id, { unique: uniqueId, frame: auxData?.frameId, main: auxData?.isDefault !== false,
          name: /extension:/.test(origin) ? '' : String(name), // a content script's world has its extension's origin
          origin: /^https?:/.test(origin) ? originOf(origin) : '' });
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
        if (params.targetInfo.type === 'iframe') void chrome.debugger.sendCommand({ tabId: a.tabId, sessionId: params.sessionId }, 'Page.enable').catch(() => {});
        break;
      case 'Target.detachedFromTarget':
        a.children.delete(params.sessionId);
        a.worlds.delete(params.sessionId);
        for (const method of LOGS) a.budgets.delete(`${params.sessionId} ${method}`);
        break;
      case 'Page.frameNavigated':
        if (sessionId === '' && !params.frame.parentId) {
          a.top = params.frame.id;
          a.url = params.frame.url + (params.frame.urlFragment ?? '');
          this.keeper.moved(a);
        } else {
          this.moved(a, sessionId, params.frame.id, params.frame.url);
        }
        break;
      case 'Page.frameDetached':
        if (params.reason !== 'swap') a.urls.delete(params.frameId);
        break;
      case 'Page.navigatedWithinDocument':
        this.moved(a, sessionId, params.frameId, params.url);
        break;
      case 'Page.documentOpened':
        this.moved(a, sessionId, params.frame.id, params.frame.url);
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
   * Called when the URL of a frame's document changed.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} frame
   * @param {string} url
   */
  moved(a, sessionId, frame, url) {
    const child = a.children.get(sessionId);
    if (sessionId === '' && frame === a.top) {
      a.url = url;
      a.steps++;
      this.keeper.moved(a);
      return;
    }
    a.urls.set(frame, url);
    if (child?.frame === frame) child.url = url;
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

/**
 * Sends an event of a tab to its server.
 *
 * @param {Attachment} a
 * @param {string} sessionId
 * @param {string} method
 * @param {any} params
 */
function tell(a, sessionId, method, params) {
  if (a.connection.session !== a.session || a.connection.state !== 'connected') return;
  a.connection.send({ type: 'event', event: 'cdp', data: { tabId: a.tabId, ...(sessionId === '' ? {} : { sessionId }), method, params } });
}

/**
 * Counts the characters of the strings in the parameters of an event.
 *
 * @param {unknown} value
 * @returns {number}
 */
function sizeOf(value) {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 0;
  for (const part of Object.values(value)) size += sizeOf(part);
  return size;
}

/**
 * Takes the cookies out of an event about a request that waits.
 *
 * @param {string} method
 * @param {any} params
 */
function withoutCookies(method, params) {
  if (method !== 'Fetch.requestPaused') return params;
  const { request, responseHeaders } = params;
  return {
    ...params,
    request: { ...request, headers: Object.fromEntries(Object.entries(request?.headers ?? {}).filter(([name]) => !COOKIES.test(name))) },
    ...(responseHeaders ? { responseHeaders: responseHeaders.filter((/** @type {any} */ h) => !COOKIES.test(h.name)) } : {}),
  };
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
