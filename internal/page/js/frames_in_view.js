// @ts-check
// Reports which frames enter the viewport. An observer runs in each animation frame, while
// a query of a box returns the position between two frames only.

import { animated, nextFrame } from './animations.js';
import { boxOf, byId } from './dom.js';

/** @type {(() => void) | null} */
let stopWatching = null;

/** @type {() => void} */
let takeRecords = () => {};

/**
 * The frames that touch the viewport, that are visible in it, and that were visible since the last
 * query.
 */
const touching = new Set();
const inView = new Set();
const cameIntoView = new Set();

/** @param {Set<unknown>} set @param {unknown} value @param {boolean} is */
function put(set, value, is) {
  if (is) set.add(value);
  else set.delete(value);
}

/** @param {IntersectionObserverEntry[]} entries */
function noteInView(entries) {
  for (const { target, isIntersecting, intersectionRect: { width, height } } of entries) {
    const shows = isIntersecting && width > 0 && height > 0;
    put(touching, target, isIntersecting);
    put(inView, target, shows);
    if (shows) cameIntoView.add(target);
  }
}

/**
 * noteSizes handles a frame without a size in the viewport: when it gets a size, no intersection is
 * reported.
 * @param {ResizeObserverEntry[]} entries
 */
function noteSizes(entries) {
  for (const { target, contentRect: { width, height } } of entries) if (touching.has(target) && width > 0 && height > 0) cameIntoView.add(target);
}

/**
 * watchFrames observes the elements of the given frames, and stops observing all others. It ignores
 * clipping by the documents around this one.
 * @param {number[]} ids empty to stop
 */
export const watchFrames = (ids) => {
  stopWatching?.();
  stopWatching = null;
  for (const set of [touching, inView, cameIntoView]) set.clear();
  if (!ids.length) return;
  const views = new IntersectionObserver(noteInView, { root: document, threshold: [0, 1e-30] });
  const sizes = new ResizeObserver(noteSizes);
  for (const id of ids) {
    const el = byId(id);
    if (!el) continue;
    views.observe(el);
    sizes.observe(el);
  }
  takeRecords = () => noteInView(views.takeRecords());
  stopWatching = () => {
    views.disconnect();
    sizes.disconnect();
  };
};

/**
 * onScreen reports whether the box of el is in the viewport now. The observer reports moves late.
 * @param {Element} el
 */
function onScreen(el) {
  const b = boxOf(el);
  return b.right > 0 && b.bottom > 0 && b.left < innerWidth && b.top < innerHeight;
}

/**
 * framesInView returns the observed frames that are in view, or were since the last call. It
 * includes animated frames: they may be drawn at a position that layout does not report.
 * @param {number[]} ids
 * @returns {Promise<number[]>}
 */
export const framesInView = async (ids) => {
  await nextFrame();
  await nextFrame();
  takeRecords();
  const seen = ids.filter((id) => {
    const el = byId(id);
    return !el || inView.has(el) || cameIntoView.has(el) || onScreen(el) || animated(el, () => true);
  });
  cameIntoView.clear();
  return seen;
};
