// @ts-check
// Enters secrets, but only into fields for them.

import { attributeOf, byId, dispatch, focusedElement, giveFocus, isConnectedOf, matchesCSS } from './dom.js';
import { fieldOf, notEditable } from './field_values.js';
import { keepContent } from './kept_content.js';
import { rememberSecret } from './secret_fields.js';
import { native } from './select_options.js';

/**
 * @typedef {object} SecretEntryOptions
 * @property {string} origin the origin of the document
 * @property {string[]} selectors the selector of each secret in the text, or '' if it has none
 * @property {boolean} clear replace the value of the field
 */

/** Types of inputs that accept a one-time code. */
const CODE_TYPES = new Set(['text', 'tel', 'number', 'password', 'search']);

/**
 * problemOf returns why secrets may not be entered into an element, or ''.
 * @param {Element} el
 * @param {SecretEntryOptions} opts
 */
function problemOf(el, opts) {
  if (self.origin !== opts.origin || el.ownerDocument !== document) return 'origin';
  if (!isConnectedOf(el)) return 'gone';
  const input = el instanceof HTMLInputElement;
  if (!input && !(el instanceof HTMLTextAreaElement) || notEditable(el)) return 'field';
  if (input && el.type === 'password') return '';
  if (input && CODE_TYPES.has(el.type) && /(^|\s)one-time-code(\s|$)/i.test(attributeOf(el, 'autocomplete') || '')) return '';
  return opts.selectors.every((s) => s && matches(el, s)) ? '' : 'field';
}

/** @param {Element} el @param {string} selector */
function matches(el, selector) {
  try {
    return matchesCSS(el, selector);
  } catch {
    return false; // not a selector
  }
}

/** @param {number} id */
function fieldWith(id) {
  const el = byId(id);
  return el && /** @type {HTMLInputElement} */ (fieldOf(el));
}

/**
 * checkSecretField reports why secrets may not be entered into a field, before they are read.
 * @param {number} id
 * @param {SecretEntryOptions} opts
 */
export function checkSecretField(id, opts) {
  const el = fieldWith(id);
  return el && { problem: problemOf(el, opts) };
}

/**
 * enterSecret sets the value of a field and dispatches the events of an input. Focusing the field
 * runs the page's listeners, so it comes before the last check. From then until the native setter
 * is called, no code of the page runs.
 * @param {number} id
 * @param {SecretEntryOptions} opts
 * @param {string} text
 */
export function enterSecret(id, opts, text) {
  const el = fieldWith(id);
  if (!el) return null;
  giveFocus(el, { preventScroll: true });
  const problem = problemOf(el, opts);
  if (problem) return { problem };
  const value = opts.clear ? text : withSelectionReplaced(el, text);
  if (el.maxLength >= 0 && value.length > el.maxLength) return { problem: 'limit', limit: el.maxLength };
  rememberSecret(el);
  keepContent(el, text);
  native(el, 'value')?.call(el, value);
  const same = el.value === value;
  dispatch(el, new InputEvent('input', { bubbles: true, composed: true, inputType: 'insertText' }));
  dispatch(el, new Event('change', { bubbles: true }));
  return { problem: '', kept: same && el.value === value, focused: focusedElement() === el };
}

/**
 * withSelectionReplaced returns the value of a field after text was typed: in place of the
 * selection, or at the end.
 * @param {HTMLInputElement | HTMLTextAreaElement} el
 * @param {string} text
 */
function withSelectionReplaced(el, text) {
  const { value, selectionStart: from, selectionEnd: to } = el;
  return from !== null && to !== null && from < to ? value.slice(0, from) + text + value.slice(to) : value + text;
}
