// @ts-check
// Elements as they were shown to clients. A page may reuse an element for another thing: a virtual
// list shows other rows in the same elements. So each walk, and each function that returns an
// element for a ref, records what the element was. A call on a ref passes the number of the record
// that its client last received, and the element is compared with that.

import { excerpt, roleAndName } from './described_elements.js';
import { walkDocument } from './document_walk.js';
import { attributeOf, byId, idOf, nodes, parentElementOf, withCaches } from './dom.js';
import { follow, isNumbered, oldest, recordAt, recordItem } from './item_history.js';
import { itemChange, movedItems, sameItem, titleOfItem, withoutDigits } from './items.js';
import { itemsAround } from './items_around.js';
import { newShown } from './outline_nodes.js';
import { readPlainRow, rowOf } from './plain_rows.js';
import { foldText } from './same_text.js';
import { walkPart } from './walk.js';
/** @import { Item } from './items.js' */
/** @import { Walk } from './walk.js' */

/**
 * A Shown is what an element was when it was recorded.
 * @typedef {object} Shown
 * @property {number} at the number of the record
 * @property {number} since the number of the first record of the same thing
 * @property {number} id
 * @property {string} role
 * @property {string} name
 * @property {string} href of a link in an item
 * @property {Item | null} item the item that it is in
 * @property {Item | null} box the dialog or tab panel that it is in
 * @property {boolean} walked whether role and name are those of its node in a walk
 * @property {Shown | null} before what it was before
 * @property {number} depth the number of records in before
 */

/** The number of the last record. */
let lastRecord = 0;
/** The last record of each element. @type {Map<number, Shown>} */
const records = new Map();
let pruneAt = 8192;
/** @type {Map<string, number>} */
const NO_USES = new Map();

/**
 * isSame reports whether two records are equal.
 * @param {Shown} a
 * @param {Shown} b
 */
function isSame(a, b) {
  return a.role === b.role && a.name === b.name && a.href === b.href && a.walked === b.walked && sameItem(a.item, b.item) && sameItem(a.box, b.box);
}

/**
 * record stores what an element is now, with the given number, and returns the element's last record.
 * @param {Shown} now
 * @param {number} at
 */
function record(now, at) {
  const last = records.get(now.id);
  if (last && isSame(last, now)) return last;
  now.at = at;
  now.since = last && !isOther(difference(last, now, () => NO_USES)) ? last.since : at;
  follow(now, last || null);
  records.set(now.id, now);
  if (records.size > pruneAt) {
    for (const id of records.keys()) if (!nodes.get(id)?.deref()) records.delete(id);
    pruneAt = Math.max(8192, records.size * 2);
  }
  return now;
}

/**
 * recordWalk records the elements of a walk.
 * @param {Walk} walk
 * @param {number} since the number of the client's previous walk, or 0
 * @param {boolean} ours the walk follows an action of the client, which has changed the page
 * @returns {{at: number, replaced?: number[]}} the number of the records, and the ids of elements
 *   whose refs the client may no longer use, because the elements are other things now
 */
export function recordWalk(walk, since, ours) {
  const at = ++lastRecord;
  /** @type {Map<Element | null, {item: Item, before: Item | null}[]>} */
  const lists = new Map();
  let changed = false;
  for (const { el, item } of walk.items) {
    const before = recordItem(el, item, at, since);
    if (!ours || !since) continue;
    const list = parentElementOf(el), siblings = lists.get(list);
    if (siblings) siblings.push({ item, before });
    else lists.set(list, [{ item, before }]);
    changed ||= !!before && !sameItem(before, item);
  }
  /** @type {Set<Item>} */
  const moved = new Set();
  if (changed) for (const items of lists.values()) for (const item of movedItems(items)) moved.add(item);
  const uses = new Lazy(() => usesOfNames(walk.shown));
  const replaced = [];
  for (const now of walk.shown) {
    const isMoved = !!now.item && moved.has(now.item);
    now.item = now.item?.same || now.item;
    now.box = now.box?.same || now.box;
    const last = record(now, at);
    if (!since || last.at <= since) continue;
    const old = recordAt(last, since);
    if (!old) continue;
    const other = ours ? isMoved && !sameItem(old.item, now.item) && old.role === now.role && foldText(old.name) === foldText(now.name)
      : isOther(difference(old, last, () => uses.value()));
    if (other) replaced.push(now.id);
  }
  return replaced.length ? { at, replaced } : { at };
}

