// @ts-check
// When the document last changed in a way that may move things. One observer
// for the life of the document tells an action whether to look twice.

/** How long a document must have been still for one look at an element's place to be enough. */
const stillFor = 40;

/** When something last changed or scrolled, from performance.now(); the start counts. */
let lastUnrest = performance.now();

/** Whether no frame was drawn since: a script that moves things goes on in the next one, however late that comes. */
let stirred = false;

function stir() {
  lastUnrest = performance.now();
  calmIds = '';
  if (stirred) return;
  stirred = true;
  onFrame(() => {
    stirred = false;
    lastUnrest = performance.now();
  });
}

/** What pageIds said when all that had changed was seen to be done; empty when something changed since. */
let calmIds = '';

/**
 * calm takes what changed so far for done, where a frame was drawn since.
 * @param {boolean} [unseen] it is done although none was: the page asked for no frame and no timer to go on in
 */
function calm(unseen) {
  if (unseen || !stirred) calmIds = pageIds();
}

stir();
new MutationObserver(stir).observe(document, {
  subtree: true, childList: true, attributes: true,
  attributeFilter: ['style', 'class', 'hidden', 'open', 'transform', 'x', 'y', 'cx', 'cy', 'd', 'points', 'width', 'height', 'viewBox'],
});
addEventListener('scroll', stir, { capture: true, passive: true });
addEventListener('resize', stir, { passive: true });

/** Whether the document may lay some content out only once it is near: a script that came later cannot know. */
let laysOutLate = readyOf(document) !== 'loading';

addEventListener('contentvisibilityautostatechange', () => {
  laysOutLate = true;
  stir();
}, { capture: true, passive: true });

/**
 * laidOut waits until what scrolling brought near is laid out: that it is near is found after the callbacks of a frame,
 * told to the page by tasks then, and content-visibility: auto goes by it in the next frame (Blink's DisplayLockContext).
 * @param {Element} el what was brought near
 * @returns {Promise<boolean>} whether there was a frame
 */
async function laidOut(el) {
  let frames = laysOutLate || rootOf(el) !== document ? 2 : 1;
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
 * still reports whether nothing has moved for a while, and nothing that animates may move an element. What goes on in
 * shadow roots is not heard of.
 * @param {Element} el
 */
function still(el) {
  const done = calmIds !== '' && calmIds === pageIds();
  const quiet = !stirred && performance.now() - lastUnrest > stillFor;
  return (done || quiet) && readyOf(document) === 'complete' && rootOf(el) === document
    && !animated(el, () => true);
}

const transitionOf = Object.getOwnPropertyDescriptor(elements, 'activeViewTransition')?.get;

/**
 * transitsIn reports whether a transition of a part of the page runs in a tree: those of shadow roots are no business
 * of the document's.
 * @param {Document | ShadowRoot} root
 * @returns {boolean}
 */
function transitsIn(root) {
  for (const el of allIn(root, '*')) {
    const inner = shadowOf(el);
    if (transitionOf?.call(el) != null || (inner && transitsIn(inner))) return true;
  }
  return false;
}

/** Whether a transition of the view may still show what has left the document. */
api.transits = () => /** @type {any} */ (document).activeViewTransition != null
  || animations().some((a) => String(/** @type {any} */ (a.effect)?.pseudoElement).startsWith('::view-transition'))
  || transitsIn(document);
