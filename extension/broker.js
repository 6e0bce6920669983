// @ts-check

import { Alarm } from './alarm.js';
import { badgeFor, BadgeView } from './badge.js';
import { handle } from './commands.js';
import { Consent } from './consent.js';
import { SHORT, within } from './deadline.js';
import { Relay } from './debugger.js';
import { Downloads } from './downloads.js';
import { Hosts } from './hosts.js';
import { Log } from './log.js';
import { Network } from './network.js';
import { NewTabs } from './newtabs.js';
import { Permits } from './permits.js';
import { compile, decide, siteOf } from './rules.js';
import { Servers } from './servers.js';
import { SettingsStore } from './settings.js';
import { Stored } from './store.js';
import { Tabs, targetOf } from './tabs.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./debugger.js').Attachment} Attachment */
/** @typedef {import('./tabs.js').Shared} Shared */
/** @typedef {import('./wire.js').EventName} EventName */
/** @typedef {import('./rules.js').Rules} Rules */
/** @typedef {import('./refusal.js').Refusal} Refusal */

/** How long a tab stays attached for a server that was lost, in ms: most
 * come back, and the debugger's bar need not flicker. */
const KEEP_FOR = 10_000;

/** How long after a command an agent counts as working in a tab, in ms: where
 * the tab goes then may be its doing. */
const WORKS_FOR = 10_000;

/** How long what a lost server drove waits for it, in ms. */
const WAIT_FOR = 60_000;

/** Ties the parts together: who may drive what, and who is told of what. */
export class Broker {
  constructor() {
    const { session, local } = chrome.storage;
    this.log = new Log(local);
    this.settings = new SettingsStore(local);
    this.consent = new Consent(session, local, () => this.changed());
    this.permits = new Permits(() => this.changed());
    this.badge = new BadgeView();
    this.alarm = new Alarm();
    /** Called after every change. @type {() => void} */
    this.onChanged = () => {};
    this.announced = false;
    /** The server that chrome-mcp stop ended last, by name, until one is connected. @type {Stored<string>} */
    this.stopped = new Stored(session, 'stopped', '');

    this.tabs = new Tabs(session, () => this.settings.value, {
      begun: (tab) => {
        if (tab.how === 'popup') this.network.update().catch(() => this.tabs.unshare(tab.tabId, 'stopped'));
      },
      shared: (tab) => {
        this.log.add({ what: 'shared a tab', tabId: tab.tabId, host: tab.host, detail: tab.how });
        const told = this.tellTab('tab_shared', tab).finally(() => this.telling.delete(tab.tabId));
        this.telling.set(tab.tabId, told);
        this.changed();
        void this.servers.refresh();
      },
      unshared: (tab, reason) => {
        const told = this.servers.connected().filter((c) => this.visible(tab, c));
        this.relay.release(tab.tabId).catch(() => {});
        for (const c of told) this.tell(c, 'tab_unshared', { tabId: tab.tabId, reason });
        this.problems.delete(tab.tabId);
        this.log.add({ what: 'stopped sharing a tab', tabId: tab.tabId, host: tab.host, detail: reason });
        this.changed();
      },
      updated: (tab, now) => {
        for (const c of this.servers.connected()) {
          if (this.visible(tab, c)) this.tell(c, 'tab_updated', this.tabs.describe(tab, now, c.key));
        }
        this.changed();
      },
      working: (tabId) => {
        const a = this.relay.held.get(tabId);
        return a?.live === true && Date.now() - a.used < WORKS_FOR;
      },
    });

    this.newTabs = new NewTabs(() => void this.hold());
    this.hosts = new Hosts();
    this.network = new Network(() => this.fences(), async () => {
      const tabs = await within(SHORT, chrome.tabs.query({}), 'listing tabs');
      return tabs.flatMap((t) => (t.id === undefined ? [] : [t.id]));
    }, this.newTabs);

    this.relay = new Relay({
      protect: async (a) => {
        if (a) await this.frames(a);
        await this.network.update();
      },
      detached: (a, reason) => void this.lost(a, reason),
      cancelled: (tabId) => {
        this.tabs.unshare(tabId, 'debugger');
        this.network.update().catch(() => {});
      },
      doing: (a, what, url) => {
        this.log.add({ what, server: this.nameOf(a.connection.key), tabId: a.tabId, host: siteOf(url)?.host });
        this.changed();
      },
      askEval: (a, origin) => {
        this.consent.ask(origin, this.agentOf(a));
      },
      evalAnswer: (a, origin) => this.consent.answer(origin, this.agentOf(a)),
      download: (a, url) => this.downloads.begin(a.tabId, url),
      moved: (a) => {
        if (a.rules.unsafeAll) void this.hold(); // its sites are not in the policy
      },
    });

    this.downloads = new Downloads((tabId, download) => {
      const a = this.relay.held.get(tabId);
      if (a?.live) this.tell(a.connection, 'download', download);
    });

    this.servers = new Servers(session, local, {
      changed: (c) => this.connectionChanged(c),
      command: (c, command) => handle(this, c, command),
      policy: (c) => this.apply(c),
      looked: () => this.changed(),
      gone: (c) => {
        this.permits.forget(c.key);
        if (this.servers.host.state === 'ok') {
          this.ended.add(c.key); // the native host would name it if it lived
          this.orphans();
        }
        this.changed();
      },
    });

    /** Resolves when what was stored was read. Everything waits for it. */
    this.ready = Promise.all([this.settings.ready, this.consent.ready, this.tabs.ready, this.servers.ready, this.stopped.ready]).then(async () => {
      await this.tabs.reconcile().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      await this.adopt().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      this.changed();
      void this.servers.refresh();
    });
  }

