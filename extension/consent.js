// @ts-check

import { NO_CALL_WAITS, PROMPT_TTL_MS } from './permission_prompts.js';
import { PersistentValue } from './persistent_value.js';
import { Questions } from './questions.js';
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
 * Returns the key of a grant. Origins contain no spaces.
 *
 * @param {string} origin
 * @param {string} server the name of the agent's server; for a once grant, the server's key
 */
const grantKey = (origin, server) => `${origin} ${server}`;

/**
 * The user's consent to run scripts on a site. It applies to one agent and one
 * origin: once, until the browser closes, or permanently. It is never assumed. Agents are
 * identified by the names of their servers, so that a restarted server keeps its
 * consent, except that a once grant ends with the server.
 *
 * @extends {Questions<ConsentPrompt, Answer>}
 */
export class Consent extends Questions {
  /**
   * @param {chrome.storage.StorageArea} session
   * @param {chrome.storage.StorageArea} local
   * @param {() => void} changed
   */
  constructor(session, local, changed) {
    super('q', PROMPT_TTL_MS, changed);
    /** By name of the server. @type {PersistentValue<Record<string, boolean>>} */
    this.sessionGrants = new PersistentValue(session, 'evalForNow', {});
    /** By name of the server. @type {PersistentValue<Record<string, boolean>>} */
    this.permanentGrants = new PersistentValue(local, 'evalForGood', {});
    /** When each once grant expires, by key of the server. They end with the worker. @type {Map<string, number>} */
    this.once = new Map();
    this.ready = Promise.all([this.sessionGrants.ready, this.permanentGrants.ready]);
  }

  /**
   * Returns the stored answer of the user.
   * @param {string} origin
   * @param {string} serverName
   * @returns {boolean | undefined} undefined if there is none
   */
  storedAnswer(origin, serverName) {
    if (origin === '') return undefined;
    const key = grantKey(origin, serverName);
    for (const { value } of [this.sessionGrants, this.permanentGrants]) if (Object.hasOwn(value, key)) return value[key];
    return undefined;
  }

  /**
   * Reports whether a script may run now. A current once grant counts.
   * @param {string} origin
   * @param {Asker} agent
   * @returns {boolean | undefined} undefined if the user has not decided
   */
  mayRun(origin, agent) {
    if (origin !== '' && Date.now() < (this.once.get(grantKey(origin, agent.key)) ?? 0)) return true;
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
    const scope = JSON.stringify([agent.key, origin]);
    return this.findOrOpen(agent, { key: JSON.stringify([agent.key, origin, call]), scope }, (id, since) => {
      this.removeAll((q) => q.scope === scope && q.waiting.size === 0); // this prompt replaces them
      return { id, kind: 'eval', origin, server: agent.name, client, since, waits: false };
    });
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
  async wait(origin, agent, call, ms, client = '') {
    const known = this.storedAnswer(origin, agent.name);
    if (known !== undefined) return { granted: known };
    const answer = await this.addWaiting(this.ask(origin, agent, call, client), ms);
    return answer && { granted: answer !== 'no', answer };
  }

  /**
   * Accepts the user's answer, and stores it before any call uses it. Throws if
   * the answer is "once" and no call waits.
   *
   * @param {string} id
   * @param {Answer} answer
   * @returns {Promise<ConsentPrompt | undefined>} the answered prompt
   */
  async reply(id, answer) {
    const q = this.find(id);
    if (!q) return;
    const { origin, server } = q.shown;
    if (answer === 'once') {
      if (q.waiting.size === 0) throw new Error(NO_CALL_WAITS);
      this.once.set(grantKey(origin, q.from), Date.now() + timing.hangLimits.onceGrant);
    } else {
      const stored = answer === 'always' ? this.permanentGrants : this.sessionGrants;
      stored.value[grantKey(origin, server)] = answer !== 'no';
      await stored.save();
    }
    this.remove(q, answer);
    return q.shown;
  }

  /**
   * Cancels the waiting calls and once grants of a server whose connection was lost.
   * @override
   * @param {string} serverKey
   */
  abandon(serverKey) {
    for (const key of this.once.keys()) if (key.endsWith(` ${serverKey}`)) this.once.delete(key);
    super.abandon(serverKey);
  }

  /** Removes the user's answers about an origin. @param {string} origin @param {string} [serverName] if missing, for all agents */
  async revoke(origin, serverName) {
    const matches = (/** @type {string} */ key) => (serverName === undefined ? key.startsWith(grantKey(origin, '')) : key === grantKey(origin, serverName));
    for (const key of this.once.keys()) if (key.startsWith(grantKey(origin, ''))) this.once.delete(key);
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

  /** @override @returns {ConsentPrompt[]} */
  open() {
    return [...this.questions.values()].map((q) => ({ ...q.shown, waits: q.waiting.size > 0 }));
  }
}
