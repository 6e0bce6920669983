// @ts-check
// The hit target check: listeners, installed before input is sent, that verify which element
// received it.

import { boxesOf, labelBoxes } from './action_points.js';
import { after } from './animations.js';
import { byId, closedRoots, closestTo, focusedElement, isConnectedOf, matchesCSS, rootOf, typeOfNode } from './dom.js';
import { elementAt, isHitFor } from './hit_test.js';
import { addListener, removeListener, report } from './page_events.js';
import { pageScheduledWork } from './settle.js';
import { changeOf, named, recordElement } from './shown_elements.js';
import { collectInvalid, formOf } from './submit.js';
/** @import { Change } from './shown_elements.js' */
/** @import { InvalidField } from './submit.js' */

/**
 * @type {Map<string, {stop: () => void, seen: object[], left: () => Departure, tapEnded: () => boolean, invalid: () => InvalidField[], el: Element | null, started: number}>}
 */
const pendingChecks = new Map();

/** The newest tokens of finishCheck for which there was no check: no check may start late with one. */
const endedTokens = /** @type {Set<string>} */ (new Set());
const MAX_ENDED = 100;

/** isEnded reports whether the action with a token has ended early. @param {string} token */
export const isEnded = (token) => endedTokens.has(token);

/** The events of a press, and those that enter text. */
const pressTypes = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick'];
const touchTypes = ['touchstart', 'touchmove', 'touchend'];
const entryTypes = ['keydown', 'beforeinput'];
const modifierKeys = ['Shift', 'Control', 'Alt', 'Meta'];

/** The age at which a check ends that no action has finished, in ms. */
const MAX_AGE_MS = 35_000;

/**
 * @typedef {object} Expected
 * @property {string[]} types the types of events to report. With touchstart, the presses are taps: the
 *   browser sends the mouse events and the click of a tap after its touch events
 * @property {[number, number]} [at] where in this viewport the element was found
 * @property {number} [presses] the number of presses to expect. One that starts on another element
 *   is blocked
 * @property {number} [within] with presses: the time in which they are expected, in ms. Later presses
 *   are not ours
 * @property {number} [busy] with presses: how late those after the first may arrive, in ms
 * @property {number} [late] how many ms after it was sent the first press may arrive. A later press
 *   is blocked whatever its target: a dialog may have stopped the page, and the press was reported
 *   as not done
 * @property {{id: number, at: number}} [shown] the element of a ref and the number of its record. The
 *   first press is blocked if the element is in another item now
 * @property {boolean} [record] record what the element is, so that its change can be reported
 * @property {boolean} [submits] the press is expected to submit a form, whatever the element is
 * @property {number} [text] for how many ms keys and text for other elements are blocked at most.
 *   The block ends when the first text has reached the element or, if only keys are observed, the
 *   first key other than a modifier: then the page may move the focus
 * @property {boolean} [below] the input is for a frame in this document, so no element of this
 *   document may receive it
 */

/**
 * @typedef {'' | 'removed' | 'hidden' | 'moved' | 'covered'} Departure why a point no longer hits an element; empty if it does
 */

/**
 * departure returns why a point no longer hits an element.
 * @param {Element} el
 * @param {[number, number]} at
 * @returns {Departure}
 */
function departure(el, [x, y]) {
  if (!isConnectedOf(el)) return 'removed';
  if (isHitFor(elementAt(x, y), el)) return '';
  const boxes = boxesOf(el).concat(labelBoxes(el));
  if (!boxes.length) return 'hidden';
  return boxes.some((b) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom) ? 'covered' : 'moved';
}

/**
 * startCheck listens for trusted events until finishCheck is called. It records each event and
 * reports it immediately, with whether its target was the element (any element if id is 0).
 * @param {string} token
 * @param {number} id
 * @param {Expected} want
 * @returns {string} empty if it listens, or else the problem
 */
export function startCheck(token, id, want) {
  const el = id ? byId(id) : null;
  if (id && !el) return 'gone';
  if (el && want.at && !isHitFor(elementAt(...want.at), el)) return 'moved';
  if (el && want.record) recordElement(el);
  listen(token, el, want);
  return '';
}

/**
 * listen is startCheck for an element. If it is null, any element is accepted.
 * @param {string} token
 * @param {Element | null} el
 * @param {Expected} want
 */
