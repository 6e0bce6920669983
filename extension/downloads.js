// @ts-check

import { PersistentValue } from './persistent_value.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { timing } from './timing.js';

/** @typedef {import('./wire.js').Download} WireDownload */

/** How often a download is looked up if the browser does not respond. */
const ATTEMPTS = 6;

/** How long after the end of a download its server can remove the file, in ms. */
const REMOVABLE_MS = 60_000;

/** How many downloads are stored. */
const MAX_DOWNLOADS = 200;

/**
 * The tab that started a download, and the key of the server that drove it then.
 * @typedef {{tabId: number, server: string}} Source
 */

/**
 * Reports downloads of driven tabs to their servers, and no others. The browser's download
 * has no tab, so it is matched by its URL to the debugger's event. The server that drove the tab when
 * the download started receives its end, even if the tab is unshared, the worker restarts or the connection
 * is lost.
 */
export class Downloads {
  /**
   * @param {chrome.storage.StorageArea} area
   * @param {(server: string, download: WireDownload) => void} send
   */
  constructor(area, send) {
    this.send = send;
    /**
     * Downloads that tabs started and the browser has not reported.
     * @type {(Source & {url: string, at: number})[]}
     */
    this.started = [];
    /**
     * Downloads that the browser reported and no tab has.
     * @type {{item: chrome.downloads.DownloadItem, at: number}[]}
     */
    this.unassigned = [];
    /** By the id of the download, the newest last. @type {PersistentValue<Record<number, Source>>} */
    this.sources = new PersistentValue(area, 'downloads', {});
    this.ready = this.sources.ready;
    /**
     * Tabs that driven pages opened recently, and their URL.
     * @type {{source: Source, tabId: number, url: string, gone: boolean, at: number}[]}
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
   * @param {number} opener
   * @param {string} server the key of the server that drives it
   * @param {number} tabId
   * @param {string} url
   */
  opened(opener, server, tabId, url) {
    this.forget();
    this.popups.push({ source: { tabId: opener, server }, tabId, url, gone: false, at: Date.now() });
  }

  /** Returns the key of the server of a download, undefined if it is not of a driven tab. @param {number} id */
  serverOf(id) {
    return this.sources.value[id]?.server;
  }

  /** @param {number} tabId */
  closed(tabId) {
    this.forget();
    const popup = this.popups.find((p) => p.tabId === tabId);
    if (!popup) return;
    popup.gone = true;
    for (const download of this.started) if (download.tabId === tabId) Object.assign(download, popup.source);
    for (const [id, source] of Object.entries(this.sources.value)) {
      if (source.tabId !== tabId) continue;
      this.sources.value[Number(id)] = popup.source;
      this.sources.saveSoon();
      void this.report(Number(id)); // the last report may have been for the closed tab, which the server does not know
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
      this.assign(source, item);
    }
  }

  /**
   * Called when the debugger reports that the page of a driven tab started a download.
   *
   * @param {number} tabId
   * @param {string} server the key of the server that drives it
   * @param {string} url
   */
  begin(tabId, server, url) {
    this.forget();
    const at = this.unassigned.findIndex(({ item }) => item.url === url || item.finalUrl === url);
    if (at < 0) {
      this.started.push({ tabId, server, url, at: Date.now() });
      return;
    }
    const [{ item }] = this.unassigned.splice(at, 1);
    this.assign({ tabId, server }, item);
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
    const [{ tabId, server }] = this.started.splice(at, 1);
    this.assign({ tabId, server }, item);
  }

  /** @param {Source} source @param {chrome.downloads.DownloadItem} item */
  assign(source, item) {
    const { value } = this.sources;
    value[item.id] = source;
    const ids = Object.keys(value).map(Number); // in ascending order
    if (ids.length > MAX_DOWNLOADS) {
      delete value[ids[0]];
      this.opening.delete(ids[0]);
    }
    this.sources.saveSoon();
    void this.report(item.id);
  }

  /** @param {chrome.downloads.DownloadDelta} delta */
  onChanged(delta) {
    if (delta.id in this.sources.value) void this.report(delta.id);
  }

  /**
   * Reports the downloads of a server that has connected: their states may have changed while it was
   * disconnected.
   *
   * @param {string} server
   */
  onConnected(server) {
    for (const [id, source] of Object.entries(this.sources.value)) if (source.server === server) void this.report(Number(id), false);
  }

  /**
   * Reports the state of a download to its server.
   *
   * @param {number} id
   * @param {boolean} [opened] whether to report that a tab was opened for it; the server then handles it
   *   as a new download
   */
  async report(id, opened = this.opening.has(id)) {
    const item = await this.lookUp(id);
    if (item) this.sendState(item, opened);
  }

  /**
   * Reports the downloads in progress: the browser reports no event when more of a file has arrived.
   * Without this, a file of unknown size could exceed the limit of the server until its end.
   */
  async reportRunning() {
    const running = await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.search({ state: 'in_progress' }), 'listing downloads');
    for (const item of running) this.sendState(item, false);
  }

  /** @param {chrome.downloads.DownloadItem} item @param {boolean} opened see report */
  sendState(item, opened) {
    const { id } = item;
    const source = this.sources.value[id];
    if (!source) return;
    this.send(source.server, {
      id, tabId: source.tabId, url: item.url, ...(item.finalUrl ? { finalUrl: item.finalUrl } : {}), filename: item.filename, state: item.state,
      bytes: Math.round(item.bytesReceived), total: Math.round(item.totalBytes), mime: item.mime ?? '',
      ...(opened ? { opened: true } : {}),
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
   * Cancels a download. It removes the file of one that has just ended: a server may cancel what it
   * does not allow, and must not delete the user's files later.
   *
   * @param {number} id
   */
  async cancel(id) {
    const [item] = await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.search({ id }), 'looking up a download');
    if (!item) return;
    if (item.state === 'in_progress') await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.cancel(id), 'canceling a download');
    else if (item.exists && Date.now() - Date.parse(item.endTime ?? '') < REMOVABLE_MS) await withTimeout(SHORT_TIMEOUT_MS, chrome.downloads.removeFile(id), 'removing a file');
  }

  forget() {
    const limit = Date.now() - timing.hangLimits.downloadReport;
    this.started = this.started.filter((b) => b.at > limit);
    this.unassigned = this.unassigned.filter((u) => u.at > limit);
    this.popups = this.popups.filter((p) => p.at > limit);
  }
}
