// @ts-check
// Where to press: waits until an element can be acted on and finds a point of
// it that really receives events.

/**
 * @typedef {{hit?: boolean, editable?: boolean, calm?: boolean, timeout: number, patience: number, again?: boolean, selector?: string, entry?: {token: string, all: boolean}}} AimOptions calm: no point is pressed, so what does not animate stands still enough;
 *   patience is how long an obstacle must stand, with nothing in progress, before waiting is given up; again, that an earlier call gave up so
 * @typedef {{ok: true, x: number, y: number, pinch: [number, number], moved: boolean, frame: number}} Aimed x and y are in the
 *   document's viewport; pinch is how far a pinched page shows another part of it; moved, that it was not there all along;
 *   frame is the iframe element that the point is in, else 0
 * @typedef {{problem: string, by?: {id: number, role: string, name: string}, detail?: string, busy?: boolean}} Obstacle busy: something is in progress that may end it
 */

/** How long changes elsewhere in the document count as something in progress. */
const elsewherePatience = 1500;

/**
 * within reports whether inner is outer or below it in the flat tree.
 * @param {Element | null} inner
 * @param {Element} outer
 */
function within(inner, outer) {
  for (let el = inner; el; el = flatParent(el)) if (el === outer) return true;
  return false;
}

/**
 * elementAt returns the innermost element at a point of the viewport, through shadow roots.
 * @param {number} x
 * @param {number} y
 * @returns {Element | null}
 */
function elementAt(x, y) {
  let el = elementFrom(document, x, y);
  for (;;) {
    const root = el && shadowOf(el);
    const inner = root && root.elementFromPoint(x, y);
    if (!inner || inner === el) return el;
    el = inner;
  }
}

/** What keeps a click in a label to itself. A tabindex alone does not, in Chromium. */
const actsInLabel = 'a[href], button, input:not([type=hidden]), select, textarea, details, iframe, embed, audio[controls], video[controls], img[usemap], [contenteditable]';

/**
 * countsFor reports whether an event on hit is one for el: on itself, on what
 * is in it, or on its label, but for what in the label acts by itself.
 * @param {Element | null} hit
 * @param {Element} el
 */
function countsFor(hit, el) {
  if (!hit) return false;
  if (within(hit, el)) return true;
  for (let at = /** @type {Element | null} */ (hit); at; at = flatParent(at)) {
    if (at instanceof HTMLLabelElement) return at.control === el;
    if (matchesCSS(at, actsInLabel)) return false;
  }
  return false;
}

/**
 * isDisabled reports whether a control is disabled, natively or by ARIA.
 * @param {Element} el
 */
function isDisabled(el) {
  if (matchesCSS(el, ':disabled')) return true;
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) {
    if (attributeOf(at, 'aria-disabled') === 'true') return true;
    if (at !== el && matchesCSS(at, 'fieldset, form, body')) break;
  }
  return false;
}

/**
 * isInert reports whether a page has put an element out of use by the inert attribute.
 * @param {Element} el
 */
function isInert(el) {
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) if (hasAttribute(at, 'inert')) return true;
  return false;
}

/**
 * obstacle says what keeps an element from being acted on, or where to press it.
 * @param {Element} el
 * @param {AimOptions} opts
 * @returns {{point: [number, number], box: DOMRect, hit: Element | null} | Obstacle}
 */
function obstacle(el, opts) {
  if (isDisabled(el)) return { problem: 'disabled' };
  if (opts.editable) {
    const why = notEditable(el);
    if (why) return { problem: why };
  }
  let boxes = boxesOf(el);
  const labels = labelBoxes(el);
  if (!boxes.length && !labels.length) {
    if (tagOf(el) === 'option' && closestTo(el, 'select')) return { problem: 'folded' };
    return { problem: rectsOf(el).length ? 'hidden' : 'no box' };
  }
  if (opts.hit === false && isInert(el)) return { problem: 'inert' };
  boxes = boxes.concat(labels);
  if (opts.hit === false) {
    for (const box of boxes) for (const point of pointsOf(box, middles)) return { point, box, hit: null };
    return { problem: 'outside' };
  }
  /** @type {Element | null} */
  let cover = null;
  for (const parts of [middles, allOver]) {
    for (const box of boxes) {
      const points = pointsOf(box, parts);
      if (parts === allOver) points.unshift(...pointsAlong(el));
      for (const point of points) {
        const hit = elementAt(...point);
        if (countsFor(hit, el)) return { point, box, hit };
        cover ||= hit;
      }
    }
  }
  return cover ? inTheWay(cover, el) : { problem: 'outside' };
}

/**
 * inTheWay says why an element that is in the viewport gets no events there.
 * @param {Element} cover what gets them
 * @param {Element} el
 * @returns {Obstacle}
 */
function inTheWay(cover, el) {
  if (isInert(el)) return { problem: 'inert' };
  if (!within(el, cover)) return { problem: 'covered', by: describeCover(cover, el) };
  // What it is in got the point: the element itself lets events through, or is out of reach.
  if (getComputedStyle(el).pointerEvents === 'none') return { problem: 'pointer-events' };
  const modal = [...allIn(document, 'dialog:modal')].findLast((d) => !within(el, d));
  if (modal) return { problem: 'covered', by: describeCover(modal, el) };
  return { problem: 'clipped', by: named(cover) };
}

