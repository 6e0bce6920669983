// @ts-check
// The elements of a document in document order, across shadow roots.

import { allIn, byId, childrenIn, firstElementOf, nextOf, parentNodeOf, rootOf, setAnyShadow, shadowOf, typeOfNode } from './dom.js';

/**
 * everyElement yields the elements in a node in document order. The elements in a shadow
 * root come before the descendants of its host.
 * @param {ParentNode} root
 * @returns {Generator<Element>}
 */
export function* everyElement(root) {
  /** The elements to continue with, the next one last. @type {(Element | null)[]} */
  const stack = [childrenIn(root)[0]];
  while (stack.length) {
    const el = stack.pop();
    if (!el) continue;
    yield el;
    const shadow = shadowOf(el);
    stack.push(nextOf(el), firstElementOf(el));
    if (shadow) {
      setAnyShadow();
      stack.push(shadow.firstElementChild);
    }
  }
}

/**
 * firstInDocumentOrder returns the element that comes first in the document. The elements in a
 * shadow root come before the descendants of its host.
 * @param {number[]} list ids
 * @returns {number} 0 if no element exists anymore
 */
export function firstInDocumentOrder(list) {
  /**
   * pathTo returns the shadow hosts that contain an element, from the outermost, and the element.
   * @param {Element} el
   */
  const pathTo = (el) => {
    const path = [el];
    for (let root = rootOf(el); root !== document && typeOfNode(root) === 11; root = rootOf(path[0])) path.unshift(/** @type {ShadowRoot} */ (root).host);
    return path;
  };
  let first = 0;
  /** @type {Element[]} */
  let firstPath = [];
  for (const id of list) {
    const el = byId(id);
    if (!el) continue;
    const path = pathTo(el);
    const k = path.findIndex((e, n) => e !== firstPath[n]);
    const before = first === 0 || (k < 0 ? path.length < firstPath.length : k < firstPath.length && (comparePosition(firstPath[k], path[k]) & Node.DOCUMENT_POSITION_PRECEDING) !== 0);
    if (before) [first, firstPath] = [id, path];
  }
  return first;
}

const comparePosition = (/** @type {Node} */ a, /** @type {Node} */ b) => Node.prototype.compareDocumentPosition.call(a, b);

/**
 * shadowHosts returns the hosts of the shadow roots in a node.
 * @param {ParentNode} root
 * @returns {Element[]}
 */
export function shadowHosts(root) {
  const out = [];
  for (const el of allIn(root, '*')) if (shadowOf(el)) out.push(el);
  if (out.length) setAnyShadow();
  return out;
}

/**
 * rootsIn returns a node and the shadow roots in it, outer ones first.
 * @param {Document | Element} top
 * @returns {ParentNode[]}
 */
export function rootsIn(top) {
  /** @type {ParentNode[]} */
  const roots = [top];
  const own = typeOfNode(top) === 1 && shadowOf(/** @type {Element} */ (top));
  if (own) roots.push(own);
  for (const root of roots) for (const host of shadowHosts(root)) roots.push(/** @type {ShadowRoot} */ (shadowOf(host)));
  return roots;
}

/**
 * elementsIn yields the elements in an element, or in the document, in document order.
 * @param {Element | null} scope
 * @returns {Generator<Element>}
 */
export function* elementsIn(scope) {
  const shadow = scope && shadowOf(scope);
  if (shadow) yield* everyElement(shadow);
  yield* everyElement(scope || document);
}

/**
 * inDocumentOrder returns those elements of a set that are in an element, or in the document.
 * @param {Set<Element>} set
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function inDocumentOrder(set, scope) {
  const out = [];
  if (set.size) for (const el of elementsIn(scope)) if (set.has(el)) out.push(el);
  return out;
}

/**
 * parentOrHost returns the parent of an element. For the children of a shadow root, it returns the
 * host.
 * @param {Element} el
 * @returns {Element | null}
 */
export function parentOrHost(el) {
  const p = /** @type {Node | null} */ (parentNodeOf(el));
  if (!p) return null;
  const type = typeOfNode(p);
  return type === 1 ? /** @type {Element} */ (p) : type === 11 ? /** @type {ShadowRoot} */ (p).host : null;
}

/**
 * isWithin reports whether an element is another one, or in it or its shadow root.
 * @param {Element} el
 * @param {Element} outer
 */
export function isWithin(el, outer) {
  for (let at = /** @type {Element | null} */ (el); at; at = parentOrHost(at)) if (at === outer) return true;
  return false;
}
