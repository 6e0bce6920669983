// @ts-check
// Who got the event: listeners that are installed before input is sent, and
// tell whether it reached the element that was meant.

/** @type {Map<string, {stop: () => void, seen: object[], left: () => Departure, invalid: () => InvalidField[], el: Element | null, until: number}>} */
const expectations = new Map();

const { addEventListener: addListener, removeEventListener: removeListener } = EventTarget.prototype;

/**
 * report tells Go something even when a dialog or a navigation swallows the answer of the call in progress.
 * @param {object} message
 */
function report(message) {
  const send = Object.hasOwn(globalThis, '__cmReport') && /** @type {any} */ (globalThis).__cmReport;
  if (typeof send === 'function') send(JSON.stringify(message));
}

/** How long input is held back at most, in ms. */
const guardLimit = 15000;

/** All events of a press, and all that brings text. */
const pressTypes = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick'];
const entryTypes = ['keydown', 'beforeinput'];

/** Within how many ms a press is sent: one that was sent later is somebody else's. */
const pressLimit = 5000;

/** How long the presses after the first may take to come, in ms. */
const busyLimit = 4000;

/**
 * @typedef {object} Expected
 * @property {string[]} types of events to tell of
 * @property {[number, number]} [at] where in this viewport the element was found
 * @property {number} [presses] how many presses are to come; one that begins on anything but the element is held back
 * @property {number} [late] how many ms after it was sent the first press may come. One that comes later is held
 *   back, whatever it is for: a dialog may have stopped the page meanwhile, and the press was reported as not done
 * @property {boolean} [submits] the press is to send a form, whatever the element is
 * @property {boolean} [text] keys and text that are not for the element are held back, until the first text has
 *   reached it: where the page leads what follows is the page's affair
 * @property {boolean} [below] they are to go to a frame below this document, so none is for anything in it
 */

/** @typedef {'' | 'removed' | 'hidden' | 'moved'} Departure why an element is no longer at a point; empty when it is, covered or not */

/**
 * departure returns why an element is no longer at a point.
 * @param {Element} el
 * @param {[number, number]} at
 * @returns {Departure}
 */
function departure(el, [x, y]) {
  if (!isConnectedOf(el)) return 'removed';
  if (countsFor(elementAt(x, y), el)) return '';
  const boxes = boxesOf(el).concat(labelBoxes(el));
  if (!boxes.length) return 'hidden';
  return boxes.some((b) => b.left <= x && x <= b.right && b.top <= y && y <= b.bottom) ? '' : 'moved';
}

/**
 * expect listens for trusted events until outcome is asked for. Each is kept,
 * and reported at once, with whether it was one for the element (id 0: for any element).
 * @param {string} token
 * @param {number} id
 * @param {Expected} want
 * @returns {string} empty when it listens, else why not
 */
function expect(token, id, want) {
  const el = id ? byId(id) : null;
  if (id && !el) return 'gone';
  if (el && want.at && !countsFor(elementAt(...want.at), el)) return 'moved';
  listen(token, el, want);
  return '';
}

/**
 * listen is expect for an element, or any when it is null.
 * @param {string} token
 * @param {Element | null} el
 * @param {Expected} want
 */
