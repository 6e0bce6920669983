// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { CommandError } from './command_error.js';
import { denies, isPlain, originOf, parsePattern, siteOf, BUILTIN } from './policy.js';
import { PersistentValue } from './persistent_value.js';

/** @typedef {import('./wire.js').Tab} WireTab */
/** @typedef {typeof import('./wire.js').UNSHARED_REASONS[number]} UnsharedReason */
/** @typedef {import('./settings.js').Settings} Settings */

/**
 * A shared tab. It is identified by its id, never by its title, which the page
 * controls.
 *
 * @typedef {object} Shared
 * @property {number} tabId
 * @property {string} targetId "" while unknown
 * @property {'user' | 'group' | 'site' | 'all' | 'own' | 'popup'} how why it is shared
 * @property {number} opener the tab whose page opened it, or 0
 * @property {string} own key of the server that opened it, "" for the user's tabs
 * @property {string} driver key of the server that drives it, "" if none does
 * @property {boolean} chosen whether the user chose the driver
 * @property {number} group id of our group that contains it, or -1
 * @property {number} since ms since 1970
 * @property {string} host last known host of its page, or ""
 */

/**
 * A tab group that the extension created.
 *
 * @typedef {object} Group
 * @property {number} windowId
 * @property {string} server key of the server whose own tabs it contains, "" for shared ones
 */

/**
 * @typedef {object} Book
 * @property {Record<string, Shared>} tabs
 * @property {Record<string, Group>} groups
 * @property {number[]} declined unshared tabs, which are not shared automatically
 * @property {number} window id of the window of agents' tabs, or -1
 * @property {'' | 'stopped' | 'locked'} [halted] why all sharing ended, if the user has shared
 *   nothing since
 */

/**
 * The callbacks of Tabs.
 *
 * @typedef {object} Watcher
 * @property {(tab: Shared) => void} added the tab was stored, and is not reported yet
 * @property {(tab: Shared) => void} shared
 * @property {(tab: Shared, reason: UnsharedReason) => void} unshared called synchronously, before
 *   any await
 * @property {(tab: Shared, now: chrome.tabs.Tab) => void} updated
 * @property {(tabId: number) => boolean} working returns whether an agent is active in a tab
 */

/** The title of the group of shared tabs. */
const GROUP_TITLE = 'chrome-mcp';

/** The shared tabs, stored in storage.session. */
export class Tabs {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {() => Settings} settings
   * @param {Watcher} watcher
   */
  constructor(session, settings, watcher) {
    /** @type {PersistentValue<Book>} */
    this.stored = new PersistentValue(session, 'tabs', { tabs: {}, groups: {}, declined: [], window: -1 });
    this.settings = settings;
    this.watcher = watcher;
    /** Changes of groups run one after another, so that two of them do not create two groups. */
    this.turn = Promise.resolve();
    /** How often all sharing ended. A call that started earlier must share nothing afterwards. */
    this.ends = 0;
    this.ready = this.stored.ready;
  }

  get book() {
    return this.stored.value;
  }

  /** @param {number} tabId @returns {Shared | undefined} */
  get(tabId) {
    return this.book.tabs[tabId];
  }

  /** @returns {Shared[]} in the order in which they were shared */
  list() {
    return Object.values(this.book.tabs).sort((a, b) => a.since - b.since || a.tabId - b.tabId);
  }

  save() {
    return this.stored.save();
  }