/** A Lazy is a value that is computed when it is first needed. @template T */
class Lazy {
  /** @param {() => T} compute */
  constructor(compute) {
    this.compute = compute;
    /** @type {{value: T} | null} */ this.done = null;
  }

  value() {
    this.done ||= { value: this.compute() };
    return this.done.value;
  }
}

/**
 * usesOfNames returns for each role and name, without its digits, the id of the element of the
 * document that has or had it, or 0 if there are several.
 * @param {Shown[]} present the elements that are in the document
 * @returns {Map<string, number>}
 */
function usesOfNames(present) {
  /** @type {Map<string, number>} */
  const uses = new Map();
  const add = (/** @type {Shown} */ v) => {
    const key = nameKey(v.role, v.name), id = uses.get(key);
    uses.set(key, id === undefined || id === v.id ? v.id : 0);
  };
  for (const now of present) add(now);
  for (const last of records.values()) for (let v = /** @type {Shown | null} */ (last); v; v = v.before) add(v);
  return uses;
}

/** @param {string} role @param {string} name */
const nameKey = (role, name) => `${role} ${withoutDigits(name)}`;

/**
 * A Difference is how an element differs from what was shown: in its role, its item or its name.
 * 'renamed' is a new name of the same thing.
 * @typedef {'' | 'role' | 'item' | 'name' | 'renamed'} Difference
 */

/** isOther reports whether the element is another thing. @param {Difference} d */
const isOther = (d) => d !== '' && d !== 'renamed';

/**
 * difference compares an element with what was shown.
 * @param {Shown} old
 * @param {Shown} now
 * @param {() => Map<string, number>} uses the result of usesOfNames
 * @returns {Difference}
 */
function difference(old, now, uses) {
  if (old === now) return '';
  if (old.walked && now.walked && old.role !== now.role) return 'role';
  if (itemDiffers(old, now)) return 'item';
  if (old.walked !== now.walked && (old.name === '' || now.name === '')) return '';
  const was = foldText(old.name), is = foldText(now.name);
  if (was === is) return '';
  const a = withoutDigits(was), b = withoutDigits(is);
  if (a !== b && !includesName(a, b) && !includesName(b, a)) return 'name';
  return [a, b].every((name) => (uses().get(nameKey(now.role, name)) ?? now.id) === now.id) ? 'renamed' : 'name';
}

/**
 * itemDiffers reports whether an element is in another item than it was shown in.
 * @param {Shown} old
 * @param {Shown} now
 */
function itemDiffers(old, now) {
  const newRow = !old.item && !!now.item?.plain; // it was the only one with its name
  if (old.item !== null && now.item !== null && old.href !== now.href) return true;
  if (!old.box !== !now.box) return true;
  const box = itemChange(old.box, '', now.box, '');
  if (box === 'other' || (box === 'digits' && now.box?.asks)) return true; // the title of a tab panel may have a counter
  if (newRow) return false;
  switch (itemChange(old.item, old.name, now.item, now.name)) {
    case 'other': return true;
    case 'digits': return isNumbered(old.item);
  }
  return false;
}

/**
 * includesName reports whether a name contains another one from one word boundary to another, or with
 * the rest of a word that shows progress, as Sending… contains Send.
 * @param {string} name
 * @param {string} part
 */
function includesName(name, part) {
  const isWord = (/** @type {string | undefined} */ c) => c !== undefined && /[\p{L}\p{N}]/u.test(c);
  for (let at = name.indexOf(part); at >= 0; at = part === '' ? -1 : name.indexOf(part, at + 1)) {
    const end = at + part.length;
    const begins = !isWord(part[0]) || !isWord(name[at - 1]);
    const ends = !isWord(part[part.length - 1]) || !isWord(name[end]) || /^\p{L}+(…|\.\.\.)$/u.test(name.slice(end));
    if (begins && ends) return true;
  }
  return false;
}

