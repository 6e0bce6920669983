// @ts-check
// Shared helpers for the page scripts: the DOM methods that they use, the ids of elements, and
// the flat tree. The page scripts run in an isolated world of each document. The page cannot see
// them, and they never write to the page.

// An element that was adopted from another document keeps that document's prototypes: it is not
// an instanceof any class here, but its properties identify it.
//
// A form exposes its fields, and the document its images and forms, as properties under their
// names, in all worlds: form.parentNode may be an input. Code that must get the real property
// uses the getters of the prototypes.

/**
 * @template T, V
 * @param {{prototype: T}} type
 * @param {string} name
 * @returns {(of: any) => V}
 */
export function getter(type, name) {
  const get = /** @type {any} */ (Object.getOwnPropertyDescriptor(type.prototype, name)).get;
  return (of) => get.call(of);
}

export const firstChildOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'firstChild'));
export const nextSiblingOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'nextSibling'));
const childNodesOf = /** @type {(n: Node) => NodeListOf<ChildNode>} */ (getter(Node, 'childNodes'));
export const parentNodeOf = /** @type {(n: Node) => ParentNode | null} */ (getter(Node, 'parentNode'));
export const parentElementOf = /** @type {(n: Node) => Element | null} */ (getter(Node, 'parentElement'));
export const typeOfNode = /** @type {(n: Node) => number} */ (getter(Node, 'nodeType'));
export const isConnectedOf = /** @type {(n: Node) => boolean} */ (getter(Node, 'isConnected'));
const ownerOf = /** @type {(n: Node) => Document | null} */ (getter(Node, 'ownerDocument'));
export const childrenOf = /** @type {(n: Element) => HTMLCollection} */ (getter(Element, 'children'));
const shadowRootOf = /** @type {(e: Element) => ShadowRoot | null} */ (getter(Element, 'shadowRoot'));
const slotOf = /** @type {(e: Element) => HTMLSlotElement | null} */ (getter(Element, 'assignedSlot'));
export const bodyOf = /** @type {(d: Document) => HTMLElement | null} */ (getter(Document, 'body'));
export const topOf = /** @type {(d: Document) => Element} */ (getter(Document, 'documentElement'));
const activeOf = /** @type {(d: Document) => Element | null} */ (getter(Document, 'activeElement'));
export const titleOf = /** @type {(d: Document) => string} */ (getter(Document, 'title'));
export const readyOf = /** @type {(d: Document) => DocumentReadyState} */ (getter(Document, 'readyState'));
export const scrollingOf = /** @type {(d: Document) => Element | null} */ (getter(Document, 'scrollingElement'));
export const implementationOf = /** @type {(d: Document) => DOMImplementation} */ (getter(Document, 'implementation'));
export const baseOf = /** @type {(n: Node) => string} */ (getter(Node, 'baseURI'));
export const lastChildOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'lastChild'));
export const textIn = /** @type {(n: Node) => string | null} */ (getter(Node, 'textContent'));
export const namespaceOf = /** @type {(e: Element) => string | null} */ (getter(Element, 'namespaceURI'));
export const firstElementOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'firstElementChild'));
export const countOf = /** @type {(e: Element) => number} */ (getter(Element, 'childElementCount'));
export const previousOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'previousElementSibling'));
export const nextOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'nextElementSibling'));
export const outerOf = /** @type {(e: Element) => string} */ (getter(Element, 'outerHTML'));
export const innerOf = /** @type {(e: Element) => string} */ (getter(Element, 'innerHTML'));
export const clientWidthOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientWidth'));
export const clientHeightOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientHeight'));
export const clientLeftOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientLeft'));
export const clientTopOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientTop'));
export const scrollWidthOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollWidth'));
export const scrollHeightOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollHeight'));
export const scrollLeftOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollLeft'));
export const scrollTopOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollTop'));
export const offsetWidthOf = /** @type {(e: Element) => number} */ (getter(HTMLElement, 'offsetWidth'));
export const offsetHeightOf = /** @type {(e: Element) => number} */ (getter(HTMLElement, 'offsetHeight'));
const readInnerText = /** @type {(e: Element) => string} */ (getter(HTMLElement, 'innerText'));
const readEditable = /** @type {(e: Element) => boolean} */ (getter(HTMLElement, 'isContentEditable'));
const sheetsIn = /** @type {(r: Document) => StyleSheetList} */ (getter(Document, 'styleSheets'));
const adoptedBy = /** @type {(r: Document) => CSSStyleSheet[]} */ (getter(Document, 'adoptedStyleSheets'));
const { getRootNode, contains } = Node.prototype;
export const elements = Element.prototype;
export const documents = Document.prototype;
/** @typedef {Element | null} Found */

