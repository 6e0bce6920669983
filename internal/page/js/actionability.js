// @ts-check
// Actionability: waits until an element can be acted on, and finds the action point, a point
// of the element that receives events.

import { boxesOf, CENTER_POINTS, GRID_POINTS, imageOf, isVisiblyRendered, labelBoxes, pointsAlong, pointsOf } from './action_points.js';
import { animated, animatedWithin, hasFiniteAnimation, leastStep, nextFrame, timelineOf } from './animations.js';
import { isDisabled } from './aria_states.js';
import { excerpt, roleAndName } from './described_elements.js';
import { allIn, boxOf, bringIntoView, byId, closestTo, containsNode, firstIn, flatParent, hasAttribute, idOf, isFrame, labelsFor, matchesCSS, readyOf, rectsOf, tagOf, within } from './dom.js';
import { notEditable } from './field_values.js';
import { standInOf, standInOfField } from './editors.js';
import { elementAt, isDirectHit, isHitFor } from './hit_test.js';
import { isPositionStable, waitForLayout } from './mutations.js';
import { query } from './query.js';
import { nextPaint, SCROLL_POSITIONS, scrollElementTo } from './scroll.js';
import { named, recordElement } from './shown_elements.js';
import { inPage, pinch } from './viewport.js';
/** @import { EntryStart } from './text_entry.js' */

/**
 * @typedef {{hit?: boolean, editable?: boolean, noPress?: boolean, timeout: number, patience: number, elsewhere: number, retried?: boolean, selector?: string, entry?: EntryStart}} ActionabilityOptions
 *   hit false means that no hit test is required. noPress: no point is pressed, so an element without
 *   animations counts as stable. patience is how long a failure must persist, with nothing in
 *   progress, before waiting ends early, and elsewhere how long changes elsewhere in the document
 *   count as something in progress. retried: an earlier call ended that way.
 * @typedef {{ok: true, x: number, y: number, pinch: [number, number], mayHaveMoved: boolean, frame: number}} ActionPoint
 *   x and y are in the document's viewport. pinch is the offset of the visual viewport on a
 *   pinch-zoomed page. mayHaveMoved: the element was scrolled during the call, or was not known to be
 *   stable before, so the browser may have drawn it elsewhere. frame is the id of the iframe element
 *   at the point, or 0.
 * @typedef {{problem: string, by?: {id: number, role: string, name: string, at: number, since: number}, detail?: string, busy?: boolean}} ActionabilityFailure
 *   busy: something in progress may resolve the failure
 */

/**
 * isInert reports whether an element is inert by the inert attribute.
 * @param {Element} el
 */
function isInert(el) {
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) if (hasAttribute(at, 'inert')) return true;
  return false;
}

/**
 * checkActionability returns the action point of an element, or why there is none.
 * @param {Element} el
 * @param {ActionabilityOptions} opts
 * @returns {{point: [number, number], box: DOMRect, hit: Element | null} | ActionabilityFailure}
 */
function checkActionability(el, opts) {
  let boxes = boxesOf(el);
  if (!boxes.length && tagOf(el) === 'option' && closestTo(el, 'select')) return { problem: 'collapsed list' };
  if (isDisabled(el)) return { problem: 'disabled' };
  if (opts.editable) {
    const why = notEditable(el);
    if (why) return { problem: why };
  }
  const labels = labelBoxes(el), field = standInOfField(el);
  if (!boxes.length && !labels.length && !field) return { problem: rectsOf(el).length ? 'hidden' : 'no box' };
  if (opts.hit === false && isInert(el)) return { problem: 'inert' };
  boxes = boxes.concat(labels);
  const others = field ? boxesOf(field.el) : boxes; // for the stand-in
  if (opts.hit === false) {
    for (const box of field ? boxes.concat(others) : boxes) for (const point of pointsOf(box, CENTER_POINTS)) return { point, box, hit: null };
    return { problem: 'outside' };
  }
  const found = field?.instead ? { hit: null, cover: null } : hitPoint(boxes, () => pointsAlong(el), (hit) => isDirectHit(hit, el));
  if (found.hit) return found;
  const standIn = standInOf(el);
  const other = standIn ? hitPoint(others, () => [], standIn.receives) : found;
  if (other.hit) return other;
  const cover = other.cover || found.cover;
  return cover ? interceptionOf(cover, field ? field.el : el) : { problem: 'outside' };
}

/**
 * hitPoint returns the first point at which an element is that accept accepts, or the first of the
 * elements that it does not accept.
 * @param {DOMRect[]} boxes
 * @param {() => [number, number][]} outline returns points that are tried before most others
 * @param {(hit: Element) => boolean} accept
 * @returns {{point: [number, number], box: DOMRect, hit: Element} | {hit: null, cover: Element | null}}
 */
