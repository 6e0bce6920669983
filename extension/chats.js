// @ts-check

import { ChatHost } from './chat_host.js';
import { isOwnPage } from './pages.js';
import { siteOf } from './policy.js';
import { getTab, showTab } from './tabs.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

// The messages between the worker and a side panel. A panel connects a runtime port named
// PANEL_PORT_NAME and sends {type:'window', windowId}. The worker sends {type:'state', state}
// immediately and after every change, {type:'event', event} for each event of the chat that the panel
// shows and for each changed or deleted chat, and {type:'ask', ask} when the user chose "Ask about
// this" in the panel's window. It answers {type:'call', id, method, params} with
// {type:'done', id, result?, error?: {message, hint}}.

/** @typedef {import('./broker.js').Broker} Broker */
/** @typedef {import('./chat_host.js').Chat} Chat */
/** @typedef {import('./chat_host.js').ChatEvent} ChatEvent */

/**
 * A tab as a panel shows it.
 *
 * @typedef {object} PanelTab
 * @property {number} tabId
 * @property {string} title
 * @property {string} url
 * @property {string} obstacle why it cannot be given to a chat, as text; "" if it can be
 */

/**
 * @typedef {object} PanelState
 * @property {import('./chat_host.js').ChatHostState} host
 * @property {string} message why the host is not connected, as text
 * @property {PanelTab | null} current the active tab of the panel's window
 * @property {PanelTab[]} others the tabs of the window that are not given to the shown chat
 * @property {PanelTab[]} given the tabs of the shown chat
 * @property {number} questions how many prompts of the shown chat's agent wait in the popup
 */

/** What the user chose "Ask about this" for. @typedef {{text: string, url: string, title: string}} Ask */

/**
 * The methods that a panel can call, with their parameters. Those of the native host are forwarded:
 * agents, list, read, prompt, cancel, answer, rename, export, close and delete.
 *
 * new {agent, title, tabId, url} and open {chat, tabId, url} start an agent and give it the active tab
 * of the panel's window, if tabId and url are those of that tab; without tabId it has no tab. Their
 * result has problem, which is "" or why it has no tab. · export {chat, from} returns the part of the
 * chat from a position, with the position of the next part as next, if there is one · show {chat} (""
 * for none) selects the events to receive · addTab {chat, tabId, url} · removeTab {chat, tabId} ·
 * showTab {tabId} · retry {}
 *
 * @typedef {'agents' | 'list' | 'read' | 'prompt' | 'cancel' | 'answer' | 'rename' | 'export' | 'close' | 'delete' | 'new' | 'open' | 'show' | 'addTab' | 'removeTab' | 'showTab' | 'retry'} Method
 */

/**
 * A connected panel, the chat that it shows, and the window that it reported, -1 if none.
 * @typedef {{port: chrome.runtime.Port, chat: string, windowId: number}} Panel
 */

/** The name of the port. */
export const PANEL_PORT_NAME = 'chrome-mcp-panel';

/** The maximum length of a text of the user, in bytes of UTF-8. */
export const MAX_TEXT = 64 << 10;

/** The maximum length of the URL of a quote, in characters: that of a transcript. */
const MAX_URL = 4 << 10;

/** How long the host runs after the last panel was closed if no chat is open, in ms. */
const LINGER_MS = 30_000;

/** How often the server of a new chat is searched for, in ms. */
const SERVER_POLL_MS = 100;

/** How long "Ask about this" waits for its panel to open, in ms. */
const ASK_TTL_MS = 30_000;

/** The maximum number of tabs in the state of a panel. */
const MAX_TABS = 200;

/** The message for a tab whose site changed after the user saw it. */
const OTHER_SITE = 'the tab shows another site now: try again';

/** Methods of the host that are forwarded, with the names of their parameters. */
const FORWARDED = Object.freeze({
  agents: [], list: ['query'], read: ['chat', 'before', 'limit'], prompt: ['chat', 'text', 'quote'], cancel: ['chat'], answer: ['chat', 'request', 'option'],
  rename: ['chat', 'title'], export: ['chat', 'from'],
});

