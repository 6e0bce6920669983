// @ts-check
// What came of a drag: whether the page let its data be dragged, and whether
// something took it. And what is at a point of the viewport.

/** @type {Map<string, {start: Event | null, dropped: boolean, ended: boolean, stop: () => void}>} */
const drags = new Map();

const dragTypes = ['dragstart', 'drop', 'dragend'];

/** @param {string} token watchDrag begins to listen. A drop is reported. */
api.watchDrag = (token) => {
  const state = { start: /** @type {Event | null} */ (null), dropped: false, ended: false, stop: () => {} };
  const listener = (/** @type {Event} */ e) => {
    if (!e.isTrusted) return;
    if (e.type === 'dragstart') state.start = e;
    if (e.type === 'drop') {
      state.dropped = true;
      report({ token }); // before the page receives it: a listener may open a dialog or navigate
    }
    if (e.type === 'dragend') state.ended = true;
  };
  // These were there before any listener of the page, which may stop the event.
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
 * dragSeen returns whether a drag of data began that the page did not prevent, whether
 * the data was dropped on this document, and whether the drag has ended.
 * @param {string} token
 */
api.dragSeen = (token) => {
  const state = drags.get(token);
  return { dragged: !!state?.start && !state.start.defaultPrevented, dropped: !!state?.dropped, ended: !!state?.ended };
};

/** @param {string} token endDrag ends listening. */
api.endDrag = (token) => {
  drags.get(token)?.stop();
  drags.delete(token);
};

/**
 * placeAt tells what is at a point of this document's viewport: the iframe there and the point in its viewport.
 * @param {number} x
 * @param {number} y
 * @param {boolean} top the point is one of what a pinched page shows
 */
api.placeAt = (x, y, top) => {
  const { width, height } = top && visualViewport ? visualViewport : { width: innerWidth, height: innerHeight };
  if (top && (x < 0 || y < 0 || x >= width || y >= height)) return { width, height, outside: true, frame: 0, x: 0, y: 0 };
  const [dx, dy] = top ? pinch() : [0, 0];
  const el = elementAt(x + dx, y + dy);
  if (!isFrame(el)) return { width, height, outside: false, frame: 0, x: 0, y: 0 };
  // The way in is the inverse of the way out, which is affine.
  const frame = /** @type {HTMLElement} */ (el);
  const [ox, oy] = pointInFrame(frame, 0, 0);
  const [ax, ay] = pointInFrame(frame, 1, 0);
  const [bx, by] = pointInFrame(frame, 0, 1);
  const inner = new DOMMatrix([ax - ox, ay - oy, bx - ox, by - oy, ox, oy]).inverse().transformPoint({ x: x + dx, y: y + dy });
  return { width, height, outside: false, frame: idOf(frame), x: inner.x, y: inner.y };
};
