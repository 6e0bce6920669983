// @ts-check

import { CommandError } from './command_error.js';
import { sendEvent } from './connection.js';
import { targetOf } from './tabs.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./tabs.js').Shared} Shared */

/** Decides which server sees and drives which shared tab, and reports the tabs to the servers. */
export class Drivers {
  /**
   * @param {import('./tabs.js').Tabs} tabs
   * @param {import('./servers.js').Servers} servers
   * @param {import('./attachments.js').Attachments} attachments
   * @param {() => void} changed called when the driver of a tab changed
   */
  constructor(tabs, servers, attachments, changed) {
    this.tabs = tabs;
    this.servers = servers;
    this.attachments = attachments;
    this.changed = changed;
    /** When this worker started, in ms since 1970. */
    this.startedAt = Date.now();
    /** When each server was last known to be connected, in ms since 1970, by key. @type {Map<string, number>} */
    this.lastConnected = new Map();
    /** The keys of servers whose connection has not ended. @type {Set<string>} */
    this.online = new Set();
    /** The keys of servers that are known to have exited. @type {Set<string>} */
    this.exited = new Set();
    /** Tabs whose tab_shared event is being sent. @type {Map<number, Promise<void>>} */
    this.sharedEvents = new Map();
  }

  // Servers.

  /** Called when a server connected. @param {string} key */
  onConnected(key) {
    this.lastConnected.set(key, Date.now());
    this.online.add(key);
    this.exited.delete(key);
  }

  /** Called when a server disconnected. A failed attempt to reconnect has no effect. @param {string} key */
  onDisconnected(key) {
    if (!this.online.delete(key)) return;
    this.lastConnected.set(key, Date.now());
  }

  /** Reports whether onConnected was called for a server, and onDisconnected has not been called since. @param {string} key */
  isOnline(key) {
    return this.online.has(key);
  }

  /** Called when a server is known to have exited. @param {string} key */
  serverExited(key) {
    this.exited.add(key);
    this.clearLostDrivers();
  }

  /** Reports whether a server is connected, or was within timing.patience.driver. @param {string} key */
  isRecentlyConnected(key) {
    if (this.exited.has(key)) return false;
    if (this.servers.connected().some((c) => c.key === key)) return true;
    return Date.now() - (this.lastConnected.get(key) ?? this.startedAt) < timing.patience.driver;
  }

  /** Reports whether a server may see a tab, and so drive it. @param {Shared} tab @param {Connection} c */
  mayDrive(tab, c) {
    if (tab.openedBy !== '' && tab.openedBy !== c.key) return false;
    if (tab.chat || c.isChat) return tab.driver === c.key;
    return tab.driver === '' || tab.driver === c.key || !this.isRecentlyConnected(tab.driver);
  }

  /** Returns the connected servers that may see a tab. @param {Shared} tab */
  observersOf(tab) {
    return this.servers.connected().filter((c) => this.mayDrive(tab, c));
  }

  /**
   * Returns the number of the user's shared tabs that other servers drive, without the tabs of chats.
   * For the server of a chat it returns 0: that must not find out about other tabs.
   * @param {Connection} c
   */
  tabsOfOtherServers(c) {
    if (c.isChat) return 0;
    return this.tabs.list().filter((tab) => tab.openedBy === '' && !tab.chat && !this.mayDrive(tab, c)).length;
  }

  // Drivers.

  /** Makes a server the driver of a tab. @param {Shared} tab @param {Connection} c */
  setDriver(tab, c) {
    if (tab.driver === c.key) return;
    const others = this.observersOf(tab).filter((o) => o !== c);
    tab.driver = c.key;
    this.tabs.stored.saveSoon();
    for (const o of others) sendEvent(o, 'tab_unshared', { tabId: tab.tabId, reason: 'other_server' });
    this.changed();
  }

