// @ts-check

import { Alarm } from './alarm.js';
import { badgeFor, BadgeView } from './badge.js';
import { ContextMenu } from './context_menu.js';
import { handle } from './commands.js';
import { CommandError } from './command_error.js';
import { Consent } from './consent.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { Relay } from './relay.js';
import { Downloads } from './downloads.js';
import { Handovers } from './handovers.js';
import { Hosts } from './hosts.js';
import { Log } from './log.js';
import { NetworkRules } from './network_rules.js';
import { NewTabs } from './newtabs.js';
import { RecentTabs } from './recent_tabs.js';
import { clearNotification, showNotification } from './notifications.js';
import { PermissionPrompts } from './permission_prompts.js';
import { compile, decide, siteOf } from './policy.js';
import { Servers } from './servers.js';
import { SettingsStore } from './settings.js';
import { PersistentValue } from './persistent_value.js';
import { Tabs, targetOf } from './tabs.js';
import { timing } from './timing.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./relay.js').Attachment} Attachment */
/** @typedef {import('./tabs.js').Shared} Shared */
/** @typedef {import('./wire.js').EventName} EventName */
/** @typedef {import('./policy.js').Rules} Rules */

/** The maximum number of CDP clients of a server that are shown. */
const MAX_CLIENTS = 100;

/**
 * Connects the parts of the extension: which server drives which tab, and which events it receives.
 */
