// blockInput blocks trusted input in a document until unblockInput runs or for five
// seconds. Each further call restarts this time. It runs in our isolated world. In
// denied documents, the extension runs only such fixed scripts, verbatim: a page
// may focus a frame or move it under the pointer at any time. It depends on no
// other script, because a document that existed before we attached has none.
//
// It reports the events that it blocks and that would have had an effect. It returns a promise
// that is fulfilled after the document is drawn: until then the compositor may scroll it by a
// wheel event.
function blockInput() {
  // Our own frames and timers must not look like those of the page.
  const own = Object.hasOwn(globalThis, '__cmOwn') ? globalThis.__cmOwn : { frames: 0, timers: 0 };
  const frame = (f) => { own.frames++; requestAnimationFrame(f); };
  const after = (ms, f) => { own.timers++; return setTimeout(f, ms); };
  const drawn = () => new Promise((done) => { frame(() => frame(done)); after(100, done); });
  if (Object.hasOwn(globalThis, '__cmBar')) {
    globalThis.__cmBar.extend();
    return drawn();
  }
  const reported = ['keydown', 'keypress', 'beforeinput', 'compositionstart', 'paste', 'cut', 'drop', 'pointerdown', 'mousedown', 'touchstart', 'click', 'contextmenu', 'auxclick', 'wheel'];
  const types = [...reported, 'keyup', 'input', 'textInput', 'compositionupdate', 'compositionend', 'copy',
    'pointerover', 'pointerenter', 'pointermove', 'pointerup', 'pointerout', 'pointerleave', 'pointercancel',
    'mouseover', 'mouseenter', 'mousemove', 'mouseup', 'mouseout', 'mouseleave', 'dblclick',
    'touchmove', 'touchend', 'touchcancel', 'mousewheel', 'dragstart', 'drag', 'dragenter', 'dragover', 'dragleave', 'dragend'];
  const hold = (e) => {
    if (!e.isTrusted || !types.includes(e.type)) return;
    // Input method text cannot be canceled. Without focus and selection it has no target.
    if (e.type === 'compositionstart' || (e.type === 'beforeinput' && !e.cancelable)) {
      document.activeElement?.blur();
      getSelection()?.removeAllRanges();
    }
    if (e.type === 'dragenter' || e.type === 'dragover') e.dataTransfer.dropEffect = 'none';
    e.preventDefault();
    e.stopImmediatePropagation();
    if (reported.includes(e.type) && Object.hasOwn(globalThis, '__cmReport')) globalThis.__cmReport(JSON.stringify({ blocked: e.type }));
  };
  // These were there before any listener of the page, which may stop the event.
  const early = Object.hasOwn(globalThis, '__cmEarly') ? globalThis.__cmEarly : null;
  early?.add(hold);
  for (const type of types) addEventListener(type, hold, { capture: true, passive: false });
  // The compositor chooses what to scroll after the page has handled the input. The page
  // may have moved this frame there by then, and no event can be canceled.
  let sheet = null;
  const lock = () => {
    if (sheet === null) {
      sheet = new CSSStyleSheet();
      const root = document.documentElement;
      const gutter = root !== null && innerWidth > root.clientWidth ? 'scrollbar-gutter: stable !important;' : '';
      const css = ':root { overflow: hidden !important; ' + gutter + ' } * { pointer-events: none !important; }';
      sheet.replaceSync('@layer {' + css + '}' + css); // the layer overrides important declarations of the page
      document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
    }
    return drawn();
  };
  // A timer, not the clock: after a busy period, pending input is handled before it.
  let timer = 0;
  const end = () => {
    clearTimeout(timer);
    early?.delete(hold);
    for (const type of types) removeEventListener(type, hold, { capture: true });
    if (sheet !== null) document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    delete globalThis.__cmBar;
  };
  const extend = () => {
    clearTimeout(timer);
    timer = after(5000, end);
  };
  extend();
  Object.defineProperty(globalThis, '__cmBar', { configurable: true, value: { extend, end, lock } });
  return drawn();
}