function listen(token, el, want) {
  forgetOld();
  /** @type {object[]} */
  const seen = [];
  const handled = new WeakSet();
  let guarding = !!want.text;
  const expiry = performance.now() + guardLimit; // in case nobody is left to end it
  let presses = want.presses || 0;
  let blocking = false; // the press that is under way
  let late = false; // it came too late
  /** @type {Departure} */
  let released = ''; // of the element, when the button was released
  const left = () => (el && want.at ? released || departure(el, want.at) : el && !isConnectedOf(el) ? 'removed' : '');
  const until = performance.now() + pressLimit;
  const listener = (/** @type {Event} */ e) => {
    if (!e.isTrusted || handled.has(e)) return;
    handled.add(e);
    if (e.type === 'pointerup') released = left();
    const told = want.types.includes(e.type);
    if (!told && !blocking) return;
    const hit = /** @type {Element | null} */ (e.composedPath().find((n) => n instanceof Element || (n !== window && typeOfNode(/** @type {Node} */ (n)) === 1)) || null);
    const inner = innermost(hit, e);
    const meant = !want.below && (!el || countsFor(inner, el) || (hit !== inner && countsFor(hit, el)));
    if (meant && e.type === 'beforeinput') guarding = false;
    if (e.type === 'pointerdown') {
      // Its own time is when it was sent, however long the page stood still since.
      late = presses > 0 && performance.now() - e.timeStamp > (presses === want.presses ? want.late || busyLimit : busyLimit);
      blocking = presses-- > 0 && (late || (!meant && e.timeStamp < until));
    }
    const ok = meant && !(blocking && late);
    const pressed = pressTypes.includes(e.type) && !byKey(e);
    const held = (blocking && pressed) || (guarding && !ok && performance.now() < expiry && entryTypes.includes(e.type));
    if (held) {
      e.preventDefault();
      e.stopImmediatePropagation();
      // Its click follows at once; one that comes later is of another press.
      if (e.type === 'pointerup') after(0, () => (blocking = false));
    }
    if (!told) return;
    const record = { token, type: e.type, ok, by: meant || !inner ? undefined : named(inner), held, late: held && late };
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
  const types = new Set([...want.types, ...(presses ? pressTypes : [])]);
  for (const root of roots) for (const type of types) addListener.call(root, type, listener, { capture: true, passive: false });
  // These were there before any listener of the page, which may stop the event.
  const early = Object.hasOwn(globalThis, '__cmEarly') ? /** @type {Set<Function>} */ (/** @type {any} */ (globalThis).__cmEarly) : null;
  early?.add(listener);
  expectations.set(token, {
    seen, left, el, until, invalid: validation.fields,
    stop: () => {
      validation.stop();
      early?.delete(listener);
      for (const root of roots) for (const type of types) removeListener.call(root, type, listener, { capture: true });
    },
  });
  pageAsked();
}

/**
 * byKey reports whether a click is a key's or a program's, which no pointer did. The release of a press may never
 * come to the page, where a dialog was open in between: then what is held back has no end that is seen.
 * @param {Event} e
 */
function byKey(e) {
  return e.type === 'click' && /** @type {PointerEvent} */ (e).pointerId === -1;
}

/** forgetOld ends what a dialog kept an action from ending. */
function forgetOld() {
  for (const [token, old] of expectations) {
    if (old.until + 30_000 > performance.now()) continue;
    old.stop();
    expectations.delete(token);
  }
}

/**
 * innermost finds the element that got an event inside closed shadow roots, whose events show the host only.
 * @param {Element | null} hit
 * @param {Event} e
 */
function innermost(hit, e) {
  if (!hit || !closedRoots.has(hit)) return hit;
  return (e instanceof MouseEvent ? elementAt(e.clientX, e.clientY) : focusedElement()) || hit;
}

/** @param {Element} el */
function named(el) {
  const [role, name] = roleAndName(el);
  return { id: idOf(el), role, name: name || excerpt(el) };
}

/**
 * outcome returns what was seen, and what became of the element, and ends the
 * expectation unless there is more to come.
 * @param {string} token
 * @param {boolean} more
 */
function outcome(token, more) {
  const e = expectations.get(token);
  if (!more) {
    expectations.delete(token);
    e?.stop();
  }
  const el = e?.el;
  return {
    seen: e ? e.seen : [], left: e ? e.left() : '', invalid: e ? e.invalid() : [],
    disabled: !!el && matchesCSS(el, ':disabled'), file: !!el && !!closestTo(el, 'a[download][href], area[download][href]'),
  };
}

api.expect = expect;
api.outcome = outcome;
