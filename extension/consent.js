// @ts-check

import { NO_CALL_WAITS, PROMPT_TTL_MS } from './permission_prompts.js';
import { PersistentValue } from './persistent_value.js';
import { timing } from './timing.js';

/**
 * A prompt that the popup shows.
 *
 * @typedef {object} ConsentPrompt
 * @property {string} id
 * @property {'eval'} kind
 * @property {string} origin
 * @property {string} server name of the agent
 * @property {string} client name of the agent's CDP client that needs it, "" for a tool
 * @property {number} since ms since 1970
 * @property {boolean} waits a call waits for the answer; if not, "once" is not possible
 */

/** @typedef {import('./questions.js').Asker} Asker */

/**
 * The user's answer: once applies to the waiting calls, session and no last until
 * the browser closes, always is permanent.
 *
 * @typedef {'once' | 'session' | 'always' | 'no'} Answer
 */

/**
 * Returns the key under which consent is stored: the origin and the agent's name. Origins
 * contain no spaces.
 *
 * @param {string} origin
 * @param {string} server
 */
const keyOf = (origin, server) => `${origin} ${server}`;

/**
 * @typedef {ConsentPrompt & {agent: Asker, call: string, waiting: Set<(answer: Answer | undefined) => void>}} OpenPrompt
 */

/**
 * The user's consent to run scripts on a site. It applies to one agent and one
 * origin: once, until the browser closes, or permanently. It is never assumed. Agents are
 * identified by the names of their servers, so that a restarted server keeps its
 * consent.
 */
export class Consent {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {chrome.storage.StorageArea} local
   * @param {() => void} changed
   */
  constructor(session, local, changed) {
    /** @type {PersistentValue<Record<string, boolean>>} */
    this.sessionGrants = new PersistentValue(session, 'evalForNow', {});
    /** @type {PersistentValue<Record<string, boolean>>} */
    this.permanentGrants = new PersistentValue(local, 'evalForGood', {});
    /** When each once grant expires. They end with the worker. @type {Map<string, number>} */
    this.once = new Map();
    this.ready = Promise.all([this.sessionGrants.ready, this.permanentGrants.ready]);
    this.changed = changed;
    /** @type {Map<string, OpenPrompt>} */
    this.questions = new Map();
    this.count = 0;
  }

  /**
   * Returns the stored answer of the user.
   * @param {string} origin
   * @param {string} server its name
   * @returns {boolean | undefined} undefined if there is none
   */
  storedAnswer(origin, server) {
    if (origin === '') return undefined;
    const key = keyOf(origin, server);
    for (const { value } of [this.sessionGrants, this.permanentGrants]) if (Object.hasOwn(value, key)) return value[key];
    return undefined;
  }

  /**
   * Reports whether a script may run now. A current once grant counts.
   * @param {string} origin
   * @param {Asker} agent
   */
  answer(origin, agent) {
    if (origin !== '' && Date.now() < (this.once.get(keyOf(origin, agent.key)) ?? 0)) return true;
    return this.storedAnswer(origin, agent.name);
  }

  /**
   * Opens a prompt, or returns the open one. Only identical calls share a prompt.
   *
   * @param {string} origin
   * @param {Asker} agent
   * @param {string} [call] hash of the call, "" for a bare command
   * @param {string} [client] name of the CDP client, "" for a tool
   */
  ask(origin, agent, call = '', client = '') {
    const prompts = [...this.questions.values()].filter((x) => x.origin === origin && x.agent.key === agent.key);
    let q = prompts.find((x) => x.call === call);
    if (!q) {
      for (const old of prompts) if (old.waiting.size === 0) this.questions.delete(old.id); // this prompt replaces it
      const id = `q${++this.count}-${Date.now()}`;
      q = { id, kind: 'eval', origin, server: agent.name, client, since: Date.now(), waits: false, agent, call, waiting: new Set() };
      this.questions.set(id, q);
      setTimeout(() => this.expire(id), PROMPT_TTL_MS);
      this.changed();
    }
    return q;
  }

  /** @param {string} id */
  expire(id) {
    const q = this.questions.get(id);
    if (!q) return;
    if (q.waiting.size > 0) {
      setTimeout(() => this.expire(id), PROMPT_TTL_MS);
      return;
    }
    this.questions.delete(id);
    this.changed();
  }

  /**
   * Opens a prompt and waits. A once grant of another call does not apply.
   *
   * @param {string} origin
   * @param {Asker} agent
   * @param {string} call hash of the call
   * @param {number} ms
   * @param {string} [client] name of the CDP client, "" for a tool
   * @returns {Promise<{granted: boolean, answer?: Answer} | undefined>} undefined without an answer
   *   in time
   */
  wait(origin, agent, call, ms, client = '') {
    const known = this.storedAnswer(origin, agent.name);
    if (known !== undefined) return Promise.resolve({ granted: known });
    const q = this.ask(origin, agent, call, client);
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
   * @returns {Promise<ConsentPrompt | undefined>} what was answered
   */
  async reply(id, answer) {
    const q = this.questions.get(id);
    if (!q) return;
    if (answer === 'once') {
      if (q.waiting.size === 0) throw new Error(NO_CALL_WAITS);
      this.once.set(keyOf(q.origin, q.agent.key), Date.now() + timing.hangLimits.onceGrant);
    } else {
      const stored = answer === 'always' ? this.permanentGrants : this.sessionGrants;
      stored.value[keyOf(q.origin, q.server)] = answer !== 'no';
      await stored.save();
    }
    this.questions.delete(id);
    for (const done of [...q.waiting]) done(answer);
    this.changed();
    return q;
  }

  /**
   * Cancels the waiting calls and once grants of a server whose connection was lost.
   * @param {string} server its key
   */
  abandon(server) {
    for (const key of this.once.keys()) if (key.endsWith(` ${server}`)) this.once.delete(key);
    for (const q of this.questions.values()) {
      if (q.agent.key === server) for (const done of [...q.waiting]) done(undefined);
    }
  }

  /** @param {string} origin @param {string} [server] name of the agent; if missing, all agents */
  async forget(origin, server) {
    const matches = (/** @type {string} */ key) => (server === undefined ? key.startsWith(keyOf(origin, '')) : key === keyOf(origin, server));
    for (const key of this.once.keys()) if (key.startsWith(keyOf(origin, ''))) this.once.delete(key);
    for (const { value } of [this.sessionGrants, this.permanentGrants]) for (const key of Object.keys(value)) if (matches(key)) delete value[key];
    await Promise.all([this.sessionGrants.save(), this.permanentGrants.save()]);
    this.changed();
  }

  /** @returns {{origin: string, server: string, granted: boolean, always: boolean}[]} */
  list() {
    const listed = (/** @type {PersistentValue<Record<string, boolean>>} */ stored, /** @type {boolean} */ always) => Object.entries(stored.value).map(([key, granted]) => {
      const at = key.indexOf(' ');
      return { origin: key.slice(0, at), server: key.slice(at + 1), granted, always };
    });
    return [...listed(this.permanentGrants, true), ...listed(this.sessionGrants, false)];
  }

  /** Returns the number of open prompts of a server. @param {string} server its key */
  countOf(server) {
    return [...this.questions.values()].filter((q) => q.agent.key === server).length;
  }

  /** @returns {ConsentPrompt[]} */
  open() {
    return [...this.questions.values()].map(({ waiting, agent, call, ...q }) => ({ ...q, waits: waiting.size > 0 }));
  }
}