/**
 * roleAndName returns the role and the name that messages call an element by.
 * @param {Element} el
 * @returns {[string, string]}
 */
function roleAndName(el) {
  return withStyles(() => {
    const role = roleOf(el);
    return [role && role !== 'generic' && role !== 'none' ? role : tagWord(el), nameOf(el, role)];
  });
}

/**
 * describeCover names what lies over an element: the outermost part of it
 * that is not also around the element, or the nearest that has a role of its own.
 * @param {Element} cover
 * @param {Element} el
 */
function describeCover(cover, el) {
  /** @type {Element} */
  let best = cover;
  for (let at = /** @type {Element | null} */ (cover); at && !within(el, at); at = flatParent(at)) {
    best = at;
    if (matchesCSS(at, 'dialog, [role=dialog], [role=alertdialog], [aria-modal=true]')) break;
  }
  const [role, name] = roleAndName(best);
  const [role2, name2] = name ? [role, name] : roleAndName(cover);
  return { id: idOf(name ? best : cover), role: name ? role : role2 || role, name: name || name2 || excerpt(best) };
}

/**
 * excerpt returns the first words that an element shows, to tell one that has no name by. The page has too many.
 * @param {Element} el
 */
function excerpt(el) {
  return el === topOf(document) || el === bodyOf(document) ? '' : collapse(innerTextOf(el)).slice(0, 60);
}

/**
 * isFrame reports whether events at an element go to another document.
 * @param {Element | null} el
 * @returns {el is Element}
 */
function isFrame(el) {
  return !!el && /^(iframe|frame|object|embed|fencedframe)$/.test(tagOf(el));
}

/**
 * Where to bring what is to be pressed, as parts of the width and the height of what it scrolls in, tried in turn:
 * bars at the edges, and sticky heads and columns, cover some of it.
 */
const places = /** @type {[number, number][]} */ ([[0.5, 0.5], [0.5, 0.5], [0.78, 0.78], [0.22, 0.22], [0.5, 0.88], [0.5, 0.12], [0.78, 0.22], [0.22, 0.78]]);

/**
 * bringTo scrolls all that an element scrolls in so that a point of it comes to a place in each.
 * @param {Element} el
 * @param {() => [number, number]} where tells where the point is now
 * @param {[number, number]} place
 */
function bringTo(el, where, [px, py]) {
  const root = scrollingOf(document) || topOf(document);
  for (let at = flatParent(el); at; at = flatParent(at)) {
    if (at === root || !isScroller(at)) continue;
    const port = boxOf(at);
    const [x, y] = where();
    scrollElementBy(at, {
      left: x - port.left - clientLeftOf(at) - clientWidthOf(at) * px, top: y - port.top - clientTopOf(at) - clientHeightOf(at) * py, behavior: 'instant',
    });
  }
  const [x, y] = where();
  scrollElementBy(root, { left: x - innerWidth * px, top: y - innerHeight * py, behavior: 'instant' });
}

/**
 * bringNear brings an element to a place, or what it is pressed by when it has no box of its own.
 * @param {Element} el
 * @param {number} way an index of places
 */
function bringNear(el, way) {
  const boxes = boxesOf(el);
  const label = labelsFor(el).find(shown);
  // A control behind its label may be put anywhere: then it is the label that is pressed.
  const byLabel = label && (!boxes.length || way % 2 === 1);
  const subject = byLabel ? label : tagOf(el) === 'area' ? imageOf(el) || el : el;
  if (way === 0 && rectsOf(subject).length) {
    bringIntoView(subject, { block: 'center', inline: 'center', behavior: /** @type {ScrollBehavior} */ ('instant') });
    return;
  }
  bringTo(subject, () => {
    const b = (byLabel ? rectsOf(subject) : boxesOf(el))[0] || boxOf(subject);
    return [b.left + b.width / 2, b.top + b.height / 2];
  }, places[way]);
}

/**
 * fillsWindow reports whether an obstacle covers all of the viewport, so that no scrolling gets past it.
 * @param {Obstacle} found
 */
function fillsWindow(found) {
  const cover = found.by && byId(found.by.id);
  if (!cover || getComputedStyle(cover).position !== 'fixed') return false;
  const b = boxOf(cover);
  return b.left <= 0 && b.top <= 0 && b.right >= innerWidth && b.bottom >= innerHeight;
}

/**
 * aim waits until an element is attached, visible, still, enabled and receives
 * events at a point, and returns the point in CSS pixels of this document's
 * viewport. It gives up before its timeout when nothing has been in progress for
 * the time in opts.patience.
 * @param {number} id
 * @param {AimOptions} opts
 * @returns {Promise<Aimed | Obstacle>}
 */