function hitPoint(boxes, outline, accept) {
  /** @type {Element | null} */
  let cover = null;
  for (const parts of [CENTER_POINTS, GRID_POINTS]) {
    for (const box of boxes) {
      const points = pointsOf(box, parts);
      if (parts === GRID_POINTS) points.unshift(...outline());
      for (const point of points) {
        const hit = elementAt(...point);
        if (hit && accept(hit)) return { point, box, hit };
        cover ||= hit;
      }
    }
  }
  return { hit: null, cover };
}

/**
 * interceptionOf returns the failure for an element in the viewport that receives no events.
 * @param {Element} cover the element that receives them
 * @param {Element} el
 * @returns {ActionabilityFailure}
 */
export function interceptionOf(cover, el) {
  if (isInert(el)) return { problem: 'inert' };
  if (!within(el, cover)) return { problem: 'covered', by: describeInterceptor(cover, el) };
  // An ancestor received the event: the element lets events through or is clipped.
  if (getComputedStyle(el).pointerEvents === 'none') return { problem: 'pointer-events' };
  const modal = [...allIn(document, 'dialog:modal')].findLast((d) => !within(el, d));
  if (modal) return { problem: 'covered', by: describeInterceptor(modal, el) };
  return { problem: 'clipped', by: named(cover) };
}

/**
 * describeInterceptor describes the intercepting element: its outermost ancestor that does not
 * contain the target, or the nearest dialog.
 * @param {Element} cover
 * @param {Element} el
 */
function describeInterceptor(cover, el) {
  /** @type {Element} */
  let best = cover;
  for (let at = /** @type {Element | null} */ (cover); at && !within(el, at); at = flatParent(at)) {
    best = at;
    if (matchesCSS(at, 'dialog, [role=dialog], [role=alertdialog], [aria-modal=true]')) break;
  }
  const [role, name] = roleAndName(best);
  const [role2, name2] = name ? [role, name] : roleAndName(cover);
  const by = name ? best : cover;
  return { id: idOf(by), role: name ? role : role2 || role, name: name || name2 || excerpt(best), ...recordElement(by) };
}

/**
 * scrollNear scrolls to an element, or to its label or image if it has no box itself.
 * @param {Element} el
 * @param {number} position an index of SCROLL_POSITIONS
 */
function scrollNear(el, position) {
  const boxes = boxesOf(el);
  const label = labelsFor(el).find(isVisiblyRendered);
  // A control may be positioned anywhere if its label is what users click. Try the label also.
  const byLabel = label && (!boxes.length || position % 2 === 1);
  const subject = byLabel ? label : tagOf(el) === 'area' ? imageOf(el) || el : el;
  if (position === 0 && rectsOf(subject).length) {
    bringIntoView(subject, { block: 'center', inline: 'center', behavior: /** @type {ScrollBehavior} */ ('instant') });
    return;
  }
  scrollElementTo(subject, () => {
    const b = (byLabel ? rectsOf(subject) : boxesOf(el))[0] || boxOf(subject);
    return [b.left + b.width / 2, b.top + b.height / 2];
  }, SCROLL_POSITIONS[position]);
}

/**
 * fillsWindow reports whether the intercepting element covers the complete viewport, so that
 * scrolling cannot help.
 * @param {ActionabilityFailure} failure
 */
function fillsWindow(failure) {
  const cover = failure.by && byId(failure.by.id);
  if (!cover || getComputedStyle(cover).position !== 'fixed') return false;
  const b = boxOf(cover);
  return b.left <= 0 && b.top <= 0 && b.right >= innerWidth && b.bottom >= innerHeight;
}

/**
 * waitActionable waits until an element is attached, visible, stable, enabled and receives
 * events at a point, and returns the action point in CSS pixels of this document's
 * viewport. It returns the failure before its timeout if nothing has been in progress for
 * opts.patience ms.
 * @param {number} id
 * @param {ActionabilityOptions} opts
 * @returns {Promise<ActionPoint | ActionabilityFailure>}
 */