export class Broker {
  constructor() {
    const { session, local } = chrome.storage;
    this.log = new Log(local);
    this.settings = new SettingsStore(local);
    this.consent = new Consent(session, local, () => this.changed());
    this.permissionPrompts = new PermissionPrompts(() => this.changed());
    this.handovers = new Handovers(() => this.changed(), { opened: showNotification, closed: clearNotification });
    this.badge = new BadgeView();
    this.alarm = new Alarm();
    this.contextMenu = new ContextMenu();
    /** Called after every change. @type {(() => void)[]} */
    this.observers = [];
    /** Called when a server is gone. @type {(key: string) => void} */
    this.onGone = () => {};
    this.announced = false;
    /**
     * The name of the last server that disconnected because of chrome-mcp stop, "" after one
     * connected.
     * @type {PersistentValue<string>}
     */
    this.stopped = new PersistentValue(session, 'stopped', '');

    this.tabs = new Tabs(session, () => this.settings.value, {
      added: (tab) => {
        if (tab.how === 'popup') this.network.update().catch(() => this.tabs.unshare(tab.tabId, 'released'));
      },
      shared: (tab) => {
        this.log.add({ what: 'shared a tab', tabId: tab.tabId, host: tab.host, detail: tab.how });
        const sent = this.sendTabEvent('tab_shared', tab).finally(() => this.sharedEvents.delete(tab.tabId));
        this.sharedEvents.set(tab.tabId, sent);
        this.changed();
        void this.servers.refresh();
      },
      unshared: (tab, reason) => {
        const observers = this.servers.connected().filter((c) => this.visible(tab, c));
        this.relay.release(tab.tabId).catch(() => {});
        for (const c of observers) this.sendEvent(c, 'tab_unshared', { tabId: tab.tabId, reason });
        this.problems.delete(tab.tabId);
        this.handovers.tabUnshared(tab.tabId);
        this.log.add({ what: 'stopped sharing a tab', tabId: tab.tabId, host: tab.host, detail: reason });
        this.changed();
      },
      updated: (tab, now) => {
        for (const c of this.servers.connected()) {
          if (this.visible(tab, c)) this.sendEvent(c, 'tab_updated', this.tabs.describe(tab, now, c.key));
        }
        this.changed();
      },
      working: (tabId) => {
        const a = this.relay.attachments.get(tabId);
        return a?.live === true && Date.now() - a.used < timing.patience.activity;
      },
      handedOver: (tabId) => this.handovers.hasTab(tabId),
    });

    this.newTabs = new NewTabs(() => void this.updateRules());
    this.hosts = new Hosts();
    this.recentTabs = new RecentTabs();
    this.network = new NetworkRules(() => this.networkScopes(), async () => {
      const tabs = await this.allTabs();
      this.recentTabs.update(tabs);
      return tabs;
    }, this.newTabs);

    this.relay = new Relay({
      protect: async (a) => {
        if (a) await this.addHosts(a);
        await this.network.update();
      },
      detached: (a, reason) => void this.onDetached(a, reason),
      canceled: (tabId) => {
        this.tabs.unshare(tabId, 'debugger');
        this.network.update().catch(() => {});
      },
      doing: (a, what, url) => {
        const client = this.nameOfClient(a.connection, a.doing?.client ?? '');
        this.log.add({ what, server: client || this.nameOf(a.connection.key), tabId: a.tabId, host: siteOf(url)?.host });
        this.changed();
      },
      askEval: (a, origin, client) => {
        this.consent.ask(origin, this.agentOf(a), '', this.nameOfClient(a.connection, client));
      },
      evalAnswer: (a, origin) => this.consent.answer(origin, this.agentOf(a)),
      scriptOrigins: (a, origin) => {
        const { name } = this.agentOf(a);
        const granted = this.consent.list().filter((c) => c.server === name).map((c) => c.origin);
        return [...new Set([origin, ...granted])].filter((o) => o !== '' && this.consent.kept(o, name) === true);
      },
      download: (a, url) => this.downloads.begin(a.tabId, url),
      frameNavigated: (a) => {
        if (a.rules.unsafeAll) void this.updateRules(); // its sites are not in the policy
      },
    });

    this.downloads = new Downloads((tabId, download) => {
      const a = this.relay.attachments.get(tabId);
      if (a?.live) this.sendEvent(a.connection, 'download', download);
    });

    this.servers = new Servers(session, local, {
      changed: (c) => this.connectionChanged(c),
      command: (c, command) => handle(this, c, command),
      policy: (c) => this.applyPolicy(c),
      searched: () => this.changed(),
      gone: (c) => {
        if (c.given) this.releaseChat(c.key);
        this.permissionPrompts.forget(c.key);
        this.handovers.forget(c.key);
        if (this.servers.host.state === 'ok') {
          this.exited.add(c.key); // the native host would list it if it were running
          this.detachUnowned();
        }
        this.changed();
      },
    });

    /** Resolves when the stored values were read. All work waits for it. */
    this.ready = Promise.all([this.settings.ready, this.consent.ready, this.tabs.ready, this.servers.ready, this.stopped.ready]).then(async () => {
      await this.tabs.reconcile().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      await this.attachPersisted().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      this.releaseChats();
      this.tabs.expire();
      this.watchIdle();
      this.changed();
      void this.servers.refresh();
    });
  }

  /**
   * Tabs to which the previous worker was attached. The browser stays attached until the server is
   * back.
   * @type {Set<number>}
   */
  attachedBefore = new Set();
  startedAt = Date.now();

  async attachPersisted() {
    const targets = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
    for (const t of targets) {
      if (t.attached && t.tabId !== undefined && this.tabs.get(t.tabId)) this.attachedBefore.add(t.tabId);
    }
  }

  /** Tabs whose tab_shared event is being sent. @type {Map<number, Promise<void>>} */
  sharedEvents = new Map();

  /** The last error of attaching the debugger, by tab. @type {Map<number, CommandError>} */
  problems = new Map();

  // Drivers.

  /** Reports whether a server may see a tab. @param {Shared} tab @param {Connection} c */
  visible(tab, c) {
    if (tab.own !== '' && tab.own !== c.key) return false;
    if (tab.chat || c.given) return tab.driver === c.key;
    return tab.driver === '' || tab.driver === c.key || !this.isRecentlyConnected(tab.driver);
  }

  /**
   * Returns the number of the user's shared tabs that other servers drive. Chats are not counted, and
   * learn nothing of other tabs.
   * @param {Connection} c
   */
  tabsOfOtherServers(c) {
    if (c.given) return 0;
    return this.tabs.list().filter((tab) => tab.own === '' && !tab.chat && !this.visible(tab, c)).length;
  }

