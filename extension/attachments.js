// @ts-check

import { Attachment } from './attachment.js';
import { CommandError } from './command_error.js';
import { isPendingURLError, RESEND_PAUSE } from './command_order.js';
import { attach, attachOrTakeOver, detach, inaccessibleDocumentOf, messageOf } from './debugger.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./policy.js').Rules} Rules */

/**
 * How many events of a tab are stored until attach completes. Beyond that, events on which no frame,
 * document, dialog or download depends are dropped, because a page can cause any number of them.
 */
const MAX_EARLY = 1000;
const DROPPABLE = /^(Network|Log)\.|^Runtime\.(consoleAPICalled|exceptionThrown|exceptionRevoked)$/;

/** With more events than this, attach fails: the documents of the tab would be unknown without them. */
const MAX_EARLY_STATE = 10_000;

/**
 * The callbacks of Attachments.
 *
 * @typedef {object} AttachmentsCallbacks
 * @property {(a?: Attachment) => Promise<void>} installRules installs the network rules for all attached
 *   tabs, and for one that is being attached
 * @property {(a: Attachment, reason: string) => void} detached the browser detached the debugger; the
 *   tab may still exist
 * @property {(tabId: number) => void} canceled the user detached the debugger, in Chrome's debugging
 *   bar
 */

/** @typedef {AttachmentsCallbacks & import('./attachment.js').AttachmentDelegate} AttachmentsDelegate */

/** The tabs to which the debugger is attached: attaches and detaches it, and passes on its events. */
export class Attachments {
  /** @param {AttachmentsDelegate} delegate */
  constructor(delegate) {
    this.delegate = delegate;
    /** Includes tabs that are being attached. @type {Map<number, Attachment>} */
    this.byTab = new Map();
    /**
     * The end of the queue of each tab, in which attach and release wait. preattach and undoPreattach do
     * not wait.
     * @type {Map<number, Promise<unknown>>}
     */
    this.queues = new Map();
    /**
     * Tabs that preattach was called for, with whether the debugger could be attached.
     * @type {Map<number, Promise<boolean>>}
     */
    this.preattached = new Map();
    /**
     * The events of tabs that are being attached.
     * @type {Map<number, {source: chrome.debugger.DebuggerSession, method: string, params: any}[]>}
     */
    this.earlyEvents = new Map();
  }

  /**
   * Does work after the work that is queued for the tab.
   *
   * @template T
   * @param {number} tabId
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  enqueue(tabId, work) {
    const done = (this.queues.get(tabId) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {}).then(() => {
      if (this.queues.get(tabId) === settled) this.queues.delete(tabId);
    });
    this.queues.set(tabId, settled);
    return done;
  }

  /** Returns the attached tabs, and those that are being attached. @returns {Attachment[]} */
  all() {
    return [...this.byTab.values()];
  }

  /** Returns the attachments for a connection. @param {Connection} connection @returns {Attachment[]} */
  allOf(connection) {
    return this.all().filter((a) => a.connection === connection);
  }

  /** @param {number} tabId @returns {Attachment | undefined} */
  get(tabId) {
    return this.byTab.get(tabId);
  }

  /**
   * Returns the attachment of a tab if it is complete and its connection has not been lost since.
   *
   * @param {Connection} connection
   * @param {number} tabId
   * @returns {Attachment | undefined}
   */
  currentOf(connection, tabId) {
    const a = this.byTab.get(tabId);
    return a?.isOfThisConnection && a.connection === connection ? a : undefined;
  }

  /** Removes an attachment, without detaching the debugger. @param {Attachment} a */
  remove(a) {
    this.byTab.delete(a.tabId);
    a.markReleased();
  }

