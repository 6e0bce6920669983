// @ts-check

import { decide } from './policy.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** Handles new tabs. Those that pages of driven tabs open are shared, and driven by the same server. */
export class OpenedTabs {
  /**
   * @param {import('./tabs.js').Tabs} tabs
   * @param {import('./servers.js').Servers} servers
   * @param {import('./attachments.js').Attachments} attachments
   * @param {import('./drivers.js').Drivers} drivers
   * @param {import('./network_scopes.js').NetworkScopes} scopes
   * @param {import('./downloads.js').Downloads} downloads
   */
  constructor(tabs, servers, attachments, drivers, scopes, downloads) {
    this.tabs = tabs;
    this.servers = servers;
    this.attachments = attachments;
    this.drivers = drivers;
    this.scopes = scopes;
    this.downloads = downloads;
    this.recent = new RecentTabs();
    /**
     * Tabs that pages in a scope opened, with whether the tab could be shared.
     * @type {Map<number, Promise<boolean>>}
     */
    this.opening = new Map();
  }

  /** Returns the ids of all open tabs. */
  async all() {
    const ids = await openTabs();
    this.recent.update(ids);
    return ids;
  }

  /**
   * Returns the number of new tabs of which it is unknown whether a page opened them. It waits until
   * those that a page is known to have opened are shared.
   */
  async countPending() {
    // The new tab of a page is in this list before the page continues. The events of the tab arrive
    // later.
    const recent = this.recent.update(await openTabs());
    const pending = await Promise.all(recent.map(async (tabId) => {
      if (!this.opening.has(tabId)) return true;
      await this.opening.get(tabId);
      await this.drivers.sharedReported(tabId);
      return false;
    }));
    return pending.filter(Boolean).length;
  }

  /** @param {chrome.tabs.Tab} tab that was opened */
  created(tab) {
    this.scopes.userTabs.created(tab);
    this.recent.add(tab.id);
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
    const { scopes } = this;
    const { userTabs } = scopes;
    const a = this.attachments.get(source);
    const parent = this.tabs.get(source);
    const driven = a?.started && parent;
    if (driven) this.attachments.preattach(tabId, a); // before the first await
    const sharing = driven ? this.tabs.share(tabId, 'popup', { opener: parent }) : null;
    userTabs.opened(tabId, source);
    if (userTabs.inScope(source)) {
      const join = () => {
        userTabs.join(tabId, source);
        return false;
      };
      this.opening.set(tabId, sharing ? sharing.then(() => true, join) : Promise.resolve(join()));
    }
    if (!driven) return;
    this.downloads.opened(source, a.connection.key, tabId, url);
    try {
      const popup = await sharing;
      await this.drivers.sharedReported(tabId); // first: a server drops events of a tab that it does not know
      const visible = () => this.tabs.get(tabId) === popup && this.drivers.mayDrive(popup, a.connection);
      if (a.released || !visible()) return;
      await this.attachments.attach(a.connection, tabId, () => scopes.policyFor(a.connection), a.own);
      if (!visible()) await this.attachments.release(tabId); // unshared, or given to another agent, during the attach
    } finally {
      await this.attachments.undoPreattach(tabId);
    }
  }

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
    const { scopes } = this;
    if (await this.opening.get(tabId)) {
      const key = this.tabs.get(tabId)?.driver;
      const c = this.servers.connected().find((o) => o.key === key);
      if (!scopes.userTabs.fresh.delete(tabId) || !c || decide(scopes.policyFor(c), url) !== null) return;
      await scopes.update();
      await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.update(tabId, { url }), 'reloading a tab');
      return;
    }
    if (!scopes.userTabs.mayReload(tabId)) return;
    await scopes.update();
    await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.reload(tabId), 'reloading a tab');
  }

  /** @param {number} tabId the tab that was closed */
  forget(tabId) {
    const { scopes } = this;
    this.opening.delete(tabId);
    scopes.userTabs.forget(tabId);
    if (scopes.userTabs.inside.size > 0) void scopes.updateOrRelease();
  }
}

async function openTabs() {
  const tabs = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs');
  return tabs.flatMap((t) => (t.id === undefined ? [] : [t.id]));
}

/**
 * Records when tabs were opened. If a page has opened a tab that is not recent, the browser has
 * already reported it.
 */
export class RecentTabs {
  /** When each tab was first seen, in ms since 1970. @type {Map<number, number>} */
  seen = new Map();

  /** @param {number | undefined} tabId a tab that was opened */
  add(tabId, now = Date.now()) {
    if (tabId !== undefined && !this.seen.has(tabId)) this.seen.set(tabId, now);
  }

  /**
   * Updates the tabs to those that are open, and returns the recent ones.
   *
   * @param {number[]} open
   */
  update(open, now = Date.now()) {
    const current = new Set(open);
    for (const tabId of this.seen.keys()) if (!current.has(tabId)) this.seen.delete(tabId);
    for (const tabId of open) this.add(tabId, now);
    return open.filter((tabId) => now - (this.seen.get(tabId) ?? now) < timing.hangLimits.openerReport);
  }
}
