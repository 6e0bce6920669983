// @ts-check
// What elements were when they were recorded. A page has several clients, and each has received
// another state of it. So records are a history: a client passes the number of the walk that it last
// received.

import { likeText, sameItem } from './items.js';
/** @import { Item } from './items.js' */

/** The maximum number of records of an element. Half of them are dropped then. */
const MAX_RECORDS = 16;

/**
 * A Recorded is one record of a history.
 * @typedef {object} Recorded
 * @property {number} at the number of the record
 * @property {Recorded | null} before the record before it
 * @property {number} depth the number of records in before
 */

/**
 * follow adds a record to a history.
 * @template {Recorded} T
 * @param {T} now
 * @param {T | null} last the last record of the history
 */
export function follow(now, last) {
  now.before = last;
  now.depth = last ? last.depth + 1 : 0;
  if (now.depth < MAX_RECORDS) return;
  /** @type {Recorded | null} */
  let v = now;
  for (let n = MAX_RECORDS / 2; v && n > 0; n--) v = v.before;
  if (v) v.before = null;
  now.depth = MAX_RECORDS / 2;
}

/**
 * recordAt returns the record of a history that was the last one when the record with a number was
 * made, or null if that is unknown.
 * @template {Recorded} T
 * @param {T | null | undefined} last
 * @param {number} at
 * @returns {T | null}
 */
export function recordAt(last, at) {
  /** @type {Recorded | null} */
  let v = last || null;
  while (v && v.at > at) v = v.before;
  return /** @type {T | null} */ (v);
}

/**
 * oldest returns the first record of a history.
 * @template {Recorded} T
 * @param {T} last
 * @returns {T}
 */
export function oldest(last) {
  /** @type {Recorded} */
  let v = last;
  while (v.before) v = v.before;
  return /** @type {T} */ (v);
}

/** @typedef {Recorded & {item: Item, owner: number}} RecordedItem owner is the number of the element */

/** The items that elements were. @type {WeakMap<Element, RecordedItem>} */
const histories = new WeakMap();
let lastOwner = 0;

/**
 * recordItem records the item that an element is. It sets item.same to the item of the record before,
 * if that is equal.
 * @param {Element} el
 * @param {Item} item
 * @param {number} at the number of the record
 * @param {number} since the number of the client's previous walk, or 0
 * @returns {Item | null} the item that the element was in the client's previous walk
 */
export function recordItem(el, item, at, since) {
  const last = histories.get(el);
  if (last && sameItem(last.item, item)) {
    item.same = last.item;
  } else {
    const now = { at, item, owner: last ? last.owner : ++lastOwner, before: null, depth: 0 };
    follow(now, last || null);
    histories.set(el, now);
    if (!item.titled) uncounted.push(now);
    if (uncounted.length > MAX_UNCOUNTED) count();
  }
  return since ? recordAt(last, since)?.item || null : null;
}

/** Records whose items are not in likes yet. @type {RecordedItem[]} */
let uncounted = [];
const MAX_UNCOUNTED = 20000;
/**
 * The element that is or was an item like a text, without its numbers, or 0 if there are several.
 * @type {Map<string, number>}
 */
let likes = new Map();
const MAX_LIKES = 20000;

function count() {
  for (const { item, owner } of uncounted) {
    const like = likeText(item.text), known = likes.get(like);
    likes.set(like, known === undefined || known === owner ? owner : 0);
  }
  uncounted = [];
  if (likes.size > MAX_LIKES) likes = new Map([...likes].slice(likes.size - MAX_LIKES / 2));
}

/**
 * isNumbered reports whether the document has or had several items like an item that differ only in
 * their numbers: then the numbers say which item it is.
 * @param {Item | null} item
 */
export function isNumbered(item) {
  count();
  return likes.get(likeText(item?.text || '')) === 0;
}
