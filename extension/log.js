// @ts-check

import { PersistentValue } from './persistent_value.js';

/**
 * An entry of the activity log. It contains no page text.
 *
 * @typedef {object} Entry
 * @property {number} at ms since 1970
 * @property {string} what
 * @property {string} [server] name of the agent
 * @property {number} [tabId]
 * @property {string} [host]
 * @property {string} [detail] a reason or a code
 * @property {number} [times] number of consecutive occurrences, if more than one
 */

/** The maximum number of entries. */
export const MAX_ENTRIES = 1000;

/** Equal entries within this time, in ms, are merged. */
const MERGE_WINDOW_MS = 60_000;

/** How long entries are buffered before they are stored, in ms. */
const WRITE_AFTER = 2_000;

/** The activity log, which can be read but not changed. */
export class Log {
  /** @param {chrome.storage.StorageArea} area */
  constructor(area) {
    /** @type {PersistentValue<Entry[]>} */
    this.stored = new PersistentValue(area, 'log', []);
    /** @type {Entry[]} entries added before the stored ones were read */
    this.early = [];
    this.loaded = false;
    this.ready = this.stored.ready.catch(() => {}).then(() => {
      this.loaded = true;
      for (const entry of this.early.splice(0)) this.add(entry);
    });
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
  }

  /** @param {Omit<Entry, 'at'> & {at?: number}} entry */
  add(entry) {
    const full = { at: Date.now(), ...entry };
    if (!this.loaded) {
      this.early.push(full);
      return;
    }
    const entries = this.stored.value;
    const last = entries[entries.length - 1];
    if (last && full.at - last.at < MERGE_WINDOW_MS && isSameEntry(last, full)) {
      last.times = (last.times ?? 1) + 1;
      last.at = full.at;
    } else {
      entries.push(full);
      if (entries.length > MAX_ENTRIES) entries.splice(0, entries.length - MAX_ENTRIES);
    }
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.stored.saveSoon();
    }, WRITE_AFTER);
  }

  /** @returns {Entry[]} the entries, newest last */
  list() {
    return [...this.stored.value];
  }
}

/** @param {Entry} a @param {Entry} b */
function isSameEntry(a, b) {
  return a.what === b.what && a.server === b.server && a.tabId === b.tabId && a.host === b.host && a.detail === b.detail;
}
