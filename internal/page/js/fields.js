// @ts-check
// Form fields: their kinds, their values, and when they can be edited.

import { isDisabled, isFrame, waitActionable, within } from './actionability.js';
import { nextFrame, task, timerState } from './animations.js';
import { allIn, attributeOf, bodyOf, byId, focusedElement, giveFocus, idOf, innerTextOf, isEditable, matchesCSS, parentElementOf, shadowOf, tagOf, tagWord } from './dom.js';
import { editContextOf, editorOf, visibleProxyOf } from './editors.js';
import { listen } from './hit_target_check.js';
import { isMasked } from './secret_fields.js';
import { beginEntry } from './text_entry.js';
/** @import { ActionabilityOptions } from './actionability.js' */

const textTypes = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);
const valueTypes = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'range', 'color']);

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
function fieldsIn(el) {
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
function stateOf(el, kind) {
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
  if (kind === 'editable') return innerTextOf(el).replace(/[\u200b\u2060\ufeff]/g, ''); // editors put them into empty lines
  return el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement ? String(el.value ?? '') : '';
}

/**
 * The fields into which text was entered: the value that was last read, when, the timers that the page
 * had requested before the entry, and whether it has requested others since.
 * @type {WeakMap<Element, {value: string, at: number, timers: string, timed: boolean}>}
 */
const entries = new WeakMap();

/** startEntry records that text will be entered into a field. @param {Element} el */
export function startEntry(el) {
  entries.set(el, { value: textOfField(el, fieldKind(el)), at: performance.now(), timers: timerState(), timed: false });
}

/**
 * rewrittenField inspects a field if its value differs from what was last read. If the page had
 * requested timers when that was read, it waits for a change until patience ms after that reading.
 * @param {number} id
 * @param {number} patience
 */
export async function rewrittenField(id, patience) {
  for (;;) {
    const el = byId(id);
    const entry = el && entries.get(el);
    if (!entry) return null;
    if (textOfField(el, fieldKind(el)) !== entry.value) return inspectField(id);
    const left = entry.at + patience - performance.now();
    if (left <= 0 || !entry.timed) return null;
    await task(Math.min(left, POLL_MS));
  }
}

/** The interval in which rewrittenField compares values, in ms. */
const POLL_MS = 10;

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

/**
 * waitChecked inspects a checkbox or radio button once it has a state, or after patience.
 * @param {number} id
 * @param {string} state
 * @param {number} patience how long a component may take to show its new state, in ms
 */
export async function waitChecked(id, state, patience) {
  const end = performance.now() + patience;
  for (;;) {
    const info = inspectField(id);
    if (!info || info.checked === state || performance.now() > end) return info;
    await nextFrame();
  }
}

/** The kinds of fields that never accept text. */
const takesNoText = new Set(['select', 'check', 'radio', 'file']);

/**
 * waitEditable waits, as waitActionable does, until a value can be entered into the field that an
 * element represents, and inspects the field. With opts.editable, the value must be text. Otherwise
 * it does not wait for a checkbox or radio button, which is clicked.
 * @param {number} id
 * @param {ActionabilityOptions} opts
 */
export async function waitEditable(id, opts) {
  const given = byId(id);
  if (!given) return { problem: 'gone' };
  const el = fieldOf(given);
  const kind = fieldKind(el);
  const typed = kind === 'text' || kind === 'editable' || kind === 'value';
  if (opts.editable && (takesNoText.has(kind) || (kind === 'none' && matchesCSS(el, 'a[href], button, input')))) {
    return { problem: 'not editable', detail: kind === 'none' ? tagOf(el) : kind };
  }
  if (!typed && kind !== 'select' && !opts.editable) return { problem: 'click', info: inspectField(idOf(el)) };
  const proxy = visibleProxyOf(el);
  if (proxy !== el && isDisabled(el)) return { problem: 'disabled' };
  if (proxy !== el && editorOf(el) && notEditable(el)) return { problem: notEditable(el) };
  const how = { ...opts, editable: proxy === el && (typed || opts.editable), calm: true };
  const result = /** @type {any} */ (await waitActionable(idOf(proxy), how));
  if (result.ok) {
    result.info = inspectField(idOf(el));
    if (!result.info) return { problem: 'gone' };
    if (opts.entry && (kind === 'text' || kind === 'editable')) result.entry = await beginEntry(result.info.id, opts.entry);
  }
  return result;
}

/** focus focuses an element and reports whether it has the focus. @param {number} id */
export const focus = (id) => {
  const el = /** @type {HTMLElement | null} */ (byId(id));
  if (!el) return null;
  const field = /** @type {HTMLElement} */ (fieldOf(el));
  giveFocus(field, { preventScroll: true });
  const at = focusedElement();
  return at === field || within(at, field) || field === bodyOf(document);
};
/**
 * focusedFrame returns the id of the focused frame, or 0 if the document itself has the focus. In
 * that case it listens for keys, as startCheck does, unless the token is empty.
 * @param {string} token
 */
export const focusedFrame = (token) => {
  const el = focusedElement();
  if (el && isFrame(el)) return idOf(el);
  if (token) listen(token, null, { types: ['keydown', 'keyup'] }); // a page may stop one of them first
  return 0;
};
