// @ts-check

/** The ids of the menu items. */
export const SEND_ITEM = 'send-to-agent';
export const ASK_ITEM = 'ask-about-this';

/** The items "Send to agent", which is visible in shared tabs, and "Ask about this". */
export class ContextMenu {
  constructor() {
    /** Whether "Send to agent" is visible, undefined while unknown. @type {boolean | undefined} */
    this.visible = undefined;
    // The browser keeps the items while the worker is not running.
    chrome.contextMenus.create({
      id: SEND_ITEM, title: 'Send to agent', visible: false,
      contexts: ['page', 'frame', 'selection', 'link', 'editable', 'image', 'video', 'audio'],
      documentUrlPatterns: ['http://*/*', 'https://*/*'],
    }, () => void chrome.runtime.lastError); // the item may exist already
    chrome.contextMenus.create({
      id: ASK_ITEM, title: 'Ask about this', contexts: ['page', 'selection'], documentUrlPatterns: ['http://*/*', 'https://*/*'],
    }, () => void chrome.runtime.lastError);
  }

  /**
   * Shows "Send to agent" if the active tab is shared. A click in a tab that is not shared has no
   * effect in any case.
   *
   * @param {(tabId: number) => boolean} isShared
   */
  async update(isShared) {
    const front = (await chrome.tabs.query({ active: true, lastFocusedWindow: true }))[0];
    const visible = front?.id !== undefined && isShared(front.id);
    if (visible === this.visible) return;
    this.visible = visible;
    await chrome.contextMenus.update(SEND_ITEM, { visible });
  }
}
