// @ts-check

/** The name of the alarm. */
export const ALARM = 'tick';

/** The name of the alarm at which the sharing of a tab ends. */
export const EXPIRY_ALARM = 'expiry';

/**
 * The period of the alarm in minutes: while tabs are shared or a server is connected, and
 * otherwise. The alarm restarts a worker that was terminated. For an extension from the Chrome Web
 * Store, Chrome limits the period to half a minute.
 */
const ACTIVE_PERIOD_MIN = 5 / 60;
const IDLE_PERIOD_MIN = 0.5;

/** The alarms. They restart the worker after it was terminated. */
export class Alarm {
  constructor() {
    /** The current period in minutes, 0 while unknown. */
    this.period = 0;
    this.queue = chrome.alarms.get(ALARM).then((alarm) => {
      this.period = alarm?.periodInMinutes ?? 0;
    }).catch(() => {});
    /** When the expiry alarm is set to, in ms since 1970; Infinity if it is not set. */
    this.expiry = Infinity;
  }

  /**
   * Sets the expiry alarm unless it is already set to an earlier time. If no sharing has ended when
   * it goes off, because calls of agents have renewed it, it is set again.
   *
   * @param {number} at ms since 1970, or Infinity
   */
  setExpiry(at) {
    if (at >= this.expiry) return;
    this.expiry = at;
    chrome.alarms.create(EXPIRY_ALARM, { when: at }).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }

  /** @param {boolean} on */
  setActive(on) {
    const period = on ? ACTIVE_PERIOD_MIN : IDLE_PERIOD_MIN;
    this.queue = this.queue.then(async () => {
      if (this.period === period) return;
      await chrome.alarms.create(ALARM, { periodInMinutes: period });
      this.period = period;
    }).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }
}
