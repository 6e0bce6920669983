// @ts-check

/** The name of the alarm. */
export const ALARM = 'tick';

/**
 * The period of the alarm in minutes: while tabs are shared or a server is connected, and
 * otherwise. The alarm restarts a worker that was terminated. For an extension from the Chrome Web
 * Store, Chrome limits the period to half a minute.
 */
const ACTIVE_PERIOD_MIN = 5 / 60;
const IDLE_PERIOD_MIN = 0.5;

/** The alarm that restarts the worker after it was terminated. */
export class Alarm {
  constructor() {
    /** The current period in minutes, 0 while unknown. */
    this.period = 0;
    this.turn = chrome.alarms.get(ALARM).then((alarm) => {
      this.period = alarm?.periodInMinutes ?? 0;
    }).catch(() => {});
  }

  /** @param {boolean} on */
  setActive(on) {
    const period = on ? ACTIVE_PERIOD_MIN : IDLE_PERIOD_MIN;
    this.turn = this.turn.then(async () => {
      if (this.period === period) return;
      await chrome.alarms.create(ALARM, { periodInMinutes: period });
      this.period = period;
    }).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }
}
