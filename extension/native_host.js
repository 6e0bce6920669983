// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { HOST_NAME, NATIVE_VERSION } from './wire.js';

/**
 * The state of the native messaging host: missing if the browser does not know it, error if
 * it did not respond correctly.
 *
 * @typedef {'unknown' | 'ok' | 'missing' | 'error'} NativeState
 */

/**
 * A server that the native host lists.
 * given: it sees only tabs that the user gave to it, and tabs that it opened.
 * @typedef {{port: number, token: string, name: string, given?: boolean}} Listed
 */

/** The minimum and maximum delay before an exited host is restarted, in ms. */
const MIN_BACKOFF_MS = 1_000;
const MAX_BACKOFF_MS = 30_000;

/** A host that ran this long, in ms, was stable: the next delay is short. */
const STABLE_AFTER_MS = 10_000;

/**
 * The port to the native messaging host. It stays open, so that the host can report
 * immediately that a server has started, and the browser keeps the worker alive to
 * receive it. If the browser does not know the host, each query tries again.
 */
export class NativeHost {
  /**
   * @param {() => void} changed called when the host has new results, or can be queried again
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
    /**
     * Pending queries, in the order in which they were sent.
     * @type {{resolve: (answer: any) => void, reject: (e: Error) => void}[]}
     */
    this.waiting = [];
    this.opened = 0;
    this.failures = 0;
    /** When an exited host may be restarted, in ms since 1970. */
    this.due = 0;
  }

  /** Whether the host reports when a server starts or exits. */
  get watches() {
    return this.port !== null && this.state === 'ok';
  }

  /**
   * Queries the running servers. The list is empty without a host. The keys
   * arrive through the browser's pipe and are kept in memory only.
   *
   * @param {string} installation id of this installation, for the servers that only it can use
   * @returns {Promise<Listed[]>}
   */
  async servers(installation) {
    if (!this.port && this.due > Date.now()) return [];
    let answer;
    try {
      answer = await withTimeout(SHORT_TIMEOUT_MS, this.ask(installation), 'querying the native messaging host');
    } catch (e) {
      const text = e instanceof Error ? e.message : String(e);
      this.setState(/not found|forbidden/i.test(text) ? 'missing' : 'error', text);
      if (this.port) this.onClosed(this.port, text); // it hangs
      return [];
    }
    if (answer.v !== NATIVE_VERSION || !Array.isArray(answer.servers)) {
      this.setState('error', 'the native messaging host has another version: run "chrome-mcp extension install" again');
      return [];
    }
    this.setState('ok', '');
    return answer.servers;
  }

  /** @param {string} installation @returns {Promise<any>} */
  ask(installation) {
    return new Promise((resolve, reject) => {
      const port = this.open();
      this.waiting.push({ resolve, reject });
      port.postMessage({ v: NATIVE_VERSION, type: 'servers', installation });
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
    port.onDisconnect.addListener(() => this.onClosed(port, chrome.runtime.lastError?.message ?? 'the native messaging host exited'));
    return port;
  }

  /** @param {chrome.runtime.Port} port @param {string} why */
  onClosed(port, why) {
    if (this.port !== port) return;
    this.port = null;
    port.disconnect();
    const { waiting } = this;
    this.waiting = [];
    for (const { reject } of waiting) reject(new Error(why));
    if (this.state !== 'ok') return; // it was not available: the next query may succeed
    this.setState('unknown', '');
    this.failures = Date.now() - this.opened > STABLE_AFTER_MS ? 0 : this.failures + 1;
    const pause = Math.min(MIN_BACKOFF_MS * 2 ** this.failures, MAX_BACKOFF_MS);
    this.due = Date.now() + pause;
    setTimeout(() => this.changed(), pause);
  }

  /** @param {NativeState} state @param {string} message */
  setState(state, message) {
    this.state = state;
    this.message = message;
  }
}
