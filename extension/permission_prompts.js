// @ts-check

import { Questions } from './questions.js';

/**
 * What an agent lacks and the user can grant at run time. The server stores the
 * grants and sends the changed policy. Here the user is only prompted.
 *
 * @typedef {'site' | 'mutations' | 'downloads' | 'clipboard'} PermissionKind
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
export const PROMPT_KINDS = ['site', 'mutations', 'downloads', 'clipboard'];

/** How long a prompt is shown if no call waits for the answer, in ms. */
export const PROMPT_TTL_MS = 5 * 60_000;

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
const scopeOf = (server, { client, kind, origin }) => JSON.stringify([server, client, kind, kind === 'site' || kind === 'clipboard' ? origin : '']);

/**
 * The prompts of servers, and the answers that no call has received yet. The stored ones are never
 * "once", which applies to waiting calls only.
 *
 * @extends {Questions<PermissionPrompt, PermissionAnswer>}
 */
export class PermissionPrompts extends Questions {
  /** @param {() => void} changed */
  constructor(changed) {
    super('p', PROMPT_TTL_MS, changed);
  }

  /**
   * Opens a prompt and waits. The answer applies to the calls that are waiting. A
   * later session or no answer applies to the next call.
   *
   * @param {import('./questions.js').Asker} server
   * @param {PermissionRequest} what
   * @param {number} ms
   * @returns {Promise<PermissionAnswer | undefined>} undefined if there was no answer in time
   */
  wait(server, what, ms) {
    const { kind, origin, tool } = what;
    const scope = scopeOf(server.key, what);
    return this.awaitAnswer(server, { key: keyOf(server.key, what), scope }, (id, since) => {
      this.removeAll((q) => q.scope === scope && q.waiting.size === 0); // this prompt replaces them
      return { id, kind, origin, tool, server: server.name, since, waits: true };
    }, ms);
  }

  /**
   * Accepts the user's answer. Throws if it is "once" and no call waits.
   *
   * @param {string} id
   * @param {PermissionAnswer} answer
   * @returns {PermissionPrompt | undefined} the answered prompt
   */
  reply(id, answer) {
    if (answer === 'once' && this.find(id)?.waiting.size === 0) throw new Error(NO_CALL_WAITS);
    return this.accept(id, answer);
  }

  /** @override @returns {PermissionPrompt[]} */
  open() {
    return [...this.questions.values()].map((q) => ({ ...q.shown, waits: q.waiting.size > 0 }));
  }
}
