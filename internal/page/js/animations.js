// @ts-check
// Animations that move an element, and timing by animation frames.

import { animations, rootOf, typeOfNode, within } from './dom.js';

/**
 * The number of animation frames and timers that our scripts requested. All others are the page's.
 */
const own = { frames: 0, timers: 0 };
Object.defineProperty(globalThis, '__cmOwn', { value: own }); // the scripts that block input count theirs here also

/** onFrame is a counting requestAnimationFrame. @param {() => void} f */
export function onFrame(f) {
  own.frames++;
  return requestAnimationFrame(f);
}

/**
 * Whether the document cannot run scripts, for example in a sandbox. Then timers do not fire, not
 * even ours, but tasks of the scheduler run.
 */
const scriptless = matchMedia('(scripting: none)').matches;

/**
 * after is a counting setTimeout. In a document without scripts, its result cannot be used to clear
 * it.
 * @param {number} ms
 * @param {() => void} f
 */
export function after(ms, f) {
  if (scriptless) {
    scheduler.postTask(f, { delay: ms });
    return 0;
  }
  own.timers++;
  return setTimeout(f, ms);
}

/**
 * schedulerState identifies the last animation frame and timer that the page requested: the string
 * changes when the page requests more. The ids are shared by all worlds of a document (Blink's
 * FrameRequestCallbackCollection and DOMTimerCoordinator).
 */
export function schedulerState() {
  if (scriptless) return '';
  const frame = onFrame(() => {});
  cancelAnimationFrame(frame);
  const timer = after(0, () => {});
  clearTimeout(timer);
  return `${frame - own.frames} ${timer - own.timers}`;
}

/** timerState is the part of schedulerState for timers. */
export const timerState = () => schedulerState().split(' ')[1] || '';

/** task yields to pending tasks, or waits for ms milliseconds. @param {number} [ms] */
export const task = (ms = 0) => new Promise((/** @type {(value?: undefined) => void} */ resolve) => after(ms, resolve));

/** How long nextFrame waits, in ms: a document that is not displayed has no animation frames. */
const FRAME_MS = 120;

/**
 * nextFrame waits for the next animation frame, or ms milliseconds if there is none.
 * @param {number} [ms]
 * @returns {Promise<boolean>} whether there was a frame
 */
export function nextFrame(ms = FRAME_MS) {
  return new Promise((resolve) => {
    const timer = after(ms, () => done(false));
    const frame = onFrame(() => done(true));
    /** @param {boolean} came */
    function done(came) {
      clearTimeout(timer);
      cancelAnimationFrame(frame);
      resolve(came);
    }
  });
}

/**
 * hasFiniteAnimation reports whether an animation that ends is running and may move an element.
 * @param {Element} el
 */
export function hasFiniteAnimation(el) {
  return animated(el, (end) => end !== Infinity);
}

/** Properties that move only their element and its descendants, or nothing. */
const transforms = new Set(['transform', 'translate', 'rotate', 'scale', 'perspective', 'offsetDistance', 'offsetPath', 'offsetRotate', 'clipPath']);

const PAINT_ONLY_PROPERTIES = new Set(['offset', 'computedOffset', 'easing', 'composite', 'opacity', 'color', 'backgroundColor', 'backgroundPosition', 'backgroundPositionX',
  'backgroundPositionY', 'backgroundImage', 'backgroundSize', 'boxShadow', 'textShadow', 'filter', 'backdropFilter', 'fill', 'stroke', 'strokeDasharray', 'strokeDashoffset',
  'outlineColor', 'borderColor', 'borderTopColor', 'borderRightColor', 'borderBottomColor', 'borderLeftColor', 'caretColor', 'textDecorationColor', 'maskPosition']);

/**
 * affectsPosition reports whether an animation may move an element: by a transform of the element
 * or an ancestor, or by a layout property of any element.
 * @param {Animation} a
 * @param {Element} el
 */
function affectsPosition(a, el) {
  const effect = /** @type {KeyframeEffect | null} */ (a.effect);
  if (!effect?.target) return false;
  const above = !effect.pseudoElement && within(el, effect.target);
  return effect.getKeyframes().some((k) => Object.keys(k).some((name) => !PAINT_ONLY_PROPERTIES.has(name) && (above || !transforms.has(name))));
}

/**
 * animationsAround returns the animations of the document and of the shadow roots that contain an
 * element.
 * @param {Element} el
 */
function animationsAround(el) {
  const all = animations();
  for (let root = rootOf(el); typeOfNode(root) === 11; ) {
    const shadow = /** @type {ShadowRoot} */ (root);
    all.push(...shadow.getAnimations());
    root = rootOf(shadow.host);
  }
  return all;
}

/**
 * animated reports whether an animation that may move an element is running and accept returns true
 * for its end time.
 * @param {Element} el
 * @param {(end: number) => boolean} accept
 */
export function animated(el, accept) {
  return animationsAround(el).some((a) => a.playState === 'running' && affectsPosition(a, el) && accept(Number(a.effect?.getComputedTiming().endTime)));
}

/** animatedWithin reports whether an animation in an element is running. @param {Element} el */
export function animatedWithin(el) {
  return animationsAround(el).some((a) => {
    const target = /** @type {KeyframeEffect | null} */ (a.effect)?.target;
    return a.playState === 'running' && !!target && within(target, el);
  });
}

/**
 * How far the animation clock must have advanced, in ms, before two boxes are compared: about half
 * a frame.
 */
export const leastStep = 5;

/**
 * waitAnimationStep waits for a frame in which the animations of an element have advanced.
 * @param {Element} el
 */
export async function waitAnimationStep(el) {
  const clock = () => Number(timelineOf.call(document).currentTime);
  const before = clock();
  do if (!(await nextFrame())) return; while (animated(el, () => true) && clock() - before < leastStep);
}

export const timelineOf = /** @type {() => DocumentTimeline} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'timeline')?.get);
