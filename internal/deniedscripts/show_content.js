// showContent undoes hideContent, and returns whether the document was still hidden.
function showContent() {
  return globalThis.__cmShow?.() ?? false;
}
