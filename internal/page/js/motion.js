// @ts-check
// What moves an element: animations on it and around it, from frame to frame.

/** How many frames and timers our scripts asked for: what else is asked for the page asked for. */
const own = { frames: 0, timers: 0 };
Object.defineProperty(globalThis, '__cmOwn', { value: own }); // the scripts that block input count theirs as well

/** onFrame is requestAnimationFrame, counted. @param {() => void} f */
function onFrame(f) {
  own.frames++;
  return requestAnimationFrame(f);
}

/** Whether the document may run no scripts, as in a sandbox. Then timers do not fire, not even ours, but tasks of the scheduler run. */
const scriptless = matchMedia('(scripting: none)').matches;

/** after is setTimeout, counted. Without scripts what it returns clears nothing. @param {number} ms @param {() => void} f */
function after(ms, f) {
  if (scriptless) {
    scheduler.postTask(f, { delay: ms });
    return 0;
  }
  own.timers++;
  return setTimeout(f, ms);
}

/**
 * pageIds tells which frame and timer the page asked for last: it is another string once it has asked for more. Their
 * ids count up over all worlds of a document (Blink's FrameRequestCallbackCollection and DOMTimerCoordinator).
 */
function pageIds() {
  if (scriptless) return '';
  const frame = onFrame(() => {});
  cancelAnimationFrame(frame);
  const timer = after(0, () => {});
  clearTimeout(timer);
  return `${frame - own.frames} ${timer - own.timers}`;
}

/** task lets the tasks run that wait. @param {number} [ms] or what is to run that long */
const task = (ms = 0) => new Promise((/** @type {(value?: undefined) => void} */ resolve) => after(ms, resolve));

/**
 * nextFrame waits for the next animation frame, or a moment where none comes.
 * @returns {Promise<boolean>} whether there was a frame
 */
function nextFrame() {
  return new Promise((resolve) => {
    const timer = after(120, () => done(false));
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
 * moving reports whether an animation that ends is running and may move an element.
 * @param {Element} el
 */
function moving(el) {
  return animated(el, (end) => end !== Infinity);
}

/** What moves only what it is set on and what is in that, and what moves nothing at all. */
const transforms = new Set(['transform', 'translate', 'rotate', 'scale', 'perspective', 'offsetDistance', 'offsetPath', 'offsetRotate', 'clipPath']);

const looks = new Set(['offset', 'computedOffset', 'easing', 'composite', 'opacity', 'color', 'backgroundColor', 'backgroundPosition', 'backgroundPositionX',
  'backgroundPositionY', 'backgroundImage', 'backgroundSize', 'boxShadow', 'textShadow', 'filter', 'backdropFilter', 'fill', 'stroke', 'strokeDasharray', 'strokeDashoffset',
  'outlineColor', 'borderColor', 'borderTopColor', 'borderRightColor', 'borderBottomColor', 'borderLeftColor', 'caretColor', 'textDecorationColor', 'maskPosition']);

/**
 * mayMove reports whether an animation may move an element: one of its transform or of what it is in, or one of the
 * layout of anything.
 * @param {Animation} a
 * @param {Element} el
 */
function mayMove(a, el) {
  const effect = /** @type {KeyframeEffect | null} */ (a.effect);
  if (!effect?.target) return false;
  const above = !effect.pseudoElement && within(el, effect.target);
  return effect.getKeyframes().some((k) => Object.keys(k).some((name) => !looks.has(name) && (above || !transforms.has(name))));
}

/**
 * animationsAround returns the animations of the document, and of the shadow roots that an element is in.
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
 * animated reports whether an animation that may move an element is running, and its end is accepted.
 * @param {Element} el
 * @param {(end: number) => boolean} accept
 */
function animated(el, accept) {
  return animationsAround(el).some((a) => a.playState === 'running' && mayMove(a, el) && accept(Number(a.effect?.getComputedTiming().endTime)));
}

/** @param {Element} el animatedWithin reports whether an animation of anything in an element is running */
function animatedWithin(el) {
  return animationsAround(el).some((a) => {
    const target = /** @type {KeyframeEffect | null} */ (a.effect)?.target;
    return a.playState === 'running' && !!target && within(target, el);
  });
}

/** How far the clock of animations must have come, in ms, for a box to be compared: half a frame or so. */
const leastStep = 5;

/**
 * steps waits for a frame in which what animates an element has gone on from now.
 * @param {Element} el
 */
async function steps(el) {
  const clock = () => Number(timelineOf.call(document).currentTime);
  const before = clock();
  do if (!(await nextFrame())) return; while (animated(el, () => true) && clock() - before < leastStep);
}

const timelineOf = /** @type {() => DocumentTimeline} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'timeline')?.get);
