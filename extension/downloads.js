// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** @typedef {import('./wire.js').Download} WireDownload */

/** How often a download is looked up if the browser does not respond. */
const ATTEMPTS = 6;

/** How many downloads are stored. */
const MAX_DOWNLOADS = 200;

/**
 * Reports downloads of driven tabs to their servers, and no others. The browser's download
 * has no tab, so it is matched by its URL to the debugger's event.
 */
export class Downloads {
  /** @param {(tabId: number, download: WireDownload) => void} send */
  constructor(send) {
    this.send = send;
    /**
     * Downloads that tabs started and the browser has not reported.
     * @type {{tabId: number, url: string, at: number}[]}
     */
    this.started = [];
    /**
     * Downloads that the browser reported and no tab has.
     * @type {{item: chrome.downloads.DownloadItem, at: number}[]}
     */
    this.unassigned = [];
    /** Tabs by the id of their download, the newest last. @type {Map<number, number>} */
    this.tabs = new Map();
    /**
     * Tabs that driven pages opened recently, and their URL.
     * @type {{source: number, tabId: number, url: string, gone: boolean, at: number}[]}
     */
    this.popups = [];
    /** Ids of downloads for which a tab was opened. @type {Set<number>} */
    this.opening = new Set();
  }

  /**
   * Called when the page of a driven tab opened another. If it is for a download, the
   * browser closes it immediately, and only the page that opened it can receive
   * the report.
   *
   * @param {number} source
   * @param {number} tabId
   * @param {string} url
   */
  opened(source, tabId, url) {
    this.forget();
    this.popups.push({ source, tabId, url, gone: false, at: Date.now() });
  }

  /** Returns the tab of a download, undefined if it is not of a driven tab. @param {number} id */
  tabOf(id) {
    return this.tabs.get(id);
  }

  /** @param {number} tabId */
  closed(tabId) {
    this.forget();
    const popup = this.popups.find((p) => p.tabId === tabId);
    if (!popup) return;
    popup.gone = true;
    for (const download of this.started) if (download.tabId === tabId) download.tabId = popup.source;
    for (const [id, tab] of this.tabs) {
      if (tab !== tabId) continue;
      this.tabs.set(id, popup.source);
      void this.report(id); // the last report may have been for the closed tab, which has no server
    }
    this.match();
  }

  /** Assigns downloads to the pages whose tabs were closed for them. */
  match() {
    for (const { item } of [...this.unassigned]) {
      const i = this.popups.findIndex((p) => p.gone && p.url === item.url);
      if (i < 0) continue;
      const [{ source }] = this.popups.splice(i, 1);
      this.unassigned = this.unassigned.filter((u) => u.item !== item);
      this.opening.add(item.id);
      this.assignToTab(source, item);
    }
  }

  /**
   * Called when the debugger reports that the page of a driven tab started a download.
   *
   * @param {number} tabId
   * @param {string} url
   */
  begin(tabId, url) {
    this.forget();
    const at = this.unassigned.findIndex(({ item }) => item.url === url || item.finalUrl === url);
    if (at < 0) {
      this.started.push({ tabId, url, at: Date.now() });
      return;
    }
    const [{ item }] = this.unassigned.splice(at, 1);
    this.assignToTab(tabId, item);
  }

  /** @param {chrome.downloads.DownloadItem} item */
  onCreated(item) {
    this.forget();
    const at = this.started.findIndex(({ url }) => item.url === url || item.finalUrl === url);
    if (at < 0) {
      this.unassigned.push({ item, at: Date.now() });
      this.match();
      return;
    }
    const [{ tabId }] = this.started.splice(at, 1);
    this.assignToTab(tabId, item);
  }

  /** @param {number} tabId @param {chrome.downloads.DownloadItem} item */
  assignToTab(tabId, item) {
    this.tabs.set(item.id, tabId);
    if (this.tabs.size > MAX_DOWNLOADS) {
      const [oldest] = this.tabs.keys();
      this.tabs.delete(oldest);
      this.opening.delete(oldest);
    }
    void this.report(item.id);
  }

  /** @param {chrome.downloads.DownloadDelta} delta */
  onChanged(delta) {
    if (this.tabs.has(delta.id)) void this.report(delta.id);
  }

  /** @param {number} id */
  async report(id) {
    const item = await this.lookUp(id);
    const tabId = this.tabs.get(id);
    if (!item || tabId === undefined) return;
    this.send(tabId, {
      id, tabId, url: item.url, ...(item.finalUrl ? { finalUrl: item.finalUrl } : {}), filename: item.filename, state: item.state,
      bytes: Math.round(item.bytesReceived), total: Math.round(item.totalBytes), mime: item.mime ?? '',
      ...(this.opening.has(id) ? { opened: true } : {}),
      ...(item.error ? { error: String(item.error) } : {}),
    });
  }

  /**
   * Looks up a download, and retries if the browser does not respond: the last
   * report of a download must not be lost.
   *
   * @param {number} id
   * @returns {Promise<chrome.downloads.DownloadItem | undefined>}
   */
  async lookUp(id) {
    for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
      try {
        return (await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.search({ id }), 'looking up a download'))[0];
      } catch (e) {
        console.warn(`chrome-mcp: ${e instanceof Error ? e.message : e}`);
      }
    }
    return undefined;
  }

  /**
   * Cancels a download and removes its file.
   *
   * @param {number} id
   */
  async cancel(id) {
    const [item] = await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.search({ id }), 'looking up a download');
    if (!item) return;
    if (item.state === 'in_progress') await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.cancel(id), 'canceling a download');
    else if (item.exists) await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.removeFile(id), 'removing a file');
  }

  forget() {
    const limit = Date.now() - timing.hangLimits.downloadReport;
    this.started = this.started.filter((b) => b.at > limit);
    this.unassigned = this.unassigned.filter((u) => u.at > limit);
    this.popups = this.popups.filter((p) => p.at > limit);
  }
}
