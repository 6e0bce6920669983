// @ts-check
// From a frame's own coordinates to those of the document around it.

/** @returns {[number, number]} */
function pinch() {
  return visualViewport ? [visualViewport.offsetLeft, visualViewport.offsetTop] : [0, 0];
}

/**
 * through maps a point of an iframe's document to this one, scrolling the
 * frame into view, and checks that the frame stands still and receives events there.
 * @param {number} owner the iframe element
 * @param {number} x
 * @param {number} y
 * @param {{hit?: boolean, timeout: number}} opts
 * @returns {Promise<Aimed | Obstacle>}
 */
async function through(owner, x, y, opts) {
  const el = /** @type {HTMLElement | null} */ (byId(owner));
  if (!el) return { problem: 'gone' };
  const start = performance.now();
  let moved = false;
  for (let last = null; !still(el); ) {
    const now = pointInFrame(el, x, y);
    if (last && last[0] === now[0] && last[1] === now[1]) break;
    last = now;
    moved = true;
    if (performance.now() - start > opts.timeout) return { problem: 'moving' };
    await steps(el);
  }
  let scrolled = false;
  /** @type {Obstacle} */
  let found = { problem: 'outside' };
  for (const place of [null, ...places]) {
    if (place) {
      // Scroll to the point, not to the middle of a frame that may be larger than the viewport.
      bringTo(el, () => pointInFrame(el, x, y), place);
      scrolled = moved = true;
    }
    const [px, py] = pointInFrame(el, x, y);
    if (px < 0 || py < 0 || px >= innerWidth || py >= innerHeight) continue;
    const hit = elementAt(px, py);
    if (scrolled && (opts.hit === false || hit === el)) {
      await drawn();
      const [qx, qy] = pointInFrame(el, x, y);
      if (Math.abs(qx - px) > 0.5 || Math.abs(qy - py) > 0.5) continue; // not where it was scrolled to any more
    }
    if (opts.hit === false || hit === el) return { ok: true, x: px, y: py, pinch: pinch(), moved, frame: 0 };
    if (hit) found = inTheWay(hit, el);
  }
  return { ...found, busy: inProgress(el, found) };
}

/**
 * linearPart returns what the transforms of an element and of all it is in do
 * to a direction: [a, b, c, d], columns first. Perspective is not followed.
 * @param {Element} el
 */
function linearPart(el) {
  let m = new DOMMatrix();
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) {
    const { transform, rotate, scale, display } = getComputedStyle(at);
    if (at !== el && (display === 'inline' || display === 'contents')) continue; // takes no transform
    const own = new DOMMatrix();
    if (rotate && rotate !== 'none' && !rotate.includes(' ')) own.multiplySelf(new DOMMatrix(`rotate(${rotate})`));
    if (scale && scale !== 'none') own.multiplySelf(new DOMMatrix(`scale(${scale.split(' ').slice(0, 2).join()})`));
    if (transform && transform !== 'none') own.multiplySelf(new DOMMatrix(transform));
    m = own.multiply(m);
  }
  return [m.m11, m.m12, m.m21, m.m22];
}

/**
 * pointInFrame maps a point of an iframe's viewport to this document's. The
 * middle of a turned box is the middle of the box around it, so that only
 * directions have to be transformed, not places.
 * @param {HTMLElement} el
 * @param {number} x
 * @param {number} y
 * @returns {[number, number]}
 */
function pointInFrame(el, x, y) {
  const box = boxOf(el);
  const style = getComputedStyle(el);
  const width = offsetWidthOf(el);
  const height = offsetHeightOf(el);
  const dx = clientLeftOf(el) + parseFloat(style.paddingLeft || '0') + x - width / 2;
  const dy = clientTopOf(el) + parseFloat(style.paddingTop || '0') + y - height / 2;
  const [a, b, c, d] = linearPart(el);
  // What else scales, such as zoom, shows in the size of the box.
  const sx = box.width / (Math.abs(a) * width + Math.abs(c) * height) || 1;
  const sy = box.height / (Math.abs(b) * width + Math.abs(d) * height) || 1;
  return [box.left + box.width / 2 + (a * dx + c * dy) * sx, box.top + box.height / 2 + (b * dx + d * dy) * sy];
}

api.through = through;

/**
 * inPage returns a point of this viewport in page coordinates if this is the top
 * document, and unchanged in a frame.
 * @param {number} x
 * @param {number} y
 */
function inPage(x, y) {
  return window.parent === window ? [x + scrollX, y + scrollY] : [x, y];
}

/** @param {number} id a frame @param {number} x @param {number} y */
api.outward = (id, x, y) => {
  const el = /** @type {HTMLElement | null} */ (byId(id));
  if (!el) return null;
  const [left, top] = pointInFrame(el, x, y);
  return inPage(left, top);
};
