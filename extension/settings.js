// @ts-check

import { parsePattern } from './rules.js';
import { Stored } from './store.js';

/**
 * What the user set in the options.
 *
 * @typedef {object} Settings
 * @property {'shared' | 'all'} access only tabs that are shared, or every tab but those on the block list
 * @property {string[]} blockList patterns: sites that no agent may be in
 * @property {number} idleMinutes after which the debugger lets go of a tab that nobody uses; 0 never
 * @property {boolean} stopOnLock sharing ends when the screen is locked
 * @property {boolean} mayClose agents may close tabs that they did not open
 * @property {boolean} ownWindow agents open their tabs in a minimized window of their own
 * @property {string[]} keepSites origins whose tabs are shared by themselves
 */

/** @type {Readonly<Settings>} */
export const DEFAULTS = Object.freeze({
  access: 'shared', blockList: [], idleMinutes: 15, stopOnLock: true, mayClose: false, ownWindow: false, keepSites: [],
});

/** How long a tab may stay attached unused, at most, in minutes. */
const MAX_IDLE = 24 * 60;

/**
 * Checks a change. Throws an Error in words for the user.
 *
 * @param {Settings} settings
 * @param {Record<string, unknown>} patch
 * @returns {Settings}
 */
export function applySettings(settings, patch) {
  const next = { ...settings };
  for (const [key, value] of Object.entries(patch)) {
    switch (key) {
      case 'access':
        if (value !== 'shared' && value !== 'all') throw new Error('access is "shared" or "all"');
        next.access = value;
        break;
      case 'stopOnLock':
      case 'mayClose':
      case 'ownWindow':
        if (typeof value !== 'boolean') throw new Error(`${key} is on or off`);
        next[key] = value;
        break;
      case 'idleMinutes':
        if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_IDLE) {
          throw new Error(`the idle time is a whole number of minutes up to ${MAX_IDLE}; 0 means never`);
        }
        next.idleMinutes = value;
        break;
      case 'blockList':
        next.blockList = patterns(value);
        break;
      case 'keepSites':
        next.keepSites = origins(value);
        break;
      default:
        throw new Error(`there is no setting ${key}`);
    }
  }
  return next;
}

/** @param {unknown} value */
function patterns(value) {
  if (!isList(value)) throw new Error('the block list is a list');
  for (const text of value) {
    try {
      parsePattern(text);
    } catch (e) {
      throw new Error(`"${text}" ${/** @type {Error} */ (e).message}`);
    }
  }
  return [...new Set(value)];
}

/** @param {unknown} value */
function origins(value) {
  if (!isList(value) || !value.every((s) => /^https?:\/\/[^/?#]+$/.test(s))) throw new Error('sites are origins such as https://example.com');
  return [...new Set(value)];
}

/** @param {unknown} value @returns {value is string[]} */
function isList(value) {
  return Array.isArray(value) && value.every((s) => typeof s === 'string') && value.length <= 1000;
}

/** The settings as they are kept. */
export class SettingsStore {
  /** @param {chrome.storage.StorageArea} area */
  constructor(area) {
    /** @type {Stored<Partial<Settings>>} */
    this.stored = new Stored(area, 'settings', {});
    this.ready = this.stored.ready;
  }

  /** @returns {Settings} */
  get value() {
    return { ...DEFAULTS, ...this.stored.value };
  }

  /** @param {Record<string, unknown>} patch */
  async change(patch) {
    this.stored.value = applySettings(this.value, patch);
    await this.stored.save();
  }
}
