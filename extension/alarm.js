// @ts-check

/** The name of the alarm. */
export const ALARM = 'tick';

/**
 * How often it rings, in minutes: while tabs are shared or a server is
 * connected, and else. A worker that was killed is back with it. Chrome rings
 * for an extension that came from its store every half minute at most.
 */
const WATCHFUL = 5 / 60;
const RESTING = 0.5;

/** The alarm that brings the worker back, whatever ended it. */
export class Alarm {
  constructor() {
    /** 0 until it is known. */
    this.period = 0;
    this.turn = chrome.alarms.get(ALARM).then((alarm) => {
      this.period = alarm?.periodInMinutes ?? 0;
    }).catch(() => {});
  }

  /** @param {boolean} on */
  watchful(on) {
    const period = on ? WATCHFUL : RESTING;
    this.turn = this.turn.then(async () => {
      if (this.period === period) return;
      await chrome.alarms.create(ALARM, { periodInMinutes: period });
      this.period = period;
    }).catch((e) => console.warn(`chrome-mcp: ${e.message}`));
  }
}