export async function waitActionable(id, opts) {
  const startedAt = performance.now();
  let lastChangeAt = opts.retried ? -Infinity : startedAt;
  /** @type {Element | null} */
  let interceptor = null;
  const observer = new MutationObserver((records) => {
    const now = performance.now();
    const el = byId(id);
    const isNear = (/** @type {Node | null} */ anchor, /** @type {Node} */ node) => !!anchor && (containsNode(node, anchor) || containsNode(anchor, node));
    // A change elsewhere may lead to a change here, but a ticking clock does not.
    if ((!opts.retried && now - startedAt < opts.elsewhere) || records.some((r) => isNear(el, r.target) || isNear(interceptor, r.target))) lastChangeAt = now;
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  let lastQueryAt = startedAt; // the last search for another match of the selector
  let nextPosition = opts.retried ? SCROLL_POSITIONS.length : 0; // to scroll to; an earlier call has tried them all
  let hasScrolled = false;
  let layoutPending = false; // no frame has been awaited since it scrolled
  let inAnimationFrame = false; // the last wait ended with a frame
  let lastBoxClock = -Infinity; // the animation clock when lastBox was measured
  /** @type {DOMRect | null} */
  let lastBox = null;
  try {
    for (;;) {
      const el = byId(id);
      if (!el) return { problem: 'gone' };
      const outcome = checkActionability(el, opts);
      const now = performance.now();
      if ('point' in outcome) {
        const b = outcome.box;
        // Animations advance only from frame to frame. Between frames, their clock stops or
        // runs slightly ahead of the next frame's.
        const clock = Number(timelineOf.call(document).currentTime);
        const canCompare = !animated(el, () => true) || (inAnimationFrame && clock - lastBoxClock >= leastStep);
        const sameBox = canCompare && lastBox && lastBox.left === b.left && lastBox.top === b.top && lastBox.width === b.width && lastBox.height === b.height;
        const comparedBoxes = sameBox; // the element was not known to be stable before
        if (sameBox && hasScrolled && (window !== top || firstIn(document, 'iframe, frame, object, embed'))) await nextPaint();
        if (sameBox || (!lastBox && (opts.noPress ? !animated(el, () => true) : !hasScrolled && isPositionStable(el)))) return { ok: true, x: outcome.point[0], y: outcome.point[1], pinch: pinch(), mayHaveMoved: comparedBoxes || hasScrolled, frame: isFrame(outcome.hit) ? idOf(outcome.hit) : 0 };
        if (now - startedAt > opts.timeout) return { problem: 'moving' };
        if (canCompare) {
          lastBox = b;
          lastBoxClock = clock;
        }
        inAnimationFrame = await (layoutPending ? waitForLayout(el) : nextFrame());
        layoutPending = false;
        continue;
      }
      lastBox = null;
      if ((outcome.problem === 'hidden' || outcome.problem === 'no box') && opts.selector && lastQueryAt < lastChangeAt) {
        // If another match is visible by now, the selector refers to that one.
        lastQueryAt = now;
        const queryResult = query(opts.selector, { limit: 1 });
        if ('matches' in queryResult && queryResult.matches.some(([, visible]) => visible)) return { problem: 'gone' };
      }
      const scrollingMayHelp = outcome.problem === 'outside' || outcome.problem === 'clipped' || outcome.problem === 'covered';
      if (scrollingMayHelp && nextPosition < SCROLL_POSITIONS.length && !fillsWindow(outcome)) {
        scrollNear(el, nextPosition++);
        hasScrolled = layoutPending = true;
        continue;
      }
      if (now - startedAt > opts.timeout || outcome.problem === 'collapsed list') return outcome; // the browser never shows it
      interceptor = outcome.by ? byId(outcome.by.id) : null;
      if (inProgress(el, outcome)) lastChangeAt = now;
      if (now - Math.max(lastChangeAt, startedAt) > opts.patience) return outcome;
      inAnimationFrame = await nextFrame();
      if (now - lastChangeAt < 50) nextPosition = 0; // something changed: scrolling may help again
    }
  } finally {
    observer.disconnect();
  }
}

/**
 * inProgress reports whether something in progress may resolve a failure: the document loads, the
 * target or the intercepting element is animated, or something in the intercepting element is, as
 * in a loading overlay.
 * @param {Element} el
 * @param {ActionabilityFailure} failure
 */
export function inProgress(el, failure) {
  const cover = failure.by && byId(failure.by.id);
  return readyOf(document) !== 'complete' || hasFiniteAnimation(el) || (!!cover && (hasFiniteAnimation(cover) || animatedWithin(cover)));
}

export const pixelRatio = () => devicePixelRatio;

/**
 * box returns the box of an element in this viewport, for the top document in page coordinates, for
 * screenshots.
 * @param {number} id
 */
export const box = (id) => {
  const el = byId(id);
  if (!el) return null;
  const b = boxOf(el);
  return [...inPage(b.left, b.top), b.width, b.height];
};

/**
 * scrollIntoViewIfNeeded scrolls an element into view, and reports whether the element exists.
 * @param {number} id
 */
export const scrollIntoViewIfNeeded = (id) => {
  const el = byId(id);
  if (!el) return false;
  // Scroll it into view in its scroll containers, which may be in the viewport themselves.
  bringIntoView(el, { block: 'nearest', inline: 'nearest', behavior: /** @type {ScrollBehavior} */ ('instant') });
  const b = boxOf(el);
  if (b.top < 0 || b.left < 0 || b.bottom > innerHeight || b.right > innerWidth) {
    bringIntoView(el, { block: b.height > innerHeight ? 'start' : 'center', inline: 'center', behavior: /** @type {ScrollBehavior} */ ('instant') });
  }
  return true;
};

/**
 * isHitAt reports whether a point of this viewport is still in an element or in the
 * element's frame.
 * @param {number} id
 * @param {number} x
 * @param {number} y
 */
export const isHitAt = (id, x, y) => {
  const el = byId(id);
  return !!el && isHitFor(elementAt(x, y), el);
};