/** @type {Record<Exclude<Method, keyof typeof FORWARDED>, (c: Chats, panel: Panel, params: any) => unknown>} */
const METHODS = {
  new: (c, panel, { agent, title, ...from }) => c.start(panel, 'new', { agent: String(agent), title: String(title) }, from),
  open: (c, panel, { chat, ...from }) => c.start(panel, 'open', { chat: String(chat) }, from),
  close: (c, _, { chat }) => c.end(String(chat), 'close'),
  delete: (c, _, { chat }) => c.end(String(chat), 'delete'),
  show: (c, panel, { chat }) => {
    panel.chat = String(chat);
    c.update();
  },
  addTab: (c, panel, { chat, tabId, url }) => c.addTab(panel, String(chat), tabId, String(url)),
  removeTab: (c, _, { chat, tabId }) => c.removeTab(String(chat), tabId),
  showTab: (_, __, { tabId }) => showTab(tabId),
  retry: (c) => c.host.open(),
};

/** Serves the side panels, and gives tabs to the chats. */
export class Chats {
  /**
   * @param {Broker} broker
   * @param {() => chrome.runtime.Port} [connect] starts the native host
   */
  constructor(broker, connect) {
    this.broker = broker;
    this.host = new ChatHost({ installation: () => broker.ready.then(() => broker.servers.instance.value), changed: () => this.update(), event: (e) => this.onEvent(e), ended: () => this.onHostEnded() }, connect);
    /** @type {Map<chrome.runtime.Port, Panel>} */
    this.panels = new Map();
    /**
     * The open chats, each with the key of its server, "" while the server is not connected, and the
     * tabs whose sites it can use.
     * @type {Map<string, {key: string, tabs: Set<number>}>}
     */
    this.open = new Map();
    /** How many calls that start a chat wait for the host. */
    this.starts = 0;
    /** The chats that were closed during such a call. The answer can follow the event. @type {Set<string>} */
    this.closedEarly = new Set();
    /** By window. @type {Map<number, {ask: Ask, at: number}>} */
    this.asks = new Map();
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.sending = false;
    this.stale = false;
    broker.observers.push(() => {
      this.revokeSites();
      this.update();
    });
    broker.onChatReleased = (key) => {
      for (const chat of this.open.values()) if (chat.key === key) chat.key = '';
    };
  }

  /**
   * Accepts the port of a panel. It returns false if the port is not a panel's.
   *
   * @param {chrome.runtime.Port} port
   */
  onConnect(port) {
    if (port.name !== PANEL_PORT_NAME || !isOwnPage(port.sender)) return false;
    const panel = { port, chat: '', windowId: -1 };
    this.panels.set(port, panel);
    clearTimeout(this.timer);
    port.onDisconnect.addListener(() => {
      this.panels.delete(port);
      this.closeLater();
    });
    port.onMessage.addListener((message) => void this.act(panel, message));
    this.host.open().catch(() => {}); // the state says why
    this.update();
    this.deliverAsks().catch(() => {});
    return true;
  }

  /** @param {Panel} panel @param {any} message */
  post(panel, message) {
    if (this.panels.has(panel.port)) panel.port.postMessage(message);
  }

  /** @param {Panel} panel @param {any} message */
  async act(panel, message) {
    if (message?.type === 'window' && Number.isInteger(message.windowId)) {
      panel.windowId = message.windowId;
      this.update();
      this.deliverAsks().catch(() => {});
    }
    if (message?.type !== 'call') return;
    const { id, method, params = {} } = message;
    /** @type {Record<string, unknown>} */
    const done = { type: 'done', id };
    try {
      await this.broker.ready;
      done.result = await this.call(panel, method, params);
    } catch (e) {
      const { message: text = String(e), hint = '' } = /** @type {any} */ (e);
      done.error = { message: text, hint };
    }
    this.post(panel, done);
  }

  /** @param {Panel} panel @param {string} method @param {any} params @returns {Promise<any>} */
  async call(panel, method, params) {
    if (Object.hasOwn(FORWARDED, method)) {
      const names = FORWARDED[/** @type {keyof typeof FORWARDED} */ (method)];
      if (method === 'prompt' && new TextEncoder().encode(params.text + (params.quote?.text ?? '')).length > MAX_TEXT) {
        throw new Error(`the message is longer than ${MAX_TEXT >> 10} KiB: shorten it`);
      }
      return this.host.request(method, Object.fromEntries(names.filter((n) => params[n] !== undefined).map((n) => [n, params[n]])));
    }
    if (!Object.hasOwn(METHODS, method)) throw new Error(`unknown method ${method}`);
    return METHODS[/** @type {keyof typeof METHODS} */ (method)](this, panel, params);
  }

