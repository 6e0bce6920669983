// @ts-check
// The outcome of a drag: whether the page allowed it, and whether an element accepted the drop.
// Also, which frame is at a point of the viewport.

import { idOf, isFrame } from './dom.js';
import { fieldKind } from './field_values.js';
import { pointInFrame } from './frame_coordinates.js';
import { elementAt } from './hit_test.js';
import { addListener, removeListener, report } from './page_events.js';
import { pinch } from './viewport.js';

/**
 * @type {Map<string, {start: Event | null, over: boolean, dropped: boolean, ended: boolean, stop: () => void}>}
 */
const drags = new Map();

const dragTypes = ['dragstart', 'dragover', 'drop', 'dragend'];

/** watchDrag starts listening to the events of a drag. It reports a drop. @param {string} token */
export const watchDrag = (token) => {
  const state = { start: /** @type {Event | null} */ (null), over: false, dropped: false, ended: false, stop: () => {} };
  const listener = (/** @type {Event} */ e) => {
    if (!e.isTrusted) return;
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
 * dragState returns whether a data drag started that the page did not prevent, whether the data
 * was dragged over this document, whether it was dropped there, and whether the drag has ended.
 * @param {string} token
 */
export const dragState = (token) => {
  const state = drags.get(token);
  return { dragged: !!state?.start && !state.start.defaultPrevented, over: !!state?.over, dropped: !!state?.dropped, ended: !!state?.ended };
};

/** endDrag stops listening. @param {string} token */
export const endDrag = (token) => {
  drags.get(token)?.stop();
  drags.delete(token);
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
