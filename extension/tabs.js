// @ts-check

import { SHORT, within } from './deadline.js';
import { Refusal } from './refusal.js';
import { denies, isPlain, originOf, parsePattern, siteOf, BUILTIN } from './rules.js';
import { Stored } from './store.js';

/** @typedef {import('./wire.js').Tab} WireTab */
/** @typedef {typeof import('./wire.js').UNSHARED_REASONS[number]} UnsharedReason */
/** @typedef {import('./settings.js').Settings} Settings */

/**
 * A tab that is shared. It is known by its id; never by its title, which is
 * the page's to choose.
 *
 * @typedef {object} Shared
 * @property {number} tabId
 * @property {string} targetId "" until it is known
 * @property {'user' | 'group' | 'site' | 'all' | 'own' | 'popup'} how it came to be shared
 * @property {number} opener the tab whose page opened it, 0 for none
 * @property {string} own key of the server that opened it, "" for a tab of the user's
 * @property {string} driver key of the server that drives it, "" for none
 * @property {boolean} chosen the user chose the driver
 * @property {number} group of ours that it is in, -1 for none
 * @property {number} since ms since 1970
 * @property {string} host of its page when it was last seen, "" for none
 */

/**
 * A tab group of ours.
 *
 * @typedef {object} Group
 * @property {number} windowId
 * @property {string} server key of the server whose own tabs it holds, "" for shared ones
 */

/**
 * @typedef {object} Book
 * @property {Record<string, Shared>} tabs
 * @property {Record<string, Group>} groups
 * @property {number[]} declined tabs that were stopped, which are not shared by themselves
 * @property {number} window of agents' tabs, -1 for none
 * @property {'' | 'stopped' | 'locked'} [halted] how everything was ended, when the user has shared nothing since
 */

/**
 * What the book of tabs tells.
 *
 * @typedef {object} Watcher
 * @property {(tab: Shared) => void} begun it is in the book, and is not told of yet
 * @property {(tab: Shared) => void} shared
 * @property {(tab: Shared, reason: UnsharedReason) => void} unshared called at once, before anything is waited for
 * @property {(tab: Shared, now: chrome.tabs.Tab) => void} updated
 * @property {(tabId: number) => boolean} working whether an agent works in a tab right now
 */

/** The title of the group that shared tabs are put in. */
const GROUP_TITLE = 'chrome-mcp';

