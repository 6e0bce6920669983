// @ts-check
// Elements in a clickable element that have their own click listeners. Scripts cannot list
// listeners, so Go queries CDP.

import { elements } from './dom.js';
import { ownsPointer } from './visibility.js';

/** Elements in a clickable element that have their own listener. @type {WeakSet<Element>} */
const listening = new WeakSet();
/** Whether listening has an element. */
let anyListening = false;
/** Clickable elements that were queried. @type {WeakSet<Element>} */
const queriedClickables = new WeakSet();

/** The maximum number of clickable elements that one walk reports. */
export const MAX_CLICKABLES = 100;
/**
 * Clickable elements with more descendants are not queried: the browser returns the listeners of
 * all of them.
 */
const MAX_DESCENDANTS = 200;

/**
 * isListening reports whether the element has its own listener and is inside a clickable element.
 * @param {Element} el
 */
export function isListening(el) {
  return anyListening && listening.has(el);
}

/**
 * isNestedClickable reports whether an element inside a clickable element has its
 * own cursor or listener.
 * @param {Element} el
 */
export function isNestedClickable(el) {
  return ownsPointer(el) || isListening(el);
}

/**
 * mayContainClickables reports whether the listeners of an element's descendants
 * should be queried: there are several, not too many, and they were not queried yet.
 * @param {Element} el
 */
export function mayContainClickables(el) {
  if (queriedClickables.has(el)) return false;
  // The list is live: the browser counts only up to the element that is read.
  const descendants = elements.getElementsByTagName.call(el, '*');
  return !!descendants[1] && !descendants[MAX_DESCENDANTS];
}

/**
 * addListening records the result of a query.
 * @param {Element} clickable
 * @param {Element[]} elements its descendants that have their own listeners
 */
export const addListening = (clickable, ...elements) => {
  queriedClickables.add(clickable);
  for (const el of elements) listening.add(el);
  anyListening ||= elements.length > 0;
};
