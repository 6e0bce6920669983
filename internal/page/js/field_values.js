// @ts-check
// Form fields: their kinds and values, and whether they can be edited.

import { timerState } from './animations.js';
import { allIn, attributeOf, byId, idOf, isEditable, isFrame, parentElementOf, shadowOf, tagWord } from './dom.js';
import { editableTextOf } from './editable_text.js';
import { editContextOf, editorOf } from './editors.js';
import { isMasked } from './secret_fields.js';

export const textTypes = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);

export const valueTypes = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'range', 'color']);

/**
 * fieldKind returns how the value of an element is entered: 'text' by typing, 'value'
 * by setting it, 'check', 'radio', 'select', 'editable' (contenteditable or an EditContext), 'file',
 * or 'none'.
 * @param {Element} el
 */
export function fieldKind(el) {
  if (el instanceof HTMLTextAreaElement) return 'text';
  if (el instanceof HTMLSelectElement) return 'select';
  if (el instanceof HTMLInputElement) {
    if (textTypes.has(el.type)) return 'text';
    if (valueTypes.has(el.type)) return 'value';
    if (el.type === 'checkbox') return 'check';
    if (el.type === 'radio') return 'radio';
    if (el.type === 'file') return 'file';
    return 'none';
  }
  if (isEditable(el) || editContextOf(el)) return 'editable';
  const role = attributeOf(el, 'role');
  if (role === 'checkbox' || role === 'switch' || role === 'menuitemcheckbox') return 'check';
  if (role === 'radio') return 'radio';
  return 'none';
}

/**
 * fieldOf returns the field that an element represents: itself, the control of
 * a label, or the only field in a wrapper such as a combobox.
 * @param {Element} el
 * @returns {Element}
 */
export function fieldOf(el) {
  if (fieldKind(el) !== 'none') return el;
  if (el instanceof HTMLLabelElement && el.control) return el.control;
  const inside = fieldsIn(el);
  return inside.length === 1 ? inside[0] : el;
}

/**
 * fieldsIn returns the fields in an element, including its shadow root: many
 * components wrap an input in one.
 * @param {Element} el
 * @returns {Element[]}
 */
export function fieldsIn(el) {
  const found = [...allIn(el, 'input:not([type=hidden]), textarea, select, [contenteditable]:not([contenteditable=false])')];
  const root = shadowOf(el);
  if (root) {
    found.push(...allIn(root, 'input:not([type=hidden]), textarea, select, [contenteditable]:not([contenteditable=false])'));
    if (!found.length) for (const inner of allIn(root, '*')) if (shadowOf(inner)) found.push(...fieldsIn(inner));
  }
  return found;
}

/**
 * hostOf returns the element that receives the input events of a field: the
 * editing host of an editable element, or else the field itself.
 * @param {Element} el
 */
export function hostOf(el) {
  if (!isEditable(el) || el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) return el;
  let host = el;
  for (let at = parentElementOf(el); at && isEditable(at); at = parentElementOf(at)) host = at;
  return host;
}

/**
 * notEditable returns why text cannot be entered into an element, or '' if it can.
 * @param {Element} el
 */
export function notEditable(el) {
  const kind = fieldKind(el);
  if (kind === 'text' || kind === 'value') {
    return /** @type {HTMLInputElement} */ (el).readOnly ? 'read-only' : '';
  }
  if (kind === 'editable') return attributeOf(el, 'aria-readonly') === 'true' ? 'read-only' : '';
  return 'not editable';
}

/**
 * stateOf returns whether a checkbox or radio button is checked: 'true', 'false' or 'mixed', or ''
 * for other elements.
 * @param {Element} el
 * @param {string} kind
 */
export function stateOf(el, kind) {
  if (kind !== 'check' && kind !== 'radio') return '';
  if (!(el instanceof HTMLInputElement)) return attributeOf(el, 'aria-checked') || 'false';
  return el.indeterminate && kind === 'check' ? 'mixed' : String(el.checked);
}

/**
 * textOfField returns the text in a field.
 * @param {Element} el
 * @param {string} kind
 */
export function textOfField(el, kind) {
  if (kind === 'editable') return editableTextOf(el).replace(/[\u200b\u2060\ufeff]/g, ''); // editors put them into empty lines
  return el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement ? String(el.value ?? '') : '';
}

/**
 * The fields into which text was entered: the value that was last read, when, the timers that the page
 * had requested before the entry, and whether it has requested others since.
 * @type {WeakMap<Element, {value: string, at: number, timers: string, timed: boolean}>}
 */
export const entries = new WeakMap();

/** startEntry records that text will be entered into a field. @param {Element} el */
export function startEntry(el) {
  entries.set(el, { value: textOfField(el, fieldKind(el)), at: performance.now(), timers: timerState(), timed: false });
}

/**
 * inspectField returns the kind, state and value of a field.
 * @param {number} id
 */
export function inspectField(id) {
  const given = byId(id);
  if (!given) return null;
  const el = fieldOf(given);
  const kind = fieldKind(el);
  const input = /** @type {HTMLInputElement} */ (el);
  const value = textOfField(el, kind);
  const entry = entries.get(el);
  if (entry) {
    entry.value = value;
    entry.at = performance.now();
    entry.timed ||= entry.timers !== timerState();
  }
  return {
    id: idOf(el), kind, checked: stateOf(el, kind), value, editor: editorOf(el),
    type: el instanceof HTMLInputElement ? el.type : tagWord(el),
    masked: isMasked(el),
    limit: kind === 'text' ? Math.max(input.maxLength, 0) : 0,
    bad: kind === 'text' && input.validity.badInput,
  };
}

/** acceptsTyping reports whether an element accepts typed text. @param {Element} el */
export function acceptsTyping(el) {
  const kind = fieldKind(el);
  return (kind === 'text' || kind === 'editable') && !notEditable(el) || isFrame(el);
}
