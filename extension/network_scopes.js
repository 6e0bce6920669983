// @ts-check

import { sendEvent } from './connection.js';
import { Hosts } from './hosts.js';
import { NetworkRules } from './network_rules.js';
import { UserTabs } from './user_tabs.js';
import { compile, decide } from './policy.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/** @typedef {import('./attachment.js').Attachment} Attachment */
/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./network_rules.js').NetworkScope} NetworkScope */
/** @typedef {import('./policy.js').Rules} Rules */

/**
 * Installs the network rules of the servers. A scope has the tabs to which the rules of one connection
 * of a server apply, from when it was established to its loss, and the hosts of the documents in them.
 */
export class NetworkScopes {
  /**
   * @param {import('./tabs.js').Tabs} tabs
   * @param {import('./servers.js').Servers} servers
   * @param {import('./attachments.js').Attachments} attachments
   * @param {() => string[]} blockList the user's block list
   * @param {() => Promise<number[]>} allTabs the ids of all open tabs
   */
  constructor(tabs, servers, attachments, blockList, allTabs) {
    this.tabs = tabs;
    this.servers = servers;
    this.attachments = attachments;
    this.blockList = blockList;
    this.userTabs = new UserTabs(() => void this.updateOrRelease());
    this.hosts = new Hosts();
    this.networkRules = new NetworkRules(() => this.wanted(), allTabs, this.userTabs);
    /**
     * The installation of rules, by connection. The commands of the server wait for it.
     * @type {Map<Connection, Promise<void>>}
     */
    this.installing = new Map();
  }

  /**
   * Returns the rules for the tabs that a server drives. They deny the own ports of all servers: those
   * of another data directory are known only here.
   *
   * @param {Connection} c
   * @returns {Rules}
   */
  policyFor(c) {
    const rules = compile(c.policy, this.blockList());
    for (const o of this.servers.all()) for (const port of [o.port, ...(o.policy?.ownPorts ?? [])]) rules.ownPorts.add(port);
    return rules;
  }

  /** Returns the scopes for which network rules must be installed. @returns {NetworkScope[]} */
  wanted() {
    /** @type {Map<string, NetworkScope>} */
    const scopes = new Map();
    for (const a of this.attachments.all()) {
      const key = scopeKeyOf(a);
      let scope = scopes.get(key);
      if (!scope) scopes.set(key, scope = { tabs: [], rules: a.rules, hosts: [] });
      // A page that the rules deny does not run, and the user may have
      // it open in another tab.
      if (decide(a.rules, a.documents.url) === null) this.hosts.add(key, a.documents.url);
      const tabs = [a.tabId, ...this.userTabs.originatingFrom(a.tabId)];
      for (const tab of this.tabs.list()) {
        if (tab.how === 'popup' && tab.driver === a.connection.key && !this.attachments.get(tab.tabId)) {
          tabs.push(tab.tabId); // opened by an attached tab, and about to be attached
        }
      }
      scope.tabs.push(...tabs.filter((id) => !scope.tabs.includes(id)));
      if (a.opener && !this.attachments.get(a.opener.tabId)) (scope.openers ??= []).push(a.opener);
    }
    this.hosts.retain(scopes.keys());
    for (const [key, scope] of scopes) scope.hosts = this.hosts.of(key);
    return [...scopes.values()];
  }

  /**
   * Updates the network rules. It throws if the browser rejects them.
   *
   * @param {Attachment} [a] a tab that is being attached
   */
  async update(a) {
    if (a) await this.addHosts(a);
    await this.networkRules.update();
  }

  /**
   * Updates the network rules for the driven tabs. If the browser rejects them, no tab
   * is driven any longer.
   */
  async updateOrRelease() {
    try {
      await this.networkRules.update();
    } catch (e) {
      await this.releaseAll(this.attachments.all(), e);
    }
  }

  /**
   * Releases tabs for which the rules cannot be installed.
   * @param {Attachment[]} tabs
   * @param {unknown} e the error of the browser
   */
  async releaseAll(tabs, e) {
    const reason = `the network rules cannot be installed: ${e instanceof Error ? e.message : e}`;
    await Promise.all(tabs.map((a) => {
      const released = this.attachments.release(a.tabId); // no command is sent from here on
      sendEvent(a.connection, 'detached', { tabId: a.tabId, reason });
      return released;
    }));
  }

  /** Adds the hosts of the current documents of a tab. @param {Attachment} a */
  async addHosts(a) {
    const frames = await withTimeout(SHORT_TIMEOUT_MS, chrome.webNavigation.getAllFrames({ tabId: a.tabId }), 'listing frames');
    for (const { frameId, url } of frames ?? []) {
      if (frameId !== 0 || decide(a.rules, url) === null) this.hosts.add(scopeKeyOf(a), url);
    }
  }

  /**
   * Called when a frame navigates, or has loaded a document. In a driven tab, the site of the document
   * can start workers and open tabs.
   *
   * @param {number} tabId
   * @param {number} frameId
   * @param {string} url
   */
  documentLoads(tabId, frameId, url) {
    for (const a of this.attachments.all()) {
      if (a.tabId !== tabId && !this.userTabs.originatingFrom(a.tabId).includes(tabId)) continue;
      if (frameId === 0 && decide(a.rules, url) !== null) continue; // denied
      if (this.hosts.add(scopeKeyOf(a), url)) this.delayCommands(a.connection, this.updateOrRelease());
    }
  }

  /**
   * Called when a tab has committed a top document: the tab may have opened a driven one.
   *
   * @param {number} tabId
   * @param {string} url
   */
  committed(tabId, url) {
    for (const a of this.attachments.all()) {
      if (a.opener?.tabId !== tabId || a.opener.url === url) continue;
      a.opener.url = url;
      this.delayCommands(a.connection, this.updateOrRelease());
    }
  }

  /** Applies a changed policy to the tabs that a server drives. @param {Connection} c */
  async policyChanged(c) {
    const driven = this.attachments.allOf(c);
    try {
      const rules = this.policyFor(c);
      for (const a of driven) a.setRules(rules);
      await this.networkRules.update();
    } catch (e) {
      await this.releaseAll(driven, e);
    }
  }

  /** Applies the policy that a server sent, before the next command of any server. @param {Connection} c */
  applyPolicy(c) {
    this.delayCommands(c, this.policyChanged(c));
    this.ownPortsChanged(c);
  }

  /** Applies the own ports of a server to the tabs of the others, before their next commands. @param {Connection} c */
  ownPortsChanged(c) {
    for (const o of this.servers.connected()) if (o !== c) this.delayCommands(o, this.policyChanged(o));
  }

  /**
   * Delays the commands of a server until rules are installed.
   * @param {Connection} c
   * @param {Promise<void>} installed
   */
  delayCommands(c, installed) {
    const done = Promise.all([this.installing.get(c), installed]).then(() => {}).finally(() => {
      if (this.installing.get(c) === done) this.installing.delete(c);
    });
    this.installing.set(c, done);
  }
}

/** Returns the key of the scope of a tab. @param {Attachment} a */
function scopeKeyOf(a) {
  return `${a.connection.port}/${a.generation}`;
}
