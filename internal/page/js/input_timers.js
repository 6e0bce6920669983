// @ts-check
// The timers that the page requests while it handles input: their callbacks may change the page later.

import { timerState } from './animations.js';
import { addListener, removeListener } from './page_events.js';

/** The events whose handlers start timers. */
const types = [
  'pointerover', 'mouseover', 'pointermove', 'mousemove', 'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick',
  'touchstart', 'touchend', 'keydown', 'keyup', 'beforeinput', 'input', 'dragover', 'drop', 'dragend',
];

/**
 * InputTimers observes whether the handlers of trusted events request timers, until stop is called.
 * Timers that the page requests at other times, for example for a clock, do not count.
 */
export class InputTimers {
  constructor() {
    /** When handlers last requested a timer, by performance.now(), or -1. */
    this.requestedAt = -1;
    /** The timers before the event whose handlers are running. Empty if none is. */
    this.before = '';
    this.listener = (/** @type {Event} */ e) => this.begin(e);
    for (const type of types) addListener.call(window, type, this.listener, { capture: true, passive: true });
    // This set's listener was installed before the page's, which may stop the event.
    this.early = Object.hasOwn(globalThis, '__cmEarly') ? /** @type {Set<Function>} */ (/** @type {any} */ (globalThis).__cmEarly) : null;
    this.early?.add(this.listener);
  }

  /** begin is called before the page's handlers of an event run. @param {Event} e */
  begin(e) {
    if (!e.isTrusted) return;
    if (e.type === 'pointerdown') {
      this.requestedAt = -1; // a press does not wait for what the pointer's move started
      this.before = '';
    }
    if (this.before !== '') return;
    this.before = timerState();
    // This task runs before timers that are due.
    if (this.before !== '') void scheduler.postTask(() => this.end(), { priority: 'user-blocking' });
  }

  /** end is called after the handlers have run. */
  end() {
    if (this.before !== '' && this.before !== timerState()) this.requestedAt = performance.now();
    this.before = '';
  }

  /**
   * take returns when handlers last requested a timer, or -1, and forgets it.
   * @returns {number}
   */
  take() {
    this.end();
    const at = this.requestedAt;
    this.requestedAt = -1;
    return at;
  }

  stop() {
    for (const type of types) removeListener.call(window, type, this.listener, { capture: true });
    this.early?.delete(this.listener);
  }
}
