// @ts-check
// The viewport, as the page sees it.

/** How long a page may take to be resized, in ms. */
const RESIZE_TIMEOUT_MS = 500;

/**
 * viewport returns the size of the viewport in CSS pixels, the device pixel ratio, and the user
 * agent. With before, the previous size, it waits until the size differs and two frames were drawn
 * with it, at most RESIZE_TIMEOUT_MS, because the size may be the same.
 * @param {{width: number, height: number, scale: number} | null} before
 */
export const viewport = async (before) => {
  const now = () => ({ width: innerWidth, height: innerHeight, scale: devicePixelRatio, agent: navigator.userAgent });
  if (!before) return now();
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 100); });
  const end = performance.now() + RESIZE_TIMEOUT_MS;
  const same = () => innerWidth === before.width && innerHeight === before.height && devicePixelRatio === before.scale;
  while (same() && performance.now() < end) await frame();
  await frame();
  await frame();
  return now();
};