export const attributeOf = (/** @type {Element} */ el, /** @type {string} */ name) => elements.getAttribute.call(el, name);
export const hasAttribute = (/** @type {Element} */ el, /** @type {string} */ name) => elements.hasAttribute.call(el, name);
export const attributeNamesOf = (/** @type {Element} */ el) => elements.getAttributeNames.call(el);
export const hasAttributes = (/** @type {Element} */ el) => elements.hasAttributes.call(el);
export const matchesCSS = (/** @type {Element} */ el, /** @type {string} */ css) => elements.matches.call(el, css);
export const closestTo = (/** @type {Element} */ el, /** @type {string} */ css) => /** @type {Found} */ (elements.closest.call(el, css));
export const boxOf = (/** @type {Element} */ el) => elements.getBoundingClientRect.call(el);
export const rectsOf = (/** @type {Element} */ el) => elements.getClientRects.call(el);
export const isRendered = (/** @type {Element} */ el, /** @type {object} */ opts = {}) => elements.checkVisibility.call(el, opts);
export const bringIntoView = (/** @type {Element} */ el, /** @type {ScrollIntoViewOptions} */ how) => elements.scrollIntoView.call(el, how);
export const scrollElement = (/** @type {Element} */ el, /** @type {ScrollToOptions} */ to) => /** @type {any} */ (elements.scrollTo).call(el, to);
export const scrollElementBy = (/** @type {Element} */ el, /** @type {ScrollToOptions} */ by) => /** @type {any} */ (elements.scrollBy).call(el, by);
export const giveFocus = (/** @type {Element} */ el, /** @type {FocusOptions} */ how) => HTMLElement.prototype.focus.call(el, how);
const treeOf = (/** @type {Node} */ node) => getRootNode.call(node);
export const containsNode = (/** @type {Node} */ outer, /** @type {Node | null} */ inner) => contains.call(outer, inner);
export const dispatch = (/** @type {Element} */ el, /** @type {Event} */ e) => EventTarget.prototype.dispatchEvent.call(el, e);
export const newRange = () => documents.createRange.call(document);
export const animations = () => documents.getAnimations.call(document);
export const HTML = 'http://www.w3.org/1999/xhtml';
export const isEditable = (/** @type {Element} */ el) => namespaceOf(el) === HTML && readEditable(el);
export const innerTextOf = (/** @type {Element} */ el) => (namespaceOf(el) === HTML ? readInnerText(el) : textIn(el) || '');

/** Attributes other than aria-… that change the role or behavior of an element with any tag. */
const SEMANTIC_ATTRIBUTES = new Set(['role', 'inert', 'tabindex', 'contenteditable', 'onclick', 'hidden', 'popover', 'popovertarget']);

/** Whether results may be cached, which is during one call from Go. See withCaches. */
export let cachingEnabled = false;

/** @type {(() => void)[]} */
const cacheResets = [];

/**
 * onCacheReset registers a function that clears a module's caches.
 * @param {() => void} reset
 */
export function onCacheReset(reset) {
  cacheResets.push(reset);
}

/**
 * withCaches runs one call from Go with empty caches.
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
export function withCaches(run) {
  for (const reset of cacheResets) reset();
  cachingEnabled = true;
  try {
    return run();
  } finally {
    cachingEnabled = false;
    for (const reset of cacheResets) reset();
  }
}

/** The last argument of hasSemanticAttribute, and the result. @type {Element | undefined} */
let cachedElement;
let cachedAnswer = false;
onCacheReset(() => {
  cachedElement = undefined;
});

/**
 * hasSemanticAttribute reports whether an element has an attribute that changes its role, name
 * or state, such as role or aria-…. Most elements have at most a class, and one check is
 * cheaper than one per attribute.
 * @param {Element} el
 */
