// @ts-check

import { byId, make, setText } from './elements.js';
import { count, entryLine, sanitizeLine, tabNumbers } from './text.js';

/** @typedef {import('./log.js').Entry} Entry */

/** The number of rows that are shown at first, and added at a time. */
const PAGE = 100;

/** How long changes are collected before the log is read again, in ms. */
const GATHER = 500;

/** The log on the options page: newest first, filtered by words. */
export class LogView {
  /** @param {() => Promise<Entry[]>} read */
  constructor(read) {
    this.read = read;
    /** @type {Entry[]} */
    this.entries = [];
    this.most = PAGE;
    /** @type {ReturnType<typeof setTimeout> | undefined} */
    this.timer = undefined;
    this.filter = /** @type {HTMLInputElement} */ (byId('filter'));
    this.filter.oninput = () => this.show();
    byId('more').onclick = () => {
      this.most += PAGE;
      this.show();
    };
    byId('export').onclick = () => this.save();
  }

  /** Reads the log again, after a delay. */
  refresh() {
    this.timer ??= setTimeout(() => {
      this.timer = undefined;
      this.read().then((entries) => {
        this.entries = entries;
        this.show();
      }, () => {}); // the worker was restarted: its next state calls refresh again
    }, GATHER);
  }

  /** Returns the entries that contain every word of the filter, newest first. */
  chosen() {
    const words = this.filter.value.toLowerCase().split(/\s+/).filter(Boolean);
    const tabs = tabNumbers(this.entries);
    return this.entries.toReversed().filter((e) => {
      const text = `${entryLine(e)} ${e.server ?? ''} ${e.host ?? ''} ${tabs.get(e.tabId ?? -1) ?? ''}`.toLowerCase();
      return words.every((word) => text.includes(word));
    });
  }

  show() {
    const chosen = this.chosen();
    const all = this.entries.length;
    const tabs = tabNumbers(this.entries);
    setText(byId('log-count'), chosen.length === all ? `${all} ${all === 1 ? 'entry' : 'entries'}` : `${chosen.length} of ${all}`);
    byId('log').replaceChildren(...chosen.slice(0, this.most).map((e) => make('tr', {},
      make('td', {}, make('time', { dateTime: new Date(e.at).toISOString() }, when(e.at))),
      make('td', {}, entryLine(e)),
      make('td', { className: 'theirs' }, sanitizeLine(e.server ?? '', 60)),
      make('td', { className: 'theirs' }, e.host ?? ''),
      make('td', {}, String(tabs.get(e.tabId ?? -1) ?? '')))));
    byId('more').hidden = chosen.length <= this.most;
  }

  /** Saves the filtered entries as a JSON file. */
  save() {
    const text = JSON.stringify(this.chosen().toReversed(), null, 1);
    const href = URL.createObjectURL(new Blob([text], { type: 'application/json' }));
    make('a', { href, download: `chrome-mcp-log-${new Date().toISOString().slice(0, 10)}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  }
}

/** @param {number} at */
function when(at) {
  const date = new Date(at);
  const time = date.toLocaleTimeString();
  return date.toDateString() === new Date().toDateString() ? time : `${date.toLocaleDateString()} ${time}`;
}
