// @ts-check
// Local and session storage of the document's origin.

import { getter } from './dom.js';

const lengthOfStore = /** @type {(s: Storage) => number} */ (getter(Storage, 'length'));

/** Longer keys are truncated to this number of characters. */
const maxKey = 500;

/** The size of an item in addition to its key and value, in characters. */
const itemChars = 20;

/** @param {string} key */
const shownKey = (key) => /** @type {any} */ (key.slice(0, maxKey)).toWellFormed();

/**
 * withStore calls a function with the storage of an area. done is its result. failed is the name of
 * the exception if the browser threw one.
 * @param {string} area
 * @param {(s: Storage) => unknown} use
 */
function withStore(area, use) {
  try {
    return { done: use(area === 'local' ? globalThis.localStorage : globalThis.sessionStorage) };
  } catch (e) {
    return { failed: String(e instanceof DOMException ? e.name : e) };
  }
}

/** @param {Storage} store */
function keysOf(store) {
  const keys = [];
  for (let i = 0, n = lengthOfStore(store); i < n; i++) {
    const key = store.key(i);
    if (key !== null) keys.push(key);
  }
  return keys;
}

/**
 * storedItems lists the items, sorted by key, up to a number of characters.
 * @param {string} area
 * @param {string[] | null} only the keys to list, or null for all
 * @param {boolean} values whether to include the values
 * @param {string} after the last key of the previous list
 * @param {number} maxChars
 */
export const storedItems = (area, only, values, after, maxChars) => withStore(area, (store) => {
  const keys = keysOf(store).filter((key) => !only || only.includes(key)).sort();
  const items = [];
  let budget = maxChars;
  let last = '';
  for (const key of keys) {
    const shown = shownKey(key);
    if (after !== '' && shown <= after) continue;
    if (budget <= 0 && shown !== last) return { items, total: keys.length, after: last };
    const value = store.getItem(key) ?? '';
    budget -= shown.length + itemChars;
    const part = values ? /** @type {any} */ (value.slice(0, Math.max(budget, 0))).toWellFormed() : '';
    budget -= part.length;
    items.push({ key: shown, value: part, chars: value.length, truncated: values && part.length < value.length });
    last = shown;
  }
  return { items, total: keys.length };
});

/**
 * setItem stores a value.
 * @param {string} area
 * @param {string} key
 * @param {string} value
 */
export const setItem = (area, key, value) => withStore(area, (store) => {
  store.setItem(key, value);
  return 1;
});

/**
 * removeItems removes the items with the given keys, or all items if keys is null, and returns
 * their number.
 * @param {string} area
 * @param {string[] | null} keys
 */
export const removeItems = (area, keys) => withStore(area, (store) => {
  const stored = keysOf(store);
  if (!keys) {
    store.clear();
    return stored.length;
  }
  const removed = stored.filter((key) => keys.includes(key));
  for (const key of removed) store.removeItem(key);
  return removed.length;
});

/**
 * allItems returns all items.
 * @param {string} area
 */
export const allItems = (area) => withStore(area, (store) => keysOf(store).map((name) => ({ name, value: store.getItem(name) ?? '' })));

/**
 * setItems stores items.
 * @param {string} area
 * @param {{name: string, value: string}[]} items
 */
export const setItems = (area, items) => withStore(area, (store) => {
  for (const { name, value } of items) store.setItem(name, value);
  return items.length;
});
