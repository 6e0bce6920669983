// @ts-check
// Forms that the browser does not submit because fields are invalid.

import { roleAndName } from './described_elements.js';
import { byId, closestTo, focusedElement, isFrame } from './dom.js';
import { acceptsTyping } from './field_values.js';
import { addListener, removeListener } from './page_events.js';

/** @typedef {{role: string, name: string, message: string}} InvalidField */

/** The maximum number of invalid fields that are reported. */
const MAX_INVALID = 10;

/**
 * formOf returns the form that a click on an element submits.
 * @param {Element | null} el
 * @returns {HTMLFormElement | null}
 */
export function formOf(el) {
  const button = el && closestTo(el, 'button, input');
  if (!(button instanceof HTMLButtonElement || button instanceof HTMLInputElement)) return null;
  return button.type === 'submit' || button.type === 'image' ? button.form : null;
}

/**
 * collectInvalid collects the fields that the browser reports as invalid until stop
 * is called. fields returns an empty list if a form was submitted.
 * @param {Iterable<EventTarget>} roots
 * @param {HTMLFormElement | null} form the form whose fields are collected, or null for all forms
 */
export function collectInvalid(roots, form) {
  /** @type {Map<Element, InvalidField>} */
  const invalid = new Map();
  let submitted = false;
  const onEvent = (/** @type {Event} */ e) => {
    const el = e.composedPath()[0];
    if (!e.isTrusted) return;
    if (e.type === 'submit') submitted = true;
    else if (el instanceof Element && invalid.size < MAX_INVALID && (!form || /** @type {any} */ (el).form === form)) {
      const [role, name] = roleAndName(el);
      invalid.set(el, { role, name, message: String(/** @type {HTMLInputElement} */ (el).validationMessage || '') });
    }
  };
  const types = ['submit', 'invalid'];
  for (const root of roots) for (const type of types) addListener.call(root, type, onEvent, { capture: true, passive: true });
  return {
    fields: () => (submitted ? [] : [...invalid.values()]),
    stop: () => { for (const root of roots) for (const type of types) removeListener.call(root, type, onEvent, { capture: true }); },
  };
}

/**
 * leaveField blurs the focused field, as pressing a button does, so that the page has
 * processed all values before the button's action point is determined.
 * @param {number} id the button
 */
export const leaveField = (id) => {
  const at = focusedElement();
  if (at instanceof HTMLElement && at !== byId(id) && acceptsTyping(at) && !isFrame(at)) HTMLElement.prototype.blur.call(at);
};
