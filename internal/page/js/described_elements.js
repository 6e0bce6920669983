// @ts-check
// Elements as messages describe them.

import { nameOf } from './accessible_names.js';
import { roleOf } from './aria_roles.js';
import { bodyOf, collapse, innerTextOf, tagWord, topOf, withCaches } from './dom.js';

/**
 * roleAndName returns the role and name of an element as messages show them.
 * @param {Element} el
 * @returns {[string, string]}
 */
export function roleAndName(el) {
  return withCaches(() => {
    const role = roleOf(el);
    return [role && role !== 'generic' && role !== 'none' ? role : tagWord(el), nameOf(el, role)];
  });
}

/**
 * excerpt returns the beginning of an element's visible text, to identify an element without a
 * name. For the root and the body it is empty.
 * @param {Element} el
 */
export function excerpt(el) {
  return el === topOf(document) || el === bodyOf(document) ? '' : collapse(innerTextOf(el)).slice(0, 60);
}