  /**
   * Attaches the debugger to a tab for a connection. It does nothing if it is already attached for
   * it. An attachment from before a reconnect is released first: the server does not know its settings,
   * and its enabled domains would not send their initial events again.
   *
   * @param {Connection} connection
   * @param {number} tabId
   * @param {() => Rules} rules returns the rules that apply now; setRules changes them from then on
   * @param {boolean} own whether the server opened the tab
   * @returns {Promise<void>}
   */
  attach(connection, tabId, rules, own) {
    return this.enqueue(tabId, async () => {
      const old = this.byTab.get(tabId);
      if (old?.isOfThisConnection && old.connection === connection) return;
      if (old) {
        this.remove(old);
        if (old.started) await detach(tabId);
      }
      if (connection.state !== 'connected') throw new CommandError('DETACHED', 'the connection to the server was lost');
      const a = new Attachment(tabId, connection, rules(), own, this.delegate);
      this.byTab.set(tabId, a);
      let attached = false; // the debugger
      try {
        await this.installRules(a);
        await this.attachDebugger(tabId);
        attached = true;
        // From here on, events report the document of the tab. Not awaited: a hung page does not
        // respond.
        void chrome.debugger.sendCommand({ tabId }, 'Page.enable').catch(() => {});
        const targets = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
        const top = targets.find((t) => t.tabId === tabId && t.type === 'page')?.id ?? ''; // also the id of the top frame
        const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab');
        a.opener = await openerOf(tab, targets);
        if (a.opener) await this.installRules(a);
        if (a.released) throw new CommandError('DETACHED', 'the debugger was detached from the tab, or the tab was unshared'); // during the calls
        const early = this.earlyEvents.get(tabId) ?? [];
        if (early.length > MAX_EARLY_STATE) throw new CommandError('BACKPRESSURE', `the tab sent more than ${MAX_EARLY_STATE} events while the debugger was being attached: try again, or use another tab`);
        a.start(top, tab.url || 'about:blank'); // a new tab has no URL yet
        for (const { source, method, params } of early) this.onEvent(source, method, params);
      } catch (e) {
        if (attached) await detach(tabId);
        if (!a.released) {
          this.remove(a);
          await this.delegate.installRules().catch(() => {});
        }
        throw e;
      } finally {
        this.earlyEvents.delete(tabId);
      }
    });
  }

  /** Installs the network rules for a tab that is being attached. @param {Attachment} a */
  async installRules(a) {
    try {
      await this.delegate.installRules(a);
    } catch (e) {
      throw new CommandError('POLICY_DENIED', `the network rules for the tab cannot be installed, so it is not attached: ${messageOf(e)}`);
    }
  }

  /**
   * Attaches the debugger to a tab that the page of a driven tab has just opened, before
   * it is decided whether the tab may be driven. Its events are stored, and no command acts on it,
   * until attach completes. Without this, a dialog that its page opened earlier could not be
   * answered, and its first requests would not be reported. The window is not paused: Chrome does that
   * only for a client that is attached to the browser, which it does not let extensions be.
   *
   * @param {number} tabId
   * @param {Attachment} opener
   */
  preattach(tabId, opener) {
    if (this.byTab.has(tabId) || this.preattached.has(tabId)) return;
    this.preattached.set(tabId, attach(tabId).then(() => true, () => false));
    // The page is loading, so nothing here waits for a response: the browser handles these after attach.
    // The response to Page.enable would come after the dialog.
    const send = (/** @type {string} */ method, /** @type {Record<string, any>} */ params) => void chrome.debugger.sendCommand({ tabId }, method, params).catch(() => {});
    if (opener.networkParams) send('Network.enable', opener.networkParams);
    send('Page.enable', {});
  }

  /**
   * Detaches from a tab that was preattached, unless attach was called since.
   * @param {number} tabId
   */
  async undoPreattach(tabId) {
    const preattached = this.preattached.get(tabId);
    if (!preattached) return;
    this.preattached.delete(tabId);
    this.earlyEvents.delete(tabId);
    if (await preattached) await detach(tabId);
  }