  /** Tabs that the worker before this one held: the browser's, until the server is back. @type {Set<number>} */
  adopted = new Set();
  born = Date.now();

  async adopt() {
    const targets = await within(SHORT, chrome.debugger.getTargets(), 'listing targets');
    for (const t of targets) {
      if (t.attached && t.tabId !== undefined && this.tabs.get(t.tabId)) this.adopted.add(t.tabId);
    }
  }

  /** Tabs whose sharing is being told of. @type {Map<number, Promise<void>>} */
  telling = new Map();

  /** Why the debugger could not be attached to a tab the last time. @type {Map<number, Refusal>} */
  problems = new Map();

  // Who drives what.

  /** Whether a server may see a tab. @param {Shared} tab @param {Connection} c */
  visible(tab, c) {
    if (tab.own !== '' && tab.own !== c.key) return false;
    return tab.driver === '' || tab.driver === c.key || !this.waitedFor(tab.driver);
  }

  /** How many tabs that the user shares are driven by other servers. @param {Connection} c */
  elsewhere(c) {
    return this.tabs.list().filter((tab) => tab.own === '' && !this.visible(tab, c)).length;
  }

  /** When each server was seen last. @type {Map<string, number>} */
  seen = new Map();

  /** Servers that are known to have ended. @type {Set<string>} */
  ended = new Set();

  /** Whether a server is connected, or was a moment ago. @param {string} key */
  waitedFor(key) {
    if (this.ended.has(key)) return false;
    if (this.servers.connected().some((c) => c.key === key)) return true;
    return Date.now() - (this.seen.get(key) ?? this.born) < WAIT_FOR;
  }

  /** Makes a server the one that drives a tab. @param {Shared} tab @param {Connection} c */
  claim(tab, c) {
    if (tab.driver === c.key) return;
    const others = this.servers.connected().filter((o) => o !== c && this.visible(tab, o));
    tab.driver = c.key;
    this.tabs.stored.saveSoon();
    for (const o of others) this.tell(o, 'tab_unshared', { tabId: tab.tabId, reason: 'other_server' });
    this.changed();
  }

  /** Lets a tab go to whoever acts next, unless the user chose. @param {number} tabId */
  leave(tabId) {
    const tab = this.tabs.get(tabId);
    if (!tab || tab.driver === '' || tab.chosen || tab.own !== '') return;
    const had = new Set(this.servers.connected().filter((c) => this.visible(tab, c)));
    tab.driver = '';
    this.tabs.stored.saveSoon();
    void this.tellTab('tab_shared', tab, (c) => !had.has(c));
    this.changed();
  }

  /** The user chooses who drives a tab. @param {number} tabId @param {string} key "" for nobody yet */
  async choose(tabId, key) {
    const tab = this.tabs.get(tabId);
    if (!tab || tab.driver === key) return;
    const before = this.servers.connected().filter((c) => this.visible(tab, c));
    await this.relay.release(tabId);
    tab.driver = key;
    tab.own = '';
    tab.chosen = key !== '';
    await this.tabs.save();
    const after = this.servers.connected().filter((c) => this.visible(tab, c));
    for (const c of before) if (!after.includes(c)) this.tell(c, 'tab_unshared', { tabId, reason: 'other_server' });
    void this.tellTab('tab_shared', tab, (c) => after.includes(c) && !before.includes(c));
    this.changed();
  }

