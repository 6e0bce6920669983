// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { HOST_NAME, VERSION } from './wire.js';
import { timing } from './timing.js';

/**
 * A chat.
 *
 * @typedef {object} Chat
 * @property {string} id
 * @property {string} title
 * @property {string} site
 * @property {string} agent name of its agent
 * @property {number} created ms since 1970
 * @property {number} updated ms since 1970
 * @property {boolean} open whether its agent runs
 * @property {boolean} running whether a turn is in progress
 */

/**
 * An entry of a chat. Texts of agents are untrusted Markdown, texts of pages are untrusted.
 *
 * @typedef {object} Entry
 * @property {number} seq
 * @property {number} at ms since 1970
 * @property {'user' | 'agent' | 'thought' | 'tool' | 'plan' | 'permission' | 'notice' | 'usage'} kind
 * @property {string} [text]
 * @property {ToolCall} [tool]
 * @property {PlanStep[]} [plan]
 * @property {Permission} [permission]
 * @property {Usage} [usage]
 * @property {Quote} [quote]
 */

/**
 * @typedef {object} ToolCall
 * @property {string} id
 * @property {string} title
 * @property {string} kind
 * @property {'pending' | 'in_progress' | 'completed' | 'failed'} status
 * @property {string} [site]
 * @property {string} [input] JSON text
 * @property {string} [output] page text
 */

/** @typedef {{text: string, status: 'pending' | 'in_progress' | 'completed', priority: string}} PlanStep */
/** @typedef {{id: string, name: string, kind: 'allow_once' | 'allow_always' | 'reject_once' | 'reject_always'}} PermissionOption */

/**
 * @typedef {object} Permission
 * @property {string} request
 * @property {string} title
 * @property {string} [detail] the exact command, path or JSON input
 * @property {PermissionOption[]} options
 * @property {string} [chosen] id of the chosen option, "" if it was canceled
 */

/** @typedef {{input: number, output: number, total: number, context?: number, size?: number}} Usage tokens of a turn, and of the agent's context after it */
/** @typedef {{text: string, url: string}} Quote text that the user selected in a page */

/**
 * An event of the host: chat {chat}: a chat changed; entry {chat: its id, entry}: an entry was added
 * or replaced; append {chat, seq, text, at}: text was appended to an entry whose text had the length
 * at; deleted {chat}; closed {chat, message, hint}: its agent exited.
 *
 * @typedef {{event: 'chat', chat: Chat} | {event: 'entry', chat: string, entry: Entry} | {event: 'append', chat: string, seq: number, text: string, at: number} | {event: 'deleted', chat: string} | {event: 'closed', chat: string, message: string, hint: string}} ChatEvent
 */

/**
 * The state of the host: missing if the browser does not know it, error if it ended or did not
 * respond correctly.
 *
 * @typedef {'closed' | 'connecting' | 'ok' | 'missing' | 'error'} ChatHostState
 */

/** An error that the host answered. */
export class ChatError extends Error {
  /** @param {string} message @param {string} [hint] what to do next */
  constructor(message, hint = '') {
    super(message);
    this.hint = hint;
  }
}

/** The port to the native messaging host that runs the agents of chats. */
export class ChatHost {
  /**
   * @param {{installation: () => Promise<string>, changed: () => void, event: (e: ChatEvent) => void, ended: () => void}} owner
   *   installation: the id of this installation; changed: the state changed; ended: the host and with
   *   it all agents ended
   * @param {() => chrome.runtime.Port} [connect]
   */
  constructor(owner, connect = () => chrome.runtime.connectNative(HOST_NAME)) {
    this.owner = owner;
    this.connect = connect;
    /** @type {ChatHostState} */
    this.state = 'closed';
    /** Why it is not connected, as text. */
    this.message = '';
    /** @type {chrome.runtime.Port | null} */
    this.port = null;
    /** Resolves when the host has responded. @type {Promise<void> | null} */
    this.opening = null;
    /** @type {Map<number, {resolve: (result: any) => void, reject: (e: Error) => void}>} */
    this.waiting = new Map();
    this.count = 0;
  }

  /** Starts the host unless it runs. It rejects with a message for the user. @returns {Promise<void>} */
  open() {
    if (this.opening) return this.opening;
    const port = this.connect();
    this.port = port;
    this.setState('connecting', '');
    /** @type {Promise<void>} */
    const answered = new Promise((resolve, reject) => {
      this.waiting.set(0, { resolve, reject });
    });
    port.onMessage.addListener((message) => {
      if (this.port === port) this.received(port, message);
    });
    port.onDisconnect.addListener(() => this.onClosed(port, chrome.runtime.lastError?.message ?? 'the chrome-mcp program exited'));
    void this.owner.installation().then((installation) => {
      if (this.port === port) port.postMessage({ v: VERSION, type: 'chats', installation });
    });
    const opening = withTimeout(SHORT_TIMEOUT_MS, answered, 'starting the chrome-mcp program').catch((e) => {
      this.onClosed(port, e.message);
      throw e;
    });
    this.opening = opening;
    opening.catch(() => {});
    return opening;
  }

  /** @param {chrome.runtime.Port} port @param {any} message */
  received(port, message) {
    if (this.state === 'connecting') {
      if (message?.v === VERSION && message.type === 'chats') {
        this.setState('ok', '');
        this.take(0)?.resolve(undefined);
      } else if (message?.v === VERSION && typeof message.error === 'string' && !/unknown request/.test(message.error)) {
        this.onClosed(port, message.error);
      } else {
        this.onClosed(port, 'the chrome-mcp program has another version: run "chrome-mcp extension install" again');
      }
      return;
    }
    if (typeof message?.event === 'string') {
      this.owner.event(message);
      return;
    }
    const call = this.take(message?.id);
    if (!call) return;
    const { error } = message;
    if (error) call.reject(new ChatError(String(error.message ?? 'the request failed'), String(error.hint ?? '')));
    else call.resolve(message.result ?? {});
  }

  /** Removes a pending request. @param {number} id */
  take(id) {
    const call = this.waiting.get(id);
    this.waiting.delete(id);
    return call;
  }

  /**
   * Sends a request, and starts the host if it does not run.
   *
   * @param {string} method
   * @param {Record<string, unknown>} params
   * @returns {Promise<any>}
   */
  async request(method, params) {
    await this.open();
    const id = ++this.count;
    const answered = new Promise((resolve, reject) => {
      this.waiting.set(id, { resolve, reject });
      this.port?.postMessage({ id, method, params });
    });
    if (method === 'prompt') return answered; // a turn takes as long as it takes
    return withTimeout(timing.hangLimits.chatRequest, answered, `the request ${method}`).finally(() => this.waiting.delete(id));
  }

  /** Ends the host. */
  close() {
    if (this.port) this.onClosed(this.port, '');
  }

  /** @param {chrome.runtime.Port} port @param {string} why "" if it is no longer needed */
  onClosed(port, why) {
    if (this.port !== port) return;
    this.port = this.opening = null;
    port.disconnect();
    const { waiting } = this;
    this.waiting = new Map();
    const missing = this.state === 'connecting' && /host not found|forbidden/i.test(why);
    this.setState(why === '' ? 'closed' : missing ? 'missing' : 'error', why);
    for (const { reject } of waiting.values()) reject(new ChatError(why || 'the chats were closed'));
    this.owner.ended();
  }

  /** @param {ChatHostState} state @param {string} message */
  setState(state, message) {
    this.state = state;
    this.message = message;
    this.owner.changed();
  }
}