export function hasSemanticAttribute(el) {
  if (!hasAttributes(el)) return false;
  if (el === cachedElement) return cachedAnswer;
  cachedElement = cachingEnabled ? el : undefined;
  cachedAnswer = false;
  for (const name of attributeNamesOf(el)) {
    if (name === 'class' || name === 'id' || name === 'style') continue;
    if (name.startsWith('aria-') || SEMANTIC_ATTRIBUTES.has(name)) {
      cachedAnswer = true;
      break;
    }
  }
  return cachedAnswer;
}

/**
 * closestAbove is closest, excluding the element itself.
 * @param {Element} el
 * @param {string} css
 */
export function closestAbove(el, css) {
  const p = parentElementOf(el);
  return p && closestTo(p, css);
}

/** isIn reports whether the parent has a tag. @param {Element} el @param {string} tag */
export function isIn(el, tag) {
  const p = parentElementOf(el);
  return !!p && tagOf(p) === tag;
}

/**
 * methodsOf returns the prototype with the methods of an element, a document or a shadow root.
 * @param {Node} root
 */
function methodsOf(root) {
  const type = typeOfNode(root);
  return /** @type {ParentNode} */ (type === 1 ? elements : type === 9 ? documents : DocumentFragment.prototype);
}

/**
 * allIn and firstIn are querySelectorAll and querySelector.
 * @param {Node} root
 * @param {string} css
 * @returns {NodeListOf<any>}
 */
export function allIn(root, css) {
  return methodsOf(root).querySelectorAll.call(root, css);
}

/**
 * @param {Node} root
 * @param {string} css
 * @returns {Element | null}
 */
export function firstIn(root, css) {
  return methodsOf(root).querySelector.call(root, css);
}

/**
 * childrenIn returns the child elements of a node.
 * @param {ParentNode} root
 * @returns {HTMLCollection}
 */
export function childrenIn(root) {
  if (typeOfNode(root) === 1) return childrenOf(/** @type {Element} */ (root));
  return root instanceof Document ? childrenOfDocument(root) : root.children;
}
const childrenOfDocument = /** @type {(d: Document) => HTMLCollection} */ (getter(Document, 'children'));

/**
 * elementFrom is elementFromPoint.
 * @param {Root} root
 * @param {number} x
 * @param {number} y
 */
export function elementFrom(root, x, y) {
  return root instanceof Document ? documents.elementFromPoint.call(root, x, y) : root.elementFromPoint(x, y);
}

/** sheetsOf returns the style sheets of a document or shadow root. @param {Root} root */
export function sheetsOf(root) {
  if (root instanceof Document) return [...sheetsIn(root), ...adoptedBy(root)];
  return [...root.styleSheets, ...root.adoptedStyleSheets];
}

/**
 * labelsFor returns the labels of a control. It is empty for other elements.
 * @param {Element} el
 * @returns {HTMLLabelElement[]}
 */
export function labelsFor(el) {
  if (el instanceof HTMLFormElement) return [];
  return [.../** @type {HTMLInputElement} */ (el).labels || []];
}

/**
 * tagOf returns an element's local name.
 * @param {Element} el
 * @returns {string}
 */
export function tagOf(el) {
  const tag = el.localName;
  return typeof tag === 'string' ? tag : 'form';
}

/**
 * tagWord returns the tag of an element if the browser defines it, or else 'element', because pages
 * choose unknown tags freely.
 * @param {Element} el
 */
export function tagWord(el) {
  const tag = tagOf(el);
  const known = el instanceof HTMLElement ? !(el instanceof HTMLUnknownElement) && !tag.includes('-') :
    el instanceof SVGElement && Object.getPrototypeOf(el) !== SVGElement.prototype;
  return known ? tag : 'element';
}

/**
 * The ids of elements. They are unique in the document and never reused.
 * @type {WeakMap<Element, number>}
 */
const ids = new WeakMap();
/** @type {Map<number, WeakRef<Element>>} */
export const nodes = new Map();
let lastId = 0;
let pruneAt = 4096;

/**
 * Closed shadow roots, which scripts cannot find. Go adds them.
 * @type {WeakMap<Element, ShadowRoot>}
 */
export const closedRoots = new WeakMap();

/**
 * idOf returns the id of an element. It assigns one if the element has none.
 * @param {Element} el
 * @returns {number}
 */
