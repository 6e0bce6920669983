// @ts-check
// Items without a role: rows and cards that consist of plain elements. Their elements have equal names
// ("Delete", "Delete", "Delete"), so the rest of the row says which is which. The row of such an
// element is the largest element around it that has no other one with its role and name, if its
// sibling with the next one looks like it.

import { anyShadow, attributeOf, containsNode, flatParent, nodes, parentElementOf, rootOf, tagOf } from './dom.js';
import { addNode, isComplete, MAX_TEXT, newItem } from './items.js';
import { walkPart } from './walk.js';
/** @import { Item } from './items.js' */
/** @import { Shown } from './shown_elements.js' */
/** @import { Walk } from './walk.js' */

/** The maximum number of levels from an element to its row. */
const MAX_LEVELS = 25;

/**
 * The row in which an element was found, which remains its row when it is the only one left.
 * @type {WeakMap<Element, Element>}
 */
const rows = new WeakMap();
/** Whether an element has a row. */
let hasRows = false;

/**
 * A Use is an element with a role and name.
 * @typedef {object} Use
 * @property {Shown} shown
 * @property {Element | null} row
 * @property {Element | null} limit the largest element around it without the one before
 * @property {Use | null} last of the first use: the last use
 */

/** @param {Element} el */
const parentOf = (el) => (anyShadow ? flatParent(el) : parentElementOf(el));

/**
 * contains reports whether an element is another one or around it, in the flat tree.
 * @param {Element} outer
 * @param {Element} el
 */
function contains(outer, el) {
  if (containsNode(outer, el)) return true;
  if (!anyShadow || rootOf(outer) === rootOf(el)) return false;
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
  /** The first use of each role and name. @type {Map<string, Use>} */
  const first = new Map();
  /** @type {Set<Use>} */
  const uses = new Set();
  for (const shown of walk.shown) {
    if (shown.item) continue;
    const key = `${shown.role}\n${shown.name}`, same = first.get(key);
    /** @type {Use} */
    const use = { shown, row: null, limit: null, last: null };
    if (!same) first.set(key, use);
    else if (same.shown.box === shown.box) {
      separate(same.last || same, use);
      same.last = use;
      uses.add(same).add(use);
    }
    if (hasRows) uses.add(use);
  }
  if (!uses.size) return;
  /** @type {Map<Element, Item>} */
  const items = new Map();
  const indexes = new Map(walk.i.map((id, k) => [id, k]));
  for (const { shown, row } of uses) {
    const el = nodes.get(shown.id)?.deref();
    if (!el) continue;
    if (row) rows.set(el, row);
    const at = row || rowOf(el);
    if (!at) continue;
    hasRows = true;
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
 * @param {Use} a
 * @param {Use} b the next one in document order
 */
function separate(a, b) {
  const [elA, elB] = [a, b].map(({ shown }) => nodes.get(shown.id)?.deref());
  if (!elA || !elB) return;
  let rowA = elA, rowB = elB;
  let around = parentOf(rowB);
  for (let n = 0; around && !contains(around, elA); n++) {
    if (n === MAX_LEVELS) return;
    rowB = around;
    around = parentOf(rowB);
  }
  for (let n = 0; parentOf(rowA) !== around; n++) {
    const outer = parentOf(rowA);
    if (!outer || n === MAX_LEVELS) return;
    rowA = outer;
  }
  const alike = rowA !== elA && rowB !== elB && areAlike(rowA, rowB);
  if (!a.limit || contains(a.limit, rowA)) a.row = alike ? rowA : a.limit === rowA ? a.row : null;
  b.limit = rowB;
  b.row = alike ? rowB : null;
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

/** readPlainRow reads a row without a role. @param {Element} row */
export function readPlainRow(row) {
  let nodes = 0;
  const walk = walkPart(row, (w) => w.n.length !== nodes && (nodes = w.n.length, w.n.join('').length > 2 * MAX_TEXT), row);
  return readRow(walk, row, 0, null);
}
