// @ts-check

/**
 * What an agent lacks and its user can permit while it runs. The server keeps
 * what was permitted and tells us the rules anew; here it is only asked.
 *
 * @typedef {'site' | 'mutations' | 'downloads'} PermitKind
 * @typedef {'once' | 'session' | 'no'} PermitAnswer
 */

/**
 * A question that waits for the user in the popup.
 *
 * @typedef {object} PermitQuestion
 * @property {string} id
 * @property {PermitKind} kind
 * @property {string} origin of the site that the call is about
 * @property {string} tool that was called
 * @property {string} server who asks, in words
 * @property {number} since ms since 1970
 */

/** @type {PermitKind[]} */
export const PERMIT_KINDS = ['site', 'mutations', 'downloads'];

/** How long a question is shown when nobody waits for its answer, in ms. */
const SHOWN_FOR = 5 * 60_000;

/** How long an answer waits for the call that it is for, in ms. */
const KEPT_FOR = 10 * 60_000;

/** @param {string} server its key @param {PermitKind} kind @param {string} origin */
const keyOf = (server, kind, origin) => `${server} ${kind} ${kind === 'site' ? origin : ''}`;

/** The questions of servers, and the answers that they have not fetched yet. */
export class Permits {
  /** @param {() => void} changed */
  constructor(changed) {
    this.changed = changed;
    /** By what is asked. @type {Map<string, PermitQuestion & {waiting: Set<(answer: PermitAnswer) => void>}>} */
    this.questions = new Map();
    /** @type {Map<string, {answer: PermitAnswer, until: number}>} */
    this.answers = new Map();
    this.count = 0;
  }

  /**
   * Asks and waits. An answer is given out once, to whoever waits or to who
   * asks next.
   *
   * @param {{key: string, name: string}} server
   * @param {{kind: PermitKind, origin: string, tool: string}} what
   * @param {number} ms
   * @returns {Promise<PermitAnswer | undefined>} undefined when there was none in time
   */
  wait(server, what, ms) {
    const key = keyOf(server.key, what.kind, what.origin);
    const kept = this.answers.get(key);
    this.answers.delete(key);
    if (kept && Date.now() < kept.until) return Promise.resolve(kept.answer);
    let q = this.questions.get(key);
    if (!q) {
      q = { id: `p${++this.count}-${Date.now()}`, ...what, server: server.name, since: Date.now(), waiting: new Set() };
      this.questions.set(key, q);
      const { id } = q;
      setTimeout(() => this.expire(key, id), SHOWN_FOR);
      this.changed();
    }
    const { waiting } = q;
    return new Promise((resolve) => {
      /** @param {PermitAnswer} answer */
      const done = (answer) => {
        clearTimeout(timer);
        resolve(answer);
      };
      const timer = setTimeout(() => {
        waiting.delete(done);
        resolve(undefined);
      }, ms);
      waiting.add(done);
    });
  }

  /** @param {string} key @param {string} id */
  expire(key, id) {
    const q = this.questions.get(key);
    if (q?.id !== id) return;
    if (q.waiting.size > 0) {
      setTimeout(() => this.expire(key, id), SHOWN_FOR);
      return;
    }
    this.questions.delete(key);
    this.changed();
  }

  /**
   * Takes the user's answer.
   *
   * @param {string} id
   * @param {PermitAnswer} answer
   * @returns {PermitQuestion | undefined} what was answered
   */
  reply(id, answer) {
    for (const [key, q] of this.questions) {
      if (q.id !== id) continue;
      this.questions.delete(key);
      if (q.waiting.size === 0) this.answers.set(key, { answer, until: Date.now() + KEPT_FOR });
      for (const done of q.waiting) done(answer);
      this.changed();
      return q;
    }
    return undefined;
  }

  /** Drops what a server asked that is gone. @param {string} server its key */
  forget(server) {
    for (const map of [this.questions, this.answers]) for (const key of map.keys()) if (key.startsWith(`${server} `)) map.delete(key);
  }

  /** @returns {PermitQuestion[]} */
  open() {
    return [...this.questions.values()].map(({ waiting, ...q }) => q);
  }
}
