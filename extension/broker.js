// @ts-check

import { Alarm } from './alarm.js';
import { Attachments } from './attachments.js';
import { badgeFor, BadgeView } from './badge.js';
import { ContextMenu } from './context_menu.js';
import { handle } from './commands.js';
import { sendEvent } from './connection.js';
import { Consent } from './consent.js';
import { detach } from './debugger.js';
import { Downloads } from './downloads.js';
import { Drivers } from './drivers.js';
import { Handovers } from './handovers.js';
import { Log } from './log.js';
import { NetworkScopes } from './network_scopes.js';
import { clearNotification, showNotification } from './notifications.js';
import { OpenedTabs } from './opened_tabs.js';
import { PermissionPrompts } from './permission_prompts.js';
import { PersistentValue } from './persistent_value.js';
import { decide, siteOf } from './policy.js';
import { Servers } from './servers.js';
import { SettingsStore } from './settings.js';
import { Tabs } from './tabs.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./attachment.js').Attachment} Attachment */
/** @typedef {import('./command_error.js').CommandError} CommandError */

/** The maximum number of CDP clients of a server that are shown. */
const MAX_CLIENTS = 100;

/** Connects the parts of the extension, and handles what concerns more than one of them. */
export class Broker {
  constructor() {
    const { session, local } = chrome.storage;
    this.log = new Log(local);
    this.settings = new SettingsStore(local);
    this.consent = new Consent(session, local, () => this.changed());
    this.permissionPrompts = new PermissionPrompts(() => this.changed());
    this.handovers = new Handovers(() => this.changed(), {
      opened: showNotification,
      closed: (q) => {
        clearNotification(q);
        void this.tabs.handoverEnded(q.tabId);
      },
    });
    this.badge = new BadgeView();
    this.alarm = new Alarm();
    this.contextMenu = new ContextMenu();
    /** Called after every change. @type {(() => void)[]} */
    this.observers = [];
    /** Called when the tabs of a chat were released, with the key of its server. @type {(key: string) => void} */
    this.onChatReleased = () => {};
    /** Whether changed has been called in this task. */
    this.updating = false;
    /**
     * The name of the last server that disconnected because of chrome-mcp stop, "" after one
     * connected.
     * @type {PersistentValue<string>}
     */
    this.stopped = new PersistentValue(session, 'stopped', '');

    this.tabs = new Tabs(session, () => this.settings.value, {
      added: (tab) => {
        if (tab.how === 'popup') this.scopes.update().catch(() => this.tabs.unshare(tab.tabId, 'released'));
      },
      shared: (tab) => {
        this.log.add({ what: 'shared a tab', tabId: tab.tabId, host: tab.host, detail: tab.how });
        this.drivers.tabShared(tab);
        this.changed();
        void this.servers.refresh();
      },
      unshared: (tab, reason) => {
        const observers = this.drivers.observersOf(tab);
        this.attachments.release(tab.tabId).catch(() => {});
        this.detachUnshared();
        for (const c of observers) sendEvent(c, 'tab_unshared', { tabId: tab.tabId, reason });
        this.attachErrors.delete(tab.tabId);
        this.handovers.tabUnshared(tab.tabId);
        this.log.add({ what: 'stopped sharing a tab', tabId: tab.tabId, host: tab.host, detail: reason });
        this.changed();
      },
      updated: (tab, now) => {
        this.drivers.tabUpdated(tab, now);
        this.changed();
      },
      working: (tabId) => {
        const a = this.attachments.get(tabId);
        return a?.started === true && Date.now() - a.lastUsed < timing.patience.activity;
      },
      handedOver: (tabId) => this.handovers.hasTab(tabId),
    });

    this.attachments = new Attachments({
      installRules: (a) => this.scopes.update(a),
      detached: (a, reason) => void this.onDetached(a, reason),
      canceled: (tabId) => {
        this.tabs.unshare(tabId, 'debugger');
        this.scopes.update().catch(() => {});
      },
      acting: (a, what, url) => {
        const client = this.nameOfClient(a.connection, a.lastActivity?.client ?? '');
        this.log.add({ what, server: client || this.servers.nameOf(a.connection.key), tabId: a.tabId, host: siteOf(url)?.host });
        this.changed();
      },
      askEval: (a, origin, client) => {
        this.consent.ask(origin, this.agentOf(a), '', this.nameOfClient(a.connection, client));
      },
      evalAnswer: (a, origin) => this.consent.mayRun(origin, this.agentOf(a)),
      scriptOrigins: (a, origin) => {
        const { name } = this.agentOf(a);
        const granted = this.consent.list().filter((c) => c.server === name).map((c) => c.origin);
        return [...new Set([origin, ...granted])].filter((o) => o !== '' && this.consent.storedAnswer(o, name) === true);
      },
      download: (a, url) => {
        // Otherwise the server does not receive the event.
        if (a.isOfThisConnection && a.connection.state === 'connected') this.downloads.begin(a.tabId, a.connection.key, url);
      },
      topDocumentChanged: (a) => {
        if (a.rules.unsafeAll) void this.scopes.updateOrRelease(); // the policy does not list its site, so the rules must
      },
    });

    this.downloads = new Downloads(session, (server, download) => {
      const c = this.servers.connected().find((o) => o.key === server);
      if (c) sendEvent(c, 'download', download);
    });

    this.servers = new Servers(session, local, {
      changed: (c) => this.connectionChanged(c),
      command: (c, command) => handle(this, c, command),
      policy: (c) => this.scopes.applyPolicy(c),
      searched: () => this.changed(),
      gone: (c) => {
        if (c.isChat) this.releaseChat(c.key);
        this.permissionPrompts.forget(c.key);
        this.handovers.forget(c.key);
        this.consent.forget(c.key);
        if (this.servers.host.state === 'ok') this.drivers.serverExited(c.key); // the native host would list it if it were running
        this.changed();
      },
    });

    this.drivers = new Drivers(this.tabs, this.servers, this.attachments, () => this.changed());
    this.scopes = new NetworkScopes(this.tabs, this.servers, this.attachments, () => this.settings.value.blockList, () => this.openedTabs.all());
    this.openedTabs = new OpenedTabs(this.tabs, this.servers, this.attachments, this.drivers, this.scopes, this.downloads);

    /** Resolves when the stored values were read. All work waits for it. */
    this.ready = Promise.all([this.settings.ready, this.consent.ready, this.tabs.ready, this.servers.ready, this.stopped.ready, this.downloads.ready]).then(async () => {
      await this.recordAttached().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      await this.tabs.reconcile().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      this.tabs.expire();
      this.releaseChats();
      this.watchIdle();
      this.changed();
      void this.servers.refresh();
    });
  }

