// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { decide, originOf, siteOf } from './policy.js';
import { badgeFor } from './badge.js';
import { SHARED_UNTIL, showTab } from './tabs.js';

// The messages between the worker and the popup or options page. A page connects a runtime
// port named PORT_NAME. The worker sends {type:'state', state} immediately and after
// every change, and answers {type:'action', id, action, …} with
// {type:'done', id, result?, error?}. No one else can connect: ports of pages that do not
// belong to the extension are closed.

/** @typedef {import('./broker.js').Broker} Broker */

/** The name of the port. */
export const PORT_NAME = 'chrome-mcp-page';

/**
 * A server as the pages show it. Its key names the process.
 *
 * @typedef {object} ServerView
 * @property {string} key
 * @property {string} name
 * @property {string} version
 * @property {number} port
 * @property {'waiting' | 'connecting' | 'connected' | 'refused'} state
 * @property {string} message why it is not connected, as text; "" if there is no error
 * @property {number} since when it connected, in ms since 1970; 0 if it is not connected
 * @property {number[]} drives ids of the tabs that it drives
 * @property {{allow: string[], unsafeAll: boolean} | null} policy the sites that it may visit
 * @property {import('./wire.js').CDPClient[]} clients its CDP clients
 * @property {boolean} isChat whether it is the server of a chat
 */

/**
 * A shared tab.
 *
 * @typedef {object} TabView
 * @property {number} tabId
 * @property {string} title
 * @property {string} url
 * @property {string} origin "" if there is none
 * @property {boolean} active whether it is the active tab of its window
 * @property {boolean} own whether an agent opened it
 * @property {'user' | 'group' | 'site' | 'all' | 'own' | 'popup'} how why it is shared
 * @property {import('./tabs.js').SharedUntil} until what ends its sharing
 * @property {number} expires when its sharing ends unless a call renews it, in ms since 1970; 0
 *   unless until is 'time'
 * @property {string} driver key of the server that drives it, "" if none does
 * @property {boolean} driverLost whether the driver is not connected
 * @property {boolean} chat whether it belongs to a chat
 * @property {boolean} attached whether the debugger is attached
 * @property {{what: string, at: number, client: string} | null} doing the last activity in
 *   it; client is the name of the CDP client, "" for tools
 * @property {boolean} keep whether its site is shared automatically
 * @property {string} problem why no agent can act in it now, as text; "" if one can
 */

/**
 * The active tab of the last focused window.
 *
 * @typedef {object} CurrentView
 * @property {number} tabId
 * @property {string} title
 * @property {string} url
 * @property {string} origin
 * @property {boolean} shared
 * @property {boolean} own whether an agent opened it
 * @property {import('./tabs.js').SharedUntil} until what ends its sharing, if it is shared
 * @property {string} obstacle why it cannot be shared, as text; "" if it can be
 * @property {boolean} keep
 */

/**
 * Everything that the pages show.
 *
 * @typedef {object} State
 * @property {string} version of the extension
 * @property {string} instance
 * @property {import('./badge.js').Badge} badge
 * @property {{state: import('./native_host.js').NativeState, message: string}} native the native
 *   messaging host
 * @property {{id: string, name: string, port: number, added: number}[]} pairings
 * @property {ServerView[]} servers
 * @property {TabView[]} tabs
 * @property {CurrentView | null} current
 * @property {(import('./consent.js').ConsentPrompt | import('./permission_prompts.js').PermissionPrompt | import('./handovers.js').HandoverQuestion)[]} questions
 * @property {{origin: string, server: string, granted: boolean, always: boolean}[]} consents
 * @property {import('./settings.js').Settings} settings
 * @property {string} stopped the name of the last server that chrome-mcp stop disconnected; "" if
 *   none, or after one connected
 * @property {{reason: string, at: number} | null} ended why sharing last ended, while no tab is
 *   shared
 */

/**
 * The actions that a page can request, with their arguments:
 *
 * share {tabId, until?} (a SharedUntil) · sharedUntil {tabId, until} · unshare {tabId} · stopAll {}
 * · keep {origin, on} · drive {tabId, server} (a server's key, or "" for the first to act) ·
 * stopClient {server, client} · show {tabId} · answer {question, answer: once, session, always or
 * no} · handover {question, answer: done or cannot} · forget {origin, server?} · pair {text} ·
 * unpair {pairing} · settings {patch} · retry {} · log {} (returns the list of entries, newest
 * last)
 *
 * @typedef {'share' | 'sharedUntil' | 'unshare' | 'stopAll' | 'keep' | 'drive' | 'stopClient' | 'show' | 'answer' | 'handover' | 'forget' | 'pair' | 'unpair' | 'settings' | 'retry' | 'log'} Action
 */

/** @type {import('./consent.js').Answer[]} */
const ANSWERS = ['once', 'session', 'always', 'no'];

