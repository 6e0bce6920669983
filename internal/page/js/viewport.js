// @ts-check
// The viewport, as the page has it.

/** How long a page may take to get another viewport, in ms. */
const RESIZED_WITHIN = 500;

/**
 * viewport returns the size of the viewport in CSS pixels, the pixels of the device for one of those, and the
 * browser's name for itself. With before, a size that it had, it waits until it has another and two frames were drawn
 * with that, but not for long: it may be the same.
 * @param {{width: number, height: number, scale: number} | null} before
 */
api.viewport = async (before) => {
  const now = () => ({ width: innerWidth, height: innerHeight, scale: devicePixelRatio, agent: navigator.userAgent });
  if (!before) return now();
  const frame = () => new Promise((done) => { requestAnimationFrame(done); setTimeout(done, 100); });
  const end = performance.now() + RESIZED_WITHIN;
  const same = () => innerWidth === before.width && innerHeight === before.height && devicePixelRatio === before.scale;
  while (same() && performance.now() < end) await frame();
  await frame();
  await frame();
  return now();
};
