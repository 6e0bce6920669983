// @ts-check
// Local and session storage of the document's origin.

const lengthOfStore = /** @type {(s: Storage) => number} */ (getter(Storage, 'length'));

/** Beyond this many characters keys are told in part. */
const maxKey = 500;

/** What tells of an item beside its texts, in characters. */
const itemChars = 20;

/** @param {string} key */
const shownKey = (key) => /** @type {any} */ (key.slice(0, maxKey)).toWellFormed();

/**
 * withStore calls a function with the storage of an area. What comes of it is in done; failed is the name of what
 * the browser threw.
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
 * storedItems lists what is kept, by key, up to a number of characters.
 * @param {string} area
 * @param {string[] | null} only these keys
 * @param {boolean} values
 * @param {string} after
 * @param {number} maxChars
 */
api.storedItems = (area, only, values, after, maxChars) => withStore(area, (store) => {
  const keys = keysOf(store).filter((key) => !only || only.includes(key)).sort();
  const items = [];
  let room = maxChars;
  let last = '';
  for (const key of keys) {
    const shown = shownKey(key);
    if (after !== '' && shown <= after) continue;
    if (room <= 0 && shown !== last) return { items, total: keys.length, after: last };
    const value = store.getItem(key) ?? '';
    room -= shown.length + itemChars;
    const told = values ? /** @type {any} */ (value.slice(0, Math.max(room, 0))).toWellFormed() : '';
    room -= told.length;
    items.push({ key: shown, value: told, chars: value.length, cut: values && told.length < value.length });
    last = shown;
  }
  return { items, total: keys.length };
});

/**
 * setItem keeps a value.
 * @param {string} area
 * @param {string} key
 * @param {string} value
 */
api.setItem = (area, key, value) => withStore(area, (store) => {
  store.setItem(key, value);
  return 1;
});

/**
 * removeItems removes what is kept under keys, everything without any, and tells how many that were.
 * @param {string} area
 * @param {string[] | null} keys
 */
api.removeItems = (area, keys) => withStore(area, (store) => {
  const kept = keysOf(store);
  if (!keys) {
    store.clear();
    return kept.length;
  }
  const gone = kept.filter((key) => keys.includes(key));
  for (const key of gone) store.removeItem(key);
  return gone.length;
});

/**
 * allItems returns everything that is kept.
 * @param {string} area
 */
api.allItems = (area) => withStore(area, (store) => keysOf(store).map((name) => ({ name, value: store.getItem(name) ?? '' })));

/**
 * setItems keeps values.
 * @param {string} area
 * @param {{name: string, value: string}[]} items
 */
api.setItems = (area, items) => withStore(area, (store) => {
  for (const { name, value } of items) store.setItem(name, value);
  return items.length;
});