  /**
   * Tabs to which the previous worker, or another debugger, was attached. The browser stays attached
   * to shared ones until the server is back.
   * @type {Set<number>}
   */
  attachedBefore = new Set();

  /** When this worker started, in ms since 1970. */
  startedAt = Date.now();

  /** Sets attachedBefore. */
  async recordAttached() {
    const targets = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
    for (const t of targets) {
      if (t.attached && t.tabId !== undefined) this.attachedBefore.add(t.tabId);
    }
  }

  /** Detaches the debugger of the previous worker from tabs that are no longer shared. */
  detachUnshared() {
    for (const tabId of this.attachedBefore) {
      if (!this.tabs.get(tabId) && this.attachedBefore.delete(tabId)) void detach(tabId);
    }
  }

  /** The last error of attaching the debugger, by tab. @type {Map<number, CommandError>} */
  attachErrors = new Map();

  // Chats.

  /** Unshares the tabs of a chat, which no other server may see. @param {string} key of its server */
  releaseChat(key) {
    for (const tab of this.tabs.list()) if (tab.chat && tab.driver === key) this.tabs.unshare(tab.tabId, 'released');
    this.onChatReleased(key);
  }

  /** Unshares the tabs of all chats: they end with the worker, which has their port. */
  releaseChats() {
    for (const { tabId, chat } of this.tabs.list()) if (chat) this.tabs.unshare(tabId, 'released');
    this.detachUnshared();
  }

  // CDP clients.

  /** Returns the name of a CDP client, or "" if the server has no such client. @param {Connection} c @param {string} id */
  nameOfClient(c, id) {
    return c.clients.find((client) => client.id === id)?.name ?? '';
  }

  /**
   * Shows the CDP clients of a server.
   * @param {Connection} c
   * @param {unknown[]} clients
   */
  clientsChanged(c, clients) {
    c.clients = clients.slice(0, MAX_CLIENTS).map((x) => {
      const { id, name } = /** @type {any} */ (x);
      return { id: String(id).slice(0, 100), name: String(name).slice(0, 100) };
    });
    this.changed();
    return {};
  }

