// @ts-check

import { SHORT, within } from './deadline.js';

/** @typedef {import('./wire.js').Download} WireDownload */

/** How far apart the page's word and the browser's may be, in ms. */
const APART = 10_000;

/** How often a download is looked up when the browser does not answer. */
const ATTEMPTS = 6;

/** How many downloads are remembered. */
const MAX_KNOWN = 200;

/**
 * Tells servers of the downloads that the tabs they drive began, and of no
 * other: a download of the browser names no tab, the debugger's word of one
 * names its URL.
 */
export class Downloads {
  /** @param {(tabId: number, download: WireDownload) => void} tell */
  constructor(tell) {
    this.tell = tell;
    /** What tabs began and the browser did not tell of yet. @type {{tabId: number, url: string, at: number}[]} */
    this.begun = [];
    /** What the browser told of and no tab did. @type {{item: chrome.downloads.DownloadItem, at: number}[]} */
    this.unclaimed = [];
    /** Tabs by the id of their download, the newest last. @type {Map<number, number>} */
    this.known = new Map();
    /** Tabs that driven pages opened a moment ago, and what for. @type {{source: number, tabId: number, url: string, gone: boolean, at: number}[]} */
    this.popups = [];
    /** Downloads that a tab was opened for, by id. @type {Set<number>} */
    this.opening = new Set();
  }

  /**
   * The page of a driven tab opened another. If that is for a download, the
   * browser closes it at once, and nobody is left to tell of it but the page
   * which opened it.
   *
   * @param {number} source
   * @param {number} tabId
   * @param {string} url
   */
  opened(source, tabId, url) {
    this.forget();
    this.popups.push({ source, tabId, url, gone: false, at: Date.now() });
  }

  /** @param {number} tabId */
  closed(tabId) {
    this.forget();
    const popup = this.popups.find((p) => p.tabId === tabId);
    if (!popup) return;
    popup.gone = true;
    this.match();
  }

  /** Gives what nobody told of to the pages whose tabs went for it. */
  match() {
    for (const { item } of [...this.unclaimed]) {
      const i = this.popups.findIndex((p) => p.gone && p.url === item.url);
      if (i < 0) continue;
      const [{ source }] = this.popups.splice(i, 1);
      this.unclaimed = this.unclaimed.filter((u) => u.item !== item);
      this.opening.add(item.id);
      this.claim(source, item);
    }
  }

  /** @param {number} tabId @param {string} url */
  begin(tabId, url) {
    this.forget();
    const at = this.unclaimed.findIndex(({ item }) => item.url === url || item.finalUrl === url);
    if (at < 0) {
      this.begun.push({ tabId, url, at: Date.now() });
      return;
    }
    const [{ item }] = this.unclaimed.splice(at, 1);
    this.claim(tabId, item);
  }

  /** @param {chrome.downloads.DownloadItem} item */
  onCreated(item) {
    this.forget();
    const at = this.begun.findIndex(({ url }) => item.url === url || item.finalUrl === url);
    if (at < 0) {
      this.unclaimed.push({ item, at: Date.now() });
      this.match();
      return;
    }
    const [{ tabId }] = this.begun.splice(at, 1);
    this.claim(tabId, item);
  }

  /** @param {number} tabId @param {chrome.downloads.DownloadItem} item */
  claim(tabId, item) {
    this.known.set(item.id, tabId);
    if (this.known.size > MAX_KNOWN) {
      const [oldest] = this.known.keys();
      this.known.delete(oldest);
      this.opening.delete(oldest);
    }
    void this.report(item.id);
  }

  /** @param {chrome.downloads.DownloadDelta} delta */
  onChanged(delta) {
    if (this.known.has(delta.id)) void this.report(delta.id);
  }

  /** @param {number} id */
  async report(id) {
    const item = await this.lookUp(id);
    const tabId = this.known.get(id);
    if (!item || tabId === undefined) return;
    this.tell(tabId, {
      id, tabId, url: item.url, ...(item.finalUrl ? { finalUrl: item.finalUrl } : {}), filename: item.filename, state: item.state,
      bytes: Math.round(item.bytesReceived), total: Math.round(item.totalBytes), mime: item.mime ?? '',
      ...(this.opening.has(id) ? { opened: true } : {}),
      ...(item.error ? { error: String(item.error) } : {}),
    });
  }

  /**
   * Finds a download, and asks again when the browser takes long: the last
   * word on one must not be lost.
   *
   * @param {number} id
   * @returns {Promise<chrome.downloads.DownloadItem | undefined>}
   */
  async lookUp(id) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return (await within(SHORT, chrome.downloads.search({ id }), 'looking up a download'))[0];
      } catch (e) {
        console.warn(`chrome-mcp: ${e instanceof Error ? e.message : e}`);
      }
    }
    return undefined;
  }

  /**
   * Ends a download and removes what there is of its file.
   *
   * @param {number} id
   */
  async cancel(id) {
    const [item] = await within(SHORT, chrome.downloads.search({ id }), 'looking up a download');
    if (!item) return;
    if (item.state === 'in_progress') await within(SHORT, chrome.downloads.cancel(id), 'cancelling a download');
    else if (item.exists) await within(SHORT, chrome.downloads.removeFile(id), 'removing a file');
  }

  forget() {
    const limit = Date.now() - APART;
    this.begun = this.begun.filter((b) => b.at > limit);
    this.unclaimed = this.unclaimed.filter((u) => u.at > limit);
    this.popups = this.popups.filter((p) => p.at > limit);
  }
}
