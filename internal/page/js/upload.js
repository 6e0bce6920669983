// @ts-check
// Files for a file input or a drop. They arrive as base64 chunks and become File objects here, so that
// the page gets exactly the bytes that were checked.

import { nextFrame } from './animations.js';
import { isDisabled } from './aria_states.js';
import { attributeOf, byId, dispatch, getter, hasAttribute, HTML, idOf, isFrame, namespaceOf, nodes, tagOf } from './dom.js';
import { elementAt, isHitFor } from './hit_test.js';
import { report } from './page_events.js';

/** @typedef {{name: string, type: string, modified: number}} FileDescription */

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
    id: idOf(input), multiple: multipleOf(input), directory: hasAttribute(input, 'webkitdirectory'),
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
 * received returns a DataTransfer with the received files.
 * @param {string} token
 * @param {FileDescription[]} about
 */
function received(token, about) {
  const chunks = arriving.get(token) || [];
  arriving.delete(token);
  const list = new DataTransfer();
  about.forEach(({ name, type, modified }, i) => {
    list.items.add(new File(/** @type {BlobPart[]} */ (chunks[i] || []), name, { type, lastModified: modified }));
  });
  return list;
}

/**
 * setInputFiles sets the received files on an input and dispatches its events. It reports first,
 * because the page's listeners may prevent the result from arriving.
 * @param {string} token
 * @param {number} id
 * @param {FileDescription[]} about describes the files, in order
 * @param {boolean} detached whether the input need not be in the document
 */
export const setInputFiles = (token, id, about, detached) => {
  const input = detached ? /** @type {Element | null} */ (nodes.get(id)?.deref() || null) : byId(id);
  const list = received(token, about);
  if (!isFileInput(input)) return false;
  setFiles.call(input, list.files);
  report({ token, given: true });
  dispatch(input, new Event('input', { bubbles: true, composed: true }));
  dispatch(input, new Event('change', { bubbles: true }));
  return true;
};

/** The animation frames in which the files are dragged over the element. Pages show a drop zone then. */
const DRAG_FRAMES = 2;

/**
 * dropFiles drags the received files onto an element and drops them, with the events of a drag from
 * another program. During the drag, the page may show another element at the point, which then
 * receives the events, as in a real drag. The drop is reported first, because the page's listeners may
 * prevent the result from arriving.
 * @param {string} token
 * @param {number} id
 * @param {[number, number]} at the point in this viewport
 * @param {FileDescription[]} about describes the files, in order
 * @returns {Promise<'' | 'gone' | 'moved' | 'covered' | 'rejected' | 'ignored'>} empty if the page
 *   handled the drop
 */
export const dropFiles = async (token, id, [x, y], about) => {
  const el = byId(id);
  if (!el) return 'gone';
  let hit = elementAt(x, y);
  if (!hit || !isHitFor(hit, el)) return 'moved';
  const data = received(token, about);
  data.effectAllowed = 'all';
  data.dropEffect = 'copy';
  const hasEffect = data.dropEffect === 'copy'; // in Chromium, only the data of a real drag has one
  /** @param {string} type @param {Element} target @param {Element | null} [relatedTarget] */
  const send = (type, target, relatedTarget = null) => {
    data.dropEffect = 'copy';
    const e = new DragEvent(type, {
      bubbles: true, cancelable: type !== 'dragleave', composed: true, view: window, relatedTarget, dataTransfer: data,
      clientX: x, clientY: y, screenX: window.screenX + x, screenY: window.screenY + y,
    });
    dispatch(target, e);
    return e.defaultPrevented;
  };
  send('dragenter', hit);
  for (let n = 0; n < DRAG_FRAMES; n++) {
    send('dragover', hit);
    await nextFrame();
    const now = elementAt(x, y);
    if (now === hit) continue;
    if (!now || isFrame(now)) {
      send('dragleave', hit);
      return 'covered';
    }
    send('dragenter', now, hit);
    send('dragleave', hit, now);
    hit = now;
  }
  if (!send('dragover', hit) || (hasEffect && /** @type {string} */ (data.dropEffect) === 'none')) {
    send('dragleave', hit);
    return 'rejected';
  }
  report({ token, given: true });
  return send('drop', hit) ? '' : 'ignored';
};

/** discardFiles drops received files. @param {string} token */
export const discardFiles = (token) => { arriving.delete(token); };
