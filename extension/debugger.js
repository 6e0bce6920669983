// @ts-check

import { CommandError } from './command_error.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

// Attaching Chrome's debugger to a tab, and the errors of the debugger.

/** The version of CDP to request. */
const CDP_VERSION = '1.3';

/**
 * A kind of document that Chrome lets no extension use.
 *
 * @typedef {object} InaccessibleDocument
 * @property {RegExp} error matches Chrome's error of every command
 * @property {string} problem the beginning of our error: what the tab shows
 * @property {string} whyAsk the end of our error of a command: why the user must be asked
 * @property {string} advice the end of our error of attaching
 */

/** @type {InaccessibleDocument[]} */
const INACCESSIBLE_DOCUMENTS = [{
  error: /^Cannot attach to this target/,
  problem: 'the tab shows a warning of the browser, such as one about a certificate, and Chrome lets no extension read or use it',
  whyAsk: ', as only a person can accept this',
  advice: 'ask the user to leave it, or open another tab',
}, {
  // A page can cause it with any frame, and other extensions do with their frames.
  error: /^Cannot access a chrome-extension:/,
  problem: 'the page has a frame of a browser extension, and Chrome then lets no other extension read or use the page',
  whyAsk: '',
  advice: 'open another page in the tab',
}];

/** Returns the kind of document because of which a command failed. @param {string} error */
export const inaccessibleDocumentOf = (error) => INACCESSIBLE_DOCUMENTS.find((d) => d.error.test(error));

/** The latest attach of each tab, while the browser has not responded to it. @type {Map<number, Promise<void>>} */
const attaching = new Map();

/**
 * Attaches to a tab. If the browser attaches after the timeout, the debugger is detached again, unless
 * a later attach has started.
 *
 * @param {number} tabId
 */
export async function attach(tabId) {
  const attached = chrome.debugger.attach({ tabId }, CDP_VERSION);
  attaching.set(tabId, attached);
  let late = false;
  const responded = (/** @type {boolean} */ ok) => {
    if (attaching.get(tabId) !== attached) return;
    attaching.delete(tabId);
    if (ok && late) void detach(tabId);
  };
  attached.then(() => responded(true), () => responded(false));
  try {
    await withTimeout(SHORT_TIMEOUT_MS, attached, 'attaching the debugger');
  } catch (e) {
    late = true; // or the browser has rejected it
    throw e;
  }
}

/**
 * Attaches to a tab, even if the debugger of this extension is still attached: an attachment outlives
 * the worker that created it. It throws a CommandError.
 *
 * @param {number} tabId
 */
export async function attachOrTakeOver(tabId) {
  try {
    await attach(tabId);
  } catch (e) {
    if (!/already attached/i.test(messageOf(e))) throw attachError(messageOf(e));
    await detach(tabId);
    try {
      await attach(tabId);
    } catch (again) {
      if (/already attached/i.test(messageOf(again))) {
        throw new CommandError('DEVTOOLS_OPEN', 'another debugger is attached to the tab: close the developer tools or disable the other extension');
      }
      throw attachError(messageOf(again));
    }
  }
}

/** @param {number} tabId */
export async function detach(tabId) {
  try {
    await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.detach({ tabId }), 'detaching the debugger');
  } catch {
    // it was not attached, or the tab no longer exists
  }
}

/** Returns the error of an attach that the browser rejected. @param {string} text the browser's message */
function attachError(text) {
  if (/did not finish in time/.test(text)) return new CommandError('TIMEOUT', text);
  if (/no tab with given id/i.test(text)) return new CommandError('TAB_NOT_FOUND', 'the tab was not found');
  if (/gallery/i.test(text)) return new CommandError('POLICY_DENIED', "the browser's web store cannot be driven: open another page in the tab");
  if (/file/i.test(text)) return new CommandError('POLICY_DENIED', 'local files cannot be driven: open a web page in the tab');
  const inaccessible = inaccessibleDocumentOf(text);
  if (inaccessible) return new CommandError('POLICY_DENIED', `${inaccessible.problem}: ${inaccessible.advice}`);
  if (/cannot (access|attach)/i.test(text)) return new CommandError('POLICY_DENIED', 'the tab shows an internal page of the browser, which cannot be driven: open a web page in it');
  return new CommandError('INTERNAL', `attaching the debugger: ${text}`);
}

/**
 * Returns the error of a command that the browser rejected.
 *
 * @param {number} tabId
 * @param {string} text the browser's message
 */
export async function commandError(tabId, text) {
  if (text.startsWith('{')) {
    try {
      const { code, message } = JSON.parse(text);
      return new CommandError('CDP_ERROR', String(message), { code: Number(code) || 0, message: String(message) });
    } catch {
      // not an error of CDP
    }
  }
  if (/did not finish in time/.test(text)) return new CommandError('TIMEOUT', text);
  if (/detached|not attached/i.test(text)) {
    const exists = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab').then(() => true, () => false);
    return exists ? new CommandError('DETACHED', 'the debugger was detached from the tab') : new CommandError('TARGET_GONE', 'the tab was closed');
  }
  if (/no tab with given id/i.test(text)) return new CommandError('TARGET_GONE', 'the tab was closed');
  return new CommandError('CDP_ERROR', text, { code: -32000, message: text });
}

/** @param {unknown} e */
export function messageOf(e) {
  return e instanceof Error ? e.message : String(e);
}
