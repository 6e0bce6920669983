// @ts-check

import { SHORT, within } from './deadline.js';
import { HOST_NAME, VERSION } from './wire.js';

/**
 * Whether the native messaging host is there: missing when the browser does
 * not know it, error when it did not answer as it should.
 *
 * @typedef {'unknown' | 'ok' | 'missing' | 'error'} NativeState
 */

/** A server that the native host names. @typedef {{port: number, token: string, name: string}} Listed */

/** The first and the longest pause before a host that ended is started again, in ms. */
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 30_000;

/** A host that lived this long was a good one: the next pause is short. */
const GOOD_AFTER = 10_000;

/**
 * The line to the native messaging host. It is kept open: so the host can say
 * at once that a server has started, and the browser lets the worker live to
 * hear it. A browser that does not know the host is asked again each time.
 */
export class NativeHost {
  /**
   * @param {() => void} changed it would give another answer now, or may be asked again
   * @param {() => chrome.runtime.Port} [connect]
   */
  constructor(changed, connect = () => chrome.runtime.connectNative(HOST_NAME)) {
    this.changed = changed;
    this.connect = connect;
    /** @type {NativeState} */
    this.state = 'unknown';
    this.message = '';
    /** @type {chrome.runtime.Port | null} */
    this.port = null;
    /** Who waits for an answer, in the order of the questions. @type {{resolve: (answer: any) => void, reject: (e: Error) => void}[]} */
    this.waiting = [];
    this.opened = 0;
    this.failures = 0;
    /** When a host that ended may be started again, in ms since 1970. */
    this.due = 0;
  }

  /** Whether it will say by itself when a server comes or goes. */
  get watches() {
    return this.port !== null && this.state === 'ok';
  }

  /**
   * Asks for the servers that live; there are none without the host. The keys
   * come through the browser's own pipe and are kept in memory only.
   *
   * @returns {Promise<Listed[]>}
   */
  async servers() {
    if (!this.port && this.due > Date.now()) return [];
    let answer;
    try {
      answer = await within(SHORT, this.ask(), 'asking the native messaging host');
    } catch (e) {
      const text = e instanceof Error ? e.message : String(e);
      this.set(/not found|forbidden/i.test(text) ? 'missing' : 'error', text);
      if (this.port) this.ended(this.port, text); // it hangs
      return [];
    }
    if (answer.v !== VERSION || !Array.isArray(answer.servers)) {
      this.set('error', 'the native messaging host speaks another version: run "chrome-mcp extension install" again');
      return [];
    }
    this.set('ok', '');
    return answer.servers;
  }

  /** @returns {Promise<any>} */
  ask() {
    return new Promise((resolve, reject) => {
      const port = this.open();
      this.waiting.push({ resolve, reject });
      port.postMessage({ v: VERSION, type: 'servers' });
    });
  }

  open() {
    if (this.port) return this.port;
    const port = this.connect();
    this.port = port;
    this.opened = Date.now();
    port.onMessage.addListener((message) => {
      if (this.port !== port) return;
      if (message?.changed === true) this.changed();
      else this.waiting.shift()?.resolve(message ?? {});
    });
    port.onDisconnect.addListener(() => this.ended(port, chrome.runtime.lastError?.message ?? 'the native messaging host ended'));
    return port;
  }

  /** @param {chrome.runtime.Port} port @param {string} why */
  ended(port, why) {
    if (this.port !== port) return;
    this.port = null;
    port.disconnect();
    const { waiting } = this;
    this.waiting = [];
    for (const { reject } of waiting) reject(new Error(why));
    if (this.state !== 'ok') return; // it was not there: the next question may find it
    this.set('unknown', '');
    this.failures = Date.now() - this.opened > GOOD_AFTER ? 0 : this.failures + 1;
    const pause = Math.min(FIRST_PAUSE * 2 ** this.failures, LONGEST_PAUSE);
    this.due = Date.now() + pause;
    setTimeout(() => this.changed(), pause);
  }

  /** @param {NativeState} state @param {string} message */
  set(state, message) {
    this.state = state;
    this.message = message;
  }
}
