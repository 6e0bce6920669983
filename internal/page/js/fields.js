// @ts-check
// Form fields: their kinds, their values, and when they can be edited.

import { waitActionable } from './actionability.js';
import { nextFrame, task } from './animations.js';
import { isDisabled } from './aria_states.js';
import { bodyOf, byId, focusedElement, giveFocus, idOf, isFrame, matchesCSS, tagOf, within } from './dom.js';
import { editorOf, visibleProxyOf } from './editors.js';
import { entries, fieldKind, fieldOf, inspectField, notEditable, textOfField } from './field_values.js';
import { listen } from './hit_target_check.js';
import { beginEntry } from './text_entry.js';
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
