// @ts-check
// The viewport, as the page sees it.

/** How long to wait for an animation frame, in ms: a page that is not displayed has none. */
const FRAME_MS = 100;

/**
 * viewport returns the size of the viewport in CSS pixels, the device pixel ratio, and the user
 * agent. With before, the previous size, it waits until the size differs and two frames were drawn
 * with it, at most timeout ms, because the size may be the same.
 * @param {{width: number, height: number, scale: number} | null} before
 * @param {number} timeout
 */
export const viewport = async (before, timeout) => {
  const now = () => ({ width: innerWidth, height: innerHeight, scale: devicePixelRatio, agent: navigator.userAgent });
  if (!before) return now();
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, FRAME_MS); });
  const end = performance.now() + timeout;
  const same = () => innerWidth === before.width && innerHeight === before.height && devicePixelRatio === before.scale;
  while (same() && performance.now() < end) await frame();
  await frame();
  await frame();
  return now();
};

/** @returns {[number, number]} */
export function pinch() {
  return visualViewport ? [visualViewport.offsetLeft, visualViewport.offsetTop] : [0, 0];
}

/**
 * inPage returns a point of this viewport in page coordinates if this is the top
 * document, and unchanged in a frame.
 * @param {number} x
 * @param {number} y
 */
export function inPage(x, y) {
  return window.parent === window ? [x + scrollX, y + scrollY] : [x, y];
}
