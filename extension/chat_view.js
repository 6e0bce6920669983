// @ts-check

import { make } from './elements.js';
import { entryRow } from './entries.js';

/** @typedef {import('./chat_host.js').Entry} Entry */
/** @typedef {import('./entries.js').Row} Row */

/** How many entries are read with one call, and how many of them are rendered in a frame. */
const READ = 100;
const PER_FRAME = 5;

/** How many entries a page has: what the browser lays out together while the user scrolls. */
const PAGE = 20;

/** How near to the start of the log older entries are read, in pixels. */
const NEAR_START = 2000;

/** How near to the end the log follows new entries, in pixels. */
const NEAR_END = 48;

/**
 * The conversation of a chat: the newest entries, and older ones as the user scrolls to them. The
 * browser skips the layout of pages that are not visible.
 */
export class ChatView {
  /**
   * @param {{log: HTMLElement, entries: HTMLElement, newest: HTMLElement}} elements
   * @param {{read: (chat: string, before: number | undefined, limit: number) => Promise<{entries: Entry[], more: boolean}>, answer: (request: string, option: string) => Promise<boolean>, failed: (e: any) => void}} owner
   */
  constructor(elements, owner) {
    this.elements = elements;
    this.owner = owner;
    this.chat = '';
    /** Of each shown or waiting entry, by seq. @type {Map<number, {entry: Entry, row: Row | null}>} */
    this.rows = new Map();
    /** Rows to update in the next frame. @type {Set<number>} */
    this.dirty = new Set();
    /** Where the open permission requests are on the screen, by seq. @type {Map<number, number>} */
    this.requests = new Map();
    this.more = false;
    this.loading = false;
    this.ready = false;
    /**
     * Events before the answer to the first read: entries, and text that was appended to them.
     * @type {{seq: number, entry?: Entry, text?: string, at?: number}[]}
     */
    this.early = [];
    /** Resolves when the shown chat was read. @type {Promise<void>} */
    this.opened = Promise.resolve();
    this.follow = true;
    elements.log.addEventListener('scroll', () => this.scrolled(), { passive: true });
    elements.newest.onclick = () => this.toEnd();
    new ResizeObserver(() => {
      if (this.follow) this.toEnd();
      else this.locateRequests();
    }).observe(elements.entries);
  }

  /** Shows a chat from its newest entries, or nothing if chat is "". @param {string} chat */
  open(chat) {
    this.opened = this.start(chat);
    return this.opened;
  }

  /** @param {string} chat */
  async start(chat) {
    this.chat = chat;
    this.rows.clear();
    this.dirty.clear();
    this.requests.clear();
    this.elements.entries.replaceChildren();
    this.more = this.ready = this.loading = false;
    this.early = [];
    this.follow = true;
    this.elements.newest.hidden = true;
    if (chat === '') return;
    try {
      const { entries, more } = await this.owner.read(chat, undefined, READ);
      if (this.chat !== chat) return;
      this.ready = true;
      for (const e of entries) this.put(e);
      const first = entries[0]?.seq ?? 0;
      for (const { seq, entry, text = '', at = 0 } of this.early.splice(0)) {
        if (seq < first) continue; // it is read when the user scrolls to it
        if (entry) this.put(entry);
        else this.append(seq, text, at);
      }
      this.more = more;
      this.flush();
      this.toEnd();
    } catch (e) {
      if (this.chat === chat) this.owner.failed(e);
    }
  }

  /** Adds or replaces an entry. @param {Entry} entry */
  put(entry) {
    if (!this.ready) {
      this.early.push({ seq: entry.seq, entry });
      return;
    }
    const known = this.rows.get(entry.seq);
    if (known && known.entry.kind === entry.kind) known.entry = entry;
    else if (known || (this.more && entry.seq < Math.min(...this.rows.keys()))) return; // loadOlder reads it
    else this.rows.set(entry.seq, { entry, row: null });
    this.mark(entry.seq);
  }

  /**
   * Appends text to an entry, unless what was read contains it.
   *
   * @param {number} seq
   * @param {string} text
   * @param {number} at the length of the entry's text before
   */
  append(seq, text, at) {
    if (!this.ready) {
      this.early.push({ seq, text, at });
      return;
    }
    const known = this.rows.get(seq);
    if (!known || (known.entry.text?.length ?? 0) > at) return;
    known.entry = { ...known.entry, text: (known.entry.text ?? '') + text };
    this.mark(seq);
  }