/** @param {any} m @returns {import('./tabs.js').SharedUntil} */
function untilOf(m) {
  const until = SHARED_UNTIL.find((u) => u === (m.until ?? 'stopped'));
  if (!until) throw new Error('until must be stopped, time or idle');
  return until;
}

/** What was granted, for the log. */
const KIND_LABELS = { site: 'a site', mutations: 'acting', downloads: 'downloads', clipboard: 'the clipboard' };

/** @type {Record<Action, (b: Broker, m: any) => unknown>} */
const ACTIONS = {
  share: async (b, m) => {
    await b.tabs.share(m.tabId, 'user', { until: untilOf(m) });
  },
  sharedUntil: (b, m) => b.tabs.setSharedUntil(m.tabId, untilOf(m)),
  unshare: (b, m) => b.tabs.unshare(m.tabId, 'user'),
  stopAll: (b) => b.stopAll(),
  keep: async (b, m) => {
    const sites = b.settings.value.keepSites.filter((s) => s !== m.origin);
    await b.settings.change({ keepSites: m.on ? [...sites, m.origin] : sites });
    if (m.on) await b.settingsChanged();
  },
  drive: (b, m) => b.drivers.choose(m.tabId, String(m.server)),
  stopClient: (b, m) => b.stopClient(String(m.server), String(m.client)),
  show: (_, m) => showTab(m.tabId),
  answer: async (b, m) => {
    const answer = ANSWERS.find((a) => a === m.answer);
    if (!answer) throw new Error('the answer is once, session, always or no');
    const q = await b.consent.reply(String(m.question), answer);
    const p = answer === 'always' ? undefined : b.permissionPrompts.reply(String(m.question), answer);
    if (p) b.log.add({ what: `${answer === 'no' ? 'denied' : 'allowed'} ${KIND_LABELS[p.kind]}`, server: p.server, host: siteOf(p.origin)?.host, detail: answer });
    if (q) b.log.add({ what: answer === 'no' ? 'denied scripts' : 'allowed scripts', server: q.client || q.server, host: siteOf(q.origin)?.host, detail: answer });
  },
  handover: (b, m) => {
    const q = b.handovers.reply(String(m.question), String(m.answer));
    if (q) b.log.add({ what: 'answered an agent', server: q.server, tabId: q.tabId, host: siteOf(q.origin)?.host, detail: m.answer });
  },
  forget: (b, m) => b.consent.revoke(String(m.origin), m.server === undefined ? undefined : String(m.server)),
  pair: async (b, m) => {
    await b.servers.pair(String(m.text));
    b.log.add({ what: 'paired with a server' });
  },
  unpair: async (b, m) => {
    await b.servers.unpair(String(m.pairing));
    b.log.add({ what: 'revoked a key' });
  },
  settings: async (b, m) => {
    await b.settings.change(m.patch);
    await b.settingsChanged();
  },
  retry: (b) => void b.servers.refresh(true),
  log: (b) => b.log.list(),
};

/** Reports whether a message is from a page of the extension. @param {chrome.runtime.MessageSender} [sender] */
export function isOwnPage(sender) {
  return sender?.id === chrome.runtime.id && sender.url?.startsWith(chrome.runtime.getURL('')) === true;
}

/** Serves the extension's pages. */
export class Pages {
  /** @param {Broker} broker */
  constructor(broker) {
    this.broker = broker;
    /** @type {Set<chrome.runtime.Port>} */
    this.ports = new Set();
    this.sending = false;
    this.stale = false;
    broker.observers.push(() => this.update());
  }

  /** @param {chrome.runtime.Port} port */
  onConnect(port) {
    if (port.name !== PORT_NAME || !isOwnPage(port.sender)) {
      port.disconnect();
      return;
    }
    this.ports.add(port);
    port.onDisconnect.addListener(() => this.ports.delete(port));
    port.onMessage.addListener((message) => void this.act(port, message));
    this.update();
    this.broker.ready.then(() => this.broker.servers.refresh(true)).catch(() => {}); // an opened page shows the current state
  }

  /** @param {chrome.runtime.Port} port @param {any} message */
  async act(port, message) {
    if (message?.type !== 'action' || !Object.hasOwn(ACTIONS, message.action)) return;
    /** @type {Record<string, unknown>} */
    const done = { type: 'done', id: message.id };
    try {
      await this.broker.ready;
      done.result = await ACTIONS[/** @type {Action} */ (message.action)](this.broker, message);
    } catch (e) {
      done.error = e instanceof Error ? e.message : String(e);
    }
    this.broker.changed();
    if (this.ports.has(port)) port.postMessage(done);
  }

