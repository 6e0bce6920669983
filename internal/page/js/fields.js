// @ts-check
// Form fields: their kinds, their values, and when they can be edited.

import { waitActionable } from './actionability.js';
import { nextFrame, task } from './animations.js';
import { isDisabled } from './aria_states.js';
import { bodyOf, byId, closestTo, focusedElement, giveFocus, idOf, isConnectedOf, isFrame, matchesCSS, tagOf, within } from './dom.js';
import { editorOf, visibleProxyOf } from './editors.js';
import { acceptsTyping, entries, fieldKind, fieldOf, hostOf, inspectField, notEditable, textOfField } from './field_values.js';
import { listen } from './hit_target_check.js';
import { named } from './shown_elements.js';
import { beginEntry, hasFocus } from './text_entry.js';
/** @import { ActionabilityOptions } from './actionability.js' */

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
 * it does not wait for a checkbox or radio button, and returns byClick: the click that sets it waits.
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
  if (!typed && kind !== 'select' && !opts.editable) return { byClick: true, info: inspectField(idOf(el)) };
  const proxy = visibleProxyOf(el);
  if (proxy !== el && isDisabled(el)) return { problem: 'disabled' };
  if (proxy !== el && editorOf(el) && notEditable(el)) return { problem: notEditable(el) };
  const how = { ...opts, editable: proxy === el && (typed || opts.editable), noPress: true };
  const result = /** @type {any} */ (await waitActionable(idOf(proxy), how));
  if (result.ok) {
    result.info = inspectField(idOf(el));
    if (!result.info) return { problem: 'gone' };
    if (opts.entry && (kind === 'text' || kind === 'editable')) result.entry = await beginEntry(result.info.id, opts.entry);
  }
  return result;
}

/**
 * @typedef {object} KeyFocus
 * @property {boolean} focused whether the element has the focus
 * @property {number} [frame] the id of the focused frame in it, if the keys are for that frame
 * @property {ReturnType<typeof named> | null} [by] the element that has the focus instead
 */

/** The events of a key. A page may stop one of them first. */
const keyTypes = ['keydown', 'keyup'];

/**
 * focus focuses an element for a key. Keys for other elements are then blocked until one has reached
 * it, for at most text ms: a page may move the focus before the key arrives.
 * @param {number} id
 * @param {string} token the token of the check
 * @param {number} text
 * @returns {KeyFocus | null}
 */
export const focus = (id, token, text) => {
  const el = /** @type {HTMLElement | null} */ (byId(id));
  if (!el) return null;
  const field = /** @type {HTMLElement} */ (fieldOf(el));
  giveFocus(field, { preventScroll: true });
  const at = focusedElement();
  const isBody = field === bodyOf(document);
  if (at && isFrame(at) && within(at, field) && !isBody) return { focused: true, frame: idOf(at) };
  const focused = at === field || within(at, field) || isBody;
  if (focused) listen(token, field, { types: keyTypes, text });
  return { focused };
};

/**
 * entryKeyFocus returns whether a key that follows text in a field can be sent: the focus is in the field
 * or, because the page replaced the field or moved the focus as in a code with one field for each
 * digit, in another field of the form. Keys for other elements are then blocked, as with focus.
 * @param {number} id
 * @param {string} token
 * @param {number} text
 * @returns {KeyFocus}
 */
export const entryKeyFocus = (id, token, text) => {
  const el = byId(id);
  const field = el && isConnectedOf(el) ? fieldOf(el) : null;
  const at = focusedElement();
  const inFrame = !!at && isFrame(at); // whose document is checked later
  const form = (/** @type {Element} */ of) => closestTo(of, 'form');
  const next = !!at && !inFrame && acceptsTyping(at) && (!field || form(at) === form(field));
  if (field && (inFrame || hasFocus(field))) listen(token, hostOf(field), { types: keyTypes, text });
  else if (next) listen(token, hostOf(at), { types: keyTypes, text });
  else return { focused: false, by: at ? named(at) : null };
  return { focused: true };
};

/**
 * receivesKeys reports whether the document has the focus, and no frame in it. The active element of the
 * documents around it may be another frame, which a script has focused before.
 */
export const receivesKeys = () => document.hasFocus() && focusedFrame('') === 0;

/**
 * focusedFrame returns the id of the focused frame, or 0 if the document itself has the focus. In
 * that case it listens for keys, as startCheck does, unless the token is empty.
 * @param {string} token
 */
export const focusedFrame = (token) => {
  const el = focusedElement();
  if (el && isFrame(el)) return idOf(el);
  if (token) listen(token, null, { types: keyTypes });
  return 0;
};