  /** @param {string} key */
  nameOf(key) {
    return this.servers.all().find((c) => c.key === key)?.server?.name ?? 'an agent';
  }

  /** Returns the agent that asks for consent to run scripts. @param {import('./debugger.js').Attachment} a */
  agentOf({ connection: { key } }) {
    return { key, name: this.nameOf(key) };
  }

  /** The rules for what a server drives. @param {Connection} c @returns {Rules} */
  rulesOf(c) {
    const rules = compile(c.policy, this.settings.value.blockList);
    for (const o of this.servers.all()) rules.ownPorts.add(o.port);
    return rules;
  }

  /** @returns {import('./network.js').Fence[]} */
  fences() {
    /** @type {Map<string, import('./network.js').Fence>} */
    const fences = new Map();
    for (const a of this.relay.held.values()) {
      const key = fenceOf(a);
      let fence = fences.get(key);
      if (!fence) fences.set(key, fence = { tabs: [], rules: a.rules, hosts: [] });
      // A page that the rules refuse does not run, and is perhaps one that the
      // user has open as well.
      if (decide(a.rules, a.url) === null) this.hosts.add(key, a.url);
      const tabs = [a.tabId, ...this.newTabs.from(a.tabId)];
      for (const tab of this.tabs.list()) {
        if (tab.how === 'popup' && tab.driver === a.connection.key && !this.relay.held.has(tab.tabId)) {
          tabs.push(tab.tabId); // opened by a held tab, and about to be attached
        }
      }
      fence.tabs.push(...tabs.filter((id) => !fence.tabs.includes(id)));
    }
    this.hosts.keep(fences.keys());
    for (const [key, fence] of fences) fence.hosts = this.hosts.of(key);
    return [...fences.values()];
  }

  /**
   * Brings the rules of the network up to date with what is driven. Where the
   * browser does not take them, no tab is driven any more.
   */
  async hold() {
    try {
      await this.network.update();
    } catch (e) {
      await this.giveUp([...this.relay.held.values()], e);
    }
  }

  /** Ends the driving of tabs for which there are no rules. @param {Attachment[]} tabs @param {unknown} e why */
  async giveUp(tabs, e) {
    const reason = `the network rules cannot be installed: ${e instanceof Error ? e.message : e}`;
    await Promise.all(tabs.map((a) => {
      const released = this.relay.release(a.tabId); // from here on nothing passes
      this.tell(a.connection, 'detached', { tabId: a.tabId, reason });
      return released;
    }));
  }

