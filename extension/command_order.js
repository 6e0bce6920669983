// @ts-check

import { protocolError } from './command_error.js';
import { messageOf } from './debugger.js';
import { timing } from './timing.js';

/** The error of a command that the browser rejects because of the pending URL of the tab, which is
 * that of another program. */
const PENDING_URL_ERROR = /^Cannot access contents of url "(?!https?:|file:)/;

/** How long to wait before a rejected command is sent again, in ms. */
export const RESEND_PAUSE = 20;

/** Reports whether the browser rejected a command because of the pending URL. @param {string} error */
export const isPendingURLError = (error) => PENDING_URL_ERROR.test(error);

/** The commands of a tab that later commands wait for. */
export class CommandOrder {
  constructor() {
    /** The next command waits for it. @type {Promise<unknown> | null} */
    this.gate = null;
    /** The last of the commands that are sent again. @type {Promise<unknown> | null} */
    this.resending = null;
  }

  /** Makes later commands wait until a promise is settled. @param {Promise<unknown>} pending */
  waitFor(pending) {
    const gate = pending.then(() => {}, () => {}).then(() => {
      if (this.gate === gate) this.gate = null;
    });
    this.gate = gate;
  }

  /**
   * Sends a command that the browser rejected because of the pending URL again, until the browser
   * accepts it. Commands are sent again one after another, and later commands wait.
   *
   * @param {chrome.debugger.DebuggerSession} target
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} end when the caller stops waiting, in ms since 1970
   * @param {() => boolean} isUnchanged reports whether the command may still be sent
   * @returns {Promise<any>} the browser's result
   */
  resend(target, method, params, end, isUnchanged) {
    const last = Math.min(end, Date.now() + timing.patience.pendingURL) - RESEND_PAUSE;
    const sent = (this.resending ?? Promise.resolve()).then(() => resend(target, method, params, last, isUnchanged));
    const done = sent.then(() => {}, () => {}).then(() => {
      if (this.resending === done) this.resending = null;
      if (this.gate === done) this.gate = null;
    });
    this.resending = done;
    this.gate = done;
    return sent;
  }
}

/**
 * @param {chrome.debugger.DebuggerSession} target
 * @param {string} method
 * @param {Record<string, any>} params
 * @param {number} last the time of the last attempt, in ms since 1970
 * @param {() => boolean} isUnchanged
 */
async function resend(target, method, params, last, isUnchanged) {
  for (;;) {
    await new Promise((done) => setTimeout(done, RESEND_PAUSE));
    if (!isUnchanged()) throw protocolError(-32000, `${method}: the document of the tab has changed`);
    if (Date.now() > last) throw protocolError(-32000, `${method}: the tab opens the URL of another program`);
    try {
      return await chrome.debugger.sendCommand(target, method, params);
    } catch (e) {
      if (!isPendingURLError(messageOf(e))) throw e;
    }
  }
}