  /**
   * Gives a tab to the server of a chat, and to no other. It throws a CommandError with a message for
   * the user if the tab cannot be given.
   *
   * @param {number} tabId
   * @param {Connection} c
   * @param {number} ends the value of tabs.ends when the user acted
   */
  async give(tabId, c, ends) {
    if (!c.given) throw new CommandError('INTERNAL', 'the server of the chat is not limited to its tabs: update chrome-mcp');
    const known = this.tabs.get(tabId);
    if (known?.chat && known.driver === c.key) return;
    const why = this.giveRefusal(tabId, c.key);
    if (why) throw new CommandError('POLICY_DENIED', why);
    if (known) this.tabs.unshare(tabId, 'other_server');
    this.tabs.titles.set(c.key, c.server?.name ?? '');
    const given = await this.tabs.share(tabId, 'user', '', ends, 'stopped', c.key).catch((e) => {
      const failed = this.tabs.get(tabId);
      if (failed?.chat && failed.driver === c.key) this.tabs.unshare(tabId, 'released');
      throw e;
    });
    if (!given.chat || given.driver !== c.key) throw new CommandError('POLICY_DENIED', 'the tab was shared with other agents at the same time: stop sharing it first');
  }

  /**
   * Returns why a tab cannot be given to a chat because of the servers that use it, or "".
   *
   * @param {number} tabId
   * @param {string} [key] of the server of the chat
   */
  giveRefusal(tabId, key = '') {
    const tab = this.tabs.get(tabId);
    if (!tab || (tab.driver !== '' && tab.driver === key)) return '';
    if (tab.chat) return 'the tab belongs to another chat: remove it there first';
    const user = tab.driver || tab.own;
    if (user === '' || !this.isRecentlyConnected(user)) return '';
    return `another agent, ${this.nameOf(user)}, uses the tab: stop sharing it in the popup first`;
  }

  /** Unshares the tabs of a chat, which no other server may see. @param {string} key of its server */
  releaseChat(key) {
    for (const tab of this.tabs.list()) if (tab.chat && tab.driver === key) this.tabs.unshare(tab.tabId, 'released');
    this.onGone(key);
  }

