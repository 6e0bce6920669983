// @ts-check

import { PORT_NAME } from './pages.js';

/** @typedef {import('./pages.js').State} State */
/** @typedef {import('./pages.js').Action} Action */

/** A page's port to the worker. It reconnects when the worker was terminated. */
export class PagePort {
  /** @param {(state: State) => void} show called with every new state */
  constructor(show) {
    this.show = show;
    /** @type {Map<number, {resolve: (result: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    this.count = 0;
    this.connect();
  }

  connect() {
    this.port = chrome.runtime.connect({ name: PORT_NAME });
    this.port.onMessage.addListener((message) => {
      if (message.type === 'state') this.show(message.state);
      if (message.type !== 'done') return;
      const call = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error !== undefined) call?.reject(new Error(message.error));
      else call?.resolve(message.result);
    });
    this.port.onDisconnect.addListener(() => {
      for (const { reject } of this.waiting.values()) reject(new Error('the extension was restarted; try again'));
      this.waiting.clear();
      if (chrome.runtime?.id) setTimeout(() => this.connect(), 200);
    });
  }

  /**
   * Sends an action to the worker. It rejects with a message for the user.
   *
   * @param {Action} action
   * @param {Record<string, unknown>} [args]
   * @returns {Promise<any>}
   */
  act(action, args = {}) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port?.postMessage({ ...args, type: 'action', id, action });
    });
  }
}
