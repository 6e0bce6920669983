// @ts-check
// Giving files to a file input: they come as text, in pieces, and become File
// objects here, so that the page gets the very bytes that were checked.

/** Files on their way, by token. @type {Map<string, Uint8Array[][]>} */
const arriving = new Map();

const inputTypeOf = /** @type {(e: Element) => string} */ (getter(HTMLInputElement, 'type'));
const multipleOf = /** @type {(e: Element) => boolean} */ (getter(HTMLInputElement, 'multiple'));
const controlOf = /** @type {(e: Element) => HTMLElement | null} */ (getter(HTMLLabelElement, 'control'));
const setFiles = /** @type {(f: FileList) => void} */ (Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'files')?.set);

/** @param {Element | null} el @returns {el is HTMLInputElement} */
function isFileInput(el) {
  return !!el && namespaceOf(el) === HTML && tagOf(el) === 'input' && inputTypeOf(el) === 'file';
}

/**
 * fileInput tells of the file input that an element is, or is the label of; null when it is neither. One that a
 * chooser was opened for need not be in the document.
 * @param {number} id
 */
api.fileInput = (id) => {
  const el = /** @type {Element | null} */ (nodes.get(id)?.deref() || null);
  const input = el && namespaceOf(el) === HTML && tagOf(el) === 'label' ? controlOf(el) : el;
  if (!isFileInput(input)) return null;
  return {
    id: idOf(input), multiple: multipleOf(input), folder: hasAttribute(input, 'webkitdirectory'),
    accept: attributeOf(input, 'accept') || '', disabled: isDisabled(input),
  };
};

/**
 * receive takes a piece of a file, in base64.
 * @param {string} token
 * @param {number} file its number, from 0 on
 * @param {string} piece
 */
api.receive = (token, file, piece) => {
  const files = arriving.get(token) || [];
  arriving.set(token, files);
  const text = atob(piece);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  (files[file] ||= []).push(bytes);
};

/**
 * giveFiles puts the files that came into an input and tells the page. What its listeners do may swallow the answer:
 * the report comes before.
 * @param {string} token
 * @param {number} id
 * @param {{name: string, type: string, modified: number}[]} about the files, in order
 */
api.giveFiles = (token, id, about) => {
  const input = /** @type {Element | null} */ (nodes.get(id)?.deref() || null);
  const pieces = arriving.get(token) || [];
  arriving.delete(token);
  if (!isFileInput(input)) return false;
  const list = new DataTransfer();
  about.forEach(({ name, type, modified }, i) => {
    list.items.add(new File(/** @type {BlobPart[]} */ (pieces[i] || []), name, { type, lastModified: modified }));
  });
  setFiles.call(input, list.files);
  report({ token, given: true });
  dispatch(input, new Event('input', { bubbles: true, composed: true }));
  dispatch(input, new Event('change', { bubbles: true }));
  return true;
};

/** @param {string} token forgetFiles drops what was not given. */
api.forgetFiles = (token) => { arriving.delete(token); };