  /**
   * Shares a tab. It throws a CommandError with a message for the user if it cannot be shared.
   *
   * @param {number} tabId
   * @param {Shared['how']} how
   * @param {string | Shared} [from] key of the server that opened it, or the tab whose page did
   * @param {number} [ends] the value of this.ends when the call started
   * @returns {Promise<Shared>}
   */
  async share(tabId, how, from = '', ends = this.ends) {
    const opener = typeof from === 'string' ? undefined : from;
    const own = typeof from === 'string' ? from : from.own;
    const known = this.get(tabId);
    if (known) return known;
    const tab = await getTab(tabId);
    const why = own === '' ? this.shareRefusal(tab.url ?? '') : null;
    if (why) throw new CommandError('POLICY_DENIED', why);
    if (this.get(tabId)) return this.book.tabs[tabId];
    if (this.ends !== ends || (opener && this.book.declined.includes(opener.tabId))) throw new CommandError('TAB_NOT_FOUND', `tab ${tabId} is not shared: sharing was stopped`);
    /** @type {Shared} */
    const shared = {
      tabId, targetId: '', how, opener: opener?.tabId ?? 0, own, driver: opener?.driver ?? own, chosen: opener?.chosen ?? false,
      group: -1, since: Date.now(), host: siteOf(tab.url ?? '')?.host ?? '',
    };
    if (tab.groupId !== undefined && this.book.groups[tab.groupId]) shared.group = tab.groupId;
    this.book.tabs[tabId] = shared;
    if (how === 'user' || how === 'group') this.book.halted = '';
    this.watcher.added(shared);
    this.book.declined = this.book.declined.filter((id) => id !== tabId);
    await this.save();
    shared.targetId = await targetOf(tabId);
    this.stored.saveSoon();
    if (this.get(tabId) !== shared) throw new CommandError('TAB_NOT_FOUND', `tab ${tabId} was unshared`);
    if (shared.group < 0 && !tab.pinned && (tab.groupId === undefined || tab.groupId < 0) && how !== 'all') this.putInGroup(shared);
    this.watcher.shared(shared);
    return shared;
  }

  /**
   * Ends the sharing of a tab, synchronously.
   *
   * @param {number} tabId
   * @param {UnsharedReason} reason
   */
  unshare(tabId, reason) {
    const shared = this.get(tabId);
    if (!shared) return;
    delete this.book.tabs[tabId];
    if (reason !== 'closed' && !this.book.declined.includes(tabId)) this.book.declined.push(tabId);
    this.watcher.unshared(shared, reason);
    this.stored.saveSoon();
    if (shared.group >= 0 && reason !== 'closed' && reason !== 'moved') {
      this.enqueue(async () => {
        const tab = await chrome.tabs.get(tabId);
        if (tab.groupId === shared.group && !this.get(tabId)) await chrome.tabs.ungroup(tabId);
      });
    }
  }

  /**
   * Ends all sharing. Until the screen is unlocked or the user shares a tab, agents cannot open
   * tabs either.
   *
   * @param {'stopped' | 'locked'} reason
   */
  unshareAll(reason) {
    this.ends++;
    if (this.book.halted !== 'stopped') this.book.halted = reason;
    this.stored.saveSoon();
    for (const { tabId } of this.list()) this.unshare(tabId, reason);
  }

  /** Called when the screen is unlocked: agents may open tabs again. */
  unlocked() {
    if (this.book.halted !== 'locked') return;
    this.book.halted = '';
    this.stored.saveSoon();
  }

  /**
   * Returns why a page cannot be shared, or null if it can be.
   *
   * @param {string} url
   * @returns {string | null}
   */
  shareRefusal(url) {
    if (url === '' || url === 'about:blank') return null;
    const site = siteOf(url);
    if (!site) {
      const scheme = url.slice(0, url.indexOf(':') + 1);
      if (scheme === 'file:') return 'local files cannot be shared';
      return `${scheme}// pages belong to the browser and cannot be shared`;
    }
    if (!isPlain(site)) return `${site.host} is not in canonical form, so no rule would match it`;
    const builtin = BUILTIN.find(({ pattern }) => denies(pattern, site));
    if (builtin) return `${site.host} is ${builtin.what} and cannot be shared`;
    if (this.settings().blockList.some((text) => denies(parsePattern(text), site))) return `${site.host} is on your block list`;
    return null;
  }

  /** Reports whether a URL cannot be shared. @param {string} url */
  blocked(url) {
    return siteOf(url) !== null && this.shareRefusal(url) !== null;
  }

  /**
   * Describes a tab for a server.
   * @param {Shared} shared
   * @param {chrome.tabs.Tab} tab
   * @param {string} server key
   */
  describe(shared, tab, server) {
    return wireTab(shared, tab, server, this.blocked(tab.url ?? ''));
  }