  /** Attaches the debugger unless preattach did. @param {number} tabId */
  async attachDebugger(tabId) {
    const preattached = this.preattached.get(tabId);
    this.preattached.delete(tabId);
    if (!await preattached) await attachOrTakeOver(tabId);
  }

  /**
   * Releases a tab immediately. Pending commands fail with DETACHED.
   *
   * @param {number} tabId
   * @returns {Promise<void>}
   */
  release(tabId) {
    const a = this.byTab.get(tabId);
    if (!a) return Promise.resolve();
    this.remove(a);
    const detached = a.started ? detach(tabId) : Promise.resolve();
    return this.enqueue(tabId, async () => {
      await detached;
      await this.delegate.installRules().catch(() => {}); // fewer rules; the next attach tries again
    });
  }

  /**
   * Prepares an attached tab for being closed, see Attachment.prepareClose.
   * @param {number} tabId
   */
  async prepareClose(tabId) {
    const a = this.byTab.get(tabId);
    if (a?.started) await a.prepareClose();
  }

  // Events of the browser.

  /**
   * Called when a frame has loaded a document.
   * @param {number} tabId
   */
  committed(tabId) {
    this.byTab.get(tabId)?.documents.loaded();
  }

  /**
   * @param {chrome.debugger.DebuggerSession} source
   * @param {string} method
   * @param {any} params
   */
  onEvent(source, method, params) {
    if (source.tabId === undefined) return;
    const a = this.byTab.get(source.tabId);
    if (a?.started) {
      a.onEvent(source.sessionId ?? '', method, params ?? {});
      return;
    }
    if (!a && !this.preattached.has(source.tabId)) return;
    const early = this.earlyEvents.get(source.tabId) ?? [];
    this.earlyEvents.set(source.tabId, early);
    const limit = DROPPABLE.test(method) ? MAX_EARLY : MAX_EARLY_STATE + 1; // with the last one, attach fails
    if (early.length < limit) early.push({ source, method, params });
  }

  /**
   * @param {chrome.debugger.Debuggee} source
   * @param {string} reason
   */
  onDetach(source, reason) {
    const { tabId } = source;
    if (tabId === undefined) return;
    const a = this.byTab.get(tabId);
    if (reason === 'canceled_by_user') {
      if (a) this.remove(a);
      this.delegate.canceled(tabId);
      return;
    }
    if (!a) return; // we detached
    this.remove(a); // also while it is being attached, which then fails
    this.delegate.installRules().catch(() => {});
    if (a.started) this.delegate.detached(a, reason);
  }
}

/**
 * Returns the tab that the page of a tab can navigate because its page opened it, or null.
 *
 * @param {chrome.tabs.Tab} tab
 * @param {chrome.debugger.TargetInfo[]} targets
 */
async function openerOf({ id, openerTabId }, targets) {
  let opener;
  try {
    const { canAccessOpener, openerId } = (await targetInfo(Number(id)))?.targetInfo ?? {};
    opener = canAccessOpener ? targets.find((t) => t.id === openerId) : undefined;
  } catch (e) {
    if (!inaccessibleDocumentOf(messageOf(e))) throw e;
    opener = targets.find((t) => t.type === 'page' && t.tabId !== undefined && t.tabId === openerTabId); // the page may be unable to navigate it
  }
  return opener?.tabId === undefined ? null : { tabId: opener.tabId, url: opener.url };
}

/**
 * Returns the target of a tab. A page can delay it with URLs of other programs.
 *
 * @param {number} tabId
 * @returns {Promise<any>}
 */
async function targetInfo(tabId) {
  for (const last = Date.now() + timing.patience.pendingURL; ; await new Promise((done) => setTimeout(done, RESEND_PAUSE))) {
    try {
      return await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId }, 'Target.getTargetInfo'), 'finding the opener');
    } catch (e) {
      if (!isPendingURLError(messageOf(e)) || Date.now() > last) throw e;
    }
  }
}