/**
 * describeNow returns what an element is now, as a walk of the document would describe it.
 * @param {Element} el
 * @returns {Shown}
 */
function describeNow(el) {
  const id = idOf(el);
  const [around, box] = itemsAround(el);
  const row = around ? null : rowOf(el);
  const item = row ? readPlainRow(row) : around;
  const walk = walkPart(el, (w) => w.d.length > 200);
  const node = walk.shown.find((v) => v.id === id);
  if (node) return { ...node, item, box, href: item && node.role === 'link' ? attributeOf(el, 'href') || '' : '' };
  const [role, name] = roleAndName(el);
  return { ...newShown(id, role, name, item, box), walked: false };
}

/**
 * recordElement records what an element is, for a result that returns it.
 * @param {Element} el
 * @returns {{at: number, since: number}} the number of the record, and of the first one of the same
 *   thing: a client that received the element before then needs a new ref
 */
export function recordElement(el) {
  const now = withCaches(() => describeNow(el));
  const { since } = record(now, ++lastRecord);
  return { at: lastRecord, since };
}

/**
 * recordDocument records what all elements of the document are, for a result that returns many of
 * them.
 * @param {number} since as in recordWalk
 */
export function recordDocument(since) {
  const walk = walkDocument();
  return walk ? recordWalk(walk, since, false) : { at: 0 };
}

/**
 * A Change is how an element differs from what was shown.
 * @typedef {object} Change
 * @property {boolean} other it is another thing
 * @property {boolean} item it is in another item
 * @property {{role: string, name: string, item: string}} was
 * @property {{role: string, name: string, item: string}} now
 * @property {number} at the number of the record of what it is now
 */

/**
 * changeOf compares an element with its record. It returns null if the element is the same thing with
 * the same name, and if it was removed.
 * @param {number} id
 * @param {number} at the number of the record
 * @returns {Change | null}
 */
export function changeOf(id, at) {
  const el = byId(id), last = records.get(id);
  const old = last && (recordAt(last, at) || oldest(last));
  if (!el || !old) return null;
  const now = withCaches(() => describeNow(el));
  const d = difference(old, now, () => usesOfNames(walkDocument()?.shown || []));
  if (d === '') return null;
  const text = (/** @type {Shown} */ v) => ({ role: v.role, name: v.name, item: d === 'item' ? titleOfItem(v.item || v.box) : '' });
  return { other: isOther(d), item: d === 'item', was: text(old), now: text(now), at: record(now, ++lastRecord) && lastRecord };
}

/**
 * The function that waits and then starts to act, without another call in between: the element may
 * change during the wait.
 */
const WAITS_AND_ACTS = 'waitEditable';

/**
 * asShown calls a page script function that is to act on an element, unless the element is another
 * thing than was shown.
 * @param {(...args: any[]) => any} call the function
 * @param {string} name the name of the function
 * @param {number} id of the element
 * @param {number} at the number of the record
 * @param {boolean} itemOnly whether only the item of the element counts, because input was sent that may
 *   have changed its name
 * @param {any[]} args
 */
export async function asShown(call, name, id, at, itemOnly, args) {
  const check = () => {
    const change = changeOf(id, at);
    return change && itemOnly && !change.item ? null : change;
  };
  let change = check();
  if (change?.other) return { change };
  const value = await call(...args);
  if (name === WAITS_AND_ACTS) change = check() || change;
  return change?.other ? { change } : { value, change };
}

/**
 * shownItem returns the text of the item that an element was last in, although it may be removed, as
 * titleOfItem does.
 * @param {number} id
 */
export function shownItem(id) {
  const last = records.get(id);
  return titleOfItem(last?.item || last?.box || null);
}

/** @param {Element} el */
export function named(el) {
  const [role, name] = roleAndName(el);
  return { id: idOf(el), role, name: name || excerpt(el), ...recordElement(el) };
}