  // Chats.

  /**
   * Starts the agent of a new or stored chat, and gives it the active tab of the panel's window.
   *
   * @param {Panel} panel
   * @param {'new' | 'open'} method
   * @param {Record<string, string>} params
   * @param {{tabId?: number, url?: string}} from the tab that the user saw in the panel
   */
  async start(panel, method, params, from) {
    const { stopCount } = this.broker.tabs;
    const tab = from.tabId === undefined ? undefined : await this.currentTab(panel, from);
    if (this.starts++ === 0) this.closedEarly.clear();
    const { chat, port, resumed = '' } = await this.host.request(method, { ...params, tab: tab?.tabId ?? 0, url: tab ? siteKey(tab.url) : '' }).finally(() => this.starts--);
    panel.chat = chat.id;
    if (!this.open.has(chat.id) && !this.closedEarly.has(chat.id)) this.open.set(chat.id, { key: '', tabs: new Set() });
    let problem = '';
    try {
      const c = await this.serverOf(chat, port);
      if (tab) await this.give(chat.id, c, tab, stopCount);
    } catch (e) {
      problem = e instanceof Error ? e.message : String(e);
      if (tab) this.revokeSite(chat.id, tab.tabId);
    }
    this.update();
    const open = this.open.has(chat.id);
    return { chat: { ...chat, open, running: open && chat.running }, resumed, problem };
  }

  /**
   * Returns the active tab of the panel's window. It throws if that is not the tab that the user saw,
   * or if it cannot be given to a chat.
   *
   * @param {Panel} panel
   * @param {{tabId?: number, url?: string}} from
   */
  async currentTab(panel, { tabId, url = '' }) {
    const { current } = await this.tabsOf(panel);
    if (!current || current.tabId !== tabId || siteKey(current.url) !== siteKey(url)) throw new Error('the tab or its page changed: try again');
    if (current.obstacle !== '') throw new Error(current.obstacle);
    return current;
  }

  /**
   * Waits for the server of a chat, and returns its connection.
   *
   * @param {Chat} chat
   * @param {number} port
   */
  async serverOf(chat, port) {
    const { servers } = this.broker;
    for (const deadline = Date.now() + timing.hangLimits.chatServer; ;) {
      const entry = this.open.get(chat.id);
      if (!entry) throw new Error('the chat was closed');
      await servers.refresh();
      const c = servers.connected().find((o) => o.port === port);
      if (c) {
        entry.key = c.key;
        return c;
      }
      if (Date.now() > deadline) throw new Error('the chat cannot use tabs, because its server is not reachable: close the chat and open it again');
      const late = servers.all().find((o) => o.port === port);
      if (late) late.due = 0; // the user waits
      await new Promise((resolve) => setTimeout(resolve, SERVER_POLL_MS));
    }
  }

  /**
   * Gives a tab to a chat, unless it shows another site than the user saw: the agent may have taken
   * long to start.
   *
   * @param {string} id of the chat
   * @param {import('./connection.js').Connection} c its server
   * @param {PanelTab} tab as the user saw it
   * @param {number} stopCount the value of tabs.stopCount when the user acted
   */
  async give(id, c, tab, stopCount) {
    const { tabId } = tab;
    const { drivers, tabs } = this.broker;
    await requireSite(tab);
    await drivers.give(tabId, c, stopCount);
    await requireSite(tab).catch((e) => { // it navigated during the call
      const shared = tabs.get(tabId);
      if (shared?.chat && shared.driver === c.key) tabs.unshare(tabId, 'released');
      throw e;
    });
    const entry = this.open.get(id);
    if (entry?.key === c.key) {
      entry.tabs.add(tabId);
      return;
    }
    this.broker.releaseChat(c.key); // it was closed during that
    throw new Error('the chat was closed');
  }

  /** Reports the tabs that were taken from a chat, so that it can no longer use their sites. */
  revokeSites() {
    for (const [id, { key, tabs }] of this.open) {
      for (const tab of tabs) {
        const shared = this.broker.tabs.get(tab);
        if (shared?.chat && shared.driver === key) continue;
        tabs.delete(tab);
        this.revokeSite(id, tab);
      }
    }
  }

