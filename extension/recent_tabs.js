// @ts-check

import { timing } from './timing.js';

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
