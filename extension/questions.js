// @ts-check

/** How long an answer is stored for the next command with its scope, in ms. */
const ANSWER_TTL_MS = 10 * 60_000;

/**
 * A server that asks: its key, unique per process, and its name.
 *
 * @typedef {{key: string, name: string}} Asker
 */

/**
 * What identifies a question. Commands with the same key share a question. An answer that arrives
 * while no command waits is stored for the next command with the same scope. Both are JSON arrays
 * that begin with the key of the server.
 *
 * @typedef {{key: string, scope: string}} Identity
 */

/**
 * An open question.
 *
 * @template {{id: string}} Q what the popup shows
 * @template {string} A the answers
 * @typedef {{shown: Q, from: string, waiting: Set<(answer: A | undefined) => void>, timer: ReturnType<typeof setTimeout> | undefined} & Identity} Open
 */

/**
 * The open questions of servers to the user, and the answers that no command has received yet.
 *
 * @template {{id: string}} Q what the popup shows
 * @template {string} A the answers
 */
export class Questions {
  /**
   * @param {string} prefix of the ids
   * @param {number} ttl how long a question is shown while no command waits for the answer, in ms
   * @param {() => void} changed
   */
  constructor(prefix, ttl, changed) {
    this.prefix = prefix;
    this.ttl = ttl;
    this.changed = changed;
    /** Questions by key. @type {Map<string, Open<Q, A>>} */
    this.questions = new Map();
    /** Answers by scope. @type {Map<string, {answer: A, until: number}>} */
    this.answers = new Map();
    this.count = 0;
  }

  /**
   * Opens a question, unless it is open, and waits for the answer.
   *
   * @param {Asker} server
   * @param {Identity} identity
   * @param {(id: string, since: number) => Q} create returns a new question
   * @param {number} ms how long to wait
   * @returns {Promise<A | undefined>} undefined if there was no answer in time
   */
  awaitAnswer(server, identity, create, ms) {
    const { scope } = identity;
    const stored = this.answers.get(scope);
    this.answers.delete(scope);
    if (stored && Date.now() < stored.until) return Promise.resolve(stored.answer);
    return this.addWaiting(this.findOrOpen(server, identity, create), ms);
  }

  /**
   * Returns the open question of an identity, or opens it. No command waits for a new question.
   *
   * @param {Asker} server
   * @param {Identity} identity
   * @param {(id: string, since: number) => Q} create returns a new question
   * @returns {Open<Q, A>}
   */
  findOrOpen(server, { key, scope }, create) {
    const known = this.questions.get(key);
    if (known) return known;
    const now = Date.now();
    /** @type {Open<Q, A>} */
    const q = { shown: create(`${this.prefix}${++this.count}-${now}`, now), key, scope, from: server.key, waiting: new Set(), timer: undefined };
    this.questions.set(key, q);
    this.expireLater(q);
    this.opened(q.shown);
    this.changed();
    return q;
  }

  /** Removes a question after its ttl, unless a command starts to wait. @param {Open<Q, A>} q */
  expireLater(q) {
    q.timer = setTimeout(() => this.remove(q), this.ttl);
  }

  /**
   * Waits for the answer to a question. The question expires while no command waits.
   *
   * @param {Open<Q, A>} q
   * @param {number} ms how long to wait
   * @returns {Promise<A | undefined>}
   */
  addWaiting(q, ms) {
    clearTimeout(q.timer);
    return new Promise((resolve) => {
      /** @param {A | undefined} answer */
      const done = (answer) => {
        clearTimeout(timer);
        q.waiting.delete(done);
        if (q.waiting.size === 0 && this.questions.get(q.key) === q) this.expireLater(q);
        resolve(answer);
        this.changed();
      };
      const timer = setTimeout(() => done(undefined), ms);
      q.waiting.add(done);
      this.changed();
    });
  }

  /**
   * Removes a question. The waiting commands receive the answer.
   *
   * @param {Open<Q, A>} q
   * @param {A} [answer]
   */
  remove(q, answer) {
    clearTimeout(q.timer);
    this.questions.delete(q.key);
    for (const done of [...q.waiting]) done(answer);
    this.closed(q.shown);
    this.changed();
  }

  /** Removes the questions for which test returns true. @param {(q: Open<Q, A>) => boolean} test */
  removeAll(test) {
    for (const q of [...this.questions.values()]) if (test(q)) this.remove(q);
  }

  /**
   * Is called with a question that was opened.
   * @param {Q} _
   */
  opened(_) {}

  /**
   * Is called with a question that was removed.
   * @param {Q} _
   */
  closed(_) {}

  /**
   * Applies the user's answer to the waiting commands, or stores it for the next one.
   *
   * @param {string} id
   * @param {A} answer
   * @returns {Q | undefined} the answered question
   */
  accept(id, answer) {
    const q = this.find(id);
    if (!q) return undefined;
    if (q.waiting.size === 0) this.answers.set(q.scope, { answer, until: Date.now() + ANSWER_TTL_MS });
    this.remove(q, answer);
    return q.shown;
  }

  /** Returns the question with an id. @param {string} id */
  find(id) {
    return [...this.questions.values()].find((q) => q.shown.id === id);
  }

  /** Cancels the waiting commands of a server whose connection was lost. @param {string} server its key */
  abandon(server) {
    for (const q of this.questions.values()) if (q.from === server) for (const done of [...q.waiting]) done(undefined);
  }

  /** Removes the questions and answers of a server that exited. @param {string} server its key */
  forget(server) {
    this.removeAll((q) => q.from === server);
    for (const scope of this.answers.keys()) if (JSON.parse(scope)[0] === server) this.answers.delete(scope);
  }

  /** Returns the number of open questions of a server. @param {string} server its key */
  countOf(server) {
    return [...this.questions.values()].filter((q) => q.from === server).length;
  }

  /** Returns the open questions. @returns {Q[]} */
  open() {
    return [...this.questions.values()].map((q) => q.shown);
  }
}
