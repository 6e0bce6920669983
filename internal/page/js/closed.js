// @ts-check
// Closed shadow roots cannot be found by scripts, only by the protocol. These
// are the elements that are worth asking it about.

/** What may host a shadow root besides custom elements, and draws something although nothing is in it. */
const EMPTY_HOSTS = new Set(['article', 'aside', 'blockquote', 'div', 'footer', 'header', 'main', 'nav', 'p', 'section', 'span']);

/**
 * Elements that were named once, with whether they were defined then: a host gets its root when it is made, or when
 * its element is defined, so asking again in between would tell nothing new.
 * @type {WeakMap<Element, boolean>}
 */
const asked = new WeakMap();

/** Most elements that are asked about in one go. */
const MAX_CANDIDATES = 200;

/**
 * isCandidate reports whether a custom element or an empty one is worth asking
 * about. It says so once.
 * @param {Element} el
 * @param {string} tag
 */
function isCandidate(el, tag) {
  if (shadowOf(el)) return false;
  const custom = tag.includes('-');
  const defined = !custom || matchesCSS(el, ':defined');
  if (asked.get(el) === true || asked.get(el) === defined) return false;
  if (!(custom ? isRendered(el) : offsetHeightOf(el) > 0 && offsetWidthOf(el) > 0)) return false;
  asked.set(el, defined);
  return true;
}

/**
 * closedCandidates returns the numbers of elements that may have a closed
 * shadow root which was not handed in yet: custom elements, and boxes that
 * take room although they are empty.
 * @returns {number[]}
 */
function closedCandidates() {
  /** @type {number[]} */
  const out = [];
  /** @param {Iterable<Element>} list */
  const scan = (list) => {
    for (const el of list) {
      if (out.length >= MAX_CANDIDATES) return;
      const tag = tagOf(el);
      const root = shadowOf(el);
      if (root) {
        scan(allIn(root, '*'));
        continue;
      }
      if ((tag.includes('-') || (EMPTY_HOSTS.has(tag) && !firstChildOf(el))) && isCandidate(el, tag)) out.push(idOf(el));
    }
  };
  scan(Document.prototype.querySelectorAll.call(document, '*'));
  return out;
}
api.closedCandidates = closedCandidates;
