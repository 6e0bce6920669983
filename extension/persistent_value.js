// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/**
 * A value that outlives the worker: in storage.session until the browser
 * closes, in storage.local permanently. It is read once when the worker starts,
 * and written at every change.
 *
 * @template T
 */
export class PersistentValue {
  /**
   * @param {chrome.storage.StorageArea} area
   * @param {string} name
   * @param {T} initial
   */
  constructor(area, name, initial) {
    this.area = area;
    this.name = name;
    this.value = initial;
    const reading = area.get(name);
    /** Resolves when the stored value was read. It has no timeout, because no part of the worker works without it. */
    this.ready = reading.then((got) => {
      if (got[name] !== undefined) this.value = /** @type {T} */ (got[name]);
    });
    withTimeout(SHORT_TIMEOUT_MS, reading, `reading ${name}`).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }

  /** Stores the current value. @returns {Promise<void>} */
  save() {
    return withTimeout(SHORT_TIMEOUT_MS, this.area.set({ [this.name]: this.value }), `storing ${this.name}`);
  }

  /** Stores the current value without waiting. If it fails, the next write stores the change. */
  saveSoon() {
    this.save().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }
}
