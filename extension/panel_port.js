// @ts-check

import { PANEL_PORT_NAME } from './chats.js';

/** An error of a call, with what to do next. */
export class PanelError extends Error {
  /** @param {string} message @param {string} hint */
  constructor(message, hint) {
    super(message);
    this.hint = hint;
  }
}

/** A side panel's port to the worker. It reconnects when the worker was terminated. */
export class PanelPort {
  /**
   * @param {{connected: () => void, state: (s: import('./chats.js').PanelState) => void, event: (e: import('./chats.js').ChatEvent) => void, ask: (a: import('./chats.js').Ask) => void}} owner
   */
  constructor(owner) {
    this.owner = owner;
    /** @type {Map<number, {resolve: (result: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    this.count = 0;
  }

  connect() {
    this.port = chrome.runtime.connect({ name: PANEL_PORT_NAME });
    this.port.onMessage.addListener((message) => {
      if (message.type === 'state') this.owner.state(message.state);
      if (message.type === 'event') this.owner.event(message.event);
      if (message.type === 'ask') this.owner.ask(message.ask);
      if (message.type !== 'done') return;
      const call = this.waiting.get(message.id);
      this.waiting.delete(message.id);
      if (message.error !== undefined) call?.reject(new PanelError(message.error.message, message.error.hint));
      else call?.resolve(message.result);
    });
    this.port.onDisconnect.addListener(() => {
      for (const { reject } of this.waiting.values()) reject(new PanelError('the extension was restarted, which ended the chats', ''));
      this.waiting.clear();
      if (chrome.runtime?.id) setTimeout(() => this.connect(), 200);
    });
    const { port } = this;
    chrome.windows.getCurrent().then(({ id }) => port.postMessage({ type: 'window', windowId: id }), () => {});
    this.owner.connected();
  }

  /**
   * Calls a method of the worker or of the native host. It rejects with a PanelError.
   *
   * @param {import('./chats.js').Method} method
   * @param {Record<string, unknown>} [params]
   * @returns {Promise<any>}
   */
  call(method, params = {}) {
    const id = ++this.count;
    return new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port?.postMessage({ type: 'call', id, method, params });
    });
  }
}
