// @ts-check
// Scripts cannot find closed shadow roots, only CDP can. This finds the elements for which
// to query CDP.

import { allIn, byId, firstChildOf, idOf, isRendered, matchesCSS, offsetHeightOf, offsetWidthOf, shadowOf, tagOf } from './dom.js';

/**
 * Elements other than custom elements that may host a shadow root and render something although
 * they have no children.
 */
export const EMPTY_HOSTS = new Set(['article', 'aside', 'blockquote', 'div', 'footer', 'header', 'main', 'nav', 'p', 'section', 'span']);

/**
 * Elements that CDP has been queried about, and whether they were defined then. A host gets its root
 * when it is created or when its element is defined, so a query in between would return nothing new.
 * @type {WeakMap<Element, boolean>}
 */
const queried = new WeakMap();
/** Whether the elements that isCandidate accepted were defined then. @type {WeakMap<Element, boolean>} */
const candidates = new WeakMap();

/** The maximum number of elements returned at a time. */
export const MAX_CANDIDATES = 200;

/**
 * isCandidate reports whether a custom or empty element may have a closed shadow root. It returns
 * true until markQueried is called for the element.
 * @param {Element} el
 * @param {string} tag
 */
export function isCandidate(el, tag) {
  if (shadowOf(el)) return false;
  const custom = tag.includes('-');
  const defined = !custom || matchesCSS(el, ':defined');
  if (queried.get(el) === true || queried.get(el) === defined) return false;
  if (!(custom ? isRendered(el) : offsetHeightOf(el) > 0 && offsetWidthOf(el) > 0)) return false;
  candidates.set(el, defined);
  return true;
}

/**
 * markQueried records that CDP has been queried about elements that isCandidate accepted.
 * @param {number[]} ids
 */
export function markQueried(ids) {
  for (const id of ids) {
    const el = byId(id);
    if (el) queried.set(el, candidates.get(el) === true);
  }
}

/**
 * closedCandidates returns the ids of elements that may have a closed shadow root
 * that was not added yet: custom elements, and empty elements with a box.
 * @returns {number[]}
 */
export function closedCandidates() {
  /** @type {number[]} */
  const out = [];
  /** @param {Iterable<Element>} list */
  const scan = (list) => {
    for (const el of list) {
      if (out.length >= MAX_CANDIDATES) return;
      const tag = tagOf(el);
      const root = shadowOf(el);
      if (root) {
        scan(allIn(root, '*'));
        continue;
      }
      if ((tag.includes('-') || (EMPTY_HOSTS.has(tag) && !firstChildOf(el))) && isCandidate(el, tag)) out.push(idOf(el));
    }
  };
  scan(Document.prototype.querySelectorAll.call(document, '*'));
  return out;
}
