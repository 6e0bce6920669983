// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/**
 * A screencast of a CDP client. A frame does not name the documents that it shows, and a tab can
 * show a denied one at any time. So a frame is for the client only if the client may see all
 * documents of the tab, and the tab has loaded no document since the frame before was checked.
 * Otherwise the screencast is started again, and then sends another frame.
 */
export class Screencast {
  /**
   * @param {chrome.debugger.Debuggee} target
   * @param {Record<string, any>} params of Page.startScreencast
   * @param {() => Promise<number>} check counts the documents that the tab has loaded. It throws if
   *   the client must not see one of those that it shows.
   */
  constructor(target, params, check) {
    this.target = target;
    this.params = params;
    this.check = check;
    /** How many documents were loaded at the last check, null if the client must not see one of them. @type {number | null} */
    this.loaded = null;
    /** Id of the screencast before it was started again. @type {unknown} */
    this.before = undefined;
    /** The checks run one after another. */
    this.checks = Promise.resolve();
  }

  /** Starts the screencast again: a page that does not change causes no frame otherwise. */
  restart() {
    this.send('Page.stopScreencast', {}); // the browser rejects a second screencast
    this.send('Page.startScreencast', this.params);
  }

  /** @param {string} method @param {Record<string, any>} params */
  send(method, params) {
    void chrome.debugger.sendCommand(this.target, method, params).catch(() => {});
  }

  /**
   * Checks a frame.
   *
   * @param {Record<string, any>} frame parameters of Page.screencastFrame
   * @param {() => boolean} isCurrent reports whether this is still the screencast of the tab
   * @param {() => void} deliver sends the frame to the client
   */
  frame(frame, isCurrent, deliver) {
    this.checks = this.checks.then(async () => {
      if (!isCurrent() || frame.sessionId === this.before) return;
      const loaded = await this.check().catch(() => null);
      if (!isCurrent()) return;
      const last = this.loaded;
      this.loaded = loaded;
      if (loaded === null) {
        this.send('Page.screencastFrameAck', { sessionId: frame.sessionId });
      } else if (loaded === last) {
        deliver();
      } else {
        this.before = frame.sessionId;
        this.restart();
      }
    });
  }
}

/**
 * Waits until the events about documents that the browser has already sent have arrived: each
 * renderer responds after them.
 *
 * @param {number} tabId
 * @param {Iterable<string>} children ids of the child sessions
 */
export async function flushDocuments(tabId, children) {
  const responses = [undefined, ...children].map((sessionId) => (
    chrome.debugger.sendCommand({ tabId, sessionId }, 'Page.getFrameTree').then(() => {}, () => {}))); // a worker has none
  await withTimeout(SHORT_TIMEOUT_MS, Promise.all(responses), 'querying the documents');
}
