// @ts-check
// When a page has come to rest after an action.

/**
 * A mark is when the tree changed last, -1 for never, and whether an attribute did.
 * @typedef {{observer: MutationObserver, last: number, touched: boolean}} Mark
 */

/** @type {Map<string, Mark>} */
const marks = new Map();

const readTitle = /** @type {() => string} */ (Object.getOwnPropertyDescriptor(Document.prototype, 'title')?.get);

/** The document's title, past an element that shadows the property by its name. */
api.title = () => readTitle.call(document);

/**
 * mark begins to watch for changes and returns the title as it is. Changes of
 * attributes alone are not unrest: an animation would never end.
 * @param {string} token
 */
api.mark = (token) => {
  /** @type {Mark} */
  const m = {
    observer: new MutationObserver((records) => {
      if (records.some((r) => r.type !== 'attributes')) m.last = performance.now();
      m.touched = true;
    }),
    last: -1,
    touched: false,
  };
  m.observer.observe(document, { subtree: true, childList: true, characterData: true, attributes: true });
  marks.set(token, m);
  pageAsked();
  return api.title();
};

/** What pageIds said when pageAsked was called last. */
let idsSeen = '';

/** pageAsked reports whether the page has asked for a frame or a timer since it was called last. */
function pageAsked() {
  const before = idsSeen;
  idsSeen = pageIds();
  return idsSeen !== before;
}

/**
 * @typedef {object} RestOptions
 * @property {number} quiet ms without a change of the tree after which it is at rest
 * @property {number} max ms to wait at most
 * @property {boolean} [brief] not to wait for a frame when the tree has not changed
 * @property {boolean} [plain] the input scrolled nothing, so not to wait for a frame either when the page did not do anything
 * @property {boolean} [unseen] nobody looks at the page now, so not to wait for a frame unless the page asked for frames or timers
 * @property {boolean} [outline] to return a snapshot too
 */

/**
 * rest resolves when the document has painted what the input set off: a frame without a change of the tree, or, where
 * the page asked for frames or timers meanwhile, quiet milliseconds without one. It returns the title, and whether the
 * tree changed since mark.
 * @param {string} token
 * @param {RestOptions} opts
 */
api.rest = async (token, { quiet, max, brief, plain, unseen, outline }) => {
  const start = performance.now();
  const m = marks.get(token);
  if (m && (brief || plain || unseen)) {
    // The tasks that wait already, and those that they add.
    await task();
    await task();
  }
  const goesOn = pageAsked();
  const alone = !goesOn && !window.length;
  if (m && unseen && alone) {
    calm(true);
  } else if (!m || m.last >= 0 || !(brief || (plain && !m.touched && alone))) {
    const before = performance.now();
    await nextFrame();
    await task();
    while (m && (goesOn ? m.last >= 0 : m.last >= before)) {
      const now = performance.now();
      if (now - start > max || now - m.last >= quiet) break;
      await task(Math.min(quiet - (now - m.last), max) + 1);
    }
    if (!goesOn) calm();
  }
  const changed = !m || m.last >= 0;
  /** @type {unknown} */
  let seen;
  try {
    if (outline) seen = api.snapshot({ survey: changed });
  } catch { /* it is asked for by itself then, and fails there */ }
  return { title: api.title(), changed, outline: seen };
};

/** @param {string} token unmark ends what mark began */
api.unmark = (token) => {
  marks.get(token)?.observer.disconnect();
  marks.delete(token);
};
