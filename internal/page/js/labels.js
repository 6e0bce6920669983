// @ts-check
// The labels of controls.

import { allIn, anyShadow, cachingEnabled, onCacheReset, rootOf } from './dom.js';
/** @import { Root } from './dom.js' */

/**
 * The labels of controls, by root, because el.labels searches the complete tree each time.
 * @type {Map<Root, Map<Element, Element[]>>}
 */
let labelIndex = new Map();
onCacheReset(() => {
  labelIndex = new Map();
});

/**
 * @param {Element} el
 * @returns {Element[] | undefined}
 */
export function labelsOf(el) {
  const root = anyShadow ? rootOf(el) : document;
  let index = labelIndex.get(root);
  if (!index) {
    index = new Map();
    for (const l of allIn(root, 'label')) {
      const c = l.control;
      if (!c) continue;
      const list = index.get(c);
      if (list) list.push(l);
      else index.set(c, [l]);
    }
    if (cachingEnabled) labelIndex.set(root, index);
  }
  return index.get(el);
}