export function listen(token, el, want) {
  if (isEnded(token)) return;
  dropExpired();
  /** @type {object[]} */
  const seen = [];
  const handled = new WeakSet();
  let blockingText = !!want.text;
  const textObserved = want.types.includes('beforeinput');
  const expiry = performance.now() + (want.text || 0); // in case finishCheck is never called
  let presses = want.presses || 0;
  let blocking = false; // the current press
  let late = false; // it arrived too late
  /** @type {Change | null} */
  let replaced = null; // the change since the element was shown, for which the press is blocked
  const tap = want.types.includes('touchstart');
  const touches = /** @type {Set<Event>} */ (new Set());
  let tapEnded = false; // no click of the tap reaches the element
  /** @type {Departure} */
  let released = ''; // the element's departure when the button was released
  const left = () => (el && want.at ? released || departure(el, want.at) : el && !isConnectedOf(el) ? 'removed' : '');
  const started = performance.now();
  const until = started + (want.within || 0);
  const listener = (/** @type {Event} */ e) => {
    if (!e.isTrusted || handled.has(e)) return;
    handled.add(e);
    if (e.type === 'pointerup') released = left();
    if (touchTypes.includes(e.type)) touches.add(e);
    if (e.type === 'pointercancel') tapEnded = true; // the browser scrolls or zooms instead
    const observed = want.types.includes(e.type);
    // The page moved the focus to this document while the key was pressed.
    const release = e.type === 'keyup' && blockingText && !!want.below;
    if (!observed && !release && !blocking && !(tap && e.type === 'mousedown')) return;
    const hit = /** @type {Element | null} */ (e.composedPath().find((n) => n instanceof Element || (n !== window && typeOfNode(/** @type {Node} */ (n)) === 1)) || null);
    const inner = innermost(hit, e);
    const forTarget = !want.below && (!el || isHitFor(inner, el) || (hit !== inner && isHitFor(hit, el)));
    if (forTarget && (textObserved ? e.type === 'beforeinput' : e.type === 'keydown' && !modifierKeys.includes(/** @type {KeyboardEvent} */ (e).key))) blockingText = false;
    if (e.type === 'pointerdown') {
      // timeStamp is when it was sent, however long the page was busy since.
      late = presses > 0 && performance.now() - e.timeStamp > ((presses === want.presses && want.late) || want.busy || 0);
      const change = forTarget && want.shown && presses > 0 && presses === want.presses ? changeOf(want.shown.id, want.shown.at) : null;
      replaced = change?.item ? change : null;
      blocking = presses-- > 0 && (late || !!replaced || (!forTarget && e.timeStamp < until));
    }
    // The mouse events of a tap are for the element that is now at the point.
    if (tap && e.type === 'mousedown' && !forTarget && !blocking && e.timeStamp < until) blocking = tapEnded = true;
    const ok = forTarget && !(blocking && (late || replaced));
    const pressed = (pressTypes.includes(e.type) || (tap && touchTypes.includes(e.type))) && !byKey(e);
    const prevented = (blocking && pressed) || (blockingText && !ok && performance.now() < expiry && (release || entryTypes.includes(e.type)));
    if (prevented) {
      e.preventDefault();
      e.stopImmediatePropagation();
      // Its click follows immediately, except that of a tap. A later one belongs to another press.
      if (e.type === (tap ? 'click' : 'pointerup')) after(0, () => (blocking = false));
    }
    if (!observed || (tapEnded && !forTarget)) return;
    const record = { token, type: e.type, ok, by: forTarget || !inner ? undefined : named(inner), prevented, late: prevented && late, change: (prevented && replaced) || undefined };
    seen.push(record);
    report(record);
  };
  const roots = new Set(/** @type {EventTarget[]} */ ([window]));
  for (let at = el; at; ) {
    const root = rootOf(at);
    roots.add(root);
    at = typeOfNode(root) === 11 ? /** @type {ShadowRoot} */ (root).host : null;
  }
  const form = formOf(el);
  const validation = collectInvalid(presses && (form || want.submits) ? roots : [], want.submits ? null : form);
  const types = new Set([...want.types, ...(presses ? pressTypes : []), ...(want.below && want.text ? ['keyup'] : []), ...(tap ? [...touchTypes, 'pointercancel'] : [])]);
  for (const root of roots) for (const type of types) addListener.call(root, type, listener, { capture: true, passive: false });
  // This set's listener was installed before the page's, which may stop the event.
  const early = Object.hasOwn(globalThis, '__cmEarly') ? /** @type {Set<Function>} */ (/** @type {any} */ (globalThis).__cmEarly) : null;
  // Its listeners of touch events are passive, so these events are only recorded there.
  const first = (/** @type {Event} */ e) => (touchTypes.includes(e.type) ? touches.add(e) : listener(e));
  early?.add(first);
  pendingChecks.set(token, {
    seen, left, el, started, invalid: validation.fields,
    tapEnded: () => tapEnded || [...touches].some((e) => e.isTrusted && e.defaultPrevented),
    stop: () => {
      validation.stop();
      early?.delete(first);
      for (const root of roots) for (const type of types) removeListener.call(root, type, listener, { capture: true });
    },
  });
  pageScheduledWork();
}

/**
 * byKey reports whether a click was caused by a key or a script, not by a pointer. The page may
 * never receive the release of a press during which a dialog was open, so the end of a blocked
 * press may not be visible.
 * @param {Event} e
 */
function byKey(e) {
  return e.type === 'click' && /** @type {PointerEvent} */ (e).pointerId === -1;
}

/** dropExpired ends checks that no action will finish, because a dialog interrupted it. */
function dropExpired() {
  for (const [token, old] of pendingChecks) {
    if (old.started + MAX_AGE_MS > performance.now()) continue;
    old.stop();
    pendingChecks.delete(token);
  }
}

/**
 * innermost returns the target of an event in a closed shadow root, where the event itself only
 * shows the host.
 * @param {Element | null} hit
 * @param {Event} e
 */
function innermost(hit, e) {
  if (!hit || !closedRoots.has(hit)) return hit;
  return (e instanceof MouseEvent ? elementAt(e.clientX, e.clientY) : focusedElement()) || hit;
}

/**
 * finishCheck returns the events seen and the state of the element. It stops listening
 * unless more is set, also if the check starts only later.
 * @param {string} token
 * @param {boolean} more
 */
export function finishCheck(token, more) {
  const e = pendingChecks.get(token);
  if (!more) {
    pendingChecks.delete(token);
    if (e) e.stop();
    else endedTokens.add(token);
    if (endedTokens.size > MAX_ENDED) endedTokens.delete([...endedTokens][0]);
  }
  const el = e?.el;
  return {
    seen: e ? e.seen : [], left: e ? e.left() : '', tapEnded: !!e && e.tapEnded(), invalid: e ? e.invalid() : [],
    disabled: !!el && matchesCSS(el, ':disabled'), file: !!el && !!closestTo(el, 'a[download][href], area[download][href]'),
  };
}
