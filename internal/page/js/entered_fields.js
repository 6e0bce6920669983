// @ts-check
// Fields in which the user entered something while the page was handed over. Their values are
// masked for as long as the document exists, also the values of fields that the page has removed.

import { selectCSS } from './css_selectors.js';
import { closestTo, onShadowRoot, readyOf, tagOf, textIn } from './dom.js';
import { keepContent } from './kept_content.js';
import { report } from './page_events.js';

/** @type {WeakSet<Element>} */
const entered = new WeakSet();

/**
 * The contents of the fields when the page was handed over; null if it is not handed over.
 * @type {WeakMap<Element, string> | null}
 */
let before = null;

/** Whether entered has all fields that changed before or during the last handover. */
let ended = false;

/** The maximum number of values that are reported or returned. */
const MAX_VALUES = 200;
/** The maximum length of such a value, in UTF-16 code units. */
const MAX_VALUE = 500;

/** Elements that the user can enter something in. */
const FIELDS = 'input, textarea, select, [contenteditable]:not([contenteditable="false" i])';

/** isEntered reports whether the user entered something in a field. @param {Element} el */
export function isEntered(el) {
  return entered.has(el);
}

/** contentOf returns what the user can change in a field. @param {any} el */
function contentOf(el) {
  switch (tagOf(el)) {
    case 'input':
      return el.type === 'checkbox' || el.type === 'radio' || el.type === 'file' ? '' : String(el.value);
    case 'textarea': case 'select':
      return String(el.value);
  }
  return textIn(el) || '';
}

/** initialOf returns the content that a field of a new document has. @param {any} el */
function initialOf(el) {
  switch (tagOf(el)) {
    case 'input': case 'textarea':
      return String(el.defaultValue);
    case 'select':
      return String(([...el.options].find((o) => o.defaultSelected) ?? el.options[0])?.value ?? '');
  }
  return '';
}

/**
 * What was last reported of a field.
 * @typedef {object} Reported
 * @property {string} content
 * @property {number} number under which content is stored
 * @property {boolean} shortened whether content is the rest of longer content, which is stored under
 *   another number
 */

/** @type {WeakMap<Element, Reported>} */
const reported = new WeakMap();
let lastNumber = 0;

/**
 * send reports the content of a field at each event, because the page may then remove the field,
 * clear it or navigate. Content that contains the content of the previous event replaces it. Other
 * content is stored in addition, because the page may have cleared the field in between.
 * @param {Element} el
 */
function send(el) {
  const content = contentOf(el).slice(0, MAX_VALUE);
  const was = reported.get(el);
  if (content === (was?.content ?? '')) return;
  const shortened = !!was && was.content.includes(content);
  const same = was && (content.includes(was.content) || shortened && was.shortened);
  const number = same ? was.number : lastNumber++ % MAX_VALUES;
  reported.set(el, { content, number, shortened });
  if (content) report({ entered: { number, content } });
}

/** handle handles input events, also those that password managers dispatch. @param {Event} e */
function handle(e) {
  if (e.type !== 'input') return;
  const el = e.composedPath()[0];
  if (!(el instanceof Element)) return;
  const field = closestTo(el, FIELDS);
  if (!field) return;
  entered.add(field);
  send(field);
}

// The events that listeners of the window get do not have the fields in closed shadow roots.
onShadowRoot((root) => {
  if (root.mode === 'closed') root.addEventListener('input', (e) => before && handle(e), true);
});

const early = () => /** @type {Set<(e: Event) => void> | undefined} */ (/** @type {any} */ (globalThis).__cmEarly);

/** watchFields begins a handover. */
export function watchFields() {
  before = new WeakMap();
  ended = false;
  for (const el of selectCSS(FIELDS, null)) before.set(el, contentOf(el));
  early()?.add(handle);
  addEventListener('pagehide', leave, true);
}

/**
 * distrustContents is called after watchFields if that ran too late: the fields may have had what the
 * user entered by then. It makes their contents at the load of the document count instead.
 */
export function distrustContents() {
  if (before) before = new WeakMap();
}

/** leave ends a handover for a document that is left: it may be restored, but can report no more. */
function leave() {
  changedFields();
  end();
}

/** changedFields marks the fields whose content changed as entered, and returns those with content. */
function changedFields() {
  const list = [];
  for (const el of selectCSS(FIELDS, null)) {
    const now = contentOf(el);
    if (!ended && now !== (before?.get(el) ?? initialOf(el))) entered.add(el);
    if (!entered.has(el)) continue;
    if (tagOf(el) === 'input' || tagOf(el) === 'textarea') keepContent(el, now);
    if (now !== '') list.push(el);
  }
  return list;
}

function end() {
  before = null;
  ended = readyOf(document) !== 'loading'; // the browser may still fill fields
  early()?.delete(handle);
  removeEventListener('pagehide', leave, true);
}

/**
 * maskEntered ends a handover. From now on a field is masked if the user entered something in it, or
 * if its content changed, for example because a password manager filled it in, or because the browser
 * put back what a document before this one had. It returns the contents of these fields, and whether
 * the document was parsed completely.
 */
export function maskEntered() {
  const values = changedFields().slice(0, MAX_VALUES).map((el) => contentOf(el).slice(0, MAX_VALUE));
  end();
  return { values, parsed: ended };
}
