// @ts-check
// Waits for the document to be quiet after an action.

import { changeOf } from './shown_elements.js';
import { snapshot } from './snapshot.js';
import { after, nextFrame, schedulerState, task } from './animations.js';
import { InputTimers } from './input_timers.js';
import { markQuiet } from './mutations.js';

/**
 * A Tracker records when the tree last changed (-1 means never), whether an attribute did, and the
 * timers that the page requested for the input. It calls onChange when the tree changes.
 * @typedef {{observer: MutationObserver, last: number, touched: boolean, timers: InputTimers, onChange: () => void}} Tracker
 */

/** @type {Map<string, Tracker>} */
const trackers = new Map();

const readTitle = /** @type {() => string} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'title')?.get);

/** title returns the document's title. An element with that name cannot shadow it. */
export const title = () => readTitle.call(document);

/**
 * startTracking starts observing changes and returns the current title. Changes of
 * attributes do not count as mutations, because an animation would never end.
 * @param {string} token
 */
export const startTracking = (token) => {
  /** @type {Tracker} */
  const m = {
    observer: new MutationObserver((records) => {
      m.touched = true;
      if (!records.some((r) => r.type !== 'attributes')) return;
      m.last = performance.now();
      m.onChange();
    }),
    last: -1,
    touched: false,
    timers: new InputTimers(),
    onChange: () => {},
  };
  m.observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  trackers.set(token, m);
  pageScheduledWork();
  return title();
};

/** The result of schedulerState in the last call of pageScheduledWork. */
let lastSchedulerState = '';

/**
 * pageScheduledWork reports whether the page has requested an animation frame or a timer since the
 * last call.
 */
export function pageScheduledWork() {
  const before = lastSchedulerState;
  lastSchedulerState = schedulerState();
  return lastSchedulerState !== before;
}

/**
 * waitForChange waits until the tree has changed since startTracking, or for ms milliseconds.
 * @param {Tracker} m
 * @param {number} ms
 */
function waitForChange(m, ms) {
  return new Promise((/** @type {(value?: undefined) => void} */ resolve) => {
    if (m.last >= 0 || ms <= 0) return resolve();
    // The delay is rounded down. The page's timers that are due at the same time run first.
    const timer = after(ms + 1, () => resolve());
    m.onChange = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/**
 * @typedef {object} QuietOptions
 * @property {number} quiet the quiet period, in ms
 * @property {number} max the maximum time to wait, in ms
 * @property {number} [timers] if the page requested timers while it handled the input, and has not
 *   changed yet: how long after that it may change, in ms
 * @property {boolean} [brief] do not wait for a frame if the tree has not changed
 * @property {boolean} [noScroll] the input scrolled nothing: do not wait for a frame if the page did
 *   nothing either
 * @property {boolean} [unreported] the result reports nothing of the page: do not wait for a frame unless
 *   the page requested frames or timers
 * @property {boolean} [outline] also return a snapshot
 * @property {number} [since] of the snapshot
 * @property {{id: number, at: number}} [target] without a snapshot: also return how the element with
 *   this id differs from its record
 */

/**
 * waitForQuiet waits until the document has painted the effect of the input: a frame without a
 * change of the tree or, if the page requested frames or timers, a quiet period. It returns the
 * title and whether the tree changed since startTracking.
 * @param {string} token
 * @param {QuietOptions} opts
 */
export const waitForQuiet = async (token, { quiet, max, timers, brief, noScroll, unreported, outline, since, target }) => {
  const start = performance.now();
  const m = trackers.get(token);
  // Requested before other tasks run, so that it is the frame that paints what the input changed.
  let before = start;
  let frame = m && (m.last < 0 || unreported) ? null : nextFrame();
  if (m && (brief || noScroll || unreported)) {
    // Run the pending tasks, and those that they add.
    await task();
    await task();
  }
  const goesOn = pageScheduledWork();
  const alone = !goesOn && !window.length;
  if (m && unreported && alone) {
    markQuiet(true);
  } else if (!m || m.last >= 0 || !(brief || (noScroll && !m.touched && alone))) {
    if (!frame || (m && m.last >= before)) {
      before = performance.now();
      frame = nextFrame();
    }
    await frame;
    await task();
    const timed = m && timers ? m.timers.take() : -1;
    if (m && timers && timed >= 0) await waitForChange(m, Math.min(timed + timers, start + max) - performance.now());
    while (m && (goesOn ? m.last >= 0 : m.last >= before)) {
      const now = performance.now();
      if (now - start > max || now - m.last >= quiet) break;
      await task(Math.min(quiet - (now - m.last), max) + 1);
    }
    if (!goesOn) markQuiet();
  }
  const changed = !m || m.last >= 0;
  /** @type {unknown} */
  let seen;
  try {
    if (outline) seen = snapshot({ survey: changed, since, ours: true });
  } catch { /* the caller requests the snapshot separately, and gets the error then */ }
  return { title: title(), changed, outline: seen, target: target && !outline ? changeOf(target.id, target.at) : null };
};

/** stopTracking stops what startTracking started. @param {string} token */
export const stopTracking = (token) => {
  const m = trackers.get(token);
  m?.observer.disconnect();
  m?.timers.stop();
  trackers.delete(token);
};
