// @ts-check
// The conditions of WaitFor, and the wait for a paint before a screenshot.

import { boxesOf, isVisiblyRendered, labelBoxes } from './action_points.js';
import { after, nextFrame, onFrame } from './animations.js';
import { roleAndName } from './described_elements.js';
import { byId } from './dom.js';
import { foldCase } from './same_text.js';
import { recordElement } from './shown_elements.js';
import { text } from './text_extraction.js';

/**
 * nextChange resolves after the next change of the document, or after ms.
 * @param {number} ms
 */
export const nextChange = (ms) => new Promise((resolve) => {
  const observer = new MutationObserver(done);
  const timer = after(ms, done);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  function done() {
    clearTimeout(timer);
    observer.disconnect();
    onFrame(() => resolve(true));
    after(30, () => resolve(true));
  }
});

/**
 * hasText returns for each of two texts whether the document shows it, ignoring case.
 * @param {string} a
 * @param {string} b
 */
export const hasText = (a, b) => {
  const shownText = foldCase(text(0) || '');
  const has = (/** @type {string} */ s) => s !== '' && shownText.includes(foldCase(s));
  return [has(a), has(b)];
};

/** isShown reports whether an element is visible. @param {number} id */
export const isShown = (id) => {
  const el = byId(id);
  return !!el && isVisiblyRendered(el) && (boxesOf(el).length > 0 || labelBoxes(el).length > 0);
};

/**
 * shownMatch returns the role and name of an element if it is visible, or null.
 * @param {number} id
 */
export const shownMatch = (id) => {
  const el = byId(id);
  if (!el || !isShown(id)) return null;
  const [role, name] = roleAndName(el);
  return { role, name, ...recordElement(el) };
};

/** Whether painted has already waited. An empty document is never painted. */
let awaitedPaint = false;

/** painted resolves when the document has been painted once, or is currently not painted. */
export const painted = async () => {
  for (let n = 0; n < 15 && !awaitedPaint && performance.getEntriesByType('paint').length === 0; n++) {
    if (!await nextFrame()) return; // not displayed
  }
  awaitedPaint = true;
};