  /**
   * Opens a blank tab for a server, in the background and in its group.
   *
   * @param {string} server key
   * @param {string} name of the server
   * @returns {Promise<Shared>}
   */
  async open(server, name) {
    if (this.book.halted === 'stopped') throw new CommandError('POLICY_DENIED', 'the user stopped all sharing and has not shared a tab since: ask the user before you continue');
    if (this.book.halted === 'locked') throw new CommandError('POLICY_DENIED', 'the screen is locked, so sharing has ended: ask the user to unlock it');
    const { ends } = this;
    const windowId = await this.windowForOwn();
    /** @param {{windowId?: number}} where */
    const create = (where) => withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.create({ url: 'about:blank', active: false, ...where }), 'opening a tab');
    const tab = await create(windowId >= 0 ? { windowId } : {}).catch((e) => {
      // The window closed during the call. A page can close a picture-in-picture window.
      if (windowId < 0 || !/No window with id/.test(String(e))) throw e;
      return create({});
    });
    if (tab.id === undefined) throw new CommandError('INTERNAL', 'the browser opened a tab without an id');
    const { id } = tab;
    this.titles.set(server, name);
    return this.share(id, 'own', server, ends).catch(async (e) => {
      await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.remove(id), 'closing the tab').catch(() => {});
      throw e;
    });
  }

  /** Names of servers, for the titles of their groups. @type {Map<string, string>} */
  titles = new Map();

  /** @returns {Promise<number>} the window for tabs of agents */
  async windowForOwn() {
    if (this.settings().ownWindow) {
      const { window: id } = this.book;
      if (id >= 0 && await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.get(id), 'finding the window').then(() => true, () => false)) return id;
    } else {
      const last = await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.getLastFocused({ windowTypes: ['normal'] }), 'finding a window').catch(() => null);
      if (last?.id !== undefined && last.id >= 0) return last.id;
    }
    const made = await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.create({ url: 'about:blank', focused: false, state: 'minimized' }), 'opening a window');
    this.book.window = made?.id ?? -1;
    await this.save();
    return this.book.window;
  }

  /** @param {Shared} shared */
  putInGroup(shared) {
    this.enqueue(async () => {
      const tab = await chrome.tabs.get(shared.tabId);
      if (this.get(shared.tabId) !== shared || (tab.groupId ?? -1) >= 0) return;
      const found = Object.entries(this.book.groups).find(([, g]) => g.windowId === tab.windowId && g.server === shared.own);
      let groupId = found ? Number(found[0]) : -1;
      if (groupId >= 0 && !(await chrome.tabGroups.get(groupId).then(() => true, () => false))) {
        delete this.book.groups[groupId];
        groupId = -1;
      }
      const fresh = groupId < 0;
      groupId = await chrome.tabs.group({ tabIds: [shared.tabId], ...(fresh ? { createProperties: { windowId: tab.windowId } } : { groupId }) });
      this.book.groups[groupId] = { windowId: tab.windowId, server: shared.own };
      if (this.get(shared.tabId) === shared) shared.group = groupId;
      await this.save();
      if (fresh) {
        const name = this.titles.get(shared.own);
        await chrome.tabGroups.update(groupId, { title: name ? `${GROUP_TITLE}: ${name}` : GROUP_TITLE, color: shared.own ? 'purple' : 'blue' });
      }
    });
  }

  /** @param {() => Promise<void>} work */
  enqueue(work) {
    this.turn = this.turn.then(() => withTimeout(SHORT_TIMEOUT_MS, work(), 'grouping tabs')).catch((e) => {
      console.warn(`chrome-mcp: ${e.message}`);
    });
  }

  // Events from the browser.

  /**
   * @param {number} tabId
   * @param {chrome.tabs.OnUpdatedInfo} change
   * @param {chrome.tabs.Tab} tab
   */
  onUpdated(tabId, change, tab) {
    const shared = this.get(tabId);
    if (change.groupId !== undefined) this.onGrouped(tabId, change.groupId);
    if (shared && this.get(tabId)) {
      if (change.url !== undefined && shared.own === '' && this.blocked(change.url)) {
        this.unshare(tabId, 'user'); // a site on the block list
        return;
      }
      if (change.url !== undefined && this.leftAutoSharedSite(shared, change.url)) {
        this.unshare(tabId, 'user');
        this.book.declined = this.book.declined.filter((id) => id !== tabId); // it is shared again when it returns
        this.stored.saveSoon();
        return;
      }
      shared.host = siteOf(tab.url ?? '')?.host ?? '';
      this.watcher.updated(shared, tab);
    } else if (!shared && (change.url !== undefined || change.status === 'loading')) {
      this.autoShare(tab);
    }
  }

  /**
   * Reports whether the user navigates a tab away from the site because of which it is shared.
   * Navigations by an agent are allowed, as in other tabs.
   *
   * @param {Shared} shared
   * @param {string} url
   */
  leftAutoSharedSite(shared, url) {
    return shared.how === 'site' && siteOf(url) !== null && this.settings().access !== 'all'
      && !this.settings().keepSites.includes(originOf(url)) && !this.watcher.working(shared.tabId);
  }

  /** @param {number} tabId @param {number} groupId */
  onGrouped(tabId, groupId) {
    const shared = this.get(tabId);
    if (shared) {
      if (shared.group === groupId) return;
      if (this.book.groups[groupId] && shared.group < 0) shared.group = groupId; // by putInGroup
      else if (shared.group >= 0) void this.removedFromGroup(tabId, shared);
    } else if (this.book.groups[groupId]?.server === '') {
      this.share(tabId, 'group').catch((e) => console.warn(`chrome-mcp: ${e.message}`));
    }
  }

  /**
   * Called when a tab left its group: the user dragged it out, or it is being closed.
   *
   * @param {number} tabId
   * @param {Shared} shared
   */
  async removedFromGroup(tabId, shared) {
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab').catch(() => null);
    if (tab && this.get(tabId) === shared && tab.groupId !== shared.group) this.unshare(tabId, 'moved');
  }

  /** Shares a tab if the settings say so for its site or all sites. @param {chrome.tabs.Tab} tab */
  autoShare(tab) {
    const { access, keepSites } = this.settings();
    if (tab.id === undefined || tab.incognito || !siteOf(tab.url ?? '') || this.book.declined.includes(tab.id)) return;
    const keep = keepSites.includes(originOf(tab.url ?? ''));
    if (!keep && access !== 'all') return;
    this.share(tab.id, keep ? 'site' : 'all').catch(() => {}); // on the block list, or closed
  }

  /** Checks all open tabs, after the browser starts and when settings change. */
  async autoShareAll() {
    for (const tab of await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs')) {
      if (tab.id !== undefined && !this.get(tab.id)) this.autoShare(tab);
    }
  }

  /** @param {number} tabId */
  onRemoved(tabId) {
    this.unshare(tabId, 'closed');
    if (this.book.declined.includes(tabId)) {
      this.book.declined = this.book.declined.filter((id) => id !== tabId);
      this.stored.saveSoon();
    }
  }

  /** @param {number} groupId */
  onGroupRemoved(groupId) {
    if (!this.book.groups[groupId]) return;
    delete this.book.groups[groupId];
    this.stored.saveSoon();
  }

  /**
   * Removes tabs that were closed while the worker was not running, and group memberships that
   * changed. It shares nothing: the browser adds what a page opens to the group
   * of that page, and starts the worker when the user drags a tab there.
   */
  async reconcile() {
    const open = new Map((await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs')).map((t) => [t.id, t]));
    for (const shared of this.list()) {
      const tab = open.get(shared.tabId);
      if (!tab) this.unshare(shared.tabId, 'closed');
      else if (shared.group >= 0 && tab.groupId !== shared.group) this.unshare(shared.tabId, 'moved');
    }
    for (const id of Object.keys(this.book.groups)) {
      if (![...open.values()].some((t) => t.groupId === Number(id))) delete this.book.groups[id];
    }
  }
}

/**
 * @param {number} tabId
 * @returns {Promise<chrome.tabs.Tab>}
 */
export async function getTab(tabId) {
  try {
    return await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab');
  } catch (e) {
    if (/No tab with id/.test(String(e))) throw new CommandError('TAB_NOT_FOUND', `tab ${tabId} not found`);
    throw e;
  }
}

/**
 * Returns the target id of a tab, or "" if it has none.
 *
 * @param {number} tabId
 */
export async function targetOf(tabId) {
  const targets = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
  return targets.find((t) => t.tabId === tabId && t.type === 'page')?.id ?? '';
}

/**
 * Describes a tab for a server. If the tab shows a blocked URL, only its origin is
 * included.
 *
 * @param {Shared} shared
 * @param {chrome.tabs.Tab} tab
 * @param {string} server key
 * @param {boolean} blocked whether the user blocks the URL of the tab
 * @returns {WireTab}
 */
function wireTab(shared, tab, server, blocked) {
  return {
    tabId: shared.tabId, targetId: shared.targetId,
    ...(blocked ? { url: `${originOf(tab.url ?? '')}/`, title: '' } : { url: tab.url ?? '', title: tab.title ?? '' }),
    active: tab.active, own: shared.own !== '' && shared.own === server, index: tab.index,
    ...(shared.opener > 0 ? { openerTabId: shared.opener } : {}),
    ...(shared.how === 'user' || shared.how === 'group' ? { chosen: shared.since } : {}),
  };
}
