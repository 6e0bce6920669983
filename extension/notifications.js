// @ts-check

import { showTab } from './tabs.js';
import { handoverText } from './text.js';

/** @typedef {import('./handovers.js').HandoverQuestion} HandoverQuestion */

/** Shows a notification about a question. The user answers in the popup. @param {HandoverQuestion} q */
export function showNotification(q) {
  const { title, text } = handoverText(q);
  // The user may have disabled notifications. The badge and the popup also show the question.
  chrome.notifications?.create(q.id, {
    type: 'basic', iconUrl: chrome.runtime.getURL('icons/128.png'), title, message: text,
    contextMessage: 'Answer in the chrome-mcp popup.', requireInteraction: true,
  }).catch(() => {});
}

/** Removes the notification about a question. @param {HandoverQuestion} q */
export function clearNotification(q) {
  chrome.notifications?.clear(q.id).catch(() => {});
}

/** Shows the tab of a question and, where the browser can, the popup. @param {HandoverQuestion} q */
export async function showQuestion(q) {
  clearNotification(q);
  await showTab(q.tabId);
  await chrome.action.openPopup?.().catch(() => {});
}
