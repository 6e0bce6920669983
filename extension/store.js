// @ts-check

import { SHORT, within } from './deadline.js';

/**
 * A value that outlives the worker: in storage.session until the browser
 * closes, in storage.local for good. It is read once when the worker starts,
 * and written at every change.
 *
 * @template T
 */
export class Stored {
  /**
   * @param {chrome.storage.StorageArea} area
   * @param {string} name
   * @param {T} initial
   */
  constructor(area, name, initial) {
    this.area = area;
    this.name = name;
    this.value = initial;
    /** Resolves when value is what was stored. */
    this.ready = within(SHORT, area.get(name), `reading ${name}`).then((got) => {
      if (got[name] !== undefined) this.value = /** @type {T} */ (got[name]);
    });
  }

  /** Writes the value as it is now. @returns {Promise<void>} */
  save() {
    return within(SHORT, this.area.set({ [this.name]: this.value }), `storing ${this.name}`);
  }

  /** Writes without being waited for; the next write makes good for a failure. */
  saveSoon() {
    this.save().catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }
}
