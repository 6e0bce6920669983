// @ts-check

import { parsePattern } from './policy.js';
import { PersistentValue } from './persistent_value.js';

/**
 * The user's settings.
 *
 * @typedef {object} Settings
 * @property {'shared' | 'all'} access only shared tabs, or all tabs except those on the block list
 * @property {string[]} blockList patterns of sites on which no agent may work
 * @property {number} idleMinutes minutes of inactivity after which the debugger detaches from a
 *   tab; 0 means never
 * @property {number} shareIdleMinutes minutes after which the machine counts as idle, which ends
 *   the sharing of tabs that are shared until then
 * @property {boolean} stopOnLock whether sharing ends when the screen is locked
 * @property {boolean} mayClose whether agents may close tabs that they did not open
 * @property {boolean} ownWindow whether agents open their tabs in a separate minimized window
 * @property {string[]} keepSites origins whose tabs are shared automatically
 */

/** @type {Readonly<Settings>} */
export const DEFAULTS = Object.freeze({
  access: 'shared', blockList: [], idleMinutes: 15, shareIdleMinutes: 15, stopOnLock: true, mayClose: false, ownWindow: false, keepSites: [],
});

/** How long a tab that is shared for a time stays shared after the last call, in minutes. */
export const SHARE_MINUTES = 15;

/** The maximum idle time, in minutes. */
const MAX_IDLE = 24 * 60;

/**
 * Applies a change of the settings. It throws an Error with a message for the user.
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
        if (value !== 'shared' && value !== 'all') throw new Error('access must be "shared" or "all"');
        next.access = value;
        break;
      case 'stopOnLock':
      case 'mayClose':
      case 'ownWindow':
        if (typeof value !== 'boolean') throw new Error(`${key} must be on or off`);
        next[key] = value;
        break;
      case 'idleMinutes':
        if (typeof value !== 'number' || !Number.isInteger(value) || value < 0 || value > MAX_IDLE) {
          throw new Error(`the idle time must be a whole number of minutes up to ${MAX_IDLE}; 0 means never`);
        }
        next.idleMinutes = value;
        break;
      case 'shareIdleMinutes':
        if (typeof value !== 'number' || !Number.isInteger(value) || value < 1 || value > MAX_IDLE) {
          throw new Error(`the idle time must be a whole number of minutes from 1 to ${MAX_IDLE}`);
        }
        next.shareIdleMinutes = value;
        break;
      case 'blockList':
        next.blockList = patterns(value);
        break;
      case 'keepSites':
        next.keepSites = origins(value);
        break;
      default:
        throw new Error(`unknown setting ${key}`);
    }
  }
  return next;
}

/** @param {unknown} value */
function patterns(value) {
  if (!isList(value)) throw new Error('the block list must be a list of patterns');
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
  if (!isList(value) || !value.every((s) => /^https?:\/\/[^/?#]+$/.test(s))) throw new Error('sites must be origins such as https://example.com');
  return [...new Set(value)];
}

/** @param {unknown} value @returns {value is string[]} */
function isList(value) {
  return Array.isArray(value) && value.every((s) => typeof s === 'string') && value.length <= 1000;
}

/** The stored settings. */
export class SettingsStore {
  /** @param {chrome.storage.StorageArea} area */
  constructor(area) {
    /** @type {PersistentValue<Partial<Settings>>} */
    this.stored = new PersistentValue(area, 'settings', {});
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
