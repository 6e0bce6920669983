// @ts-check
// When the document last changed in a way that may move elements. One observer per document
// determines whether an action must check an element's position twice.

import { animated, nextFrame, onFrame, schedulerState, task } from './animations.js';
import { allIn, animations, elements, readyOf, rootOf, shadowOf } from './dom.js';

/**
 * How long a document must not have changed, in ms, for one check of an element's position to be
 * enough.
 */
const STABLE_MS = 40;

/**
 * When something last changed or scrolled, by performance.now(). The start of the script counts.
 */
let lastMutationAt = performance.now();

/**
 * Whether no frame was drawn since: a script that moves elements continues in the next frame,
 * however late it is.
 */
let mutatedSinceFrame = false;

function markMutated() {
  lastMutationAt = performance.now();
  quietSchedulerState = '';
  if (mutatedSinceFrame) return;
  mutatedSinceFrame = true;
  onFrame(() => {
    mutatedSinceFrame = false;
    lastMutationAt = performance.now();
  });
}

/**
 * The result of schedulerState when all changes were known to be complete. Empty if something
 * changed since.
 */
let quietSchedulerState = '';

/**
 * markQuiet records that all changes are complete, if a frame was drawn since the last one.
 * @param {boolean} [unseen] they are complete even if no frame was drawn, because the page
 *   requested no frame or timer in which to continue
 */
export function markQuiet(unseen) {
  if (unseen || !mutatedSinceFrame) quietSchedulerState = schedulerState();
}

markMutated();
new MutationObserver(markMutated).observe(document, {
  subtree: true, childList: true, attributes: true,
  attributeFilter: ['style', 'class', 'hidden', 'open', 'transform', 'x', 'y', 'cx', 'cy', 'd', 'points', 'width', 'height', 'viewBox'],
});
addEventListener('scroll', markMutated, { capture: true, passive: true });
addEventListener('resize', markMutated, { passive: true });

/**
 * Whether the document may lay out content only when it is near the viewport. A script that was
 * injected late must assume it.
 */
let hasLazyLayout = readyOf(document) !== 'loading';

addEventListener('contentvisibilityautostatechange', () => {
  hasLazyLayout = true;
  markMutated();
}, { capture: true, passive: true });

/**
 * waitForLayout waits until content that was scrolled near the viewport is laid out. The browser
 * determines what is near after the callbacks of a frame, notifies the page in tasks, and applies
 * content-visibility: auto in the next frame (Blink's DisplayLockContext).
 * @param {Element} el the element that was scrolled to
 * @returns {Promise<boolean>} whether there was a frame
 */
export async function waitForLayout(el) {
  let frames = hasLazyLayout || rootOf(el) !== document ? 2 : 1;
  let came = false;
  for (let tries = 4; frames && tries; tries--) {
    came = await nextFrame();
    if (came) frames--;
  }
  await task();
  await task();
  return came;
}

/**
 * isPositionStable reports whether nothing has changed for STABLE_MS and no animation may move an
 * element. It is false for elements in shadow roots, whose mutations are not observed.
 * @param {Element} el
 */
export function isPositionStable(el) {
  const done = quietSchedulerState !== '' && quietSchedulerState === schedulerState();
  const quiet = !mutatedSinceFrame && performance.now() - lastMutationAt > STABLE_MS;
  return (done || quiet) && readyOf(document) === 'complete' && rootOf(el) === document
    && !animated(el, () => true);
}

const transitionOf = Object.getOwnPropertyDescriptor(elements, 'activeViewTransition')?.get;

/**
 * hasTransitionIn reports whether a scoped view transition runs in a tree.
 * document.activeViewTransition does not include those.
 * @param {Document | ShadowRoot} root
 * @returns {boolean}
 */
function hasTransitionIn(root) {
  for (const el of allIn(root, '*')) {
    const inner = shadowOf(el);
    if (transitionOf?.call(el) != null || (inner && hasTransitionIn(inner))) return true;
  }
  return false;
}

/**
 * hasActiveViewTransition reports whether a view transition may still show content that is no
 * longer in the document.
 */
export const hasActiveViewTransition = () => /** @type {any} */ (document).activeViewTransition != null
  || animations().some((a) => String(/** @type {any} */ (a.effect)?.pseudoElement).startsWith('::view-transition'))
  || hasTransitionIn(document);