  /**
   * Disconnects a CDP client, for the user.
   * @param {string} key of its server
   * @param {string} id
   */
  stopClient(key, id) {
    const c = this.servers.connected().find((o) => o.key === key);
    if (!c) return;
    this.log.add({ what: 'stopped a client', server: this.nameOfClient(c, id) });
    sendEvent(c, 'client_stopped', { client: id });
  }

  /** Returns the agent for prompts about scripts. @param {Attachment} a */
  agentOf({ connection: { key } }) {
    return { key, name: this.servers.nameOf(key) };
  }

  // Events from the browser, the servers and the user.

  /** Called when a connection was established, has ended or failed. @param {Connection} c */
  connectionChanged(c) {
    const { key } = c;
    if (c.state === 'connected') {
      this.drivers.onConnected(key);
      this.scopes.ownPortsChanged(c);
      this.downloads.onConnected(key);
      this.setStoppedServer('');
      this.log.add({ what: 'connected', server: this.servers.nameOf(key) });
      for (const a of this.attachments.allOf(c)) this.detachAfterGrace(a);
    } else if (c.state !== 'connecting' && this.drivers.isOnline(key)) {
      this.drivers.onDisconnected(key);
      this.permissionPrompts.abandon(key);
      this.handovers.abandon(key);
      this.consent.abandon(key);
      if (c.reason === 'stopped') {
        this.setStoppedServer(this.servers.nameOf(key));
        if (c.isChat) this.releaseChat(key);
      }
      this.log.add({ what: 'disconnected', server: this.servers.nameOf(key), detail: c.reason });
      for (const a of this.attachments.allOf(c)) this.detachAfterGrace(a);
    }
    this.changed();
  }

  /** @param {string} name the name of the server that was stopped, or "" */
  setStoppedServer(name) {
    if (this.stopped.value === name) return;
    this.stopped.value = name;
    this.stopped.saveSoon();
  }

  /** Releases a tab unless the server attaches to it again soon. @param {Attachment} a */
  detachAfterGrace(a) {
    setTimeout(() => {
      if (a.released || a.generation === a.connection.generation) return;
      this.attachments.release(a.tabId).catch(() => {});
      this.changed();
    }, timing.patience.reconnect);
  }

  /** Returns the open prompts. */
  questions() {
    return [...this.handovers.open(), ...this.consent.open(), ...this.permissionPrompts.open()];
  }

  /** Returns the number of open prompts of a server. @param {string} key */
  questionsOf(key) {
    return this.handovers.countOf(key) + this.consent.countOf(key) + this.permissionPrompts.countOf(key);
  }

