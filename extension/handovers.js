// @ts-check

import { Questions } from './questions.js';
import { HANDOVER_ANSWERS } from './wire.js';

/**
 * The user's answer to the question of a handover.
 *
 * @typedef {'done' | 'cannot'} HandoverAnswer
 */

/**
 * A question that the popup shows: an agent asks the user to act in a tab.
 *
 * @typedef {object} HandoverQuestion
 * @property {string} id
 * @property {'handover'} kind
 * @property {number} tabId
 * @property {string} origin the site of the tab when the agent asked
 * @property {string} message what the user is asked to do, written by the agent
 * @property {string} server name of the agent
 * @property {number} since ms since 1970
 * @property {boolean} waits always true: the user can answer at any time
 */

/**
 * A question as its server sends it.
 *
 * @typedef {object} HandoverRequest
 * @property {string} id chosen by the server
 * @property {number} tabId
 * @property {string} origin
 * @property {string} message
 */

/** How long a question is shown while its server does not wait for the answer, in ms. A server repeats
 * its command immediately, also after a reconnection. */
const UNATTENDED_TTL_MS = 60_000;

/** Returns the key of a question. @param {string} server its key @param {string} id */
const keyOf = (server, id) => JSON.stringify([server, id]);

/**
 * The questions of servers about tabs that are handed over to the user.
 *
 * @extends {Questions<HandoverQuestion, HandoverAnswer>}
 */
export class Handovers extends Questions {
  /**
   * @param {() => void} changed
   * @param {{opened: (q: HandoverQuestion) => void, closed: (q: HandoverQuestion) => void}} events
   */
  constructor(changed, events) {
    super('h', UNATTENDED_TTL_MS, changed);
    this.opened = events.opened;
    this.closed = events.closed;
  }

  /**
   * Opens a question, or continues it, and waits. A tab has one question: a new one replaces it.
   *
   * @param {import('./questions.js').Asker} server
   * @param {HandoverRequest} what
   * @param {number} ms how long to wait
   * @returns {Promise<HandoverAnswer | undefined>} undefined if there was no answer in time
   */
  wait(server, what, ms) {
    const { tabId, origin, message } = what;
    const key = keyOf(server.key, what.id);
    return this.awaitAnswer(server, { key, scope: key }, (id, since) => {
      this.removeAll((q) => q.shown.tabId === tabId);
      return { id, kind: 'handover', tabId, origin, message, server: server.name, since, waits: true };
    }, ms);
  }

  /**
   * Accepts the user's answer.
   *
   * @param {string} id
   * @param {string} answer
   * @returns {HandoverQuestion | undefined} the answered question
   */
  reply(id, answer) {
    const given = HANDOVER_ANSWERS.find((a) => a === answer);
    if (!given) throw new Error('the answer is done or cannot');
    return this.accept(id, given);
  }

  /** Removes a question that was answered elsewhere. @param {string} server its key @param {string} id */
  endQuestion(server, id) {
    const q = this.questions.get(keyOf(server, id));
    if (q) this.remove(q);
  }

  /** Removes the question about a tab that is no longer shared. @param {number} tabId */
  tabUnshared(tabId) {
    this.removeAll((q) => q.shown.tabId === tabId);
  }

  /** Reports whether a tab is handed over. @param {number} tabId */
  hasTab(tabId) {
    return this.open().some((q) => q.tabId === tabId);
  }
}
