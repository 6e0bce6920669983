// hideContent hides the content of a document for 30 seconds or until showContent
// runs, and returns whether it is hidden. The page around a denied frame controls where
// the frame is drawn, so a screenshot can exclude its content only if the frame
// draws none.
//
// Unlike visibility and display, opacity preserves the focus and scroll positions.
// Elements in the top layer are not children of the root and are hidden
// separately. An important declaration in a cascade layer overrides the page's
// important declarations outside of layers. If the page has such a layer itself,
// the style attribute overrides both.
function hideContent() {
  globalThis.__cmShow?.();
  const roots = [document];
  // A shadow root has its own styles, dialogs and popovers, which outer styles do not
  // reach. Custom elements may have a closed shadow root, which inherits.
  const names = new Set();
  const find = (root) => {
    for (const e of root.querySelectorAll('*')) {
      if (e.shadowRoot) { roots.push(e.shadowRoot); find(e.shadowRoot); }
      else if (e.localName.includes('-')) names.add(CSS.escape(e.localName));
    }
  };
  find(document);
  const top = ':modal, :popover-open, :fullscreen';
  const all = [':root', top, '::backdrop', '::view-transition'].join();
  const closed = [...names].join();
  const css = all + '{ opacity: 0 !important; transition: none !important; }'
    + (closed && closed + '{ visibility: hidden !important; transition: none !important; }');
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('@layer {' + css + '}' + css);
  for (const root of roots) root.adoptedStyleSheets = [...root.adoptedStyleSheets, sheet];
  const parts = () => [document.documentElement, ...roots.flatMap((root) => [...root.querySelectorAll(top)])].filter((e) => e);
  const clear = (e) => getComputedStyle(e).opacity === '0';
  const inline = [];
  for (const e of parts()) {
    if (clear(e) || !e.style) continue;
    for (const name of ['transition', 'opacity']) {
      inline.push([e, name, e.style.getPropertyValue(name), e.style.getPropertyPriority(name)]);
      e.style.setProperty(name, name === 'opacity' ? '0' : 'none', 'important');
    }
  }
  const hidden = () => roots[0].adoptedStyleSheets.includes(sheet) && parts().every(clear);
  const drawn = new Promise((resolve) => {
    // The second frame starts when the first was submitted, the third when it was drawn.
    let frames = 0;
    const step = () => { if (++frames === 3) resolve(true); else requestAnimationFrame(step); };
    requestAnimationFrame(step);
  });
  const timer = setTimeout(() => globalThis.__cmShow?.(), 30000);
  const show = () => {
    const was = hidden();
    clearTimeout(timer);
    delete globalThis.__cmShow;
    delete globalThis.__cmDrawn;
    // A transition of the page must not fade its content in.
    sheet.replaceSync([all, ...names].join() + '{ transition: none !important; }');
    for (const [e, name, value, priority] of inline) if (name === 'opacity') e.style.setProperty(name, value, priority);
    for (const e of parts()) clear(e);
    for (const [e, name, value, priority] of inline) if (name !== 'opacity') e.style.setProperty(name, value, priority);
    for (const root of roots) root.adoptedStyleSheets = root.adoptedStyleSheets.filter((s) => s !== sheet);
    return was;
  };
  Object.defineProperty(globalThis, '__cmShow', { configurable: true, value: show });
  Object.defineProperty(globalThis, '__cmDrawn', { configurable: true, value: drawn });
  return hidden();
}