  /** Sends the state to all pages, and again if it changes during that. */
  async update() {
    if (this.ports.size === 0) return;
    this.stale = true;
    if (this.sending) return;
    this.sending = true;
    try {
      await Promise.all([this.broker.ready, this.broker.log.ready]);
      while (this.stale) {
        this.stale = false;
        const state = await currentState(this.broker);
        for (const port of this.ports) port.postMessage({ type: 'state', state });
      }
    } catch (e) {
      console.warn(`chrome-mcp: ${e instanceof Error ? e.message : e}`);
    } finally {
      this.sending = false;
    }
  }
}

/**
 * @param {Broker} b
 * @returns {Promise<State>}
 */
async function currentState(b) {
  const open = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs');
  const front = (await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({ active: true, lastFocusedWindow: true }), 'finding the active tab'))[0];
  const settings = b.settings.value;
  const byId = new Map(open.map((t) => [t.id, t]));
  return {
    version: chrome.runtime.getManifest().version,
    instance: b.servers.instance.value,
    badge: badgeFor(b.badgeState()),
    native: { state: b.servers.host.state, message: b.servers.host.message },
    pairings: b.servers.pairings.value.map(({ id, name, port, added }) => ({ id, name, port, added })),
    servers: b.servers.list().map((c) => ({
      key: c.key, name: c.server?.name ?? 'an agent', version: c.server?.version ?? '', port: c.port, state: c.state, message: c.message,
      since: c.state === 'connected' ? c.connectedAt : 0,
      drives: b.tabs.list().filter((t) => t.driver === c.key).map((t) => t.tabId),
      policy: c.policy ? { allow: c.policy.allow ?? [], unsafeAll: c.policy.unsafeAll === true } : null,
      clients: c.clients, isChat: c.isChat,
    })),
    tabs: b.tabs.list().flatMap((t) => {
      const tab = byId.get(t.tabId);
      if (!tab) return [];
      const origin = siteOf(tab.url ?? '') ? originOf(tab.url ?? '') : '';
      const attachment = b.attachments.get(t.tabId);
      const driverLost = t.driver !== '' && !b.servers.connected().some((c) => c.key === t.driver);
      return [{
        tabId: t.tabId, title: tab.title ?? '', url: tab.url ?? '', origin, active: tab.active, own: t.openedBy !== '', how: t.how, until: t.until, expires: t.expires,
        driver: t.driver, driverLost, chat: t.chat === true, attached: attachment?.started === true, doing: driverLost ? null : doingOf(b, attachment), keep: settings.keepSites.includes(origin),
        problem: problemOf(b, t, tab.url ?? ''),
      }];
    }),
    current: front?.id === undefined ? null : {
      tabId: front.id, title: front.title ?? '', url: front.url ?? '', origin: siteOf(front.url ?? '') ? originOf(front.url ?? '') : '',
      shared: b.tabs.get(front.id) !== undefined, own: (b.tabs.get(front.id)?.openedBy ?? '') !== '', until: b.tabs.get(front.id)?.until ?? 'stopped', obstacle: b.tabs.shareRefusal(front.url ?? '') ?? '',
      keep: settings.keepSites.includes(originOf(front.url ?? '')),
    },
    questions: b.questions(),
    consents: b.consent.list(),
    settings,
    stopped: b.stopped.value,
    ended: lastEndReason(b),
  };
}

/**
 * Returns the last activity in a tab.
 *
 * @param {Broker} b
 * @param {import('./attachment.js').Attachment} [a]
 */
function doingOf(b, a) {
  return a?.lastActivity ? { ...a.lastActivity, client: b.nameOfClient(a.connection, a.lastActivity.client) } : null;
}

/**
 * Returns why no agent can act in a tab: because of its page, because another debugger is
 * attached, or because the policies do not allow its site. It returns "" if one can.
 *
 * @param {Broker} b
 * @param {import('./tabs.js').Shared} shared
 * @param {string} url
 */
function problemOf(b, shared, url) {
  const obstacle = b.tabs.shareRefusal(url);
  if (obstacle) return obstacle;
  const failed = b.attachErrors.get(shared.tabId);
  if (failed) return failed.code === 'DEVTOOLS_OPEN' ? 'the developer tools or another extension debug this tab: close them' : failed.message;
  const agents = b.drivers.observersOf(shared);
  const whys = agents.map((c) => {
    try {
      return decide(b.scopes.policyFor(c), url);
    } catch (e) {
      return e instanceof Error ? e.message : String(e);
    }
  });
  return agents.length > 0 && whys.every((why) => why !== null) ? `not allowed for ${b.servers.nameOf(agents[0].key)}: ${whys[0]}` : '';
}

/** @param {Broker} b */
function lastEndReason(b) {
  if (b.tabs.list().length > 0) return null;
  const last = b.log.list().findLast((e) => e.what === 'stopped sharing a tab');
  return last ? { reason: last.detail ?? '', at: last.at } : null;
}
