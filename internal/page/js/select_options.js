// @ts-check
// Values that are selected, not typed: in selects, radio buttons, and inputs with the browser's
// own picker, such as a date.

import { isVisiblyRendered } from './action_points.js';
import { isDisabled } from './aria_states.js';
import { roleAndName } from './described_elements.js';
import { allIn, attributeOf, byId, closestTo, collapse, dispatch, documents, elementsNamed, giveFocus, idOf, matchesCSS, parentElementOf, rootOf, textIn } from './dom.js';
import { fieldOf, textOfField } from './field_values.js';
import { isEnded } from './hit_target_check.js';
import { report } from './page_events.js';
import { foldCase, foldText } from './same_text.js';
import { isMasked } from './secret_fields.js';
import { recordElement } from './shown_elements.js';
import { nextChange } from './wait_conditions.js';

/**
 * native returns the browser's own setter of a property. A framework that
 * tracks values may have overridden it on the element.
 * @param {Element} el
 * @param {string} property
 */
export function native(el, property) {
  for (let p = Object.getPrototypeOf(el); p; p = Object.getPrototypeOf(p)) {
    const d = Object.getOwnPropertyDescriptor(p, property);
    if (d?.set) return d.set;
  }
  return null;
}

/** @param {Element} el */
function dispatchInputAndChange(el) {
  dispatch(el, new InputEvent('input', { bubbles: true, composed: true }));
  dispatch(el, new Event('change', { bubbles: true }));
}

/**
 * normalized returns a value as the browser stores it in an input of that
 * type, or '' if it is invalid.
 * @param {HTMLInputElement} el
 * @param {string} value
 */
function normalized(el, value) {
  if (el.type === 'color' && !CSS.supports('color', value)) return '';
  const scratch = /** @type {HTMLInputElement} */ (documents.createElement.call(document, 'input'));
  scratch.type = el.type;
  scratch.value = value.trim();
  return scratch.value;
}

/**
 * setValue sets the value of an input that cannot be typed, such as a date. If the
 * browser rejects the value, the old one is restored.
 * @param {number} id
 * @param {string} value
 */
export function setValue(id, value) {
  const el = /** @type {HTMLInputElement | null} */ (byId(id));
  if (!el) return null;
  const before = el.value;
  const set = native(el, 'value');
  giveFocus(el, { preventScroll: true });
  set?.call(el, value.trim());
  const got = el.value;
  const { rangeUnderflow, rangeOverflow, stepMismatch } = el.validity;
  const same = el.type === 'range' ? value.trim() !== '' && Number(got) === Number(value)
    : got === normalized(el, value) && (got !== '' || value === '') && !rangeUnderflow && !rangeOverflow && !stepMismatch;
  if (!same) {
    set?.call(el, before);
    return { ok: false, type: el.type, masked: isMasked(el), min: el.min, max: el.max, step: el.step };
  }
  if (got !== before) dispatchInputAndChange(el);
  return { ok: true, type: el.type, masked: isMasked(el), value: el.value, set: got };
}

/**
 * choice finds an option or radio button by its value, its label, or its label in another case.
 * @template {Element} T
 * @param {T[]} list
 * @param {string} wanted
 * @param {(el: T) => string} value
 * @param {(el: T) => string} label
 * @returns {{el?: T, disabled?: boolean}}
 */
function choice(list, wanted, value, label) {
  const text = foldText(wanted), anyCase = foldCase(wanted);
  const tests = [(/** @type {T} */ x) => value(x) === wanted, (/** @type {T} */ x) => foldText(label(x)) === text, (/** @type {T} */ x) => foldCase(label(x)) === anyCase];
  for (const test of tests) {
    const el = list.find((x) => test(x) && !isDisabled(x));
    if (el) return { el };
  }
  return { disabled: list.some((x) => tests.some((test) => test(x))) };
}

/** The maximum number of options that an error lists: of a longer list, it lists the nearest. */
const MAX_LISTED = 20;
const NEAREST = 10;

/**
 * listed returns the labels of options for an error: all of a short list, or else those that are most
 * like the wanted one, and whether it chose.
 * @param {string[]} labels
 * @param {string} wanted
 */
function listed(labels, wanted) {
  const short = (/** @type {string} */ s) => s.slice(0, 80);
  if (labels.length <= MAX_LISTED) return { options: labels.map(short), total: labels.length, nearest: false };
  const pairs = (/** @type {string} */ s) => {
    const padded = ` ${foldCase(s.slice(0, 200))} `;
    return new Set(Array.from({ length: padded.length - 1 }, (_, k) => padded.slice(k, k + 2)));
  };
  const want = pairs(wanted);
  const like = (/** @type {string} */ label) => {
    const has = pairs(label);
    let common = 0;
    for (const pair of has) if (want.has(pair)) common++;
    return common / (has.size + want.size);
  };
  const found = labels.map((label) => ({ label, like: like(label) })).sort((a, b) => b.like - a.like);
  return { options: found.slice(0, NEAREST).map(({ label }) => short(label)), total: labels.length, nearest: true };
}

