// @ts-check
// Files for a file input. They arrive as base64 chunks and become File objects here, so that
// the page gets exactly the bytes that were checked.

import { isDisabled } from './actionability.js';
import { attributeOf, dispatch, getter, hasAttribute, HTML, idOf, namespaceOf, nodes, tagOf } from './dom.js';
import { report } from './hit_target_check.js';

/** Chunks received, by token and file. @type {Map<string, Uint8Array[][]>} */
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
 * fileInput describes the file input that an element is or labels, or returns null. The input of an
 * open file chooser need not be in the document.
 * @param {number} id
 */
export const fileInput = (id) => {
  const el = /** @type {Element | null} */ (nodes.get(id)?.deref() || null);
  const input = el && namespaceOf(el) === HTML && tagOf(el) === 'label' ? controlOf(el) : el;
  if (!isFileInput(input)) return null;
  return {
    id: idOf(input), multiple: multipleOf(input), folder: hasAttribute(input, 'webkitdirectory'),
    accept: attributeOf(input, 'accept') || '', disabled: isDisabled(input),
  };
};

/**
 * receiveFileChunk stores a chunk of a file, in base64.
 * @param {string} token
 * @param {number} file the index of the file
 * @param {string} chunk
 */
export const receiveFileChunk = (token, file, chunk) => {
  const files = arriving.get(token) || [];
  arriving.set(token, files);
  const text = atob(chunk);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
  (files[file] ||= []).push(bytes);
};

/**
 * setInputFiles sets the received files on an input and dispatches its events. It reports first,
 * because the page's listeners may prevent the result from arriving.
 * @param {string} token
 * @param {number} id
 * @param {{name: string, type: string, modified: number}[]} about describes the files, in order
 */
export const setInputFiles = (token, id, about) => {
  const input = /** @type {Element | null} */ (nodes.get(id)?.deref() || null);
  const chunks = arriving.get(token) || [];
  arriving.delete(token);
  if (!isFileInput(input)) return false;
  const list = new DataTransfer();
  about.forEach(({ name, type, modified }, i) => {
    list.items.add(new File(/** @type {BlobPart[]} */ (chunks[i] || []), name, { type, lastModified: modified }));
  });
  setFiles.call(input, list.files);
  report({ token, given: true });
  dispatch(input, new Event('input', { bubbles: true, composed: true }));
  dispatch(input, new Event('change', { bubbles: true }));
  return true;
};

/** discardFiles drops received files. @param {string} token */
export const discardFiles = (token) => { arriving.delete(token); };