/** The book of shared tabs, kept in storage.session. */
export class Tabs {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {() => Settings} settings
   * @param {Watcher} watcher
   */
  constructor(session, settings, watcher) {
    /** @type {Stored<Book>} */
    this.stored = new Stored(session, 'tabs', { tabs: {}, groups: {}, declined: [], window: -1 });
    this.settings = settings;
    this.watcher = watcher;
    /** Changes of groups run one after another: two that make one would make two. */
    this.turn = Promise.resolve();
    /** How often all sharing was ended: what began before shares nothing after it. */
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

  /** @returns {Shared[]} the one shared first, first */
  list() {
    return Object.values(this.book.tabs).sort((a, b) => a.since - b.since || a.tabId - b.tabId);
  }

  save() {
    return this.stored.save();
  }

  /**
   * Shares a tab. Throws a Refusal in words for the user when it cannot be.
   *
   * @param {number} tabId
   * @param {Shared['how']} how
   * @param {string | Shared} [from] key of the server that opened it, or the tab whose page did
   * @param {number} [ends] how often all sharing had been ended when this began
   * @returns {Promise<Shared>}
   */
  async share(tabId, how, from = '', ends = this.ends) {
    const opener = typeof from === 'string' ? undefined : from;
    const own = typeof from === 'string' ? from : from.own;
    const known = this.get(tabId);
    if (known) return known;
    const tab = await getTab(tabId);
    const why = own === '' ? this.obstacle(tab.url ?? '') : null;
    if (why) throw new Refusal('POLICY_DENIED', why);
    if (this.get(tabId)) return this.book.tabs[tabId];
    if (this.ends !== ends || (opener && this.book.declined.includes(opener.tabId))) throw new Refusal('TAB_NOT_FOUND', `tab ${tabId} is not shared: sharing was stopped meanwhile`);
    /** @type {Shared} */
    const shared = {
      tabId, targetId: '', how, opener: opener?.tabId ?? 0, own, driver: opener?.driver ?? own, chosen: opener?.chosen ?? false,
      group: -1, since: Date.now(), host: siteOf(tab.url ?? '')?.host ?? '',
    };
    if (tab.groupId !== undefined && this.book.groups[tab.groupId]) shared.group = tab.groupId;
    this.book.tabs[tabId] = shared;
    if (how === 'user' || how === 'group') this.book.halted = '';
    this.watcher.begun(shared);
    this.book.declined = this.book.declined.filter((id) => id !== tabId);
    await this.save();
    shared.targetId = await targetOf(tabId);
    this.stored.saveSoon();
    if (this.get(tabId) !== shared) throw new Refusal('TAB_NOT_FOUND', `tab ${tabId} was unshared`);
    if (shared.group < 0 && !tab.pinned && (tab.groupId === undefined || tab.groupId < 0) && how !== 'all') this.putInGroup(shared);
    this.watcher.shared(shared);
    return shared;
  }

  /**
   * Ends the sharing of a tab, at once.
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
      this.inTurn(async () => {
        const tab = await chrome.tabs.get(tabId);
        if (tab.groupId === shared.group && !this.get(tabId)) await chrome.tabs.ungroup(tabId);
      });
    }
  }

  /**
   * Ends all sharing. Until the user is back or shares a tab, agents open none
   * of their own either.
   *
   * @param {'stopped' | 'locked'} reason
   */
  unshareAll(reason) {
    this.ends++;
    if (this.book.halted !== 'stopped') this.book.halted = reason;
    this.stored.saveSoon();
    for (const { tabId } of this.list()) this.unshare(tabId, reason);
  }

  /** The screen is unlocked: agents may open tabs of their own again. */
  unlocked() {
    if (this.book.halted !== 'locked') return;
    this.book.halted = '';
    this.stored.saveSoon();
  }

  /**
   * Says why a page cannot be shared, null when it can be.
   *
   * @param {string} url
   * @returns {string | null}
   */
  obstacle(url) {
    if (url === '' || url === 'about:blank') return null;
    const site = siteOf(url);
    if (!site) {
      const scheme = url.slice(0, url.indexOf(':') + 1);
      if (scheme === 'file:') return 'files of this computer cannot be shared';
      return `pages of ${scheme}// belong to the browser and cannot be shared`;
    }
    if (!isPlain(site)) return `${site.host} is an unusual way to write the host, which no rule would know`;
    const builtin = BUILTIN.find(({ pattern }) => denies(pattern, site));
    if (builtin) return `${site.host} is ${builtin.what} and cannot be shared`;
    if (this.settings().blockList.some((text) => denies(parsePattern(text), site))) return `${site.host} is on your block list`;
    return null;
  }

  /** Reports whether a URL cannot be shared. @param {string} url */
  blocked(url) {
    return siteOf(url) !== null && this.obstacle(url) !== null;
  }

  /** Describes a tab for a server. @param {Shared} shared @param {chrome.tabs.Tab} tab @param {string} server key */
  describe(shared, tab, server) {
    return wireTab(shared, tab, server, this.blocked(tab.url ?? ''));
  }

  /**
   * Opens a blank tab of a server's own: in the background, in its group.
   *
   * @param {string} server key
   * @param {string} name of the server
   * @returns {Promise<Shared>}
   */
  async open(server, name) {
    if (this.book.halted === 'stopped') throw new Refusal('POLICY_DENIED', "the browser's user stopped all sharing, and has shared no tab since: ask before you go on");
    if (this.book.halted === 'locked') throw new Refusal('POLICY_DENIED', 'the screen is locked, which ends sharing: ask the user to unlock it');
    const { ends } = this;
    const windowId = await this.windowForOwn();
    /** @param {{windowId?: number}} where */
    const create = (where) => within(SHORT, chrome.tabs.create({ url: 'about:blank', active: false, ...where }), 'opening a tab');
    const tab = await create(windowId >= 0 ? { windowId } : {}).catch((e) => {
      // The window closed during the call. A page can close a picture-in-picture window.
      if (windowId < 0 || !/No window with id/.test(String(e))) throw e;
      return create({});
    });
    if (tab.id === undefined) throw new Refusal('INTERNAL', 'the browser opened a tab without an id');
    const { id } = tab;
    this.titles.set(server, name);
    return this.share(id, 'own', server, ends).catch(async (e) => {
      await within(SHORT, chrome.tabs.remove(id), 'closing the tab').catch(() => {});
      throw e;
    });
  }

  /** Names of servers, for the titles of their groups. @type {Map<string, string>} */
  titles = new Map();

  /** @returns {Promise<number>} a window for tabs of agents */
  async windowForOwn() {
    if (this.settings().ownWindow) {
      const { window: id } = this.book;
      if (id >= 0 && await within(SHORT, chrome.windows.get(id), 'finding the window').then(() => true, () => false)) return id;
    } else {
      const last = await within(SHORT, chrome.windows.getLastFocused({ windowTypes: ['normal'] }), 'finding a window').catch(() => null);
      if (last?.id !== undefined && last.id >= 0) return last.id;
    }
    const made = await within(SHORT, chrome.windows.create({ url: 'about:blank', focused: false, state: 'minimized' }), 'opening a window');
    this.book.window = made?.id ?? -1;
    await this.save();
    return this.book.window;
  }

  /** @param {Shared} shared */
  putInGroup(shared) {
    this.inTurn(async () => {
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
  inTurn(work) {
    this.turn = this.turn.then(() => within(SHORT, work(), 'grouping tabs')).catch((e) => {
      console.warn(`chrome-mcp: ${e.message}`);
    });
  }

  // What the browser tells.

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
      if (change.url !== undefined && this.leftKeptSite(shared, change.url)) {
        this.unshare(tabId, 'user');
        this.book.declined = this.book.declined.filter((id) => id !== tabId); // when it is back there, it is shared again
        this.stored.saveSoon();
        return;
      }
      shared.host = siteOf(tab.url ?? '')?.host ?? '';
      this.watcher.updated(shared, tab);
    } else if (!shared && (change.url !== undefined || change.status === 'loading')) {
      this.shareByItself(tab);
    }
  }

  /**
   * Whether the user takes a tab elsewhere that is shared only because of the
   * site it was on. An agent that works in it may, as in any other.
   *
   * @param {Shared} shared
   * @param {string} url
   */
  leftKeptSite(shared, url) {
    return shared.how === 'site' && siteOf(url) !== null && this.settings().access !== 'all'
      && !this.settings().keepSites.includes(originOf(url)) && !this.watcher.working(shared.tabId);
  }

  /** @param {number} tabId @param {number} groupId */
  onGrouped(tabId, groupId) {
    const shared = this.get(tabId);
    if (shared) {
      if (shared.group === groupId) return;
      if (this.book.groups[groupId] && shared.group < 0) shared.group = groupId; // our own doing
      else if (shared.group >= 0) void this.movedOut(tabId, shared);
    } else if (this.book.groups[groupId]?.server === '') {
      this.share(tabId, 'group').catch((e) => console.warn(`chrome-mcp: ${e.message}`));
    }
  }

  /**
   * A tab left its group: dragged out, or because it is being closed.
   *
   * @param {number} tabId
   * @param {Shared} shared
   */
  async movedOut(tabId, shared) {
    const tab = await within(SHORT, chrome.tabs.get(tabId), 'finding the tab').catch(() => null);
    if (tab && this.get(tabId) === shared && tab.groupId !== shared.group) this.unshare(tabId, 'moved');
  }

  /** Shares a tab whose site, or every site, the user said is shared. @param {chrome.tabs.Tab} tab */
  shareByItself(tab) {
    const { access, keepSites } = this.settings();
    if (tab.id === undefined || tab.incognito || !siteOf(tab.url ?? '') || this.book.declined.includes(tab.id)) return;
    const keep = keepSites.includes(originOf(tab.url ?? ''));
    if (!keep && access !== 'all') return;
    this.share(tab.id, keep ? 'site' : 'all').catch(() => {}); // on the block list, or gone
  }

  /** Looks at every open tab: after the browser starts, and when settings change. */
  async shareAllByThemselves() {
    for (const tab of await within(SHORT, chrome.tabs.query({}), 'listing tabs')) {
      if (tab.id !== undefined && !this.get(tab.id)) this.shareByItself(tab);
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
   * Forgets tabs that went while the worker slept, and group memberships that
   * changed. It shares nothing: the browser puts what a page opens in the group
   * of that page, and wakes the worker when the user drags a tab there.
   */
  async reconcile() {
    const open = new Map((await within(SHORT, chrome.tabs.query({}), 'listing tabs')).map((t) => [t.id, t]));
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
    return await within(SHORT, chrome.tabs.get(tabId), 'finding the tab');
  } catch (e) {
    if (/No tab with id/.test(String(e))) throw new Refusal('TAB_NOT_FOUND', `there is no tab ${tabId}`);
    throw e;
  }
}

/**
 * Returns the debugger's id of a tab, "" when it has none.
 *
 * @param {number} tabId
 */
export async function targetOf(tabId) {
  const targets = await within(SHORT, chrome.debugger.getTargets(), 'listing targets');
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
