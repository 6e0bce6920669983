// unblockInput undoes blockInput.
function unblockInput() {
  if (Object.hasOwn(globalThis, '__cmBar')) globalThis.__cmBar.end();
}
