// @ts-check
// Which element is at a point, and whether an event there reaches another.

import { elementFrom, flatParent, matchesCSS, shadowOf, within } from './dom.js';
import { standInOf } from './editors.js';

/**
 * elementAt returns the innermost element at a point of the viewport, including elements in shadow
 * roots.
 * @param {number} x
 * @param {number} y
 * @returns {Element | null}
 */
export function elementAt(x, y) {
  let el = elementFrom(document, x, y);
  for (;;) {
    const root = el && shadowOf(el);
    const inner = root && root.elementFromPoint(x, y);
    if (!inner || inner === el) return el;
    el = inner;
  }
}

/**
 * Elements in a label whose clicks do not activate the label's control. In Chromium, a tabindex
 * alone does not have this effect.
 */
export const LABEL_INTERACTIVE_CONTENT = 'a[href], button, input:not([type=hidden]), select, textarea, details, iframe, embed, audio[controls], video[controls], img[usemap], [contenteditable]';

/**
 * isHitFor reports whether an event on hit reaches el: on the element, its descendants
 * or its label, except interactive content of the label, or on its stand-in.
 * @param {Element | null} hit
 * @param {Element} el
 */
export function isHitFor(hit, el) {
  return !!hit && (isDirectHit(hit, el) || !!standInOf(el)?.receives(hit));
}

/**
 * isDirectHit is isHitFor without the stand-in.
 * @param {Element} hit
 * @param {Element} el
 */
export function isDirectHit(hit, el) {
  if (within(hit, el)) return true;
  for (let at = /** @type {Element | null} */ (hit); at; at = flatParent(at)) {
    if (at instanceof HTMLLabelElement) return at.control === el;
    if (matchesCSS(at, LABEL_INTERACTIVE_CONTENT)) return false;
  }
  return false;
}