  /** Adds the hosts of the documents that are in a tab. @param {Attachment} a */
  async frames(a) {
    const frames = await within(SHORT, chrome.webNavigation.getAllFrames({ tabId: a.tabId }), 'listing frames');
    for (const { frameId, url } of frames ?? []) {
      if (frameId !== 0 || decide(a.rules, url) === null) this.hosts.add(fenceOf(a), url);
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
  loads(tabId, frameId, url) {
    for (const a of this.relay.held.values()) {
      if (a.tabId !== tabId && !this.newTabs.from(a.tabId).includes(tabId)) continue;
      if (frameId === 0 && decide(a.rules, url) !== null) continue; // refused
      if (this.hosts.add(fenceOf(a), url)) this.holdFor(a.connection, this.hold());
    }
  }

  // Telling servers.

  /** @param {Connection} c @param {EventName} event @param {any} data */
  tell(c, event, data) {
    c.send({ type: 'event', event, data });
  }

  /**
   * @param {'tab_shared' | 'tab_updated'} event
   * @param {Shared} shared
   * @param {(c: Connection) => boolean} [whom]
   */
  async tellTab(event, shared, whom = () => true) {
    const tab = await within(SHORT, chrome.tabs.get(shared.tabId), 'finding the tab').catch(() => null);
    if (!tab || this.tabs.get(shared.tabId) !== shared) return; // what was told since holds
    for (const c of this.servers.connected()) {
      if (this.visible(shared, c) && whom(c)) this.tell(c, event, this.tabs.describe(shared, tab, c.key));
    }
  }

  /** @param {Shared} shared */
  async findTarget(shared) {
    const id = await targetOf(shared.tabId);
    if (id !== '') shared.targetId = id;
  }

  // What happens.

  /** @param {Connection} c */
  connectionChanged(c) {
    const { key } = c;
    if (c.state === 'connected') {
      this.seen.set(key, Date.now());
      this.ended.delete(key);
      this.noteStopped('');
      this.log.add({ what: 'connected', server: this.nameOf(key) });
      for (const a of [...this.relay.held.values()]) {
        if (a.connection === c && a.session !== c.session) this.dropLater(a);
      }
    } else if (c.state !== 'connecting' && this.seen.has(key)) {
      this.seen.set(key, Date.now());
      this.permits.abandon(key);
      this.consent.abandon(key);
      if (c.reason === 'stopped') this.noteStopped(this.nameOf(key));
      this.log.add({ what: 'disconnected', server: this.nameOf(key), detail: c.reason });
      for (const a of [...this.relay.held.values()]) if (a.connection === c) this.dropLater(a);
    }
    this.changed();
  }

  /** @param {string} name of the server that was stopped, "" for none */
  noteStopped(name) {
    if (this.stopped.value === name) return;
    this.stopped.value = name;
    this.stopped.saveSoon();
  }

  /** @param {import('./debugger.js').Attachment} a */
  dropLater(a) {
    setTimeout(() => {
      if (this.relay.held.get(a.tabId) !== a) return;
      if (a.connection.state === 'connected' && a.connection.session === a.session) return;
      this.relay.release(a.tabId).catch(() => {});
      this.changed();
    }, KEEP_FOR);
  }

  /** @param {Connection} c */
  async policyChanged(c) {
    const mine = [...this.relay.held.values()].filter((a) => a.connection === c);
    try {
      const rules = this.rulesOf(c);
      for (const a of mine) a.rules = rules;
      await this.network.update();
    } catch (e) {
      await this.giveUp(mine, e);
    }
  }

  /** Rules that are being installed. Commands of their servers wait for them. @type {Map<Connection, Promise<void>>} */
  applying = new Map();

  /** Puts the rules that a server sent in force. @param {Connection} c */
  apply(c) {
    this.holdFor(c, this.policyChanged(c));
  }

  /** Delays the commands of a server until rules are installed. @param {Connection} c @param {Promise<void>} rules */
  holdFor(c, rules) {
    const done = Promise.all([this.applying.get(c), rules]).then(() => {}).finally(() => {
      if (this.applying.get(c) === done) this.applying.delete(c);
    });
    this.applying.set(c, done);
  }

  /** What waits for the user. */
  questions() {
    return [...this.consent.open(), ...this.permits.open()];
  }

  /** @param {import('./debugger.js').Attachment} a @param {string} reason the browser's word */
  async lost(a, reason) {
    const tab = await within(SHORT, chrome.tabs.get(a.tabId), 'finding the tab').catch(() => null);
    if (!tab) return; // closed: the browser tells of that as well
    const why = reason === 'target_closed' ? this.tabs.obstacle(tab.pendingUrl || tab.url || '') : null;
    if (this.tabs.get(a.tabId)) this.tell(a.connection, 'detached', { tabId: a.tabId, reason: why ?? reason });
    this.leave(a.tabId);
    this.changed();
  }

  /**
   * A page opened a tab. When it is one that is driven, so is the new one;
   * and its first request has to meet the rules.
   *
   * @param {number} source
   * @param {number} tabId
   * @param {string} url that it was opened for
   */
  async opened(source, tabId, url) {
    const a = this.relay.held.get(source);
    const parent = this.tabs.get(source);
    const driven = a?.live && parent;
    if (driven) this.relay.seize(tabId); // before anything is waited for
    const sharing = driven ? this.tabs.share(tabId, 'popup', parent) : null;
    this.newTabs.opened(tabId, source);
    if (this.newTabs.fenced(source)) {
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
      await this.telling.get(tabId); // first: events of a tab that nobody knows are lost
      if (this.relay.held.get(source) !== a || this.tabs.get(tabId) !== popup) return;
      await this.relay.attach(a.connection, tabId, a.rules, a.own);
      if (this.tabs.get(tabId) !== popup) await this.relay.release(tabId); // stopped before it was held
    } finally {
      await this.relay.unseize(tabId);
    }
  }

  /** Tabs that pages in a fence opened, and whether they are in it too. @type {Map<number, Promise<boolean>>} */
  opening = new Map();

  /**
   * Called when the rules blocked the document of a tab. The tab may have been
   * new and unknown. This never loads what an active rule denies: a tab in a
   * fence is navigated only to URLs that its rules allow, and a reload of another
   * tab keeps the initiator that the rules match.
   *
   * @param {number} tabId
   * @param {string} url
   */
  async blocked(tabId, url) {
    if (await this.opening.get(tabId)) {
      const key = this.tabs.get(tabId)?.driver;
      const c = this.servers.connected().find((o) => o.key === key);
      if (!this.newTabs.fresh.delete(tabId) || !c || decide(this.rulesOf(c), url) !== null) return;
      await this.network.update();
      await within(SHORT, chrome.tabs.update(tabId, { url }), 'reloading a tab');
      return;
    }
    if (!this.newTabs.refused(tabId)) return;
    await this.network.update();
    await within(SHORT, chrome.tabs.reload(tabId), 'reloading a tab');
  }

  /** @param {number} tabId of a tab that was closed */
  forget(tabId) {
    this.opening.delete(tabId);
    this.newTabs.forget(tabId);
    if (this.newTabs.inside.size > 0) void this.hold();
  }

  /** The user changed the settings. */
  async settingsChanged() {
    const { access } = this.settings.value;
    for (const tab of this.tabs.list()) {
      const now = await within(SHORT, chrome.tabs.get(tab.tabId), 'finding the tab').catch(() => null);
      if ((tab.how === 'all' && access !== 'all') || (now && tab.own === '' && this.tabs.blocked(now.url ?? ''))) {
        this.tabs.unshare(tab.tabId, 'user');
      }
    }
    for (const c of this.servers.connected()) await this.policyChanged(c);
    await this.tabs.shareAllByThemselves();
  }

  /** Share or unshare, as the shortcut does. @param {number} tabId */
  async toggle(tabId) {
    if (this.tabs.get(tabId)) this.tabs.unshare(tabId, 'user');
    else await this.tabs.share(tabId, 'user');
  }

  stopAll() {
    this.tabs.unshareAll('stopped');
    for (const c of this.servers.connected()) this.tell(c, 'stopped', {});
    this.log.add({ what: 'stopped all' });
  }

  /** What has to be done now and then: the alarm's work. */
  async tick() {
    await this.ready;
    const idle = this.settings.value.idleMinutes * 60_000;
    for (const a of [...this.relay.held.values()]) {
      if (a.live && idle > 0 && Date.now() - a.used > idle) {
        await this.relay.release(a.tabId);
        this.tell(a.connection, 'detached', { tabId: a.tabId, reason: 'idle' });
        this.log.add({ what: 'let go of an idle tab', tabId: a.tabId });
        this.leave(a.tabId);
      }
    }
    if (Date.now() - this.born > KEEP_FOR) {
      for (const tabId of this.adopted) {
        if (!this.relay.held.has(tabId)) await within(SHORT, chrome.debugger.detach({ tabId }), 'detaching').catch(() => {});
      }
      if (this.adopted.size > 0 || this.relay.held.size === 0) await this.network.update().catch(() => {});
      this.adopted.clear();
    }
    this.orphans();
    await this.servers.renew();
  }

  /** Servers that are gone for good leave their tabs to whoever acts next. */
  orphans() {
    for (const tab of this.tabs.list()) {
      if ((tab.driver === '' && tab.own === '') || this.waitedFor(tab.driver || tab.own)) continue;
      this.relay.release(tab.tabId).catch(() => {});
      tab.driver = tab.own = '';
      tab.chosen = false;
      this.tabs.stored.saveSoon();
      void this.tellTab('tab_shared', tab);
    }
  }

  /** Tells the pages and the badge, once for all that changes in one go. */
  changed() {
    if (this.announced) return;
    this.announced = true;
    queueMicrotask(() => {
      this.announced = false;
      const now = this.situation();
      this.badge.show(badgeFor(now));
      this.alarm.watchful(now.shared + now.own > 0 || now.connected > 0);
      this.onChanged();
    });
  }

  /** @returns {import('./badge.js').Situation} */
  situation() {
    const list = this.servers.list();
    const connected = this.servers.connected().length;
    const tabs = this.tabs.list();
    const own = tabs.filter((t) => t.own !== '').length;
    return {
      asking: this.questions().length > 0,
      pairable: this.servers.host.state === 'ok' || this.servers.host.state === 'unknown' || this.servers.pairings.value.length > 0,
      shared: tabs.length - own,
      own,
      connected,
      connecting: list.filter((c) => c.state === 'connecting' || c.state === 'waiting').length,
      error: connected > 0 ? '' : list.find((c) => c.state === 'refused')?.message ?? (this.servers.host.state === 'error' ? this.servers.host.message : ''),
    };
  }
}

/** Returns the key of the fence of a tab. @param {Attachment} a */
function fenceOf(a) {
  return `${a.connection.port}/${a.session}`;
}
