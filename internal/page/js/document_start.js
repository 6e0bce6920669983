// @ts-check
// Runs in our isolated world before any script of a document. It listens on the window
// for trusted input before the page can, and passes the events on to the functions in
// __cmEarly. It also remembers what the user pointed at when the context menu opened. It
// depends on no other page script.

/** @param {Set<(e: Event) => void>} handlers */
function listen(handlers) {
  Object.defineProperty(globalThis, '__cmEarly', { value: handlers });
  const handle = (/** @type {Event} */ e) => {
    if (handlers.size) for (const handler of [...handlers]) handler(e);
  };
  const types = [
    'pointerdown', 'mousedown', 'pointerup', 'mouseup', 'click', 'dblclick', 'contextmenu', 'auxclick',
    'pointerover', 'mouseover', 'pointermove', 'mousemove', 'keydown', 'keypress', 'keyup', 'beforeinput', 'input',
    'compositionstart', 'compositionupdate', 'compositionend', 'paste', 'cut', 'copy',
    'dragstart', 'drag', 'dragenter', 'dragover', 'dragleave', 'drop', 'dragend',
  ];
  for (const type of types) addEventListener(type, handle, { capture: true, passive: false });
  // These are passive so that the page can scroll by touch without waiting for them.
  for (const type of ['touchstart', 'touchmove', 'touchend']) addEventListener(type, handle, { capture: true, passive: true });
  const pointed = { last: /** @type {{target: WeakRef<any>, selection: string, at: number} | null} */ (null) };
  Object.defineProperty(globalThis, '__cmPointed', { value: pointed });
  addEventListener('contextmenu', (e) => {
    if (e.isTrusted) pointed.last = { target: new WeakRef(e.composedPath()[0]), selection: String(getSelection()).slice(0, 1000), at: Date.now() };
  }, true);
}

if (!Object.hasOwn(globalThis, '__cmEarly')) listen(new Set());