  /** Unshares the tabs of all chats: they end with the worker, which has their port. */
  releaseChats() {
    for (const { tabId, chat } of this.tabs.list()) {
      if (!chat) continue;
      this.tabs.unshare(tabId, 'released');
      if (this.attachedBefore.delete(tabId)) withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.detach({ tabId }), 'detaching').catch(() => {});
    }
  }

  /** When each server was last connected. @type {Map<string, number>} */
  lastConnected = new Map();

  /** Servers that are known to have exited. @type {Set<string>} */
  exited = new Set();

  /** Reports whether a server is connected, or was within timing.patience.driver. @param {string} key */
  isRecentlyConnected(key) {
    if (this.exited.has(key)) return false;
    if (this.servers.connected().some((c) => c.key === key)) return true;
    return Date.now() - (this.lastConnected.get(key) ?? this.startedAt) < timing.patience.driver;
  }

  /** Makes a server the driver of a tab. @param {Shared} tab @param {Connection} c */
  setDriver(tab, c) {
    if (tab.driver === c.key) return;
    const others = this.servers.connected().filter((o) => o !== c && this.visible(tab, o));
    tab.driver = c.key;
    this.tabs.stored.saveSoon();
    for (const o of others) this.sendEvent(o, 'tab_unshared', { tabId: tab.tabId, reason: 'other_server' });
    this.changed();
  }

  /**
   * Removes the driver of a tab unless the user chose it. The next server to act becomes the
   * driver.
   * @param {number} tabId
   */
  clearDriver(tabId) {
    const tab = this.tabs.get(tabId);
    if (!tab || tab.driver === '' || tab.chosen || tab.own !== '') return;
    const had = new Set(this.servers.connected().filter((c) => this.visible(tab, c)));
    tab.driver = '';
    this.tabs.stored.saveSoon();
    void this.sendTabEvent('tab_shared', tab, (c) => !had.has(c));
    this.changed();
  }

  /**
   * Sets the driver of a tab for the user.
   * @param {number} tabId
   * @param {string} key "" for no driver
   */
  async choose(tabId, key) {
    const tab = this.tabs.get(tabId);
    if (!tab || tab.driver === key) return;
    if (tab.chat || this.servers.all().some((c) => c.key === key && c.given)) throw new CommandError('POLICY_DENIED', 'tabs are given to chats in the side panel');
    const before = this.servers.connected().filter((c) => this.visible(tab, c));
    await this.relay.release(tabId);
    tab.driver = key;
    tab.own = '';
    tab.chosen = key !== '';
    await this.tabs.save();
    const after = this.servers.connected().filter((c) => this.visible(tab, c));
    for (const c of before) if (!after.includes(c)) this.sendEvent(c, 'tab_unshared', { tabId, reason: 'other_server' });
    void this.sendTabEvent('tab_shared', tab, (c) => after.includes(c) && !before.includes(c));
    this.changed();
  }

  /** @param {string} key */
  nameOf(key) {
    return this.servers.all().find((c) => c.key === key)?.server?.name ?? 'an agent';
  }

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
    this.sendEvent(c, 'client_stopped', { client: id });
  }

  /** Returns the agent for prompts about scripts. @param {import('./relay.js').Attachment} a */
  agentOf({ connection: { key } }) {
    return { key, name: this.nameOf(key) };
  }

  /** Returns the rules for the tabs that a server drives. @param {Connection} c @returns {Rules} */
  policyFor(c) {
    const rules = compile(c.policy, this.settings.value.blockList);
    for (const o of this.servers.all()) rules.ownPorts.add(o.port);
    return rules;
  }

  /** @returns {import('./network_rules.js').NetworkScope[]} */
  networkScopes() {
    /** @type {Map<string, import('./network_rules.js').NetworkScope>} */
    const scopes = new Map();
    for (const a of this.relay.attachments.values()) {
      const key = scopeKey(a);
      let scope = scopes.get(key);
      if (!scope) scopes.set(key, scope = { tabs: [], rules: a.rules, hosts: [] });
      // A page that the rules deny does not run, and the user may have
      // it open in another tab.
      if (decide(a.rules, a.url) === null) this.hosts.add(key, a.url);
      const tabs = [a.tabId, ...this.newTabs.originatingFrom(a.tabId)];
      for (const tab of this.tabs.list()) {
        if (tab.how === 'popup' && tab.driver === a.connection.key && !this.relay.attachments.has(tab.tabId)) {
          tabs.push(tab.tabId); // opened by an attached tab, and about to be attached
        }
      }
      scope.tabs.push(...tabs.filter((id) => !scope.tabs.includes(id)));
      if (a.opener) (scope.openers ??= []).push(a.opener);
    }
    this.hosts.retain(scopes.keys());
    for (const [key, scope] of scopes) scope.hosts = this.hosts.of(key);
    return [...scopes.values()];
  }

  /**
   * Updates the network rules for the driven tabs. If the browser rejects them, no tab
   * is driven any longer.
   */
  async updateRules() {
    try {
      await this.network.update();
    } catch (e) {
      await this.releaseAll([...this.relay.attachments.values()], e);
    }
  }

  /**
   * Releases tabs for which the rules cannot be installed.
   * @param {Attachment[]} tabs
   * @param {unknown} e why
   */
  async releaseAll(tabs, e) {
    const reason = `the network rules cannot be installed: ${e instanceof Error ? e.message : e}`;
    await Promise.all(tabs.map((a) => {
      const released = this.relay.release(a.tabId); // no command is sent from here on
      this.sendEvent(a.connection, 'detached', { tabId: a.tabId, reason });
      return released;
    }));
  }

  /** Adds the hosts of the current documents of a tab. @param {Attachment} a */
  async addHosts(a) {
    const frames = await withTimeout(SHORT_TIMEOUT_MS, chrome.webNavigation.getAllFrames({ tabId: a.tabId }), 'listing frames');
    for (const { frameId, url } of frames ?? []) {
      if (frameId !== 0 || decide(a.rules, url) === null) this.hosts.add(scopeKey(a), url);
    }
  }

  /**
   * Called when a document loads or has loaded in a tab. In a driven tab, its
   * site can start workers and open tabs.
   *
   * @param {number} tabId
   * @param {number} frameId
   * @param {string} url
   */
  documentLoads(tabId, frameId, url) {
    for (const a of this.relay.attachments.values()) {
      if (a.tabId !== tabId && !this.newTabs.originatingFrom(a.tabId).includes(tabId)) continue;
      if (frameId === 0 && decide(a.rules, url) !== null) continue; // denied
      if (this.hosts.add(scopeKey(a), url)) this.delayCommands(a.connection, this.updateRules());
    }
  }

  // Events to servers.

  /** @param {Connection} c @param {EventName} event @param {any} data */
  sendEvent(c, event, data) {
    c.send({ type: 'event', event, data });
  }

  /**
   * @param {'tab_shared' | 'tab_updated'} event
   * @param {Shared} shared
   * @param {(c: Connection) => boolean} [whom]
   */
  async sendTabEvent(event, shared, whom = () => true) {
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(shared.tabId), 'finding the tab').catch(() => null);
    if (!tab || this.tabs.get(shared.tabId) !== shared) return; // a later event was sent
    for (const c of this.servers.connected()) {
      if (this.visible(shared, c) && whom(c)) this.sendEvent(c, event, this.tabs.describe(shared, tab, c.key));
    }
  }

  /** @param {Shared} shared */
  async findTarget(shared) {
    const id = await targetOf(shared.tabId);
    if (id !== '') shared.targetId = id;
  }

  // Events from the browser, the servers and the user.

  /** @param {Connection} c */
  connectionChanged(c) {
    const { key } = c;
    if (c.state === 'connected') {
      this.lastConnected.set(key, Date.now());
      this.exited.delete(key);
      this.setStoppedServer('');
      this.log.add({ what: 'connected', server: this.nameOf(key) });
      for (const a of [...this.relay.attachments.values()]) {
        if (a.connection === c && a.session !== c.session) this.detachAfterGrace(a);
      }
    } else if (c.state !== 'connecting' && this.lastConnected.has(key)) {
      this.lastConnected.set(key, Date.now());
      this.permissionPrompts.abandon(key);
      this.handovers.abandon(key);
      this.consent.abandon(key);
      if (c.reason === 'stopped') {
        this.setStoppedServer(this.nameOf(key));
        if (c.given) this.releaseChat(key);
      }
      this.log.add({ what: 'disconnected', server: this.nameOf(key), detail: c.reason });
      for (const a of [...this.relay.attachments.values()]) if (a.connection === c) this.detachAfterGrace(a);
    }
    this.changed();
  }

  /** @param {string} name the name of the server that was stopped, or "" */
  setStoppedServer(name) {
    if (this.stopped.value === name) return;
    this.stopped.value = name;
    this.stopped.saveSoon();
  }

  /** @param {import('./relay.js').Attachment} a */
  detachAfterGrace(a) {
    setTimeout(() => {
      if (this.relay.attachments.get(a.tabId) !== a) return;
      if (a.connection.state === 'connected' && a.connection.session === a.session) return;
      this.relay.release(a.tabId).catch(() => {});
      this.changed();
    }, timing.patience.reconnect);
  }

  /** @param {Connection} c */
  async policyChanged(c) {
    const mine = [...this.relay.attachments.values()].filter((a) => a.connection === c);
    try {
      const rules = this.policyFor(c);
      for (const a of mine) a.rules = rules;
      await this.network.update();
    } catch (e) {
      await this.releaseAll(mine, e);
    }
  }

  /**
   * Rules that are being installed. The commands of their servers wait for them.
   * @type {Map<Connection, Promise<void>>}
   */
  applying = new Map();

  /** Applies the policy that a server sent. @param {Connection} c */
  applyPolicy(c) {
    this.delayCommands(c, this.policyChanged(c));
  }

  /**
   * Delays the commands of a server until rules are installed.
   * @param {Connection} c
   * @param {Promise<void>} rules
   */
  delayCommands(c, rules) {
    const done = Promise.all([this.applying.get(c), rules]).then(() => {}).finally(() => {
      if (this.applying.get(c) === done) this.applying.delete(c);
    });
    this.applying.set(c, done);
  }

  /** Returns the open prompts. */
  questions() {
    return [...this.handovers.open(), ...this.consent.open(), ...this.permissionPrompts.open()];
  }

  /** Returns the number of open prompts of a server. @param {string} key */
  questionsOf(key) {
    const name = this.nameOf(key); // prompts do not contain the key
    return this.questions().filter((q) => q.server === name).length;
  }

  /** @param {import('./relay.js').Attachment} a @param {string} reason reported by the browser */
  async onDetached(a, reason) {
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(a.tabId), 'finding the tab').catch(() => null);
    if (!tab) return; // closed, which the browser also reports
    const why = reason === 'target_closed' ? this.tabs.shareRefusal(tab.pendingUrl || tab.url || '') : null;
    if (this.tabs.get(a.tabId)) this.sendEvent(a.connection, 'detached', { tabId: a.tabId, reason: why ?? reason });
    this.clearDriver(a.tabId);
    this.changed();
  }

  /**
   * Called when a page opened a tab. If the page's tab is driven, the new tab is driven also,
   * and the rules must apply to its first request.
   *
   * @param {number} source the tab of the page
   * @param {number} tabId
   * @param {string} url the URL that it was opened for
   */
  async opened(source, tabId, url) {
    const a = this.relay.attachments.get(source);
    const parent = this.tabs.get(source);
    const driven = a?.live && parent;
    if (driven) this.relay.preattach(tabId, a); // before the first await
    const sharing = driven ? this.tabs.share(tabId, 'popup', parent) : null;
    this.newTabs.opened(tabId, source);
    if (this.newTabs.inScope(source)) {
      const join = () => {
        this.newTabs.join(tabId, source);
        return false;
      };
      this.opening.set(tabId, sharing ? sharing.then(() => true, join) : Promise.resolve(join()));
    }
    if (!driven) return;
    this.downloads.opened(source, tabId, url);
    try {
      const popup = await sharing;
      await this.sharedEvents.get(tabId); // first: a server drops events of a tab that it does not know
      if (this.relay.attachments.get(source) !== a || this.tabs.get(tabId) !== popup) return;
      await this.relay.attach(a.connection, tabId, a.rules, a.own);
      if (this.tabs.get(tabId) !== popup) await this.relay.release(tabId); // stopped before it was attached
    } finally {
      await this.relay.undoPreattach(tabId);
    }
  }

  /**
   * Tabs that pages in a scope opened, each with whether it is also shared.
   * @type {Map<number, Promise<boolean>>}
   */
  opening = new Map();

  /**
   * Called when the rules blocked the document of a tab. The tab may have been
   * new and unknown. This never loads a URL that an active rule denies: a tab in a
   * scope is navigated only to URLs that its rules allow, and a reload of another
   * tab keeps the initiator that the rules match.
   *
   * @param {number} tabId
   * @param {string} url
   */
  async blocked(tabId, url) {
    if (await this.opening.get(tabId)) {
      const key = this.tabs.get(tabId)?.driver;
      const c = this.servers.connected().find((o) => o.key === key);
      if (!this.newTabs.fresh.delete(tabId) || !c || decide(this.policyFor(c), url) !== null) return;
      await this.network.update();
      await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.update(tabId, { url }), 'reloading a tab');
      return;
    }
    if (!this.newTabs.mayReload(tabId)) return;
    await this.network.update();
    await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.reload(tabId), 'reloading a tab');
  }

  /** Returns the ids of all open tabs. */
  async allTabs() {
    const tabs = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs');
    return tabs.flatMap((t) => (t.id === undefined ? [] : [t.id]));
  }

  /** @param {number} tabId the tab that was closed */
  forget(tabId) {
    this.opening.delete(tabId);
    this.newTabs.forget(tabId);
    if (this.newTabs.inside.size > 0) void this.updateRules();
  }

  /** Called when the user changed the settings. */
  async settingsChanged() {
    const { access } = this.settings.value;
    for (const tab of this.tabs.list()) {
      const now = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tab.tabId), 'finding the tab').catch(() => null);
      if ((tab.how === 'all' && access !== 'all') || (now && tab.own === '' && this.tabs.blocked(now.url ?? ''))) {
        this.tabs.unshare(tab.tabId, 'user');
      }
    }
    this.watchIdle();
    for (const c of this.servers.connected()) await this.policyChanged(c);
    await this.tabs.autoShareAll();
  }

  /** Shares or unshares a tab, for the keyboard shortcut. @param {number} tabId */
  async toggle(tabId) {
    if (this.tabs.get(tabId)) this.tabs.unshare(tabId, 'user');
    else await this.tabs.share(tabId, 'user');
  }

  stopAll() {
    this.tabs.unshareAll('stopped');
    for (const c of this.servers.connected()) this.sendEvent(c, 'stopped', {});
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
    for (const c of this.servers.connected()) {
      // A blank frame has the origin of another document, which the server knows.
      if (!this.visible(shared, c) || (siteOf(url) && decide(this.policyFor(c), url) !== null)) continue;
      this.sendEvent(c, 'element_sent', { tabId: shared.tabId, ...(frameId === 0 ? {} : { frame: url }) });
      this.log.add({ what: 'sent an element', server: this.nameOf(c.key), tabId: shared.tabId, host: siteOf(url)?.host });
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
    const idle = this.settings.value.idleMinutes * 60_000;
    for (const a of [...this.relay.attachments.values()]) {
      if (a.live && idle > 0 && Date.now() - a.used > idle && !this.handovers.hasTab(a.tabId)) {
        await this.relay.release(a.tabId);
        this.sendEvent(a.connection, 'detached', { tabId: a.tabId, reason: 'idle' });
        this.log.add({ what: 'detached from an idle tab', tabId: a.tabId });
        this.clearDriver(a.tabId);
      }
    }
    if (Date.now() - this.startedAt > timing.patience.reconnect) {
      for (const tabId of this.attachedBefore) {
        if (!this.relay.attachments.has(tabId)) await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.detach({ tabId }), 'detaching').catch(() => {});
      }
      if (this.attachedBefore.size > 0 || this.relay.attachments.size === 0) await this.network.update().catch(() => {});
      this.attachedBefore.clear();
    }
    this.detachUnowned();
    await this.servers.renew();
  }

  /**
   * Removes the drivers of tabs whose servers are gone. The next server to act becomes the driver.
   */
  detachUnowned() {
    for (const tab of this.tabs.list()) {
      if ((tab.driver === '' && tab.own === '') || this.isRecentlyConnected(tab.driver || tab.own)) continue;
      if (tab.chat) {
        this.tabs.unshare(tab.tabId, 'released');
        continue;
      }
      this.relay.release(tab.tabId).catch(() => {});
      tab.driver = tab.own = '';
      tab.chosen = false;
      this.tabs.stored.saveSoon();
      void this.sendTabEvent('tab_shared', tab);
    }
  }

  /** Updates the pages and the badge, once for all changes of one task. */
  changed() {
    if (this.announced) return;
    this.announced = true;
    queueMicrotask(() => {
      this.announced = false;
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
    const own = tabs.filter((t) => t.own !== '').length;
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

/** Returns the key of the scope of a tab. @param {Attachment} a */
function scopeKey(a) {
  return `${a.connection.port}/${a.session}`;
}