async function aim(id, opts) {
  const start = performance.now();
  let lastChange = opts.again ? -Infinity : start;
  /** @type {Element | null} */
  let cover = null;
  const observer = new MutationObserver((records) => {
    const now = performance.now();
    const el = byId(id);
    const near = (/** @type {Node | null} */ of, /** @type {Node} */ node) => !!of && (holds(node, of) || holds(of, node));
    // What goes on elsewhere may lead to a change here, but a clock that ticks there does not.
    if ((!opts.again && now - start < elsewherePatience) || records.some((r) => near(el, r.target) || near(cover, r.target))) lastChange = now;
  });
  observer.observe(document, { subtree: true, childList: true, attributes: true, characterData: true });
  let lastLook = start; // for another element
  let way = opts.again ? places.length : 0; // it has been scrolled to all places
  let scrolled = false;
  let brought = false; // just now
  let inFrame = false;
  let lastClock = -Infinity; // of the animations, when lastBox was measured
  /** @type {DOMRect | null} */
  let lastBox = null;
  try {
    for (;;) {
      const el = byId(id);
      if (!el) return { problem: 'gone' };
      const found = obstacle(el, opts);
      const now = performance.now();
      if ('point' in found) {
        const b = found.box;
        // What is animated is seen to move from frame to frame only: outside of
        // them its clock stands, or runs ahead of the next frame's by a little.
        const clock = Number(timelineOf.call(document).currentTime);
        const comparable = !animated(el, () => true) || (inFrame && clock - lastClock >= leastStep);
        const same = comparable && lastBox && lastBox.left === b.left && lastBox.top === b.top && lastBox.width === b.width && lastBox.height === b.height;
        if (same && scrolled && (window !== top || firstIn(document, 'iframe, frame, object, embed'))) await drawn();
        if (same || (!lastBox && (opts.calm ? !animated(el, () => true) : !scrolled && still(el)))) return { ok: true, x: found.point[0], y: found.point[1], pinch: pinch(), moved: same || scrolled, frame: isFrame(found.hit) ? idOf(found.hit) : 0 };
        if (now - start > opts.timeout) return { problem: 'moving' };
        if (comparable) {
          lastBox = b;
          lastClock = clock;
        }
        inFrame = await (brought ? laidOut(el) : nextFrame());
        brought = false;
        continue;
      }
      lastBox = null;
      if ((found.problem === 'hidden' || found.problem === 'no box') && opts.selector && lastLook < lastChange) {
        // Another element that matches may be visible now: that one is meant then.
        lastLook = now;
        const others = query(opts.selector, { limit: 1 });
        if ('matches' in others && others.matches.some(([, visible]) => visible)) return { problem: 'gone' };
      }
      const reachable = found.problem === 'outside' || found.problem === 'clipped' || found.problem === 'covered';
      if (reachable && way < places.length && !fillsWindow(found)) {
        bringNear(el, way++);
        scrolled = brought = true;
        continue;
      }
      if (now - start > opts.timeout) return found;
      cover = found.by ? byId(found.by.id) : null;
      if (inProgress(el, found)) lastChange = now;
      if (now - Math.max(lastChange, start) > opts.patience) return found;
      inFrame = await nextFrame();
      if (now - lastChange < 50) way = 0; // something changed: scrolling may help again
    }
  } finally {
    observer.disconnect();
  }
}

/**
 * inProgress reports whether something is in progress that may end an obstacle: the document loads, an animation moves
 * the element or what covers it, or something is animated in what covers it, as in an overlay that says to wait.
 * @param {Element} el
 * @param {Obstacle} found
 */
function inProgress(el, found) {
  const cover = found.by && byId(found.by.id);
  return readyOf(document) !== 'complete' || moving(el) || (!!cover && (moving(cover) || animatedWithin(cover)));
}

/**
 * drawn waits until what was scrolled is drawn: the browser finds the process that a press goes to in the picture.
 */
async function drawn() {
  await nextFrame();
  await nextFrame();
}

api.aim = aim;

api.pixelRatio = () => devicePixelRatio;

/** @param {number} id the box of an element in this viewport, in the top document in page coordinates, for screenshots */
api.box = (id) => {
  const el = byId(id);
  if (!el) return null;
  const b = boxOf(el);
  return [...inPage(b.left, b.top), b.width, b.height];
};

/** @param {number} id */
api.reveal = (id) => {
  const el = byId(id);
  if (!el) return false;
  // Out of the scrollers that it is in, which may be in the viewport themselves.
  bringIntoView(el, { block: 'nearest', inline: 'nearest', behavior: /** @type {ScrollBehavior} */ ('instant') });
  const b = boxOf(el);
  if (b.top < 0 || b.left < 0 || b.bottom > innerHeight || b.right > innerWidth) {
    bringIntoView(el, { block: b.height > innerHeight ? 'start' : 'center', inline: 'center', behavior: /** @type {ScrollBehavior} */ ('instant') });
  }
  return true;
};

/**
 * hits reports whether a point of this viewport is still one of an element, or
 * of the frame that the element has there.
 * @param {number} id
 * @param {number} x
 * @param {number} y
 */
api.hits = (id, x, y) => {
  const el = byId(id);
  return !!el && countsFor(elementAt(x, y), el);
};
