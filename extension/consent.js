// @ts-check

import { NO_CALL_WAITS } from './permits.js';
import { Stored } from './store.js';

/**
 * A prompt that the popup shows.
 *
 * @typedef {object} Question
 * @property {string} id
 * @property {'eval'} kind
 * @property {string} origin
 * @property {string} server who asks, in words
 * @property {number} since ms since 1970
 * @property {boolean} waits a call waits for the answer; otherwise "once" is not possible
 */

/**
 * The agent that asks: the key of a server, unique per process, and its name.
 *
 * @typedef {{key: string, name: string}} Agent
 */

/**
 * The user's answer: once applies to the waiting calls, session and no last until
 * the browser closes, always is permanent.
 *
 * @typedef {'once' | 'session' | 'always' | 'no'} Answer
 */

/** How long a once grant lasts, in ms: the waiting call runs its script
 * immediately and then reads the result. */
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

/** @typedef {Question & {agent: Agent, call: string, waiting: Set<(answer: Answer | undefined) => void>}} OpenQuestion */

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
    /** @type {Map<string, OpenQuestion>} */
    this.questions = new Map();
    this.count = 0;
  }

  /** Returns the stored answer of the user. @param {string} origin @param {string} server its name @returns {boolean | undefined} undefined if there is none */
  kept(origin, server) {
    if (origin === '') return undefined;
    const key = keyOf(origin, server);
    for (const { value } of [this.forNow, this.forGood]) if (Object.hasOwn(value, key)) return value[key];
    return undefined;
  }

  /** Reports whether a script may run now. A current once grant counts. @param {string} origin @param {Agent} agent */
  answer(origin, agent) {
    if (origin !== '' && Date.now() < (this.once.get(keyOf(origin, agent.key)) ?? 0)) return true;
    return this.kept(origin, agent.name);
  }

  /**
   * Opens a prompt, or returns the open one. Only identical calls share a prompt.
   *
   * @param {string} origin
   * @param {Agent} agent
   * @param {string} [call] hash of the call, "" for a bare command
   */
  ask(origin, agent, call = '') {
    const asked = [...this.questions.values()].filter((x) => x.origin === origin && x.agent.key === agent.key);
    let q = asked.find((x) => x.call === call);
    if (!q) {
      for (const old of asked) if (old.waiting.size === 0) this.questions.delete(old.id); // this prompt replaces it
      const id = `q${++this.count}-${Date.now()}`;
      q = { id, kind: 'eval', origin, server: agent.name, since: Date.now(), waits: false, agent, call, waiting: new Set() };
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
   * Opens a prompt and waits. A once grant of another call does not apply.
   *
   * @param {string} origin
   * @param {Agent} agent
   * @param {string} call hash of the call
   * @param {number} ms
   * @returns {Promise<{granted: boolean, answer?: Answer} | undefined>} undefined without an answer in time
   */
  wait(origin, agent, call, ms) {
    const known = this.kept(origin, agent.name);
    if (known !== undefined) return Promise.resolve({ granted: known });
    const q = this.ask(origin, agent, call);
    return new Promise((resolve) => {
      /** @param {Answer | undefined} answer */
      const done = (answer) => {
        clearTimeout(timer);
        q.waiting.delete(done);
        resolve(answer && { granted: answer !== 'no', answer });
        this.changed();
      };
      const timer = setTimeout(() => done(undefined), ms);
      q.waiting.add(done);
      this.changed();
    });
  }

  /**
   * Accepts the user's answer, and stores it before any call uses it. Throws if
   * the answer is "once" and no call waits.
   *
   * @param {string} id
   * @param {Answer} answer
   * @returns {Promise<Question | undefined>} what was answered
   */
  async reply(id, answer) {
    const q = this.questions.get(id);
    if (!q) return;
    if (answer === 'once') {
      if (q.waiting.size === 0) throw new Error(NO_CALL_WAITS);
      this.once.set(keyOf(q.origin, q.agent.key), Date.now() + ONCE_LASTS);
    } else {
      const stored = answer === 'always' ? this.forGood : this.forNow;
      stored.value[keyOf(q.origin, q.server)] = answer !== 'no';
      await stored.save();
    }
    this.questions.delete(id);
    for (const done of [...q.waiting]) done(answer);
    this.changed();
    return q;
  }

  /** Cancels the waiting calls and once grants of a server whose connection was lost. @param {string} server its key */
  abandon(server) {
    for (const key of this.once.keys()) if (key.endsWith(` ${server}`)) this.once.delete(key);
    for (const q of this.questions.values()) {
      if (q.agent.key === server) for (const done of [...q.waiting]) done(undefined);
    }
  }

  /** @param {string} origin @param {string} [server] all that asked, without */
  async forget(origin, server) {
    const meant = (/** @type {string} */ key) => (server === undefined ? key.startsWith(keyOf(origin, '')) : key === keyOf(origin, server));
    for (const key of this.once.keys()) if (key.startsWith(keyOf(origin, ''))) this.once.delete(key);
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
    return [...this.questions.values()].map(({ waiting, agent, call, ...q }) => ({ ...q, waits: waiting.size > 0 }));
  }
}
