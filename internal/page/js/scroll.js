// @ts-check
// Scrolling: which scroller is meant, and where it ended.

/**
 * isScroller reports whether an element scrolls by itself what it holds: it has more of it than room, in a
 * direction if one is given.
 * @param {Element} el
 * @param {{x?: boolean, y?: boolean}} [directions]
 */
function isScroller(el, directions) {
  // The overflow of the root, or else of the body, is the viewport's.
  if (el === topOf(document)) return false;
  if (el === bodyOf(document) && (el === scrollingOf(document) || getComputedStyle(topOf(document)).overflow === 'visible')) return false;
  const y = directions?.x && !directions.y ? false : scrollHeightOf(el) > clientHeightOf(el) + 1;
  const x = directions?.y && !directions.x ? false : scrollWidthOf(el) > clientWidthOf(el) + 1;
  if (!x && !y) return false;
  const style = getComputedStyle(el);
  const scrolls = directions ? /auto|scroll|overlay/ : /auto|scroll|overlay|hidden/;
  return (y && scrolls.test(style.overflowY)) || (x && scrolls.test(style.overflowX));
}

/**
 * scrollerOf returns the nearest scroller of an element, itself included, that can scroll in one of the directions.
 * @param {Element} el
 * @param {{x: boolean, y: boolean}} directions
 */
function scrollerOf(el, directions) {
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) if (isScroller(at, directions)) return at;
  return null;
}

/**
 * pageScroller returns the scroller of the page: the viewport, or the one that fills it where the viewport itself
 * cannot scroll.
 * @param {{x: boolean, y: boolean}} directions
 */
function pageScroller(directions) {
  const root = scrollingOf(document) || topOf(document);
  const more = (directions.y && scrollHeightOf(root) > clientHeightOf(root) + 1) || (directions.x && scrollWidthOf(root) > clientWidthOf(root) + 1);
  if (more && !isLocked()) return root;
  return scrollerOf(elementAt(innerWidth / 2, innerHeight / 2) || root, directions) || root;
}

/** isLocked reports whether the page keeps the viewport from being scrolled by a person, as below a modal dialog. */
function isLocked() {
  const body = bodyOf(document);
  const own = getComputedStyle(topOf(document)).overflowY;
  const overflow = own === 'visible' && body ? getComputedStyle(body).overflowY : own;
  return overflow === 'hidden' || overflow === 'clip';
}

/**
 * beginsAtEnd reports whether a scroller counts its place upwards from its bottom, as that of a chat often does.
 * @param {Element} scroller
 */
function beginsAtEnd(scroller) {
  if (scrollTopOf(scroller)) return scrollTopOf(scroller) < 0;
  const style = getComputedStyle(scroller);
  return /flex/.test(style.display) && style.flexDirection === 'column-reverse' && style.flexWrap === 'nowrap';
}

/**
 * scrollable bounds a position: Blink ignores those that are too large for its layout units (2^25 pixels).
 * @param {number} position
 */
function scrollable(position) {
  return Math.max(-(2 ** 25), Math.min(2 ** 25, position));
}

/**
 * moveScroller moves a scroller and tells where it is. With an id and no movement it
 * brings the element into view.
 * @param {number} id 0 for the page
 * @param {number | null} x
 * @param {number | null} y
 * @param {number} dx
 * @param {number} dy
 */
async function moveScroller(id, x, y, dx, dy) {
  const el = id ? byId(id) : null;
  if (id && !el) return null;
  const moves = x !== null || y !== null || dx !== 0 || dy !== 0;
  if (el && !moves) bringIntoView(el, { block: 'center', inline: 'nearest', behavior: /** @type {ScrollBehavior} */ ('instant') });
  const directions = moves ? { x: x !== null || dx !== 0, y: y !== null || dy !== 0 } : { x: true, y: true };
  const scroller = (el && scrollerOf(el, directions)) || pageScroller(directions);
  if (moves) {
    scrollElement(scroller, {
      left: scrollable((x ?? scrollLeftOf(scroller)) + dx), top: scrollable((y ?? scrollTopOf(scroller)) + dy), behavior: /** @type {ScrollBehavior} */ ('instant'),
    });
  }
  await nextFrame();
  const top = scrollTopOf(scroller);
  const above = beginsAtEnd(scroller) ? top + scrollHeightOf(scroller) - clientHeightOf(scroller) : top;
  return {
    x: Math.round(scrollLeftOf(scroller)), y: Math.round(top),
    atTop: above < 1, atBottom: above + clientHeightOf(scroller) >= scrollHeightOf(scroller) - 1,
  };
}

api.moveScroller = moveScroller;