export function idOf(el) {
  let n = ids.get(el);
  if (n === undefined) {
    n = ++lastId;
    ids.set(el, n);
    nodes.set(n, new WeakRef(el));
    if (nodes.size > pruneAt) pruneNodes();
  }
  return n;
}

/**
 * pruneNodes removes ids whose elements were garbage collected, to bound memory on pages that keep
 * rendering.
 */
function pruneNodes() {
  for (const [n, ref] of nodes) if (!ref.deref()) nodes.delete(n);
  pruneAt = Math.max(4096, nodes.size * 2);
}

/**
 * byId returns the element with an id, or null if it no longer exists or is no longer in this
 * document.
 * @param {number} n
 * @returns {Element | null}
 */
export function byId(n) {
  const el = nodes.get(n)?.deref();
  if (el && !anyShadow && treeOf(el) !== document) anyShadow = true;
  return el && isConnectedOf(el) && ownerOf(el) === document ? el : null;
}

/**
 * shadowOf returns the shadow root of an element, open, or closed and added by Go.
 * @param {Element} el
 * @returns {ShadowRoot | null}
 */
export function shadowOf(el) {
  const root = shadowRootOf(el) || closedRoots.get(el) || null;
  if (root) reportShadowRoot(root);
  return root;
}

/** Whether a shadow root was found. In documents without one, slots need no work. */
export let anyShadow = false;

/** setAnyShadow is called by code that finds a shadow root without flatChildren. */
export function setAnyShadow() {
  anyShadow = true;
}

/** @type {((root: ShadowRoot) => void)[]} */
const shadowRootCallbacks = [];
const reportedRoots = new WeakSet();

/**
 * onShadowRoot registers a function that is called once for each shadow root that is found later.
 * @param {(root: ShadowRoot) => void} callback
 */
export function onShadowRoot(callback) {
  shadowRootCallbacks.push(callback);
}

/** @param {ShadowRoot} root */
function reportShadowRoot(root) {
  if (reportedRoots.has(root)) return;
  reportedRoots.add(root);
  for (const callback of shadowRootCallbacks) callback(root);
}

/**
 * findShadowRoots finds the shadow roots in a node, including nested ones.
 * @param {ParentNode} root
 */
export function findShadowRoots(root) {
  for (const el of allIn(root, '*')) {
    const inner = shadowOf(el); // reports it
    if (inner) findShadowRoots(inner);
  }
}

/**
 * flatChildren returns the children of a node in the flat tree: the children of its
 * shadow root, the nodes assigned to a slot, or else its own children.
 * @param {Node} node
 * @returns {NodeListOf<ChildNode> | Node[]}
 */
export function flatChildren(node) {
  if (typeOfNode(node) !== 1) return childNodesOf(node);
  const el = /** @type {Element} */ (node);
  const root = shadowOf(el);
  if (root) {
    anyShadow = true;
    return root.childNodes;
  }
  if (anyShadow && tagOf(el) === 'slot') {
    const assigned = /** @type {HTMLSlotElement} */ (el).assignedNodes();
    if (assigned.length) return assigned;
  }
  return childNodesOf(el);
}

/**
 * flatParent returns the parent of an element in the flat tree, or null for the root.
 * @param {Element} el
 * @returns {Element | null}
 */
export function flatParent(el) {
  const slot = slotOf(el);
  if (slot) return slot;
  const p = parentNodeOf(el);
  return p && typeOfNode(p) === 11 ? /** @type {ShadowRoot} */ (p).host : parentElementOf(el);
}

/**
 * The nesting depth up to which elements are processed recursively. Parsers do not create deeper
 * trees, but scripts can. Deeper elements are read iteratively, to not overflow the stack, and
 * without structure.
 */
export const DEEPEST = 400;

/**
 * descend calls visit with each node in an element, in flat tree order. If visit returns false,
 * the node's descendants are skipped. If it returns a function, the function is called after them.
 * @param {Element} el
 * @param {(node: Node, parent: Element) => false | void | (() => void)} visit
 */
export function descend(el, visit) {
  /** @type {{nodes: ArrayLike<Node>, at: number, parent: Element, after: void | (() => void)}[]} */
  const stack = [{ nodes: flatChildren(el), at: 0, parent: el, after: undefined }];
  while (stack.length) {
    const level = stack[stack.length - 1];
    if (level.at === level.nodes.length) {
      stack.pop();
      level.after?.();
      continue;
    }
    const node = level.nodes[level.at++];
    const after = visit(node, level.parent);
    if (after !== false && typeOfNode(node) === 1) stack.push({ nodes: flatChildren(node), at: 0, parent: /** @type {Element} */ (node), after });
  }
}

