// @ts-check
// The items that are around an element.

import { roleOf } from './aria_roles.js';
import { flatParent, hasSemanticAttribute, tagOf } from './dom.js';
import { isComplete, kindOf } from './items.js';
import { styleOf } from './visibility.js';
import { Walk, walkPart } from './walk.js';
/** @import { Item } from './items.js' */

/**
 * itemsAround returns the item and the dialog or tab panel that an element is in, or that it is.
 * @param {Element} el
 * @returns {[Item | null, Item | null]}
 */
export function itemsAround(el) {
  const roles = new Walk(0);
  /** @type {Item | null} */
  let item = null;
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) {
    const tag = tagOf(at);
    if (tag === 'form') continue;
    const role = tag === 'tr' ? roles.rowRole(at, tag) : roleOf(at);
    if (role !== 'generic' && styleOf(at).visibility !== 'visible') continue; // as in a walk
    const kind = kindOf(at, tag, role, hasSemanticAttribute(at));
    if (kind === 'titled') return [item, readItem(at)];
    if (kind === 'item' && !item) item = readItem(at);
  }
  return [item, null];
}

/** readItem reads the item of an element. @param {Element} el @returns {Item | null} */
export function readItem(el) {
  const walk = walkPart(el, (w) => w.items.length > 0 && isComplete(w.items[0].item), el);
  return walk.items[0]?.item || null;
}
