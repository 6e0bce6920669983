// @ts-check

/** @typedef {import('./wire.js').Code} Code */

/** A command that is not carried out, with the code and the words for the server. */
export class Refusal extends Error {
  /**
   * @param {Code} code
   * @param {string} message what happened, in lower case
   * @param {any} [data] with CDP_ERROR: the browser's own {code, message}
   */
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * An answer of the browser that it did not have to be asked for.
 *
 * @param {number} code
 * @param {string} message
 */
export function protocolError(code, message) {
  return new Refusal('CDP_ERROR', message, { code, message });
}
