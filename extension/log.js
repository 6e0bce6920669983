// @ts-check

import { Stored } from './store.js';

/**
 * Something that was done, without a word of a page's text.
 *
 * @typedef {object} Entry
 * @property {number} at ms since 1970
 * @property {string} what
 * @property {string} [server] who asked for it
 * @property {number} [tabId]
 * @property {string} [host]
 * @property {string} [detail] a reason or a code
 * @property {number} [times] how often in a row, when more than once
 */

/** How many entries are kept. */
export const MAX_ENTRIES = 1000;

/** Entries that are alike and this close together, in ms, are counted. */
const ALIKE = 60_000;

/** How long entries wait to be written together, in ms. */
const WRITE_AFTER = 2_000;

/** The log of what was done, which can be read and not changed. */
export class Log {
  /** @param {chrome.storage.StorageArea} area */
  constructor(area) {
    /** @type {Stored<Entry[]>} */
    this.stored = new Stored(area, 'log', []);
    /** @type {Entry[]} what came before the stored ones were read */
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
    if (last && full.at - last.at < ALIKE && alike(last, full)) {
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

  /** @returns {Entry[]} the newest last */
  list() {
    return [...this.stored.value];
  }
}

/** @param {Entry} a @param {Entry} b */
function alike(a, b) {
  return a.what === b.what && a.server === b.server && a.tabId === b.tabId && a.host === b.host && a.detail === b.detail;
}
