// @ts-check
// The boxes of an element in the viewport, and the points in them at which to try an action.

import { attributeOf, boxOf, clientLeftOf, clientTopOf, closestTo, firstIn, flatChildren, isRendered, labelsFor, newRange, offsetWidthOf, rectsOf, rootOf, tagOf, typeOfNode } from './dom.js';

/** The maximum number of boxes considered per element. */
const MAX_BOXES = 8;

/** @param {DOMRect} r */
function hasSize(r) {
  return r.width >= 1 && r.height >= 1;
}

/**
 * boxesOf returns the boxes of an element, or of its content if it has no box itself.
 * @param {Element} el
 * @returns {DOMRect[]}
 */
export function boxesOf(el) {
  if (tagOf(el) === 'area') return areaBoxes(el);
  if (isVisiblyRendered(el)) {
    const own = [...rectsOf(el)].filter(hasSize).slice(0, MAX_BOXES);
    return own.length ? own : innerBoxes(el, []);
  }
  return getComputedStyle(el).display === 'contents' ? innerBoxes(el, []) : [];
}

/**
 * innerBoxes adds the boxes of the content of an element that has no box itself.
 * @param {Element} el
 * @param {DOMRect[]} boxes
 */
function innerBoxes(el, boxes) {
  for (const child of flatChildren(el)) {
    if (boxes.length >= MAX_BOXES) break;
    if (typeOfNode(child) === 3) {
      const range = newRange();
      range.selectNode(child);
      boxes.push(...[...range.getClientRects()].filter(hasSize));
    } else if (typeOfNode(child) === 1) {
      const inner = /** @type {Element} */ (child);
      const own = isVisiblyRendered(inner) ? [...rectsOf(inner)].filter(hasSize) : [];
      if (own.length) boxes.push(...own);
      else innerBoxes(inner, boxes);
    }
  }
  return boxes;
}

/**
 * imageOf returns the image that an area element belongs to.
 * @param {Element} area
 */
export function imageOf(area) {
  const map = closestTo(area, 'map');
  const name = map && (attributeOf(map, 'name') || attributeOf(map, 'id'));
  return name ? firstIn(rootOf(area), `img[usemap="#${CSS.escape(name)}"]`) : null;
}

/**
 * areaBoxes returns the bounding box of an area of an image map. Area elements have no box
 * themselves.
 * @param {Element} area
 * @returns {DOMRect[]}
 */
function areaBoxes(area) {
  const image = imageOf(area);
  if (!image || !isVisiblyRendered(image)) return [];
  const style = getComputedStyle(image);
  const box = boxOf(image);
  const scale = box.width / (offsetWidthOf(image) || box.width || 1);
  const left = box.left + (clientLeftOf(image) + parseFloat(style.paddingLeft || '0')) * scale;
  const top = box.top + (clientTopOf(image) + parseFloat(style.paddingTop || '0')) * scale;
  const n = (attributeOf(area, 'coords') || '').split(/[\s,;]+/).map((v) => parseFloat(v) * scale);
  const shape = (attributeOf(area, 'shape') || 'rect').toLowerCase();
  if (shape === 'default' || n.length < 3 || n.some(Number.isNaN)) return [box];
  if (shape.startsWith('circ')) return [new DOMRect(left + n[0] - n[2], top + n[1] - n[2], 2 * n[2], 2 * n[2])];
  const xs = n.filter((_, k) => k % 2 === 0);
  const ys = n.filter((_, k) => k % 2 === 1);
  const [x, y] = [Math.min(...xs), Math.min(...ys)];
  return [new DOMRect(left + x, top + y, Math.max(...xs) - x, Math.max(...ys) - y)];
}

/**
 * isVisiblyRendered reports whether an element is rendered and not hidden by the property visibility.
 * @param {Element} el
 */
export function isVisiblyRendered(el) {
  return isRendered(el, { visibilityProperty: true, contentVisibilityAuto: false });
}

/**
 * labelBoxes returns the boxes of the labels of a control.
 * @param {Element} el
 */
export function labelBoxes(el) {
  const labels = labelsFor(el);
  return labels.length ? labels.filter(isVisiblyRendered).flatMap((l) => [...rectsOf(l)]).filter(hasSize) : [];
}

/** The positions in a box to try first, as parts of its width and height. */
export const CENTER_POINTS = /** @type {[number, number][]} */ ([[0.5, 0.5], [0.25, 0.5], [0.75, 0.5], [0.5, 0.2], [0.5, 0.8]]);

/** A grid of positions in a box, those near its center first. */
export const GRID_POINTS = [0.5, 0.4, 0.6, 0.3, 0.7, 0.2, 0.8, 0.12, 0.88, 0.06, 0.94, 0.02, 0.98].flatMap((y, _, parts) =>
  parts.map((x) => /** @type {[number, number]} */ ([x, y])));

/**
 * pointsOf returns points in the part of a box that is in the viewport.
 * @param {DOMRect} box
 * @param {[number, number][]} parts
 * @returns {[number, number][]}
 */
export function pointsOf(box, parts) {
  const left = Math.max(box.left, 0);
  const right = Math.min(box.right, innerWidth);
  const top = Math.max(box.top, 0);
  const bottom = Math.min(box.bottom, innerHeight);
  if (right - left < 1 || bottom - top < 1) return [];
  return parts.map(([x, y]) => [left + (right - left) * x, top + (bottom - top) * y]);
}

/**
 * pointsAlong returns points on the outline of an SVG shape. A thin shape has hardly any others.
 * @param {Element} el
 * @returns {[number, number][]}
 */
export function pointsAlong(el) {
  if (!(el instanceof SVGGeometryElement)) return [];
  const out = /** @type {[number, number][]} */ ([]);
  const matrix = el.getScreenCTM();
  const length = matrix ? el.getTotalLength() : 0;
  for (const part of [0.5, 0.25, 0.75, 0.05, 0.95]) {
    const p = length && matrix && el.getPointAtLength(length * part).matrixTransform(matrix);
    if (p) out.push([p.x, p.y]);
  }
  return out;
}
