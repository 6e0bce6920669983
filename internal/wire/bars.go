package wire

// BarScript keeps what is pressed from a document for five seconds, or until
// LiftScript, before any listener of its page hears of it. The extension runs
// the two in denied frames too, word for word and nothing else: a page may move
// one under the pointer after it was looked at what is there. It stands alone,
// because a document that was there before us has none of our scripts.
const BarScript = `function () {
  globalThis.__cmBar?.();
  const until = performance.now() + 5000;
  const types = ['pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick', 'touchstart', 'touchmove', 'touchend'];
  const hold = (e) => {
    if (!e.isTrusted || performance.now() > until || !types.includes(e.type)) return;
    e.preventDefault();
    e.stopImmediatePropagation();
  };
  // These were there before any listener of the page, which may stop the event.
  const early = globalThis.__cmEarly;
  early?.add(hold);
  for (const type of types) addEventListener(type, hold, { capture: true, passive: false });
  Object.defineProperty(globalThis, '__cmBar', { configurable: true, value: () => {
    early?.delete(hold);
    for (const type of types) removeEventListener(type, hold, { capture: true });
    delete globalThis.__cmBar;
  } });
}`

// LiftScript ends what BarScript began.
const LiftScript = `function () { globalThis.__cmBar?.(); }`