  /** @param {number} seq */
  mark(seq) {
    if (this.dirty.size === 0) requestAnimationFrame(() => this.flush());
    this.dirty.add(seq);
  }

  /** Renders the changed entries. */
  flush() {
    const { dirty } = this;
    this.dirty = new Set();
    for (const seq of dirty) {
      const known = this.rows.get(seq);
      if (!known) continue;
      if (!known.row) this.page().append((known.row = this.row(known.entry)).element);
      else known.row.update(known.entry);
      if (known.entry.permission) this.requests.set(seq, this.requests.get(seq) ?? NaN);
    }
    if (dirty.size === 0) return;
    if (this.follow) {
      this.toEnd();
      return;
    }
    this.elements.newest.hidden = false;
    this.locateRequests();
  }

  /**
   * Finds where the open permission requests are, and calls moved of those that were moved.
   *
   * @param {boolean} [byUser] the user has scrolled, which moves what the user means to click
   */
  locateRequests(byUser = false) {
    for (const [seq, before] of this.requests) {
      const known = this.rows.get(seq);
      if (!known?.row || known.entry.permission?.chosen !== undefined) {
        this.requests.delete(seq);
        continue;
      }
      const { top } = known.row.element.getBoundingClientRect();
      if (!byUser && top !== before && !Number.isNaN(before)) known.row.moved?.();
      this.requests.set(seq, top);
    }
  }

  /** @param {Entry} entry */
  row(entry) {
    const row = entryRow(entry, this.owner.answer);
    row.update(entry);
    return row;
  }

  /** Returns the last page that has room. */
  page() {
    const last = this.elements.entries.lastElementChild;
    if (last && last.childElementCount < PAGE) return last;
    const page = make('div', { className: 'page' });
    this.elements.entries.append(page);
    return page;
  }

  scrolled() {
    const { scrollTop, scrollHeight, clientHeight } = this.elements.log;
    this.follow = scrollHeight - scrollTop - clientHeight < NEAR_END;
    if (this.follow) this.elements.newest.hidden = true;
    this.locateRequests(true);
    if (scrollTop < NEAR_START && this.more && !this.loading && this.ready) void this.loadOlder();
  }

  /** Reads and shows older entries, a few in each frame. */
  async loadOlder() {
    const { chat } = this;
    this.loading = true;
    try {
      const first = Math.min(...this.rows.keys());
      const { entries, more } = await this.owner.read(chat, first, READ);
      for (let end = entries.length; end > 0; end -= PER_FRAME) {
        await new Promise((resolve) => requestAnimationFrame(resolve));
        if (this.chat !== chat) return;
        this.prepend(entries.slice(Math.max(0, end - PER_FRAME), end));
      }
      if (this.chat !== chat) return;
      this.more = more && entries.length > 0;
    } catch (e) {
      if (this.chat !== chat) return;
      this.loading = false; // the next time the user scrolls, it is tried again
      this.owner.failed(e);
      return;
    }
    this.loading = false;
    this.scrolled();
  }

  /** @param {Entry[]} entries oldest first */
  prepend(entries) {
    const { log } = this.elements;
    if (log.scrollTop < 1) log.scrollTop = 1; // at 0, the browser would not keep what is visible in place
    const rows = entries.map((entry) => {
      const row = this.row(entry);
      this.rows.set(entry.seq, { entry, row });
      return row.element;
    });
    const first = this.elements.entries.firstElementChild;
    if (first && first.childElementCount + rows.length <= PAGE) first.prepend(...rows);
    else this.elements.entries.prepend(make('div', { className: 'page' }, ...rows));
  }

  toEnd() {
    const { log } = this.elements;
    log.scrollTop = log.scrollHeight;
    this.locateRequests();
    this.follow = true;
    this.elements.newest.hidden = true;
  }

  /** Returns the text of the last message of the agent. */
  lastText() {
    const last = [...this.rows.values()].findLast((r) => r.entry.kind === 'agent' || r.entry.kind === 'user');
    return last?.entry.kind === 'agent' ? last.row?.element.textContent ?? '' : '';
  }
}
