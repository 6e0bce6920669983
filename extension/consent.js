// @ts-check

import { Stored } from './store.js';

/**
 * A question that waits for the user in the popup.
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {'eval'} kind
 * @property {string} origin
 * @property {string} server who asks, in words
 * @property {number} since ms since 1970
 */

/**
 * What the user says: once is what is asked now, session is until the browser
 * closes, always is for good; no is until the browser closes.
 *
 * @typedef {'once' | 'session' | 'always' | 'no'} Answer
 */

/** How long a leave for once waits to be used, and how long it lasts from its
 * first use on, in ms: a script is run, then what it gave is read. */
const ONCE_WAITS = 10 * 60_000;
const ONCE_LASTS = 10_000;

/** How long a question is shown when nobody waits for its answer, in ms. */
const SHOWN_FOR = 5 * 60_000;

/**
 * What a leave is kept under: an origin and who asked, by name. Origins have
 * no spaces.
 *
 * @param {string} origin
 * @param {string} server
 */
const keyOf = (origin, server) => `${origin} ${server}`;

/**
 * The user's leave for running scripts in the pages of a site. It is given to
 * one agent for an origin: once, until the browser closes, or for good; it is
 * never assumed. Agents are told apart by the names of their servers, so that
 * one that is started again is the same.
 */
export class Consent {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {chrome.storage.StorageArea} local
   * @param {() => void} changed
   */
  constructor(session, local, changed) {
    /** @type {Stored<Record<string, boolean>>} */
    this.forNow = new Stored(session, 'evalForNow', {});
    /** @type {Stored<Record<string, boolean>>} */
    this.forGood = new Stored(local, 'evalForGood', {});
    /** Until when each leave for once holds. It dies with the worker. @type {Map<string, number>} */
    this.once = new Map();
    this.ready = Promise.all([this.forNow.ready, this.forGood.ready]);
    this.changed = changed;
    /** @type {Map<string, Question & {waiting: Set<(granted: boolean) => void>}>} */
    this.questions = new Map();
    this.count = 0;
  }

  /** @param {string} origin @param {string} server @returns {boolean | undefined} undefined while nobody said anything */
  answer(origin, server) {
    if (origin === '') return undefined;
    const key = keyOf(origin, server);
    if (Date.now() < (this.once.get(key) ?? 0)) return true;
    if (Object.hasOwn(this.forNow.value, key)) return this.forNow.value[key];
    if (Object.hasOwn(this.forGood.value, key)) return this.forGood.value[key];
    return undefined;
  }

  /** The same, for something that is about to be done: uses up a leave for once. @param {string} origin @param {string} server */
  use(origin, server) {
    const answer = this.answer(origin, server);
    const key = keyOf(origin, server);
    const until = this.once.get(key);
    if (until !== undefined) this.once.set(key, Math.min(until, Date.now() + ONCE_LASTS));
    return answer;
  }

  /**
   * Asks, or finds the question that is open already.
   *
   * @param {string} origin
   * @param {string} server
   */
  ask(origin, server) {
    let q = [...this.questions.values()].find((x) => x.origin === origin && x.server === server);
    if (!q) {
      const id = `q${++this.count}-${Date.now()}`;
      q = { id, kind: 'eval', origin, server, since: Date.now(), waiting: new Set() };
      this.questions.set(id, q);
      setTimeout(() => this.expire(id), SHOWN_FOR);
      this.changed();
    }
    return q;
  }

  /** @param {string} id */
  expire(id) {
    const q = this.questions.get(id);
    if (!q) return;
    if (q.waiting.size > 0) {
      setTimeout(() => this.expire(id), SHOWN_FOR);
      return;
    }
    this.questions.delete(id);
    this.changed();
  }

  /**
   * Asks and waits.
   *
   * @param {string} origin
   * @param {string} server
   * @param {number} ms
   * @returns {Promise<boolean | undefined>} undefined when there was no answer in time
   */
  wait(origin, server, ms) {
    const known = this.answer(origin, server);
    if (known !== undefined) return Promise.resolve(known);
    const q = this.ask(origin, server);
    return new Promise((resolve) => {
      /** @param {boolean} granted */
      const done = (granted) => {
        clearTimeout(timer);
        resolve(granted);
      };
      const timer = setTimeout(() => {
        q.waiting.delete(done);
        resolve(undefined);
      }, ms);
      q.waiting.add(done);
    });
  }

  /**
   * Takes the user's answer. It is stored before anybody acts on it.
   *
   * @param {string} id
   * @param {Answer} answer
   * @returns {Promise<Question | undefined>} what was answered
   */
  async reply(id, answer) {
    const q = this.questions.get(id);
    if (!q) return;
    const granted = answer !== 'no';
    const key = keyOf(q.origin, q.server);
    if (answer === 'once') {
      this.once.set(key, Date.now() + ONCE_WAITS);
    } else {
      const stored = answer === 'always' ? this.forGood : this.forNow;
      stored.value[key] = granted;
      await stored.save();
    }
    this.questions.delete(id);
    for (const done of q.waiting) done(granted);
    this.changed();
    return q;
  }

  /** @param {string} origin @param {string} [server] all that asked, without */
  async forget(origin, server) {
    const meant = (/** @type {string} */ key) => (server === undefined ? key.startsWith(keyOf(origin, '')) : key === keyOf(origin, server));
    for (const key of this.once.keys()) if (meant(key)) this.once.delete(key);
    for (const { value } of [this.forNow, this.forGood]) for (const key of Object.keys(value)) if (meant(key)) delete value[key];
    await Promise.all([this.forNow.save(), this.forGood.save()]);
    this.changed();
  }

  /** @returns {{origin: string, server: string, granted: boolean, always: boolean}[]} */
  list() {
    const listed = (/** @type {Stored<Record<string, boolean>>} */ stored, /** @type {boolean} */ always) => Object.entries(stored.value).map(([key, granted]) => {
      const at = key.indexOf(' ');
      return { origin: key.slice(0, at), server: key.slice(at + 1), granted, always };
    });
    return [...listed(this.forGood, true), ...listed(this.forNow, false)];
  }

  /** @returns {Question[]} */
  open() {
    return [...this.questions.values()].map(({ waiting, ...q }) => q);
  }
}
