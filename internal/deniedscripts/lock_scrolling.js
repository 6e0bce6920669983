// lockScrolling also keeps input from scrolling a document that blockInput blocks, until
// unblockInput runs. It returns a promise that is fulfilled after the document is drawn.
function lockScrolling() {
  return Object.hasOwn(globalThis, '__cmBar') ? globalThis.__cmBar.lock() : null;
}
