// @ts-check
// Fields whose content stays in them: those with secrets, and those in which the user entered
// something while the page was handed over.

import { after } from './animations.js';
import { focusedElement } from './dom.js';
import { addListener } from './page_events.js';

/** @type {WeakSet<Element>} */
const kept = new WeakSet();
let listening = false;

/** @param {Event} e */
function cancel(e) {
  e.preventDefault();
  e.stopImmediatePropagation();
}

/**
 * keepContent prevents that the content of a field is copied, cut or dragged. See also blockPaste.
 * @param {Element} el
 */
export function keepContent(el) {
  if (kept.has(el)) return;
  kept.add(el);
  if (listening) return;
  listening = true;
  for (const type of ['copy', 'cut', 'dragstart']) {
    addListener.call(window, type, (/** @type {Event} */ e) => {
      if ([e.composedPath()[0], focusedElement()].some((n) => n instanceof Element && kept.has(n))) cancel(e);
    }, { capture: true });
  }
}

/**
 * blockPaste prevents that the middle mouse button, which is released next, pastes. On Linux it pastes
 * what is selected anywhere: in a field with a secret, in the page of another client, or in another
 * program of the user.
 * @param {number} ms how long
 */
export function blockPaste(ms) {
  const handlers = /** @type {Set<(e: Event) => void> | undefined} */ (/** @type {any} */ (globalThis).__cmEarly);
  /** @param {Event} e */
  const block = (e) => {
    if (e.type === 'paste') cancel(e);
  };
  handlers?.add(block);
  after(ms, () => handlers?.delete(block));
}