  /** @param {string} id of the chat @param {number} tab */
  revokeSite(id, tab) {
    if (this.open.has(id)) this.host.request('remove', { chat: id, tab }).catch(() => {}); // unless it is closed during that
  }

  /**
   * Gives another tab of the panel's window to an open chat.
   *
   * @param {Panel} panel
   * @param {string} id of the chat
   * @param {number} tabId
   * @param {string} url that the user saw
   */
  async addTab(panel, id, tabId, url) {
    const { stopCount } = this.broker.tabs;
    const entry = this.open.get(id);
    const c = this.broker.servers.connected().find((o) => o.key === entry?.key);
    if (!entry || !c) throw new Error('the chat is closed: resume it first');
    const { all } = await this.tabsOf(panel);
    const tab = all.find((t) => t.tabId === tabId);
    if (!tab) throw new Error('the tab is not in the window of this panel');
    if (siteKey(tab.url) !== siteKey(url)) throw new Error(OTHER_SITE);
    if (tab.obstacle !== '') throw new Error(tab.obstacle);
    await this.host.request('allow', { chat: id, tab: tabId, url: siteKey(tab.url) });
    try {
      await this.give(id, c, tab, stopCount);
    } catch (e) {
      this.revokeSite(id, tabId);
      throw e;
    }
  }

  /** @param {string} id of the chat @param {number} tabId */
  removeTab(id, tabId) {
    const shared = this.broker.tabs.get(tabId);
    if (shared?.chat && shared.driver === this.open.get(id)?.key) this.broker.tabs.unshare(tabId, 'user');
  }

  /** Ends the agent of a chat, after its tabs are unshared. @param {string} id @param {'close' | 'delete'} method */
  end(id, method) {
    this.ended(id);
    return this.host.request(method, { chat: id });
  }

  /** Unshares the tabs of a chat that is closed. @param {string} id */
  ended(id) {
    const entry = this.open.get(id);
    if (!entry) return;
    this.open.delete(id);
    if (entry.key !== '') this.broker.releaseChat(entry.key);
    this.closeLater();
    this.update();
  }

  /** @param {ChatEvent} event */
  onEvent(event) {
    if (event.event === 'closed' && this.starts > 0) this.closedEarly.add(event.chat);
    if (event.event === 'chat' && event.chat.open) this.closedEarly.delete(event.chat.id); // it was closed before it was opened
    if (event.event === 'closed' || event.event === 'deleted' || (event.event === 'chat' && !event.chat.open)) this.ended(event.event === 'chat' ? event.chat.id : event.chat);
    for (const panel of this.panels.values()) {
      if (event.event === 'chat' || event.event === 'deleted' || event.chat === panel.chat) this.post(panel, { type: 'event', event });
    }
  }

  onHostEnded() {
    for (const id of [...this.open.keys()]) this.ended(id);
    this.broker.tabs.ready.then(() => this.broker.releaseChats());
    this.update();
  }

  /** Ends the host after LINGER_MS if no panel and no chat is open. */
  closeLater() {
    clearTimeout(this.timer);
    if (this.panels.size > 0 || this.open.size > 0) return;
    this.timer = setTimeout(() => {
      if (this.panels.size === 0 && this.open.size === 0) this.host.close();
    }, LINGER_MS);
  }

  // "Ask about this".

  /**
   * Opens the panel. The browser requires that this is called in the event of the user's click,
   * before any await.
   *
   * @param {number} windowId
   */
  openPanel(windowId) {
    chrome.sidePanel.open({ windowId }).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }

  /**
   * Opens the panel with a selection or a page. Like openPanel.
   *
   * @param {chrome.contextMenus.OnClickData} info
   * @param {chrome.tabs.Tab} [tab]
   */
  ask(info, tab) {
    if (!tab || tab.windowId === undefined) return;
    this.openPanel(tab.windowId);
    const text = [...(info.selectionText ?? '')].slice(0, MAX_TEXT >> 3).join('');
    const url = (info.frameUrl || info.pageUrl || tab.url || '').slice(0, MAX_URL);
    this.asks.set(tab.windowId, { ask: { text, url, title: tab.title ?? '' }, at: Date.now() });
    this.deliverAsks().catch(() => {});
  }

