// @ts-check
// Listeners that a page cannot replace, and reports to Go.

export const { addEventListener: addListener, removeEventListener: removeListener } = EventTarget.prototype;

/**
 * report sends a message to Go, which arrives even if a dialog or a navigation discards the result
 * of the current call.
 * @param {object} message
 */
export function report(message) {
  const send = Object.hasOwn(globalThis, '__cmReport') && /** @type {any} */ (globalThis).__cmReport;
  if (typeof send === 'function') send(JSON.stringify(message));
}
