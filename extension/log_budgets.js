// @ts-check

/** Events that a page can cause as often as it likes. */
const LOG_EVENTS = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown']);

/** The event that reports dropped events, in their place. */
const DROPPED = 'ChromeMCP.eventsDropped';

/** How long dropped events are counted before they are reported, in ms. */
const DROPPED_PAUSE = 250;

/** The limits of one log event of one session, in characters: the burst, and the rate per
 * second. Each event counts as EXTRA more. internal/cdpconn has the same limits. */
const BURST = 8 << 20;
const RATE = 2 << 20;
const EXTRA = 200;

/** The characters that one log event of one session may still contain, and the events that
 * exceeded them. */
class Budget {
  constructor() {
    this.left = BURST;
    this.at = performance.now();
    this.dropped = 0;
  }

  /** Consumes a number of characters if they are available. @param {number} size */
  spend(size) {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + (now - this.at) * RATE / 1000);
    this.at = now;
    if (this.left < size) return false;
    this.left -= size;
    return true;
  }
}

/** Limits the log events of a tab that are sent: a page can log faster than the WebSocket and the
 * server can process, and the responses to commands would be delayed. */
export class LogBudgets {
  /** @param {(sessionId: string, method: string, params: any) => void} send sends an event to the server */
  constructor(send) {
    this.send = send;
    /** By session and log event. @type {Map<string, Budget>} */
    this.budgets = new Map();
  }

  /**
   * Reports whether an event may be sent. A log event that exceeds its limit is counted, and the
   * count is reported after DROPPED_PAUSE.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  allows(sessionId, method, params) {
    if (!LOG_EVENTS.has(method)) return true;
    const key = `${sessionId} ${method}`;
    const budget = this.budgets.get(key) ?? new Budget();
    this.budgets.set(key, budget);
    if (budget.spend(sizeOf(params) + EXTRA)) return true;
    if (budget.dropped++ === 0) {
      setTimeout(() => {
        this.send(sessionId, DROPPED, { method, count: budget.dropped });
        budget.dropped = 0;
      }, DROPPED_PAUSE);
    }
    return false;
  }

  /** Removes the budgets of a session that was closed. @param {string} sessionId */
  forget(sessionId) {
    for (const method of LOG_EVENTS) this.budgets.delete(`${sessionId} ${method}`);
  }
}

/**
 * Counts the characters of the strings in the parameters of an event.
 *
 * @param {unknown} value
 * @returns {number}
 */
function sizeOf(value) {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 0;
  for (const part of Object.values(value)) size += sizeOf(part);
  return size;
}