  /** Sends what the user asked about to the panels of its window, if they are open. */
  async deliverAsks() {
    for (const [windowId, { at }] of this.asks) if (Date.now() - at > ASK_TTL_MS) this.asks.delete(windowId);
    if (this.asks.size === 0) return;
    for (const panel of this.panels.values()) {
      const windowId = await this.windowOf(panel).catch(() => -1);
      const found = this.asks.get(windowId);
      if (!found) continue;
      this.asks.delete(windowId);
      this.post(panel, { type: 'ask', ask: found.ask });
    }
  }

  // The state of the panels.

  /**
   * Returns the window of a panel. What the panel reported is used only if the browser does not know
   * the window.
   *
   * @param {Panel} panel
   * @returns {Promise<number>}
   */
  async windowOf({ port: { sender }, windowId }) {
    if (sender?.tab?.id !== undefined) return (await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(sender.tab.id), 'finding the tab')).windowId;
    const [context] = sender?.documentId ? await withTimeout(SHORT_TIMEOUT_MS, chrome.runtime.getContexts({ documentIds: [sender.documentId] }), 'finding the panel') : [];
    if (context && context.windowId >= 0) return context.windowId;
    if (windowId < 0) throw new Error('the window of the panel is not known: close and open the panel');
    return windowId;
  }

  /**
   * Returns the tabs of the panel's window, and those of the chat that it shows in any window.
   * @param {Panel} panel
   */
  async tabsOf(panel) {
    const windowId = await this.windowOf(panel);
    const open = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs');
    const { tabs } = this.broker;
    const key = this.open.get(panel.chat)?.key ?? '';
    const isGiven = (/** @type {chrome.tabs.Tab} */ t) => {
      const shared = tabs.get(t.id ?? -1);
      return key !== '' && shared?.chat === true && shared.driver === key;
    };
    const here = open.filter((t) => t.windowId === windowId && t.id !== undefined && !isOwnPageURL(t.url ?? ''));
    const view = (/** @type {chrome.tabs.Tab} */ t) => this.view(t);
    const active = here.find((t) => t.active);
    return {
      current: active ? view(active) : null,
      all: here.map(view),
      others: here.filter((t) => !isGiven(t)).slice(0, MAX_TABS).map(view),
      given: open.filter(isGiven).map(view),
    };
  }

  /** @param {chrome.tabs.Tab} tab @returns {PanelTab} */
  view({ id = -1, title = '', url = '', incognito }) {
    const { broker } = this;
    const page = incognito ? 'incognito tabs cannot be shared' : broker.tabs.shareRefusal(url) ?? (siteOf(url) ? '' : 'an empty page has no site that a chat could use');
    return { tabId: id, title, url, obstacle: page || broker.drivers.giveRefusal(id) };
  }

  /** @param {Panel} panel @returns {Promise<PanelState>} */
  async stateOf(panel) {
    const { broker, host } = this;
    const key = this.open.get(panel.chat)?.key ?? '';
    const { current, others, given } = await this.tabsOf(panel).catch(() => ({ current: null, others: [], given: [] }));
    return { host: host.state, message: host.message, current, others, given, questions: key === '' ? 0 : broker.questionsOf(key) };
  }

  /** Sends its state to each panel, and again if it changes during that. */
  async update() {
    if (this.panels.size === 0) return;
    this.stale = true;
    if (this.sending) return;
    this.sending = true;
    try {
      await this.broker.ready;
      while (this.stale) {
        this.stale = false;
        for (const panel of [...this.panels.values()]) this.post(panel, { type: 'state', state: await this.stateOf(panel) });
      }
    } catch (e) {
      console.warn(`chrome-mcp: ${e instanceof Error ? e.message : e}`);
    } finally {
      this.sending = false;
    }
  }
}

/** Throws an error for the user if a tab no longer shows the site that the user saw. @param {PanelTab} tab */
async function requireSite({ tabId, url }) {
  const now = await getTab(tabId);
  if (siteKey(now.url ?? '') !== siteKey(url)) throw new Error(OTHER_SITE);
}

/** Returns the origin of a page, or "" if it has no site. @param {string} url */
function siteKey(url) {
  return siteOf(url) ? new URL(url).origin : '';
}

/** Reports whether a URL is one of the extension's pages. @param {string} url */
function isOwnPageURL(url) {
  return url.startsWith(chrome.runtime.getURL(''));
}
