// hideContent hides the content of a document for 30 seconds or until showContent
// runs, and returns whether it is hidden. The page around a denied frame controls where
// the frame is drawn, so a screenshot can exclude its content only if the frame
// draws none.
//
// With content-visibility, the root draws no descendants, not even those in the top layer,
// in closed shadow roots, or that are added later. It has no effect on a table, so the
// display is fixed. With opacity, the root does not draw itself. The intrinsic size and
// scrollTo preserve the scroll position. The element with the focus loses it, and gets it
// back unless another frame has it then.
//
// An important declaration in a cascade layer overrides the page's important declarations
// outside of layers. If the page has such a layer itself, the style attribute overrides
// both.
function hideContent() {
  globalThis.__cmShow?.();
  const root = document.documentElement;
  const before = [scrollX, scrollY];
  let focused = document.activeElement;
  while (focused?.shadowRoot?.activeElement) focused = focused.shadowRoot.activeElement;
  const scroller = document.scrollingElement;
  const display = root ? getComputedStyle(root).display : 'block';
  const values = [
    ['display', ['block', 'flow-root', 'flex', 'grid', 'none'].includes(display) ? display : 'block'],
    ['transition', 'none'], ['opacity', '0'], ['content-visibility', 'hidden'],
    ['contain-intrinsic-size', scroller ? scroller.scrollWidth + 'px ' + scroller.scrollHeight + 'px' : 'none'],
  ];
  const declarations = values.map(([name, value]) => name + ': ' + value + ' !important;').join(' ');
  const css = ':root {' + declarations + '} ::backdrop, ::view-transition { opacity: 0 !important; transition: none !important; }';
  const sheet = new CSSStyleSheet();
  sheet.replaceSync('@layer {' + css + '}' + css);
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const clear = () => {
    const root = document.documentElement;
    if (root === null) return true;
    const style = getComputedStyle(root);
    if (style.opacity !== '0' || style.contentVisibility !== 'hidden') return false;
    // Only HTML elements can be in the top layer.
    return [...root.children].every((e) => !e.checkVisibility()) || document.getElementsByTagNameNS('http://www.w3.org/1999/xhtml', '*').length === 0;
  };
  const inline = [];
  if (root && root.style && !clear()) {
    for (const [name, value] of values) {
      inline.push([name, root.style.getPropertyValue(name), root.style.getPropertyPriority(name)]);
      root.style.setProperty(name, value, 'important');
    }
  }
  const hidden = () => document.adoptedStyleSheets.includes(sheet) && clear();
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
    sheet.replaceSync(':root { transition: none !important; }');
    for (const [name, value, priority] of inline) if (name !== 'transition') root.style.setProperty(name, value, priority);
    clear();
    for (const [name, value, priority] of inline) if (name === 'transition') root.style.setProperty(name, value, priority);
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter((s) => s !== sheet);
    if (scrollX !== before[0] || scrollY !== before[1]) scrollTo({ left: before[0], top: before[1], behavior: 'instant' });
    if (focused instanceof HTMLElement && document.hasFocus()) HTMLElement.prototype.focus.call(focused, { preventScroll: true });
    return was;
  };
  Object.defineProperty(globalThis, '__cmShow', { configurable: true, value: show });
  Object.defineProperty(globalThis, '__cmDrawn', { configurable: true, value: drawn });
  return hidden();
}
