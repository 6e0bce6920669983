// @ts-check
// What wait_for asks, and what is waited for before a picture is taken.

/**
 * nextChange resolves after the next change of the document, or after ms.
 * @param {number} ms
 */
api.nextChange = (ms) => new Promise((resolve) => {
  const observer = new MutationObserver(done);
  const timer = after(ms, done);
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  function done() {
    clearTimeout(timer);
    observer.disconnect();
    onFrame(() => resolve(true));
    after(30, () => resolve(true));
  }
});

/**
 * hasText reports of two texts whether the document shows them, without regard to case and white space.
 * @param {string} a
 * @param {string} b
 */
api.hasText = (a, b) => {
  const shownText = collapse(api.text(0) || '').toLowerCase();
  const has = (/** @type {string} */ s) => s !== '' && shownText.includes(collapse(s).toLowerCase());
  return [has(a), has(b)];
};

/** @param {number} id isShown reports whether a person can see the element */
api.isShown = (id) => {
  const el = byId(id);
  return !!el && shown(el) && (boxesOf(el).length > 0 || labelBoxes(el).length > 0);
};

/** Whether it was waited for that the document is drawn: one that is empty never is. */
let awaitedPaint = false;

/** painted resolves when the document has been drawn once, or is not drawn for now. */
api.painted = async () => {
  for (let n = 0; n < 15 && !awaitedPaint && performance.getEntriesByType('paint').length === 0; n++) {
    if (!await nextFrame()) return; // out of sight
  }
  awaitedPaint = true;
};
