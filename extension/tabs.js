// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { CommandError } from './command_error.js';
import { denies, isCanonical, originOf, parsePattern, siteOf, BUILTIN } from './policy.js';
import { PersistentValue } from './persistent_value.js';
import { SHARE_MINUTES } from './settings.js';

/** @typedef {import('./wire.js').Tab} WireTab */
/** @typedef {typeof import('./wire.js').UNSHARED_REASONS[number]} UnsharedReason */
/** @typedef {import('./settings.js').Settings} Settings */

/**
 * What ends the sharing of a tab automatically: nothing ('stopped': only the user), SHARE_MINUTES
 * without a call of an agent, or an idle machine.
 *
 * @typedef {'stopped' | 'time' | 'idle'} SharedUntil
 */

/**
 * A shared tab. It is identified by its id, never by its title, which the page
 * controls.
 *
 * @typedef {object} Shared
 * @property {number} tabId
 * @property {string} targetId "" while unknown
 * @property {'user' | 'group' | 'site' | 'all' | 'own' | 'popup'} how why it is shared
 * @property {number} opener the tab whose page opened it, or 0
 * @property {string} openedBy key of the server that opened it, "" for the user's tabs
 * @property {string} driver key of the server that drives it, "" if none does
 * @property {boolean} driverChosen whether the user chose the driver
 * @property {boolean} [chat] whether it belongs to a chat: no other server than the driver ever sees it
 * @property {number} group id of our group that contains it, or -1
 * @property {number} since ms since 1970
 * @property {SharedUntil} until what ends its sharing
 * @property {number} expires when its sharing ends unless a call renews it, in ms since 1970; 0
 *   unless until is 'time'
 * @property {string} host last known host of its page, or ""
 */

/**
 * A tab group that the extension created.
 *
 * @typedef {object} Group
 * @property {number} windowId
 * @property {string} server key of the server that alone sees its tabs, because it opened them or
 *   they belong to its chat; "" for shared ones
 */

/**
 * @typedef {object} TabsState
 * @property {Record<string, Shared>} tabs
 * @property {Record<string, Group>} groups
 * @property {number[]} declined unshared tabs, which are not shared automatically
 * @property {Record<string, UnsharedReason>} ended why open tabs were unshared, by tab id
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
 * @property {(tabId: number) => boolean} handedOver returns whether a tab is handed over to the user
 */

/** The values of SharedUntil. @type {SharedUntil[]} */
export const SHARED_UNTIL = ['stopped', 'time', 'idle'];