  /** Called when the browser detached the debugger. @param {Attachment} a @param {string} reason reported by the browser */
  async onDetached(a, reason) {
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(a.tabId), 'finding the tab').catch(() => null);
    if (!tab) return; // closed, which the browser also reports
    const why = reason === 'target_closed' ? this.tabs.shareRefusal(tab.pendingUrl || tab.url || '') : null;
    if (this.tabs.get(a.tabId)) sendEvent(a.connection, 'detached', { tabId: a.tabId, reason: why ?? reason });
    this.drivers.clearDriver(a.tabId);
    this.changed();
  }

  /** Called when the user changed the settings. */
  async settingsChanged() {
    const { access } = this.settings.value;
    for (const tab of this.tabs.list()) {
      const now = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tab.tabId), 'finding the tab').catch(() => null);
      if ((tab.how === 'all' && access !== 'all') || (now && tab.openedBy === '' && this.tabs.blocked(now.url ?? ''))) {
        this.tabs.unshare(tab.tabId, 'user');
      }
    }
    this.watchIdle();
    for (const c of this.servers.connected()) await this.scopes.policyChanged(c);
    await this.tabs.autoShareAll();
  }

  /** Shares or unshares a tab, for the keyboard shortcut. @param {number} tabId */
  async toggle(tabId) {
    if (this.tabs.get(tabId)) this.tabs.unshare(tabId, 'user');
    else await this.tabs.share(tabId, 'user');
  }

  /** Unshares all tabs, for the user. */
  stopAll() {
    this.tabs.unshareAll('stopped');
    for (const c of this.servers.connected()) sendEvent(c, 'stopped', {});
    this.log.add({ what: 'stopped all' });
  }

  /** Called by the expiry alarm. */
  expire() {
    this.alarm.expiry = Infinity;
    this.tabs.expire();
    this.changed();
  }

  /**
   * Reports to the agents of a shared tab that the user chose "Send to agent". The page script knows
   * the element. Nothing is reported about a frame that the agent may not use.
   *
   * @param {chrome.contextMenus.OnClickData} info
   * @param {chrome.tabs.Tab} [clicked]
   */
  async sendElement({ frameId = 0 }, clicked) {
    this.tabs.expire();
    const shared = this.tabs.get(clicked?.id ?? -1);
    if (!shared || !clicked) return;
    let url = clicked.url ?? '';
    if (frameId !== 0) {
      const frame = await withTimeout(SHORT_TIMEOUT_MS, chrome.webNavigation.getFrame({ tabId: shared.tabId, frameId }), 'finding the frame').catch(() => null);
      if (!frame || this.tabs.get(shared.tabId) !== shared) return;
      url = frame.url;
    }
    for (const c of this.drivers.observersOf(shared)) {
      // A blank frame has the origin of another document, which the server knows.
      if (siteOf(url) && decide(this.scopes.policyFor(c), url) !== null) continue;
      sendEvent(c, 'element_sent', { tabId: shared.tabId, ...(frameId === 0 ? {} : { frame: url }) });
      this.log.add({ what: 'sent an element', server: this.servers.nameOf(c.key), tabId: shared.tabId, host: siteOf(url)?.host });
    }
  }

  /** Sets when the browser reports that the machine is idle. */
  watchIdle() {
    chrome.idle.setDetectionInterval(this.settings.value.shareIdleMinutes * 60);
  }

  /** Does the periodic work of the alarm. */
  async tick() {
    await this.ready;
    this.tabs.expire(); // the expiry alarm is late if the clock was set back
    this.downloads.reportRunning().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
    const idle = this.settings.value.idleMinutes * 60_000;
    for (const a of this.attachments.all()) {
      if (a.started && !a.released && idle > 0 && Date.now() - a.lastUsed > idle && !this.handovers.hasTab(a.tabId)) {
        await this.attachments.release(a.tabId);
        sendEvent(a.connection, 'detached', { tabId: a.tabId, reason: 'idle' });
        this.log.add({ what: 'detached from an idle tab', tabId: a.tabId });
        this.drivers.clearDriver(a.tabId);
      }
    }
    if (Date.now() - this.startedAt > timing.patience.reconnect) {
      for (const tabId of this.attachedBefore) {
        if (!this.attachments.get(tabId)) await detach(tabId);
      }
      if (this.attachedBefore.size > 0 || this.attachments.all().length === 0) await this.scopes.update().catch(() => {});
      this.attachedBefore.clear();
    }
    this.drivers.clearLostDrivers();
    await this.servers.renew();
  }

  /** Updates the pages and the badge, once for all changes of one task. */
  changed() {
    if (this.updating) return;
    this.updating = true;
    queueMicrotask(() => {
      this.updating = false;
      const now = this.badgeState();
      this.badge.show(badgeFor(now));
      this.alarm.setActive(now.shared + now.own > 0 || now.connected > 0);
      this.alarm.setExpiry(this.tabs.nextExpiry());
      this.contextMenu.update((tabId) => this.tabs.get(tabId) !== undefined).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      for (const observer of this.observers) observer();
    });
  }

  /** @returns {import('./badge.js').BadgeState} */
  badgeState() {
    const list = this.servers.list();
    const connected = this.servers.connected().length;
    const tabs = this.tabs.list();
    const own = tabs.filter((t) => t.openedBy !== '').length;
    return {
      asking: this.questions().length > 0,
      handedOver: this.handovers.questions.size > 0,
      pairable: this.servers.host.state === 'ok' || this.servers.host.state === 'unknown' || this.servers.pairings.value.length > 0,
      shared: tabs.length - own,
      own,
      connected,
      connecting: list.filter((c) => c.state === 'connecting' || c.state === 'waiting').length,
      error: connected > 0 ? '' : list.find((c) => c.state === 'refused')?.message ?? (this.servers.host.state === 'error' ? this.servers.host.message : ''),
    };
  }
}
