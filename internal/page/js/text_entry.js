// @ts-check
// Text entry into a field: the focus, the caret, and a listener that blocks text for other
// elements.

import { nextFrame, task, timerState } from './animations.js';
import { byId, containsNode, focusedElement, giveFocus, idOf, isConnectedOf, isEditableBody, isFrame, within } from './dom.js';
import { editContextOf, editorOf } from './editors.js';
import { acceptsTyping, fieldKind, hostOf, inspectField, startEntry, textOfField } from './field_values.js';
import { isEnded, listen } from './hit_target_check.js';
import { native } from './select_options.js';
import { named } from './shown_elements.js';

/** nextTask resolves in a task after those that are pending. @returns {Promise<void>} */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(0);
  });
}

/**
 * selectedPart returns the start and end of the selection in a focused field, or null if nothing is
 * selected. For an editable element or an EditContext, it returns [0, 0] if there is a selection.
 * @param {Element} el
 * @returns {[number, number] | null}
 */
function selectedPart(el) {
  if (!hasFocus(el)) return null;
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
    const { selectionStart: from, selectionEnd: to } = el; // null where the type has no selection
    return from !== null && to !== null && from < to ? [from, to] : null;
  }
  const context = editContextOf(el);
  if (context) return context.selectionStart !== context.selectionEnd ? [0, 0] : null;
  const s = getSelection();
  return s && !s.isCollapsed && containsNode(el, s.anchorNode) && containsNode(el, s.focusNode) ? [0, 0] : null;
}

/** hasFocus reports whether the focus is in a field. @param {Element} el */
export function hasFocus(el) {
  const at = focusedElement();
  return at === el || within(at, el) || within(at, hostOf(el));
}

/**
 * placeCaret selects a field's complete text, or places the caret at its end. It reports whether it
 * succeeded.
 * @param {Element} el
 * @param {boolean} all
 */
function placeCaret(el, all) {
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
    if (all) {
      el.select();
      return true;
    }
    try {
      const end = el.value.length;
      el.setSelectionRange(end, end);
      return el.selectionEnd === end;
    } catch {
      return false; // number and email have no selection
    }
  }
  const selection = getSelection();
  selection?.selectAllChildren(el);
  if (!all) selection?.collapseToEnd();
  return true;
}

/**
 * @typedef {object} EntryStart
 * @property {string} token the token of the check
 * @property {boolean} all the text replaces the field's content
 * @property {number} text how long text for other elements is blocked at most, in ms
 */

/**
 * beginEntry focuses a field and selects the text to replace: all of it, or the existing selection,
 * or nothing at its end. In an editor with a model it changes no selection. Until finishCheck(token) is
 * called, keys and text for other elements are blocked.
 * @param {number} id
 * @param {EntryStart} start
 */
export async function beginEntry(id, { token, all, text }) {
  const el = byId(id);
  if (!el || isEnded(token)) return null;
  startEntry(el);
  const model = editorOf(el) !== ''; // it has a selection itself
  const part = all ? null : selectedPart(el);
  if (isEditableBody(el)) window.focus(); // in a document with designMode, no element can get the focus
  giveFocus(hostOf(el), { preventScroll: true });
  const placed = model || part !== null || placeCaret(el, all);
  // Editors get the caret position by an event in a separate task. By then a page may
  // have moved the focus.
  await nextTask();
  if (!isConnectedOf(el)) return null;
  listen(token, hostOf(el), { types: ['beforeinput', 'input', 'keydown'], text });
  keyTimers = timerState();
  const at = focusedElement();
  const focused = hasFocus(el);
  return { focused, placed, part, empty: textOfField(el, fieldKind(el)) === '' && !(el instanceof HTMLInputElement && el.validity.badInput), by: !focused && at && acceptsTyping(at) ? named(at) : null };
}

/**
 * moveCaret selects the text of a field again, or places the caret at its end, as beginEntry does.
 * @param {number} id
 * @param {boolean} all
 */
export async function moveCaret(id, all) {
  const el = byId(id);
  if (!el) return;
  placeCaret(el, all);
  await nextTask();
}

/** The timers that the page had requested before the last key. */
let keyTimers = '';

/**
 * afterKey gives the page time to move the focus after a key. It returns immediately if the page
 * has requested no timer since the last key, and otherwise in the next task or, if limit is not 0,
 * when the focus has moved or limit has passed. If frame is not 0, it first waits for an animation
 * frame, for at most that time, and returns whether there was one.
 * @param {number} limit in ms
 * @param {number} frame in ms
 */
export async function afterKey(limit, frame) {
  const rendered = frame === 0 || await nextFrame(frame);
  const before = keyTimers;
  keyTimers = timerState();
  if (keyTimers === before) return rendered;
  const focused = focusedElement();
  const start = performance.now();
  do await task(); while (focusedElement() === focused && performance.now() - start < limit);
  return rendered;
}

/**
 * prefill sets the text of a textarea without events, and places the caret at its end.
 * @param {number} id
 * @param {string} text
 */
export function prefill(id, text) {
  const el = byId(id);
  if (!(el instanceof HTMLTextAreaElement)) return;
  native(el, 'value')?.call(el, text);
  placeCaret(el, false);
}

/**
 * entryFocus returns, after a click that should focus a field, whether it has the focus, and which
 * element does.
 * @param {number} id
 */
export function entryFocus(id) {
  const el = byId(id);
  if (!el) return null;
  const at = focusedElement();
  return { focused: hasFocus(el), by: at ? named(at) : null };
}

/**
 * focusedField describes the focused field, or returns null if no field has the focus.
 */
export function focusedField() {
  const at = focusedElement();
  return at && acceptsTyping(at) && !isFrame(at) ? { ...inspectField(idOf(at)), ...named(at), id: idOf(at) } : null;
}
