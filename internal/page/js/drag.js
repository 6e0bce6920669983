// @ts-check
// The start and the outcome of a drag: whether the page allowed it, whether the layout at the drop
// point is stable, and whether an element accepted the drop. Also, which frame is at a point of the
// viewport.

import { nextFrame, task, timerState } from './animations.js';
import { boxOf, byId, flatChildren, flatParent, idOf, isFrame, parentNodeOf, previousOf, textIn, typeOfNode } from './dom.js';
import { fieldKind, textOfField } from './field_values.js';
import { pointInFrame } from './frame_coordinates.js';
import { elementAt } from './hit_test.js';
import { addListener, removeListener, report } from './page_events.js';
import { inPage, pinch } from './viewport.js';

/**
 * A Drag is the state of a drag.
 * @typedef {object} Drag
 * @property {Event | null} start
 * @property {boolean} over
 * @property {boolean} dropped
 * @property {boolean} ended
 * @property {string} timers the result of timerState before the page received the press
 * @property {Element | null} source the dragged element, if it is in this document
 * @property {unknown[]} place the result of placeOf before the drag
 * @property {Map<string, unknown[]>} layouts the last results of layoutAround for points of the viewport
 * @property {() => void} stop
 */

/** @type {Map<string, Drag>} */
const drags = new Map();

const dragTypes = ['pointerdown', 'dragstart', 'dragover', 'drop', 'dragend'];

/**
 * watchDrag starts listening to the events of a drag. It reports a drop.
 * @param {string} token
 * @param {number} source the id of the dragged element, or 0 if it is in another document
 */
export const watchDrag = (token, source) => {
  endDrag(token);
  const el = byId(source);
  /** @type {Drag} */
  const state = { start: null, over: false, dropped: false, ended: false, timers: '', source: el, place: el ? placeOf(el) : [], layouts: new Map(), stop: () => {} };
  const listener = (/** @type {Event} */ e) => {
    if (!e.isTrusted) return;
    if (e.type === 'pointerdown') state.timers = timerState();
    if (e.type === 'dragstart') state.start = e;
    if (e.type === 'dragover') state.over = true;
    if (e.type === 'drop') {
      state.dropped = true;
      report({ token }); // before the page receives it: a listener may open a dialog or navigate
    }
    if (e.type === 'dragend') state.ended = true;
  };
  // This set's listener was installed before the page's, which may stop the event.
  const early = Object.hasOwn(globalThis, '__cmEarly') ? /** @type {Set<Function>} */ (/** @type {any} */ (globalThis).__cmEarly) : null;
  early?.add(listener);
  for (const type of dragTypes) addListener.call(window, type, listener, { capture: true, passive: true });
  state.stop = () => {
    early?.delete(listener);
    for (const type of dragTypes) removeListener.call(window, type, listener, { capture: true });
  };
  drags.set(token, state);
};

/**
 * placeOf returns where an element is, and what is in it.
 * @param {Element} el
 */
function placeOf(el) {
  const b = boxOf(el);
  return [parentNodeOf(el), previousOf(el), ...inPage(b.left, b.top), b.width, b.height, textIn(el), textOfField(el, fieldKind(el))];
}

/** @param {unknown[]} a @param {unknown[]} b */
const equal = (a, b) => a.length === b.length && a.every((value, i) => value === b[i]);

/**
 * holdPress waits for ms milliseconds if the page has requested a timer since the press: the drag may
 * start only when the timer fires, and the page may cancel it if the pointer moves before.
 * @param {string} token
 * @param {number} ms
 */
export const holdPress = async (token, ms) => {
  const state = drags.get(token);
  if (state && state.timers !== timerState()) await task(ms);
};

/** The maximum number of ancestors and of children of one of them that layoutAround compares. */
const MAX_LEVELS = 8;
const MAX_CHILDREN = 100;

/**
 * layoutAround returns an element and its ancestors with their children, and the boxes of all.
 * @param {Element | null} el
 */
function layoutAround(el) {
  /** @type {unknown[]} */
  const layout = [];
  for (let at = el, level = 0; at && level < MAX_LEVELS; at = flatParent(at), level++) {
    const children = [...flatChildren(at)].filter((n) => typeOfNode(n) === 1).slice(0, MAX_CHILDREN);
    for (const each of /** @type {Element[]} */ ([at, ...children])) {
      const b = boxOf(each);
      layout.push(each, b.left, b.top, b.width, b.height);
    }
  }
  return layout;
}

/**
 * isDropLayoutStable waits for ms milliseconds and a frame, and then reports whether the layout at a
 * point of this viewport and around the drop target is the same as in the last call with that point.
 * @param {string} token
 * @param {number} target
 * @param {number} x
 * @param {number} y
 * @param {number} ms
 */
export const isDropLayoutStable = async (token, target, x, y, ms) => {
  await task(ms);
  await nextFrame();
  const state = drags.get(token);
  if (!state) return true;
  const point = `${x} ${y}`;
  const before = state.layouts.get(point);
  const layout = [...layoutAround(elementAt(x, y)), ...layoutAround(byId(target))];
  state.layouts.set(point, layout);
  return !!before && equal(before, layout);
};

/**
 * dragState returns whether a data drag started that the page did not prevent, whether the data
 * was dragged over this document, whether it was dropped there, and whether the drag has ended.
 * @param {string} token
 */
export const dragState = (token) => {
  const state = drags.get(token);
  return { dragged: !!state?.start && !state.start.defaultPrevented, over: !!state?.over, dropped: !!state?.dropped, ended: !!state?.ended };
};

/**
 * endDrag stops listening. It reports whether the dragged element is where it was, with the same
 * content.
 * @param {string} token
 */
export const endDrag = (token) => {
  const state = drags.get(token);
  state?.stop();
  drags.delete(token);
  return !!state?.source && equal(state.place, placeOf(state.source));
};

/** The kinds of fields into which the middle mouse button pastes. */
const editableKinds = new Set(['text', 'value', 'editable']);

/**
 * frameAtPoint returns the iframe at a point of this document's viewport, and the point in the
 * iframe's viewport. Otherwise it returns whether the element at the point is editable.
 * @param {number} x
 * @param {number} y
 * @param {boolean} top whether the point is in the visual viewport of the top document, which may
 *   be pinch-zoomed
 */
export const frameAtPoint = (x, y, top) => {
  const { width, height } = top && visualViewport ? visualViewport : { width: innerWidth, height: innerHeight };
  if (top && (x < 0 || y < 0 || x >= width || y >= height)) return { width, height, outside: true, editable: false, frame: 0, x: 0, y: 0 };
  const [dx, dy] = top ? pinch() : [0, 0];
  const el = elementAt(x + dx, y + dy);
  if (!isFrame(el)) return { width, height, outside: false, editable: !!el && editableKinds.has(fieldKind(el)), frame: 0, x: 0, y: 0 };
  // The mapping from the frame's viewport to this one is affine. Invert it.
  const frame = /** @type {HTMLElement} */ (el);
  const [ox, oy] = pointInFrame(frame, 0, 0);
  const [ax, ay] = pointInFrame(frame, 1, 0);
  const [bx, by] = pointInFrame(frame, 0, 1);
  const inner = new DOMMatrix([ax - ox, ay - oy, bx - ox, by - oy, ox, oy]).inverse().transformPoint({ x: x + dx, y: y + dy });
  return { width, height, outside: false, editable: false, frame: idOf(frame), x: inner.x, y: inner.y };
};
