// @ts-check
// Elements inside a clickable element that have click listeners of their own. No
// script can read listeners, so the protocol is queried.

/** Elements inside a clickable element that have their own listener. @type {WeakSet<Element>} */
const listening = new WeakSet();
/** Whether there is one. */
let anyListening = false;
/** Clickable elements that the protocol was queried about. @type {WeakSet<Element>} */
const queriedClickables = new WeakSet();

/** Maximum number of clickable elements that one walk reports. */
const MAX_CLICKABLES = 100;
/** Clickable elements with more descendants are not queried: the browser returns the listeners of all of them. */
const MAX_DESCENDANTS = 200;

/** @param {Element} el isListening reports whether the element has its own listener and is inside a clickable element */
function isListening(el) {
  return anyListening && listening.has(el);
}

/**
 * isNestedClickable reports whether an element inside a clickable element has its
 * own cursor or listener.
 * @param {Element} el
 */
function isNestedClickable(el) {
  return ownsPointer(el) || isListening(el);
}

/**
 * mayContainClickables reports whether the listeners of an element's descendants
 * should be queried: there are several, not too many, and they were not queried yet.
 * @param {Element} el
 */
function mayContainClickables(el) {
  if (queriedClickables.has(el)) return false;
  // The list is live: the browser counts no further than the element that is read.
  const descendants = elements.getElementsByTagName.call(el, '*');
  return !!descendants[1] && !descendants[MAX_DESCENDANTS];
}

/**
 * addListening records the result of a query.
 * @param {Element} clickable
 * @param {Element[]} elements its descendants that have listeners of their own
 */
api.addListening = (clickable, ...elements) => {
  queriedClickables.add(clickable);
  for (const el of elements) listening.add(el);
  anyListening ||= elements.length > 0;
};
