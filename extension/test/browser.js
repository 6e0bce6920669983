// @ts-check

import { Broker } from '../broker.js';
import { VERSION } from '../wire.js';
import { Port, runtime } from './ports.js';

/** A tab of the browser. @typedef {{id: number, url: string, title: string, windowId: number, active: boolean, groupId: number}} Tab */

/** Waits until no promise is pending. */
export async function settled() {
  for (let i = 0; i < 30; i++) await new Promise((resolve) => setImmediate(resolve));
}

/** A browser with some tabs, which installs itself as chrome, and the servers that connect to its extension. */
export class Browser {
  /** @type {Record<string, any>} */
  stored = {};
  /** @type {Tab[]} */
  tabs = [1, 2, 3].map((id) => ({ id, url: 'https://example.com/', title: '', windowId: 1, active: id === 1, groupId: -1 }));
  /** The tabs that the debugger is attached to. @type {Set<number>} */
  attached = new Set();
  /** The calls of the debugger, such as "attach 1". @type {string[]} */
  calls = [];
  /** @type {any[]} */
  downloads = [];

  constructor() {
    const listener = { addListener() {} };
    const call = async () => ({});
    const area = {
      get: async (/** @type {string} */ key) => (key in this.stored ? { [key]: structuredClone(this.stored[key]) } : {}),
      set: async (/** @type {any} */ values) => void Object.assign(this.stored, structuredClone(values)),
    };
    const find = (/** @type {number} */ id) => this.tabs.find((t) => t.id === id);
    Object.assign(globalThis, { chrome: {
      runtime: Object.assign(runtime, { id: 'a'.repeat(32), getURL: (/** @type {string} */ path) => path, getManifest: () => ({ version: '1' }), connectNative: () => new Port() }),
      storage: { session: area, local: area },
      tabs: {
        query: async () => this.tabs.map((t) => ({ ...t })),
        get: async (/** @type {number} */ id) => ({ ...(find(id) ?? fail(`No tab with id: ${id}.`)) }),
        group: async ({ groupId = 9, tabIds = [0] }) => {
          for (const tab of this.tabs) if (tabIds.includes(tab.id)) tab.groupId = groupId;
          return groupId;
        },
        ungroup: async (/** @type {number} */ id) => void Object.assign(find(id) ?? {}, { groupId: -1 }),
        update: call,
      },
      tabGroups: { get: call, update: call },
      windows: { getLastFocused: async () => ({ id: 1 }) },
      debugger: {
        attach: async (/** @type {any} */ { tabId }) => {
          this.calls.push(`attach ${tabId}`);
          if (this.attached.has(tabId)) fail(`Another debugger is already attached to the tab with id: ${tabId}.`);
          this.attached.add(tabId);
        },
        detach: async (/** @type {any} */ { tabId }) => {
          this.calls.push(`detach ${tabId}`);
          this.attached.delete(tabId);
        },
        sendCommand: async (/** @type {any} */ { tabId }, /** @type {string} */ method) => {
          this.calls.push(`${method} ${tabId}`);
          return {};
        },
        getTargets: async () => this.tabs.map((t) => ({ id: `T${t.id}`, tabId: t.id, type: 'page', attached: this.attached.has(t.id), url: t.url })),
        onEvent: listener, onDetach: listener,
      },
      downloads: { search: async (/** @type {any} */ query) => this.downloads.filter((d) => Object.keys(query).every((key) => d[key] === query[key])), cancel: call, removeFile: call },
      contextMenus: { create() {}, update: call },
      action: { setBadgeText: call, setBadgeBackgroundColor: call, setTitle: call },
      alarms: { create: call, get: async () => undefined },
      idle: { setDetectionInterval() {} },
      declarativeNetRequest: { ResourceType: {}, updateSessionRules: call, getSessionRules: async () => [] },
      webNavigation: { getAllFrames: async () => [] },
      privacy: { network: { networkPredictionEnabled: { set: call, clear: call } } },
    } });
  }

  /** Returns a worker of the extension, with what the previous one stored. */
  async worker() {
    const broker = new Broker();
    broker.servers.refresh = async () => {};
    broker.scopes.networkRules.update = async () => {};
    await broker.ready;
    await settled();
    return broker;
  }

  /** Connects a server to a worker. @param {Broker} broker @param {number} port */
  connect(broker, port) {
    return new Server(broker, port);
  }
}

/** A server that is connected to the extension. */
class Server {
  /** @type {any[]} */
  sent = [];
  commands = 0;

  /** @param {Broker} broker @param {number} port */
  constructor(broker, port) {
    this.connection = broker.servers.newConnection(port);
    broker.servers.connections.set(port, this.connection);
    this.connect();
  }

  /** Connects, or connects again. */
  connect() {
    const { connection } = this;
    connection.generation++;
    connection.socket = /** @type {any} */ ({ readyState: 1, bufferedAmount: 0, close() {}, send: (/** @type {string} */ text) => this.sent.push(JSON.parse(text)) });
    const policy = { allow: ['example.com', 'other.test'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] };
    connection.welcomed({ session: `s${connection.port}`, server: { pid: 7, name: 'Claude', version: '1' }, policy, heartbeatMs: 1e9 });
    clearTimeout(connection.timer);
  }

  lose() {
    this.connection.closeAndRetry('waiting', 'silent', '');
  }

  /** Sends a command, and returns the answer. @param {string} method @param {any} params */
  async call(method, params) {
    const id = this.send(method, params);
    await settled();
    return this.answer(id);
  }

  /** Sends a command, and returns its id. @param {string} method @param {any} params */
  send(method, params) {
    const id = `c${++this.commands}`;
    this.connection.received({ v: VERSION, type: 'command', id, method, params, timeoutMs: 5000 });
    return id;
  }

  /** Returns the answer to a command. @param {string} id @returns {any} */
  answer(id) {
    return this.sent.find((m) => m.id === id);
  }

  /** Returns the data of the events of a name. @param {string} name @returns {any[]} */
  events(name) {
    return this.sent.filter((m) => m.event === name).map((m) => m.data);
  }
}

/** @param {string} message @returns {never} */
function fail(message) {
  throw new Error(message);
}
