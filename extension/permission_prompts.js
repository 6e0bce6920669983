// @ts-check

/**
 * What an agent lacks and the user can grant at run time. The server stores the
 * grants and sends the changed policy. Here the user is only prompted.
 *
 * @typedef {'site' | 'mutations' | 'downloads'} PermissionKind
 * @typedef {'once' | 'session' | 'no'} PermissionAnswer
 */

/**
 * A prompt that the popup shows.
 *
 * @typedef {object} PermissionPrompt
 * @property {string} id
 * @property {PermissionKind} kind
 * @property {string} origin the site that the call is about
 * @property {string} tool the tool that was called
 * @property {string} server name of the agent
 * @property {number} since ms since 1970
 * @property {boolean} waits a call waits for the answer; if not, "once" is not possible
 */

/**
 * The permission that a call needs.
 *
 * @typedef {object} PermissionRequest
 * @property {PermissionKind} kind
 * @property {string} origin
 * @property {string} tool
 * @property {string} client id of the server's client, chosen by the server
 * @property {string} call hash of the call: the tool and its arguments
 */

/** @type {PermissionKind[]} */
export const PROMPT_KINDS = ['site', 'mutations', 'downloads'];

/** How long a prompt is shown if no call waits for the answer, in ms. */
const PROMPT_TTL_MS = 5 * 60_000;

/** How long a session or no answer is stored for the next call, in ms. */
const ANSWER_TTL_MS = 10 * 60_000;

/** Why the answer "once" is rejected. */
export const NO_CALL_WAITS = 'the call is no longer waiting; you can allow it once when the agent repeats it';

/**
 * Returns the key of a prompt. Calls share a prompt only if all of these values are equal.
 *
 * @param {string} server its key
 * @param {PermissionRequest} what
 */
const keyOf = (server, { client, kind, origin, tool, call }) => JSON.stringify([server, client, kind, origin, tool, call]);

/**
 * Returns the scope of a session or no answer, which does not depend on the call.
 *
 * @param {string} server its key
 * @param {PermissionRequest} what
 */
const scopeOf = (server, { client, kind, origin }) => JSON.stringify([server, client, kind, kind === 'site' ? origin : '']);

/**
 * @typedef {PermissionPrompt & {key: string, scope: string, waiting: Set<(answer: PermissionAnswer | undefined) => void>}} OpenPrompt
 */

/** The prompts of servers, and the answers that no call has received yet. */
export class PermissionPrompts {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** Prompts by key. @type {Map<string, OpenPrompt>} */
    this.questions = new Map();
    /**
     * Answers by scope. Never "once", which applies to waiting calls only.
     * @type {Map<string, {answer: PermissionAnswer, until: number}>}
     */
    this.answers = new Map();
    this.count = 0;
  }

  /**
   * Opens a prompt and waits. The answer applies to the calls that are waiting. A
   * later session or no answer applies to the next call.
   *
   * @param {{key: string, name: string}} server
   * @param {PermissionRequest} what
   * @param {number} ms
   * @returns {Promise<PermissionAnswer | undefined>} undefined if there was no answer in time
   */
  wait(server, what, ms) {
    const key = keyOf(server.key, what);
    const scope = scopeOf(server.key, what);
    const stored = this.answers.get(scope);
    this.answers.delete(scope);
    if (stored && Date.now() < stored.until) return Promise.resolve(stored.answer);
    const q = this.questions.get(key) ?? this.ask(server, what, key, scope);
    const { waiting } = q;
    return new Promise((resolve) => {
      /** @param {PermissionAnswer | undefined} answer */
      const done = (answer) => {
        clearTimeout(timer);
        waiting.delete(done);
        resolve(answer);
        this.changed();
      };
      const timer = setTimeout(() => done(undefined), ms);
      waiting.add(done);
      this.changed();
    });
  }

  /**
   * @param {{key: string, name: string}} server
   * @param {PermissionRequest} what
   * @param {string} key
   * @param {string} scope
   */
  ask(server, { kind, origin, tool }, key, scope) {
    for (const old of [...this.questions.values()]) {
      if (old.scope === scope && old.waiting.size === 0) this.questions.delete(old.key); // this prompt replaces it
    }
    /** @type {OpenPrompt} */
    const q = { id: `p${++this.count}-${Date.now()}`, kind, origin, tool, server: server.name, since: Date.now(), waits: true, key, scope, waiting: new Set() };
    this.questions.set(key, q);
    setTimeout(() => this.expire(key, q.id), PROMPT_TTL_MS);
    return q;
  }

  /** @param {string} key @param {string} id */
  expire(key, id) {
    const q = this.questions.get(key);
    if (q?.id !== id) return;
    if (q.waiting.size > 0) {
      setTimeout(() => this.expire(key, id), PROMPT_TTL_MS);
      return;
    }
    this.questions.delete(key);
    this.changed();
  }

  /**
   * Accepts the user's answer. Throws if it is "once" and no call waits.
   *
   * @param {string} id
   * @param {PermissionAnswer} answer
   * @returns {PermissionPrompt | undefined} the answered prompt
   */
  reply(id, answer) {
    const q = [...this.questions.values()].find((x) => x.id === id);
    if (!q) return undefined;
    if (q.waiting.size > 0) {
      for (const done of [...q.waiting]) done(answer);
    } else {
      if (answer === 'once') throw new Error(NO_CALL_WAITS);
      this.answers.set(q.scope, { answer, until: Date.now() + ANSWER_TTL_MS });
    }
    this.questions.delete(q.key);
    this.changed();
    return q;
  }

  /**
   * Cancels the waiting calls of a server whose connection was lost.
   * @param {string} server its key
   */
  abandon(server) {
    for (const q of this.questions.values()) {
      if (serverOf(q.scope) === server) for (const done of [...q.waiting]) done(undefined);
    }
  }

  /** Removes the prompts and answers of a server that exited. @param {string} server its key */
  forget(server) {
    for (const map of [this.questions, this.answers]) for (const key of map.keys()) if (serverOf(key) === server) map.delete(key);
  }

  /** @returns {PermissionPrompt[]} */
  open() {
    return [...this.questions.values()].map(({ waiting, key, scope, ...q }) => ({ ...q, waits: waiting.size > 0 }));
  }
}

/** @param {string} key a prompt key or scope @returns {string} key of the server */
const serverOf = (key) => JSON.parse(key)[0];
