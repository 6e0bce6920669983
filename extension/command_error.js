// @ts-check

/** @typedef {import('./wire.js').Code} Code */

/** An error of a command, with its code and message for the server. */
export class CommandError extends Error {
  /**
   * @param {Code} code
   * @param {string} message lower case
   * @param {any} [data] with CDP_ERROR: the browser's {code, message}
   */
  constructor(code, message, data) {
    super(message);
    this.code = code;
    this.data = data;
  }
}

/**
 * Returns an error like one of the browser, for a command that is not sent to it.
 *
 * @param {number} code
 * @param {string} message
 */
export function protocolError(code, message) {
  return new CommandError('CDP_ERROR', message, { code, message });
}
