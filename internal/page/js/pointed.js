// @ts-check
// The element that the user pointed at when the context menu opened. document_start.js records it.

import { excerpt, roleAndName } from './described_elements.js';
import { byId, closestTo, focusedElement, idOf, isConnectedOf, parentElementOf, topOf, typeOfNode } from './dom.js';
import { isMasked } from './secret_fields.js';
import { recordElement } from './shown_elements.js';

/**
 * takePointed returns the id of the target of the last trusted contextmenu event, the text that was
 * selected then, and the time of the event, and forgets the event. It returns null if there was
 * none or the element was removed.
 */
export const takePointed = () => {
  const pointed = /** @type {any} */ (globalThis).__cmPointed;
  const last = pointed?.last;
  if (!last) return null;
  pointed.last = null;
  const node = last.target.deref();
  if (!node || !isConnectedOf(node)) return null;
  const el = typeOfNode(node) === 1 ? node : parentElementOf(node) || topOf(document);
  const focused = focusedElement();
  const secret = isMasked(el) || focused && isMasked(focused);
  return { id: idOf(el), at: last.at, selection: secret ? '' : last.selection };
};

/**
 * pointedLabel returns the role and name of an element for a note, or null if it no longer exists.
 * An element without a name in a link or button is described as that link or button.
 * @param {number} id
 */
export const pointedLabel = (id) => {
  const el = byId(id);
  if (!el) return null;
  const control = closestTo(el, 'a[href], button, [role=button], [role=link]');
  let [role, name] = roleAndName(el);
  if (!name && control) [role, name] = roleAndName(control);
  return { role, name: name || (isMasked(el) ? '' : excerpt(el)), ...recordElement(el) };
};
