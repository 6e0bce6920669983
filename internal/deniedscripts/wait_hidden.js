// waitHidden waits until the document has been drawn after hideContent. A document
// outside of the viewport is not drawn.
function waitHidden() {
  return globalThis.__cmDrawn;
}
