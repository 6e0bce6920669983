// @ts-check
// Fields whose content stays in them: those with secrets, and those in which the user entered
// something while the page was handed over.

import { after } from './animations.js';
import { selectCSS } from './css_selectors.js';
import { focusedElement, idOf, isConnectedOf, tagOf } from './dom.js';
import { addListener } from './page_events.js';

/** These fields, by their ids. @type {Map<number, WeakRef<Element>>} */
const kept = new Map();
/**
 * What was entered in these fields: a page may replace a field, or copy its content to another one.
 * @type {Set<string>}
 */
const contents = new Set();
/** The minimum length of a content that is recognized in other fields, in UTF-16 code units. */
const MIN_CONTENT = 4;
let listening = false;

/** isKept reports whether an element is a field with such content. @param {EventTarget | null} el */
function isKept(el) {
  if (!(el instanceof Element)) return false;
  if (kept.has(idOf(el))) return true;
  const tag = tagOf(el);
  if (tag !== 'input' && tag !== 'textarea') return false;
  const value = String(/** @type {HTMLInputElement} */ (el).value);
  return [...contents].some((content) => value.includes(content));
}

/**
 * keptFields returns the ids of the fields with such content that are in the document. A field that
 * the page has moved to an unknown shadow root is found by its reference.
 */
export function keptFields() {
  if (kept.size + contents.size === 0) return [];
  const found = new Set(selectCSS('input, textarea', null).filter(isKept));
  for (const [id, ref] of kept) {
    const el = ref.deref();
    if (!el) kept.delete(id);
    else if (isConnectedOf(el)) found.add(el);
  }
  return [...found].map((el) => idOf(el));
}

/** @param {Event} e */
function cancel(e) {
  e.preventDefault();
  e.stopImmediatePropagation();
}

/**
 * keepContent prevents that the content of a field is copied, cut or dragged, also from fields to
 * which the page copies it. See also blockPaste.
 * @param {Element} el
 * @param {string} content what was entered in it
 */
export function keepContent(el, content) {
  kept.set(idOf(el), new WeakRef(el));
  if (content.length >= MIN_CONTENT) contents.add(content);
  if (listening) return;
  listening = true;
  for (const type of ['copy', 'cut', 'dragstart']) {
    addListener.call(window, type, (/** @type {Event} */ e) => {
      if (isKept(e.composedPath()[0]) || isKept(focusedElement())) cancel(e);
    }, { capture: true });
  }
}

/**
 * blockPaste prevents that the middle mouse button, which is released next, pastes. On Linux it pastes
 * what is selected anywhere: in a field with a secret, in the page of another client, or in another
 * program of the user. What is pasted after a key was pressed is pasted by the key.
 * @param {number} ms how long
 */
export function blockPaste(ms) {
  const handlers = /** @type {Set<(e: Event) => void> | undefined} */ (/** @type {any} */ (globalThis).__cmEarly);
  /** @param {Event} e */
  const block = (e) => {
    if (e.type === 'keydown' && e.isTrusted) handlers?.delete(block);
    if (e.type === 'paste') cancel(e);
  };
  handlers?.add(block);
  after(ms, () => handlers?.delete(block));
}