  /**
   * Removes the driver of a tab unless the user chose it. The next server to act becomes the
   * driver.
   * @param {number} tabId
   */
  clearDriver(tabId) {
    const tab = this.tabs.get(tabId);
    if (!tab || tab.driver === '' || tab.driverChosen || tab.openedBy !== '') return;
    const before = new Set(this.observersOf(tab));
    tab.driver = '';
    this.tabs.stored.saveSoon();
    void this.sendTabShared(tab, (c) => !before.has(c));
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
    if (tab.chat || this.servers.all().some((c) => c.key === key && c.isChat)) throw new CommandError('POLICY_DENIED', 'tabs are given to chats in the side panel');
    const before = this.observersOf(tab);
    tab.driver = key; // before any await: from here on, commands of other servers fail
    tab.openedBy = '';
    tab.driverChosen = key !== '';
    await this.attachments.release(tabId);
    await this.tabs.save();
    const after = this.observersOf(tab);
    for (const c of before) if (!after.includes(c)) sendEvent(c, 'tab_unshared', { tabId, reason: 'other_server' });
    void this.sendTabShared(tab, (c) => after.includes(c) && !before.includes(c));
    this.changed();
  }

  /** Removes drivers that are no longer connected. The next server to act becomes the driver. */
  clearLostDrivers() {
    for (const tab of this.tabs.list()) {
      if ((tab.driver === '' && tab.openedBy === '') || this.isRecentlyConnected(tab.driver || tab.openedBy)) continue;
      if (tab.chat) {
        this.tabs.unshare(tab.tabId, 'released');
        continue;
      }
      this.attachments.release(tab.tabId).catch(() => {});
      tab.driver = tab.openedBy = '';
      tab.driverChosen = false;
      this.tabs.stored.saveSoon();
      void this.sendTabShared(tab);
    }
  }

  // Chats.

  /**
   * Gives a tab to the server of a chat, and to no other. It throws a CommandError with a message for
   * the user if the tab cannot be given.
   *
   * @param {number} tabId
   * @param {Connection} c
   * @param {number} stopCount the value of tabs.stopCount when the user acted
   */
  async give(tabId, c, stopCount) {
    if (!c.isChat) throw new CommandError('INTERNAL', 'the server of the chat is not limited to its tabs: update chrome-mcp');
    const known = this.tabs.get(tabId);
    if (known?.chat && known.driver === c.key) return;
    const why = this.giveRefusal(tabId, c.key);
    if (why) throw new CommandError('POLICY_DENIED', why);
    if (known) this.tabs.unshare(tabId, 'other_server');
    this.tabs.titles.set(c.key, c.server?.name ?? '');
    const shared = await this.tabs.share(tabId, 'user', { stopCount, chatServer: c.key });
    if (!shared.chat || shared.driver !== c.key) throw new CommandError('POLICY_DENIED', 'the tab was shared with other agents at the same time: stop sharing it first');
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
    const agent = tab.driver || tab.openedBy;
    if (agent === '' || !this.isRecentlyConnected(agent)) return '';
    return `another agent, ${this.servers.nameOf(agent)}, uses the tab: stop sharing it in the popup first`;
  }

  // Events to servers.

  /** Reports a tab that was shared. @param {Shared} tab */
  tabShared(tab) {
    const sent = this.sendTabShared(tab).finally(() => this.sharedEvents.delete(tab.tabId));
    this.sharedEvents.set(tab.tabId, sent);
  }

  /** Returns a promise that is fulfilled when a tab that was shared is reported, or undefined if it is. @param {number} tabId */
  sharedReported(tabId) {
    return this.sharedEvents.get(tabId);
  }

  /** Reports a tab whose URL or title changed. @param {Shared} shared @param {chrome.tabs.Tab} tab */
  tabUpdated(shared, tab) {
    if (shared.targetId === '') { // servers ignore a tab without one
      this.findTarget(shared).then(() => this.sendTabShared(shared)).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
      return;
    }
    for (const c of this.observersOf(shared)) sendEvent(c, 'tab_updated', this.tabs.describe(shared, tab, c.key));
  }

  /**
   * @param {Shared} shared
   * @param {(c: Connection) => boolean} [includes] which of the servers that may see the tab receive it
   */
  async sendTabShared(shared, includes = () => true) {
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(shared.tabId), 'finding the tab').catch(() => null);
    if (!tab || this.tabs.get(shared.tabId) !== shared) return; // a later event was sent
    for (const c of this.observersOf(shared)) if (includes(c)) sendEvent(c, 'tab_shared', this.tabs.describe(shared, tab, c.key));
  }

  /** Sets the target id of a tab, if it has one. @param {Shared} shared */
  async findTarget(shared) {
    const id = await targetOf(shared.tabId);
    if (id !== '') shared.targetId = id;
  }
}
