// @ts-check

/** Events that a page can cause as often as it likes. */
const LOG_EVENTS = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown']);

/** The event that is sent in place of dropped events, with their number. */
const DROPPED = 'ChromeMCP.eventsDropped';

/** How long dropped events are counted before the count is sent, in ms. */
const DROPPED_PAUSE = 250;

/** The budget of one kind of log event in one session, in characters: its maximum, and how much it
 * regains per second. Each event costs EVENT_COST more than its characters. internal/cdpconn has the
 * same limits. */
const BURST = 8 << 20;
const RATE = 2 << 20;
const EVENT_COST = 200;

/** The budget of one kind of log event in one session, and the number of events that exceeded it. */
class Budget {
  constructor() {
    this.left = BURST;
    this.updatedAt = performance.now();
    /** How many events were dropped and are not reported yet. */
    this.dropped = 0;
  }

  /** Spends a number of characters, and returns whether there were enough. @param {number} size */
  spend(size) {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + (now - this.updatedAt) * RATE / 1000);
    this.updatedAt = now;
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
    /** By session id and method. @type {Map<string, Budget>} */
    this.budgets = new Map();
  }

  /**
   * Reports whether an event may be sent. A log event that exceeds its budget is counted, and the
   * count is sent after DROPPED_PAUSE.
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
    if (budget.spend(sizeOf(params) + EVENT_COST)) return true;
    if (budget.dropped++ === 0) {
      setTimeout(() => {
        this.send(sessionId, DROPPED, { method, count: budget.dropped });
        budget.dropped = 0;
      }, DROPPED_PAUSE);
    }
    return false;
  }

  /** Removes the budgets of a session that was detached. @param {string} sessionId */
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
