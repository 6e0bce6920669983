// @ts-check
// Items without a role: rows and cards that consist of plain elements. Their elements have equal names
// ("Delete", "Delete", "Delete"), so the rest of the row says which is which. The row of such an
// element is the largest element around it that has no other one with its role and name, if its
// sibling with the next one looks like it.

import { anyShadow, attributeOf, containsNode, flatParent, nodes, parentElementOf, tagOf } from './dom.js';
import { addNode, isComplete, newItem } from './items.js';
import { readPlainRow } from './shown_elements.js';
/** @import { Item } from './items.js' */
/** @import { Shown } from './shown_elements.js' */
/** @import { Walk } from './snapshot.js' */

/** The maximum number of levels from an element to its row. */
const MAX_LEVELS = 25;

/**
 * The row in which an element was found, which remains its row when it is the only one left.
 * @type {WeakMap<Element, Element>}
 */
const rows = new WeakMap();

/** @param {Element} el */
const parentOf = (el) => (anyShadow ? flatParent(el) : parentElementOf(el));

/**
 * contains reports whether an element is another one or around it, in the flat tree.
 * @param {Element} outer
 * @param {Element} el
 */
function contains(outer, el) {
  if (!anyShadow) return containsNode(outer, el);
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) if (at === outer) return true;
  return false;
}

/**
 * rowOf returns the row of an element, or null if it was found in none or has left it.
 * @param {Element} el
 */
export function rowOf(el) {
  const row = rows.get(el);
  return row && contains(row, el) ? row : null;
}

/**
 * addRows finds the rows of the elements of a walk that are in no item, and adds them to its items.
 * @param {Walk} walk
 * @param {Element} from the element that was walked
 */
export function addRows(walk, from) {
  /** @type {Map<string, {shown: Shown, el: Element, row: Element | null}[]>} */
  const named = new Map();
  const free = [];
  for (const shown of walk.shown) {
    if (shown.item) continue;
    const el = nodes.get(shown.id)?.deref();
    if (!el) continue;
    const use = { shown, el, row: /** @type {Element | null} */ (null) };
    const key = `${shown.role}\n${shown.name}`, same = named.get(key);
    if (same) same.push(use);
    else named.set(key, [use]);
    free.push(use);
  }
  for (const same of named.values()) {
    for (let k = 1; k < same.length; k++) if (same[k - 1].shown.box === same[k].shown.box) separate(same[k - 1], same[k]);
  }
  /** @type {Map<Element, Item>} */
  const items = new Map();
  /** @type {Map<number, number> | null} */
  let indexes = null;
  for (const { shown, el, row } of free) {
    if (row) rows.set(el, row);
    const at = row || rowOf(el);
    if (!at) continue;
    indexes ||= new Map(walk.i.map((id, k) => [id, k]));
    let item = items.get(at);
    if (!item) {
      // A walk of a part of the row has only a part of its text.
      item = at !== from && contains(at, from) ? readPlainRow(at) : readRow(walk, at, indexes.get(shown.id) ?? -1, shown.box);
      items.set(at, item);
      walk.items.push({ el: at, item });
    }
    shown.item = item;
    if (shown.role === 'link') shown.href = attributeOf(el, 'href') || '';
  }
}

/**
 * separate sets the rows of two elements with the same role and name, if they are in siblings that look
 * like each other. An element between two others is in the smaller one of its rows.
 * @param {{el: Element, row: Element | null}} a
 * @param {{el: Element, row: Element | null}} b the next one in document order
 */
function separate(a, b) {
  let rowA = a.el, rowB = b.el;
  let around = parentOf(rowB);
  for (let n = 0; around && !contains(around, a.el); n++) {
    if (n === MAX_LEVELS) return;
    rowB = around;
    around = parentOf(rowB);
  }
  for (let n = 0; parentOf(rowA) !== around; n++) {
    const outer = parentOf(rowA);
    if (!outer || n === MAX_LEVELS) return;
    rowA = outer;
  }
  if (rowA === a.el || rowB === b.el || !areAlike(rowA, rowB)) return;
  if (!a.row || contains(a.row, rowA)) a.row = rowA;
  b.row = rowB;
}

/**
 * areAlike reports whether siblings look like rows of the same list.
 * @param {Element} a
 * @param {Element} b
 */
function areAlike(a, b) {
  if (tagOf(a) !== tagOf(b)) return false;
  const [x, y] = [a, b].map((el) => (attributeOf(el, 'class') || '').split(/\s+/).filter(Boolean));
  return x.length === 0 || y.length === 0 ? x.length === y.length : x.some((name) => y.includes(name));
}

/**
 * readRow returns the item of a row, with the text of its nodes in a walk. A node in an item of the row
 * does not count.
 * @param {Walk} walk
 * @param {Element} row
 * @param {number} node the index of a node in the row
 * @param {Item | null} box
 * @returns {Item}
 */
export function readRow(walk, row, node, box) {
  const item = newItem(row, false, '');
  item.plain = true;
  const isIn = (/** @type {number} */ k) => k >= 0 && k < walk.e.length && contains(row, walk.e[k]);
  let first = node;
  while (isIn(first - 1)) first--;
  for (let k = first; isIn(k) && !isComplete(item); k++) {
    if (walk.owners[k] === box && walk.n[k] !== '') addNode(item, walk.roleAt(k), walk.n[k]);
  }
  return item;
}