/** A renewal of less than this, in ms, is not worth storing. */
const MIN_RENEWAL_MS = 1000;

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
    /** @type {PersistentValue<TabsState>} */
    this.stored = new PersistentValue(session, 'tabs', { tabs: {}, groups: {}, declined: [], ended: {}, window: -1 });
    this.settings = settings;
    this.watcher = watcher;
    /** Changes of groups run one after another, so that two of them do not create two groups. */
    this.queue = Promise.resolve();
    /** Tabs that putInGroup is adding to a group: the user did not drag them there. @type {Set<number>} */
    this.grouping = new Set();
    /** How often all sharing ended. A call that started earlier must share nothing afterwards. */
    this.stopCount = 0;
    this.ready = this.stored.ready;
  }

  get state() {
    return this.stored.value;
  }

  /** @param {number} tabId @returns {Shared | undefined} */
  get(tabId) {
    return this.state.tabs[tabId];
  }

  /** @returns {Shared[]} in the order in which they were shared */
  list() {
    return Object.values(this.state.tabs).sort((a, b) => a.since - b.since || a.tabId - b.tabId);
  }

  save() {
    return this.stored.save();
  }

  /**
   * Shares a tab. It throws a CommandError with a message for the user if it cannot be shared.
   *
   * @param {number} tabId
   * @param {Shared['how']} how
   * @param {object} [options]
   * @param {string} [options.server] key of the server that opened it
   * @param {Shared} [options.opener] the tab whose page opened it, whose server, chat and SharedUntil it
   *   inherits
   * @param {number} [options.stopCount] the value of this.stopCount when the call started
   * @param {SharedUntil} [options.until] what ends its sharing
   * @param {string} [options.chatServer] key of the server of the chat that it is given to
   * @returns {Promise<Shared>}
   */
  async share(tabId, how, { server = '', opener, stopCount = this.stopCount, until = 'stopped', chatServer = '' } = {}) {
    const openedBy = opener?.openedBy ?? server;
    const known = this.get(tabId);
    if (known) return known;
    const tab = await getTab(tabId);
    const why = openedBy === '' ? this.shareRefusal(tab.url ?? '') : null;
    if (why) throw new CommandError('POLICY_DENIED', why);
    if (this.get(tabId)) return this.state.tabs[tabId];
    if (this.stopCount !== stopCount || (opener && this.state.declined.includes(opener.tabId))) throw new CommandError('TAB_NOT_FOUND', 'the tab is not shared: sharing was stopped');
    /** @type {Shared} */
    const shared = {
      tabId, targetId: '', how, opener: opener?.tabId ?? 0, openedBy, driver: opener?.driver ?? (chatServer || openedBy),
      driverChosen: opener?.driverChosen ?? (chatServer !== ''), chat: opener?.chat ?? (chatServer !== ''), group: -1, since: Date.now(), host: siteOf(tab.url ?? '')?.host ?? '', until: 'stopped', expires: 0,
    };
    setUntil(shared, opener?.until ?? until);
    if (this.isGroupOf(tab.groupId, shared)) shared.group = tab.groupId ?? -1;
    this.state.tabs[tabId] = shared;
    delete this.state.ended[tabId];
    if (how === 'user' || how === 'group') this.state.halted = '';
    this.watcher.added(shared);
    this.state.declined = this.state.declined.filter((id) => id !== tabId);
    try {
      await this.save();
      shared.targetId = await targetOf(tabId);
    } catch (e) {
      if (this.get(tabId) === shared) {
        this.unshare(tabId, 'released');
        this.state.declined = this.state.declined.filter((id) => id !== tabId); // not by the user: it may be shared automatically later
      }
      throw e;
    }
    this.stored.saveSoon();
    if (this.get(tabId) !== shared) throw new CommandError('TAB_NOT_FOUND', 'the tab was unshared');
    if (shared.group < 0 && !tab.pinned && !this.isOtherGroup(tab.groupId) && how !== 'all') this.putInGroup(shared);
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
    delete this.state.tabs[tabId];
    if (reason !== 'closed') {
      if (!this.state.declined.includes(tabId)) this.state.declined.push(tabId);
      this.state.ended[tabId] = reason;
    }
    this.watcher.unshared(shared, reason);
    this.stored.saveSoon();
    if (shared.group >= 0 && reason !== 'closed' && reason !== 'moved') {
      this.enqueue(() => this.leaveGroup(tabId, shared.group));
    }
  }

  /**
   * Ends all sharing. Until the screen is unlocked or the user shares a tab, agents cannot open
   * tabs either.
   *
   * @param {'stopped' | 'locked'} reason
   */
  unshareAll(reason) {
    this.stopCount++;
    if (this.state.halted !== 'stopped') this.state.halted = reason;
    this.stored.saveSoon();
    for (const { tabId } of this.list()) this.unshare(tabId, reason);
  }

  /**
   * Changes what ends the sharing of a tab that the user shared.
   *
   * @param {number} tabId
   * @param {SharedUntil} until
   */
  async setSharedUntil(tabId, until) {
    const shared = this.get(tabId);
    if (!shared || shared.openedBy !== '') throw new CommandError('TAB_NOT_FOUND', 'the tab is not shared');
    setUntil(shared, until);
    await this.save();
    const tab = await getTab(tabId);
    if (this.get(tabId) === shared) this.watcher.updated(shared, tab);
  }

  /** Renews the sharing of a tab that an agent uses. @param {Shared} shared */
  renew(shared) {
    const expires = expiry();
    if (shared.until !== 'time' || expires - shared.expires < MIN_RENEWAL_MS) return;
    shared.expires = expires;
    this.stored.saveSoon();
  }

  /**
   * Ends the sharing of tabs whose time is over. A tab that is handed over to the user stays shared:
   * the user is using it.
   */
  expire() {
    for (const shared of this.list()) {
      if (shared.until !== 'time') continue;
      shared.expires = Math.min(shared.expires, expiry()); // the clock may have been set back
      if (this.watcher.handedOver(shared.tabId)) this.renew(shared);
      else if (shared.expires <= Date.now()) this.unshare(shared.tabId, 'expired');
    }
  }

  /** Returns the time at which the next tab expires, in ms since 1970, or Infinity if none does. */
  nextExpiry() {
    return Math.min(...this.list().flatMap((t) => (t.until === 'time' ? [t.expires] : [])), Infinity);
  }

  /** Ends the sharing of tabs that are shared until the machine is idle, even if they are handed over. */
  machineIdle() {
    for (const shared of this.list()) if (shared.until === 'idle') this.unshare(shared.tabId, 'idle');
  }

  /** Called when the screen is unlocked: agents may open tabs again. */
  unlocked() {
    if (this.state.halted !== 'locked') return;
    this.state.halted = '';
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
    if (!isCanonical(site)) return `${site.host} is not in canonical form, so no rule would match it`;
    const builtin = BUILTIN.find(({ pattern }) => denies(pattern, site));
    if (builtin) return `${site.host} is ${builtin.what} and cannot be shared`;
    if (this.settings().blockList.some((text) => denies(parsePattern(text), site))) return `${site.host} is on the block list of the extension`;
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
   * @param {boolean} [chat] whether it is the server of a chat
   * @returns {Promise<Shared>}
   */
  async open(server, name, chat = false) {
    if (this.state.halted === 'stopped') throw new CommandError('POLICY_DENIED', 'the user stopped all sharing and has not shared a tab since: ask the user before you continue');
    if (this.state.halted === 'locked') throw new CommandError('POLICY_DENIED', 'the screen is locked, so sharing has ended: ask the user to unlock it');
    const { stopCount } = this;
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
    return this.share(id, 'own', { server, stopCount, chatServer: chat ? server : '' }).catch(async (e) => {
      await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.remove(id), 'closing the tab').catch(() => {});
      throw e;
    });
  }

  /** Names of servers, for the titles of their groups. @type {Map<string, string>} */
  titles = new Map();

  /** @returns {Promise<number>} the window for tabs of agents */
  async windowForOwn() {
    if (this.settings().ownWindow) {
      const { window: id } = this.state;
      if (id >= 0 && await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.get(id), 'finding the window').then(() => true, () => false)) return id;
    } else {
      const last = await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.getLastFocused({ windowTypes: ['normal'] }), 'finding a window').catch(() => null);
      if (last?.id !== undefined && last.id >= 0) return last.id;
    }
    const made = await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.create({ url: 'about:blank', focused: false, state: 'minimized' }), 'opening a window');
    this.state.window = made?.id ?? -1;
    await this.save();
    return this.state.window;
  }

  /** Reports whether a group is the one of ours that a tab belongs in. @param {number | undefined} groupId @param {Shared} shared */
  isGroupOf(groupId, shared) {
    return this.state.groups[groupId ?? -1]?.server === exclusiveServer(shared);
  }

  /** Reports whether a group exists and is not one of ours. @param {number | undefined} groupId */
  isOtherGroup(groupId = -1) {
    return groupId >= 0 && !this.state.groups[groupId];
  }

  /**
   * Adds a tab to the group of the server that alone sees it, or to the group of shared tabs. A tab
   * that the user drags into the former is not shared. It removes the tab from our other groups,
   * because the browser adds a tab that a page opens to the group of that page.
   * @param {Shared} shared
   */
  putInGroup(shared) {
    const server = exclusiveServer(shared);
    const { tabId } = shared;
    const group = async () => {
      const tab = await chrome.tabs.get(tabId);
      if (this.isOtherGroup(tab.groupId) || this.isGroupOf(tab.groupId, shared)) return;
      const found = Object.entries(this.state.groups).find(([, g]) => g.windowId === tab.windowId && g.server === server);
      let groupId = found ? Number(found[0]) : -1;
      if (groupId >= 0 && !(await chrome.tabGroups.get(groupId).then(() => true, () => false))) {
        delete this.state.groups[groupId];
        groupId = -1;
      }
      if (this.get(tabId) !== shared) return;
      const fresh = groupId < 0;
      groupId = await chrome.tabs.group({ tabIds: [tabId], ...(fresh ? { createProperties: { windowId: tab.windowId } } : { groupId }) });
      this.state.groups[groupId] = { windowId: tab.windowId, server };
      if (this.get(tabId) === shared) shared.group = groupId;
      else await this.leaveGroup(tabId, groupId); // it was unshared during the call
      await this.save();
      if (fresh) {
        const name = this.titles.get(server);
        await chrome.tabGroups.update(groupId, { title: name ? `${GROUP_TITLE}: ${name}` : GROUP_TITLE, color: shared.chat ? 'cyan' : server ? 'purple' : 'blue' });
      }
    };
    this.enqueue(async () => {
      this.grouping.add(tabId);
      await group().finally(() => this.grouping.delete(tabId));
    });
  }

  /** Removes a tab from a group, unless it is shared or has left the group. @param {number} tabId @param {number} groupId */
  async leaveGroup(tabId, groupId) {
    const tab = await chrome.tabs.get(tabId);
    if (tab.groupId === groupId && !this.get(tabId)) await chrome.tabs.ungroup(tabId);
  }

  /** @param {() => Promise<void>} work */
  enqueue(work) {
    this.queue = this.queue.then(() => withTimeout(SHORT_TIMEOUT_MS, work(), 'grouping tabs')).catch((e) => {
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
      if (change.url !== undefined && shared.openedBy === '' && this.blocked(change.url)) {
        this.unshare(tabId, 'user'); // a site on the block list
        return;
      }
      if (change.url !== undefined && this.unshareIfLeft(shared, change.url)) return;
      shared.host = siteOf(tab.url ?? '')?.host ?? '';
      this.watcher.updated(shared, tab);
    } else if (!shared && (change.url !== undefined || change.status === 'loading')) {
      this.autoShare(tab);
    }
  }

  /**
   * Unshares a tab if the user navigates it away from the site because of which it is shared.
   * Navigations by an agent are allowed, as in other tabs, and those during a handover, in which a
   * site may send the user to its login provider.
   *
   * @param {Shared} shared
   * @param {string} url
   * @returns {boolean} whether the tab was unshared
   */
  unshareIfLeft(shared, url) {
    const { tabId } = shared;
    if (shared.how !== 'site' || siteOf(url) === null || this.settings().access === 'all' || this.settings().keepSites.includes(originOf(url))
      || this.watcher.working(tabId) || this.watcher.handedOver(tabId)) return false;
    this.unshare(tabId, 'user');
    this.state.declined = this.state.declined.filter((id) => id !== tabId); // it is shared again when it returns
    this.stored.saveSoon();
    return true;
  }

  /** Called when a tab is no longer handed over: it may be on another site now. @param {number} tabId */
  async handoverEnded(tabId) {
    const shared = this.get(tabId);
    if (shared?.how !== 'site') return;
    const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab').catch(() => null);
    if (tab && this.get(tabId) === shared) this.unshareIfLeft(shared, tab.url ?? '');
  }

  /** @param {number} tabId @param {number} groupId */
  onGrouped(tabId, groupId) {
    const shared = this.get(tabId);
    if (shared) {
      if (shared.group === groupId) return;
      if (shared.group >= 0) void this.removedFromGroup(tabId, shared);
      else if (this.isGroupOf(groupId, shared)) shared.group = groupId; // by putInGroup
    } else if (this.state.groups[groupId]?.server === '' && !this.grouping.has(tabId)) {
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
    if (tab.id === undefined || tab.incognito || !siteOf(tab.url ?? '') || this.state.declined.includes(tab.id)) return;
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
    if (this.state.ended[tabId]) {
      delete this.state.ended[tabId];
      this.stored.saveSoon();
    }
    if (this.state.declined.includes(tabId)) {
      this.state.declined = this.state.declined.filter((id) => id !== tabId);
      this.stored.saveSoon();
    }
  }

  /** @param {number} groupId */
  onGroupRemoved(groupId) {
    if (!this.state.groups[groupId]) return;
    delete this.state.groups[groupId];
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
    for (const id of Object.keys(this.state.groups)) {
      if (![...open.values()].some((t) => t.groupId === Number(id))) delete this.state.groups[id];
    }
  }
}

/** Returns the key of the server that alone sees a tab, or "" for a shared one. @param {Shared} shared */
function exclusiveServer(shared) {
  return shared.chat ? shared.driver : shared.openedBy;
}

/** @param {Shared} shared @param {SharedUntil} until */
function setUntil(shared, until) {
  shared.until = until;
  shared.expires = until === 'time' ? expiry() : 0;
}

function expiry() {
  return Date.now() + SHARE_MINUTES * 60_000;
}

/**
 * @param {number} tabId
 * @returns {Promise<chrome.tabs.Tab>}
 */
export async function getTab(tabId) {
  try {
    return await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab');
  } catch (e) {
    if (/No tab with id/.test(String(e))) throw new CommandError('TAB_NOT_FOUND', 'the tab was not found');
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
    active: tab.active, own: shared.openedBy !== '' && shared.openedBy === server, index: tab.index,
    ...(shared.opener > 0 ? { openerTabId: shared.opener } : {}),
    ...(shared.how === 'user' || shared.how === 'group' ? { chosen: shared.since } : {}),
    ...(shared.until === 'time' ? { renewable: true } : {}),
  };
}

/** Shows a tab to the user and focuses its window. @param {number} tabId */
export async function showTab(tabId) {
  const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.update(tabId, { active: true }), 'showing the tab');
  if (tab) await withTimeout(SHORT_TIMEOUT_MS, chrome.windows.update(tab.windowId, { focused: true }), 'showing the window');
}
