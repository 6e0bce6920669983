// @ts-check

import { timing } from './timing.js';

/**
 * Bounds a wait, because no call to the browser may block the worker forever. It does not
 * cancel the call.
 *
 * @template T
 * @param {number} ms
 * @param {PromiseLike<T>} promise
 * @param {string} what start of the message "… did not finish in time"
 * @returns {Promise<T>}
 */
export async function withTimeout(ms, promise, what) {
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

/** The timeout of a call to the browser, in ms. */
export const SHORT_TIMEOUT_MS = timing.hangLimits.browserCall;
