// Maps coordinates of a frame to those of its parent document.

import { inProgress, interceptionOf } from './actionability.js';
import { waitAnimationStep } from './animations.js';
import { boxOf, byId, clientLeftOf, clientTopOf, flatParent, offsetHeightOf, offsetWidthOf } from './dom.js';
import { elementAt } from './hit_test.js';
import { isPositionStable } from './mutations.js';
import { nextPaint, SCROLL_POSITIONS, scrollElementTo } from './scroll.js';
import { inPage, pinch } from './viewport.js';
/** @import { ActionabilityFailure, ActionPoint } from './actionability.js' */

/**
 * toParentDocument maps a point of an iframe's document to this document. It scrolls the point
 * into view, and checks that the frame is stable and receives events at the point.
 * @param {number} owner the iframe element
 * @param {number} x
 * @param {number} y
 * @param {{hit?: boolean, timeout: number}} opts
 * @returns {Promise<ActionPoint | ActionabilityFailure>}
 */
export async function toParentDocument(owner, x, y, opts) {
  const el = /** @type {HTMLElement | null} */ (byId(owner));
  if (!el) return { problem: 'gone' };
  const start = performance.now();
  let mayHaveMoved = false;
  for (let last = null; !isPositionStable(el); ) {
    const now = pointInFrame(el, x, y);
    if (last && last[0] === now[0] && last[1] === now[1]) break;
    last = now;
    mayHaveMoved = true;
    if (performance.now() - start > opts.timeout) return { problem: 'moving' };
    await waitAnimationStep(el);
  }
  let scrolled = false;
  /** @type {ActionabilityFailure} */
  let found = { problem: 'outside' };
  for (const position of [null, ...SCROLL_POSITIONS]) {
    if (position) {
      // Scroll to the point, not to the center of the frame, which may be larger than the viewport.
      scrollElementTo(el, () => pointInFrame(el, x, y), position);
      scrolled = mayHaveMoved = true;
    }
    const [px, py] = pointInFrame(el, x, y);
    if (px < 0 || py < 0 || px >= innerWidth || py >= innerHeight) continue;
    const hit = elementAt(px, py);
    if (scrolled && (opts.hit === false || hit === el)) {
      await nextPaint();
      const [qx, qy] = pointInFrame(el, x, y);
      if (Math.abs(qx - px) > 0.5 || Math.abs(qy - py) > 0.5) continue; // moved after scrolling
    }
    if (opts.hit === false || hit === el) return { ok: true, x: px, y: py, pinch: pinch(), mayHaveMoved, frame: 0 };
    if (hit) found = interceptionOf(hit, el);
  }
  return { ...found, busy: inProgress(el, found) };
}

/**
 * linearPart returns the linear part of the transforms of an element and its ancestors as
 * [a, b, c, d], in column-major order. It ignores perspective.
 * @param {Element} el
 */
function linearPart(el) {
  let m = new DOMMatrix();
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) {
    const { transform, rotate, scale, display } = getComputedStyle(at);
    if (at !== el && (display === 'inline' || display === 'contents')) continue; // not transformable
    const own = new DOMMatrix();
    if (rotate && rotate !== 'none' && !rotate.includes(' ')) own.multiplySelf(new DOMMatrix(`rotate(${rotate})`));
    if (scale && scale !== 'none') own.multiplySelf(new DOMMatrix(`scale(${scale.split(' ').slice(0, 2).join()})`));
    if (transform && transform !== 'none') own.multiplySelf(new DOMMatrix(transform));
    m = own.multiply(m);
  }
  return [m.m11, m.m12, m.m21, m.m22];
}

/**
 * pointInFrame maps a point of an iframe's viewport to this document's viewport. The center of
 * a rotated box is the center of its bounding box, so only directions are transformed, not
 * positions.
 * @param {HTMLElement} el
 * @param {number} x
 * @param {number} y
 * @returns {[number, number]}
 */
export function pointInFrame(el, x, y) {
  const box = boxOf(el);
  const style = getComputedStyle(el);
  const width = offsetWidthOf(el);
  const height = offsetHeightOf(el);
  const dx = clientLeftOf(el) + parseFloat(style.paddingLeft || '0') + x - width / 2;
  const dy = clientTopOf(el) + parseFloat(style.paddingTop || '0') + y - height / 2;
  const [a, b, c, d] = linearPart(el);
  // Other scaling, such as zoom, shows in the size of the box.
  const sx = box.width / (Math.abs(a) * width + Math.abs(c) * height) || 1;
  const sy = box.height / (Math.abs(b) * width + Math.abs(d) * height) || 1;
  return [box.left + box.width / 2 + (a * dx + c * dy) * sx, box.top + box.height / 2 + (b * dx + d * dy) * sy];
}

/**
 * outward maps a point of a frame's viewport to page coordinates.
 * @param {number} id
 * @param {number} x
 * @param {number} y
 */
export const outward = (id, x, y) => {
  const el = /** @type {HTMLElement | null} */ (byId(id));
  if (!el) return null;
  const [left, top] = pointInFrame(el, x, y);
  return inPage(left, top);
};
