// @ts-check
// Scrolling: which element to scroll, and its position afterwards.

import { nextFrame } from './animations.js';
import { bodyOf, boxOf, bringIntoView, byId, clientHeightOf, clientLeftOf, clientTopOf, clientWidthOf, flatParent, scrollElement, scrollElementBy, scrollHeightOf, scrollingOf, scrollLeftOf, scrollTopOf, scrollWidthOf, topOf } from './dom.js';
import { elementAt } from './hit_test.js';

/**
 * isScroller reports whether an element is a scroll container whose content is larger than its box,
 * in the given directions or any.
 * @param {Element} el
 * @param {{x?: boolean, y?: boolean}} [directions]
 */
export function isScroller(el, directions) {
  // The overflow of the root, or else of the body, applies to the viewport.
  if (el === topOf(document)) return false;
  if (el === bodyOf(document) && (el === scrollingOf(document) || getComputedStyle(topOf(document)).overflow === 'visible')) return false;
  const y = directions?.x && !directions.y ? false : scrollHeightOf(el) > clientHeightOf(el) + 1;
  const x = directions?.y && !directions.x ? false : scrollWidthOf(el) > clientWidthOf(el) + 1;
  if (!x && !y) return false;
  const style = getComputedStyle(el);
  const scrolls = directions ? /auto|scroll|overlay/ : /auto|scroll|overlay|hidden/;
  return (y && scrolls.test(style.overflowY)) || (x && scrolls.test(style.overflowX));
}

/**
 * scrollerOf returns the nearest scroll container of an element, or the element itself, that can
 * scroll in one of the directions.
 * @param {Element} el
 * @param {{x: boolean, y: boolean}} directions
 */
function scrollerOf(el, directions) {
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) if (isScroller(at, directions)) return at;
  return null;
}

/**
 * pageScroller returns the scroll container of the page: the viewport, or the element that fills it
 * if the viewport itself cannot scroll. It returns null if the document has no root element.
 * @param {{x: boolean, y: boolean}} directions
 */
function pageScroller(directions) {
  const root = scrollingOf(document) || topOf(document);
  if (!root) return null;
  const more = (directions.y && scrollHeightOf(root) > clientHeightOf(root) + 1) || (directions.x && scrollWidthOf(root) > clientWidthOf(root) + 1);
  if (more && !isLocked()) return root;
  return scrollerOf(elementAt(innerWidth / 2, innerHeight / 2) || root, directions) || root;
}

/**
 * isLocked reports whether the page prevents the user from scrolling the viewport, as behind a
 * modal dialog.
 */
function isLocked() {
  const body = bodyOf(document);
  const own = getComputedStyle(topOf(document)).overflowY;
  const overflow = own === 'visible' && body ? getComputedStyle(body).overflowY : own;
  return overflow === 'hidden' || overflow === 'clip';
}

/**
 * beginsAtEnd reports whether scrollTop is 0 at the bottom and negative above it, as in many chats.
 * @param {Element} scroller
 */
function beginsAtEnd(scroller) {
  if (scrollTopOf(scroller)) return scrollTopOf(scroller) < 0;
  const style = getComputedStyle(scroller);
  return /flex/.test(style.display) && style.flexDirection === 'column-reverse' && style.flexWrap === 'nowrap';
}

/**
 * scrollable clamps a position: Blink ignores positions that are too large for its layout units
 * (2^25 pixels).
 * @param {number} position
 */
function scrollable(position) {
  return Math.max(-(2 ** 25), Math.min(2 ** 25, position));
}

/**
 * moveScroller scrolls and returns the new position. With an id and no movement it
 * scrolls the element into view.
 * @param {number} id an element, or 0 for the page
 * @param {number | null} x
 * @param {number | null} y
 * @param {number} dx
 * @param {number} dy
 */
export async function moveScroller(id, x, y, dx, dy) {
  const el = id ? byId(id) : null;
  if (id && !el) return null;
  const moves = x !== null || y !== null || dx !== 0 || dy !== 0;
  if (el && !moves) bringIntoView(el, { block: 'center', inline: 'nearest', behavior: /** @type {ScrollBehavior} */ ('instant') });
  const directions = moves ? { x: x !== null || dx !== 0, y: y !== null || dy !== 0 } : { x: true, y: true };
  const scroller = (el && scrollerOf(el, directions)) || pageScroller(directions);
  if (!scroller) return { x: 0, y: 0, atTop: true, atBottom: true };
  if (moves) {
    scrollElement(scroller, {
      left: scrollable((x ?? scrollLeftOf(scroller)) + dx), top: scrollable((y ?? scrollTopOf(scroller)) + dy), behavior: /** @type {ScrollBehavior} */ ('instant'),
    });
  }
  await nextFrame();
  const top = scrollTopOf(scroller);
  const above = beginsAtEnd(scroller) ? top + scrollHeightOf(scroller) - clientHeightOf(scroller) : top;
  return {
    x: Math.round(scrollLeftOf(scroller)), y: Math.round(top),
    atTop: above < 1, atBottom: above + clientHeightOf(scroller) >= scrollHeightOf(scroller) - 1,
  };
}

/**
 * The positions to which an element is scrolled, as fractions of the width and height of its scroll
 * container, in the order in which they are tried. Several are needed because bars and sticky
 * headers and columns cover the edges. The center is there twice, because scrollNear scrolls to the
 * first position as the browser does, and to each second one by the label of the element.
 */
export const SCROLL_POSITIONS = /** @type {[number, number][]} */ ([[0.5, 0.5], [0.5, 0.5], [0.78, 0.78], [0.22, 0.22], [0.5, 0.88], [0.5, 0.12], [0.78, 0.22], [0.22, 0.78]]);

/**
 * scrollElementTo scrolls all scroll containers of an element so that a point of it is at a
 * position in each of them.
 * @param {Element} el
 * @param {() => [number, number]} where returns the current position of the point
 * @param {[number, number]} position
 */
export function scrollElementTo(el, where, [px, py]) {
  const root = scrollingOf(document) || topOf(document);
  for (let at = flatParent(el); at; at = flatParent(at)) {
    if (at === root || !isScroller(at)) continue;
    const port = boxOf(at);
    const [x, y] = where();
    scrollElementBy(at, {
      left: x - port.left - clientLeftOf(at) - clientWidthOf(at) * px, top: y - port.top - clientTopOf(at) - clientHeightOf(at) * py, behavior: 'instant',
    });
  }
  const [x, y] = where();
  scrollElementBy(root, { left: x - innerWidth * px, top: y - innerHeight * py, behavior: 'instant' });
}

/**
 * nextPaint waits until a scrolled page has been painted. The browser selects the process that
 * receives a press by what was last painted.
 */
export async function nextPaint() {
  await nextFrame();
  await nextFrame();
}
