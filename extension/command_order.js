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

/** Keeps the commands of a tab in order: later commands wait for those that are checked or sent again. */
export class CommandOrder {
  constructor() {
    /** The number of commands that are checked or sent again. */
    this.pending = 0;
    /** The commands that wait for them, in order. @type {(() => void)[]} */
    this.waiting = [];
    /** The last command that is being sent again. @type {Promise<unknown> | null} */
    this.lastResend = null;
  }

  /**
   * Calls a function that starts a command: immediately, unless earlier commands are pending or wait.
   *
   * @template T
   * @param {() => Promise<T>} start
   * @returns {Promise<T>}
   */
  inOrder(start) {
    if (this.pending === 0 && this.waiting.length === 0) return start();
    return new Promise((resolve) => {
      this.waiting.push(() => resolve((async () => start())()));
    });
  }

  /** Makes later commands wait until a promise is settled. @param {Promise<unknown>} pending */
  waitFor(pending) {
    this.pending++;
    const settled = () => {
      this.pending--;
      while (this.pending === 0 && this.waiting.length > 0) this.waiting.shift()?.();
    };
    pending.then(settled, settled);
  }

  /**
   * Sends a command that the browser rejected because of the pending URL again, until the browser
   * accepts it. Commands are sent again one after another, and later commands wait.
   *
   * @param {chrome.debugger.DebuggerSession} target
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} deadline when the caller stops waiting, in ms since 1970
   * @param {() => boolean} maySend reports whether the command may still be sent
   * @returns {Promise<any>} the browser's result
   */
  resend(target, method, params, deadline, maySend) {
    const last = Math.min(deadline, Date.now() + timing.patience.pendingURL) - RESEND_PAUSE;
    const result = (this.lastResend ?? Promise.resolve()).then(() => resend(target, method, params, last, maySend));
    const done = result.then(() => {}, () => {}).then(() => {
      if (this.lastResend === done) this.lastResend = null;
    });
    this.lastResend = done;
    this.waitFor(done);
    return result;
  }
}

/**
 * @param {chrome.debugger.DebuggerSession} target
 * @param {string} method
 * @param {Record<string, any>} params
 * @param {number} last the time of the last attempt, in ms since 1970
 * @param {() => boolean} maySend
 */
async function resend(target, method, params, last, maySend) {
  for (;;) {
    await new Promise((done) => setTimeout(done, RESEND_PAUSE));
    if (!maySend()) throw protocolError(-32000, `${method}: the document of the tab has changed`);
    if (Date.now() > last) throw protocolError(-32000, `${method}: the tab opens the URL of another program`);
    try {
      return await chrome.debugger.sendCommand(target, method, params);
    } catch (e) {
      if (!isPendingURLError(messageOf(e))) throw e;
    }
  }
}