/** @param {HTMLOptionElement} o */
const optionLabel = (o) => o.label || textIn(o) || '';

/**
 * pick finds the options for values, or returns the problem.
 * @param {HTMLSelectElement} el
 * @param {string[]} values
 */
function pick(el, values) {
  const options = [...el.options];
  const picked = /** @type {HTMLOptionElement[]} */ ([]);
  for (const v of values) {
    const found = choice(options, v, (o) => o.value, optionLabel);
    if (!found.el) {
      return { problem: found.disabled ? 'disabled option' : 'no option', value: v };
    }
    picked.push(found.el);
  }
  return { picked };
}

/**
 * selectOptions selects exactly the options with the given values or labels. It reports first with
 * token, because the page's listeners may prevent the result from arriving. If an option does not
 * exist after patience milliseconds, it returns the existing options. If it had to wait for the options,
 * it does not select them: the element may have become another thing. finishCheck(token) ends the wait.
 * @param {string} token
 * @param {number} id
 * @param {string[]} values
 * @param {number} patience how long to wait for options, in ms
 */
export async function selectOptions(token, id, values, patience) {
  const end = performance.now() + patience;
  for (let waited = false; ; waited = true) {
    const given = byId(id);
    if (!given || isEnded(token)) return null;
    const el = fieldOf(given);
    if (!(el instanceof HTMLSelectElement)) return { problem: 'not a select' };
    if (!el.multiple && values.length !== 1) return { problem: 'single' };
    const found = pick(el, values);
    const left = end - performance.now();
    if (found.picked) return waited ? { problem: 'waited' } : selectExactly(token, el, found.picked);
    if (left <= 0) return { ...found, ...listed([...el.options].map((o) => collapse(optionLabel(o)) || o.value), found.value || '') };
    await nextChange(left);
  }
}

/**
 * @param {string} token
 * @param {HTMLSelectElement} el
 * @param {HTMLOptionElement[]} picked
 */
function selectExactly(token, el, picked) {
  report({ token, selected: true });
  giveFocus(el, { preventScroll: true });
  const options = [...el.options];
  const changed = options.some((o) => o.selected !== picked.includes(o));
  if (el.multiple) for (const o of options) o.selected = picked.includes(o);
  else picked[0].selected = true;
  const values = [...new Set(picked)].map((o) => o.value);
  if (changed) dispatchInputAndChange(el);
  const chosen = [...el.selectedOptions], selected = chosen.map((o) => o.value);
  const kept = selected.length === values.length && selected.every((v) => values.includes(v));
  const labels = isMasked(el) ? [] : chosen.map((o) => collapse(optionLabel(o)));
  return { selected, labels, problem: kept ? '' : 'reverted' };
}

/**
 * pickRadio finds a radio button by its value or label in the group that an element is in
 * or contains.
 * @param {number} id
 * @param {string} wanted
 */
export function pickRadio(id, wanted) {
  const el = byId(id);
  if (!el) return null;
  const radios = 'input[type=radio], [role=radio], [role=menuitemradio]';
  /** @type {Element[]} */
  let group;
  if (el instanceof HTMLInputElement && el.name) {
    group = [...allIn(rootOf(el), 'input[type=radio]')].filter((r) => r.name === el.name && r.form === el.form);
  } else {
    const holder = matchesCSS(el, radios) ? closestTo(el, '[role=radiogroup], fieldset') || parentElementOf(el) || el : el;
    group = [...allIn(holder, radios)];
  }
  const label = (/** @type {Element} */ r) => roleAndName(r)[1];
  const found = choice(group, wanted, (r) => (r instanceof HTMLInputElement ? r.value : attributeOf(r, 'data-value') || attributeOf(r, 'value') || ''), label);
  if (found.el) return { id: idOf(found.el) };
  return { disabled: !!found.disabled, ...listed(group.map((r) => collapse(label(r)) || textOfField(r, 'radio')), wanted) };
}

/**
 * listOption returns the visible option with a label in a custom list of the page, or null.
 * @param {number} id
 * @param {string} wanted
 */
export function listOption(id, wanted) {
  const el = byId(id);
  if (!el) return null;
  for (const list of [el, ...elementsNamed(el, 'aria-controls'), ...elementsNamed(el, 'aria-owns')]) {
    for (const option of allIn(list, '[role=option], [role=menuitemradio], [role=treeitem]')) {
      if (!isVisiblyRendered(option)) continue;
      const [role, name] = roleAndName(option);
      if (foldCase(name) === foldCase(wanted) || attributeOf(option, 'data-value') === wanted) return { id: idOf(option), role, name, ...recordElement(option) };
    }
  }
  return null;
}

/**
 * restoreFieldValue restores the old value of a field, and reports whether the field has it afterwards.
 * @param {number} id
 * @param {string} value
 */
export function restoreFieldValue(id, value) {
  const el = byId(id);
  if (!(el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement)) return false;
  native(el, 'value')?.call(el, value);
  dispatchInputAndChange(el);
  return el.value === value;
}
