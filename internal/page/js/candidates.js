// @ts-check
// Elements to suggest if a target was not found.

import { isVisiblyRendered } from './action_points.js';
import { roleAndName } from './described_elements.js';
import { allIn, attributeOf, idOf } from './dom.js';
import { isInItem, itemText } from './item_text.js';
import { foldCase, foldText } from './same_text.js';
import { recordElement, shownItem } from './shown_elements.js';

/**
 * candidates returns elements that the caller may have intended, with the text of the item that each
 * is in: those with the same role and name, or with words in common with the selector.
 * @param {string} role
 * @param {string} text
 * @param {number} limit
 * @param {string} item the text of the item that the element was in, or ''. If elements in such an
 *   item have the role and name, it returns only those
 * @param {number} id of the element, for its last item if item is empty, or 0
 */
export const candidates = (role, text, limit, item, id) => {
  const words = new Set(foldCase(text).split(/[^\p{L}\p{N}]+/u).filter((w) => w.length > 2 && !noise.has(w)));
  /** @type {{score: number, el: Element, role: string, name: string}[]} */
  const found = [];
  const list = allIn(document, 'a[href], button, input, select, textarea, summary, [role], [tabindex], [contenteditable]');
  for (const el of [...list].slice(0, 3000)) {
    if (!isVisiblyRendered(el)) continue;
    const [r, name] = roleAndName(el);
    const own = new Set(foldCase(name + ' ' + (attributeOf(el, 'id') || '') + ' ' + (attributeOf(el, 'name') || '')).split(/[^\p{L}\p{N}]+/u));
    let score = role && r === role ? 1 : 0;
    if (role && score && foldText(name) === foldText(text)) score += 10;
    for (const w of words) if (own.has(w)) score += 2;
    if (score > (role ? 1 : 0)) found.push({ score, el, role: r, name: name.slice(0, 80) });
  }
  found.sort((a, b) => b.score - a.score);
  const last = item || shownItem(id);
  const there = last === '' ? [] : found.filter(({ el, score }) => score > 10 && isInItem(el, last));
  return (there.length ? there : found).slice(0, limit).map(({ el, role, name }) => ({ id: idOf(el), role, name, item: itemText(el, name), ...recordElement(el) }));
};
const noise = new Set(['text', 'role', 'label', 'placeholder', 'alt', 'title', 'testid', 'xpath', 'visible', 'true', 'name', 'button', 'input', 'div', 'span', 'type', 'class', 'nth', 'child', 'not', 'has']);
