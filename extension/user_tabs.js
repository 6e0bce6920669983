// @ts-check

// Decides whether a new tab is the user's. Its first request may start before the
// browser reports which page opened it, and the rules must apply to tabs that a
// driven page opened. So a tab counts as the user's only when the browser has
// shown that no driven page opened it.

/** The browser's own pages, to which no page can navigate a tab. */
const BROWSERS = /^(?:chrome|edge|brave|opera|vivaldi):\/\//;

/** Transition types that only the user causes. A worker that opens a window causes
 * start_page; a page causes links and reloads. */
const TYPED = new Set(['typed', 'generated', 'keyword', 'keyword_generated', 'auto_bookmark']);

/** Tracks which tabs are the user's while any tab is in a scope. */
export class UserTabs {
  /** @param {() => void} changed updates the rules */
  constructor(changed) {
    this.changed = changed;
    /** Tabs inside a scope. @type {Set<number>} */
    this.inside = new Set();
    /**
     * Tabs that are known to be the user's, null while no tab is in a scope.
     * @type {Set<number> | null}
     */
    this.known = null;
    /** Tabs that pages of a scope opened and no agent drives, such as Document
     * Picture-in-Picture windows, by the tab that they originate from. @type {Map<number, number>}
     * */
    this.joined = new Map();
    /** New tabs whose first document was not blocked yet. @type {Set<number>} */
    this.fresh = new Set();
    /** Tabs that are reloaded to check that no page opened them. Rules for
     * requests without an initiator do not apply to them. @type {Set<number>} */
    this.tried = new Set();
  }

  /**
   * Records the rules that are about to be installed.
   *
   * @param {Set<number>} inside
   * @param {number[]} all tabs that are open
   */
  install(inside, all) {
    this.inside = inside;
    if (inside.size === 0) this.known = null;
    else this.known ??= new Set([...all, ...this.fresh]); // fresh: opened since all was read
  }

  /** Reports whether a tab is in a scope, or about to be. @param {number} tabId */
  inScope(tabId) {
    return this.inside.has(tabId) || this.joined.has(tabId);
  }

  /** @param {chrome.tabs.Tab} tab that was opened */
  created({ id, openerTabId, url, pendingUrl }) {
    if (id === undefined) return;
    // Also while no tab is in a scope: the first rules may be pending.
    this.fresh.add(id);
    if (BROWSERS.test(pendingUrl || url || '')) this.add(id);
    // A tab that the browser or another extension opens has a pending URL from
    // the start. openerTabId is the tab in the foreground. If the page of another
    // tab opened this one, opened corrects that.
    else if (!pendingUrl && openerTabId !== undefined && this.inScope(openerTabId)) this.join(id, openerTabId);
  }

  /**
   * Called when a page opened a tab.
   *
   * @param {number} tabId
   * @param {number} source the tab of the page
   */
  opened(tabId, source) {
    if (this.inScope(source)) return;
    if (this.known?.has(source)) {
      if (this.joined.delete(tabId)) this.inside.delete(tabId); // created saw only the tab in the foreground
      this.add(tabId);
    } else if (this.known) this.fresh.delete(tabId); // it is the user's only if that tab is
  }

  /**
   * Called when a page of a scope opened a tab. The same rules apply to both.
   *
   * @param {number} tabId
   * @param {number} source
   */
  join(tabId, source) {
    if (this.inScope(tabId)) return;
    this.joined.set(tabId, this.joined.get(source) ?? source);
    this.changed();
  }

  /** @param {number} root @returns {number[]} the tabs that originate from a tab */
  originatingFrom(root) {
    return [...this.joined].flatMap(([tabId, of]) => (of === root ? [tabId] : []));
  }

  /** @param {number} tabId */
  add(tabId) {
    this.tried.delete(tabId);
    if (!this.known || this.known.has(tabId) || this.inScope(tabId)) return;
    this.known.add(tabId);
    this.changed();
  }

  /**
   * Called when a tab committed a top document.
   *
   * @param {number} tabId
   * @param {string} url
   * @param {string} transition
   */
  committed(tabId, url, transition) {
    if (this.tried.has(tabId) || TYPED.has(transition) || BROWSERS.test(url)) this.add(tabId);
  }

  /**
   * Called when the rules blocked the document of a tab. Reports whether the tab
   * may be reloaded. A reload has the initiator of the first request, and rules
   * for initiators in a scope still apply to the tab. So if the reload succeeds,
   * no page of a scope is the initiator, and the tab is the user's.
   *
   * @param {number} tabId
   */
  mayReload(tabId) {
    if (this.joined.has(tabId)) return false; // it belongs to a page of a scope
    if (this.tried.delete(tabId)) this.changed(); // blocked again: a page of a scope opened it
    if (!this.fresh.delete(tabId)) return false;
    // If the tab was shared, or no rules apply to it any longer, it is
    // reloaded under the current rules.
    if (this.known && !this.inScope(tabId) && !this.known.has(tabId)) this.tried.add(tabId);
    return true;
  }

  /** @param {number} tabId @param {number} before its previous id */
  renamed(tabId, before) {
    const root = this.joined.get(before);
    if (root !== undefined) this.join(tabId, root);
    else if (this.known?.has(before)) this.add(tabId);
  }

  /** @param {number} tabId the tab that was closed */
  forget(tabId) {
    this.fresh.delete(tabId);
    this.tried.delete(tabId);
    this.joined.delete(tabId);
    this.known?.delete(tabId);
  }
}