/** @typedef {Document | ShadowRoot} Root */

/**
 * rootOf returns the document or shadow root that an element is in.
 * @param {Element} el
 * @returns {Root}
 */
export function rootOf(el) {
  return /** @type {Root} */ (treeOf(el));
}

/**
 * The properties by which scripts set the elements of an attribute that otherwise lists ids.
 * Browsers lack some of them.
 * @type {Record<string, string>}
 */
const REFERENCES = {
  'aria-labelledby': 'ariaLabelledByElements', 'aria-describedby': 'ariaDescribedByElements', 'aria-controls': 'ariaControlsElements', 'aria-owns': 'ariaOwnsElements',
};

/**
 * elementsSet returns the elements that a script set for an attribute. The attribute itself is
 * empty then.
 * @param {Element} el
 * @param {string} attr
 * @returns {Element[]}
 */
function elementsSet(el, attr) {
  return [...Object.getOwnPropertyDescriptor(elements, REFERENCES[attr])?.get?.call(el) || []];
}

/**
 * elementsNamed returns the elements whose ids an attribute lists, in the same tree.
 * @param {Element} el
 * @param {string} attr
 * @returns {Element[]}
 */
export function elementsNamed(el, attr) {
  const list = attributeOf(el, attr);
  if (!list) return list === '' ? elementsSet(el, attr) : [];
  const root = rootOf(el);
  const out = [];
  for (const id of list.split(/\s+/)) {
    const found = id && elementWithId(root, id);
    if (found) out.push(found);
  }
  return out;
}

/**
 * @param {Root} root
 * @param {string} id
 * @returns {Element | null}
 */
export function elementWithId(root, id) {
  if (root instanceof Document) return Document.prototype.getElementById.call(root, id);
  return typeOfNode(root) === 11 ? root.getElementById(id) : null;
}

/**
 * activeDescendant returns the element that aria-activedescendant of the focused element names,
 * such as an option of a combo box.
 */
export function activeDescendant() {
  const f = focusedElement();
  return f ? elementsNamed(f, 'aria-activedescendant')[0] || null : null;
}

/**
 * isEditableBody reports whether an element is a body that is edited as a whole, as rich text editors
 * do in a frame. The body of a page that has controls is not.
 * @param {Element} el
 */
export const isEditableBody = (el) => tagOf(el) === 'body' && isEditable(el) && !firstIn(el, 'button, input, select, textarea');

/**
 * focusedElement returns the focused element of this document, including elements in shadow roots. The
 * root and the body, which are active if no element has the focus, are focused only if the user can
 * type into them.
 */
export function focusedElement() {
  let el = activeOf(document);
  for (;;) {
    const inner = el && shadowOf(el)?.activeElement;
    if (!inner) break;
    el = inner;
  }
  if (el !== bodyOf(document) && el !== topOf(document)) return el;
  return el && isEditable(el) && documents.hasFocus.call(document) ? el : null;
}

/**
 * collapse replaces each run of HTML white space with one space, and trims.
 * @param {string} s
 */
export function collapse(s) {
  if (!/[\t\n\r\f]| {2}|^ | $/.test(s)) return s;
  return s.replace(/[ \t\n\r\f]+/g, ' ').replace(/^ | $/g, '');
}

/** @param {Element} host @param {ShadowRoot} root */
export const addClosedRoot = (host, root) => {
  closedRoots.set(host, root);
  reportShadowRoot(root);
  findShadowRoots(root);
};

/**
 * within reports whether inner is outer or a descendant of it in the flat tree.
 * @param {Element | null} inner
 * @param {Element} outer
 */
export function within(inner, outer) {
  for (let el = inner; el; el = flatParent(el)) if (el === outer) return true;
  return false;
}

/**
 * isFrame reports whether events at an element are sent to another document.
 * @param {Element | null} el
 * @returns {el is Element}
 */
export function isFrame(el) {
  return !!el && /^(iframe|frame|object|embed|fencedframe)$/.test(tagOf(el));
}
