// @ts-check
// Runs in our isolated world before any script of a document. It listens on the window
// for trusted input before the page can, and passes the events on to the functions in
// __cmEarly. It depends on no other page script.

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
}

if (!Object.hasOwn(globalThis, '__cmEarly')) listen(new Set());
