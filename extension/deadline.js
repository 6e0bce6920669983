// @ts-check

/**
 * Bounds a wait: no call to the browser may hold up the worker for ever. What
 * was started is not ended by it.
 *
 * @template T
 * @param {number} ms
 * @param {PromiseLike<T>} promise
 * @param {string} what of a sentence: "… did not finish in time"
 * @returns {Promise<T>}
 */
export async function within(ms, promise, what) {
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  try {
    return await Promise.race([
      promise,
      new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`${what} did not finish in time`)), ms);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** How long a call to the browser itself may take, in ms. */
export const SHORT = 5_000;
