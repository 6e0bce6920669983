// @ts-check
// The ground that the other page scripts stand on: what Go may call, the
// identity of elements, and the flat tree. All scripts run in one function in
// an isolated world, in every document; nothing here is visible to the page
// and nothing is ever written into it.

/** What Go calls: each script registers its entry points here. @type {Record<string, Function>} */
const api = {};

// An element that moved here from another document keeps the prototypes that it
// has there: it is no instanceof anything here, and its type tells what it is.
//
// A form shows the fields in it as properties of its own, under their names,
// and the document its images and forms, in every world: form.parentNode may be
// an input. What a walk must be able to trust goes through the prototypes.

/**
 * @template T, V
 * @param {{prototype: T}} type
 * @param {string} name
 * @returns {(of: any) => V}
 */
function getter(type, name) {
  const get = /** @type {any} */ (Object.getOwnPropertyDescriptor(type.prototype, name)).get;
  return (of) => get.call(of);
}

const firstChildOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'firstChild'));
const nextSiblingOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'nextSibling'));
const childNodesOf = /** @type {(n: Node) => NodeListOf<ChildNode>} */ (getter(Node, 'childNodes'));
const parentNodeOf = /** @type {(n: Node) => ParentNode | null} */ (getter(Node, 'parentNode'));
const parentElementOf = /** @type {(n: Node) => Element | null} */ (getter(Node, 'parentElement'));
const typeOfNode = /** @type {(n: Node) => number} */ (getter(Node, 'nodeType'));
const isConnectedOf = /** @type {(n: Node) => boolean} */ (getter(Node, 'isConnected'));
const ownerOf = /** @type {(n: Node) => Document | null} */ (getter(Node, 'ownerDocument'));
const childrenOf = /** @type {(n: Element) => HTMLCollection} */ (getter(Element, 'children'));
const shadowRootOf = /** @type {(e: Element) => ShadowRoot | null} */ (getter(Element, 'shadowRoot'));
const slotOf = /** @type {(e: Element) => HTMLSlotElement | null} */ (getter(Element, 'assignedSlot'));
const bodyOf = /** @type {(d: Document) => HTMLElement | null} */ (getter(Document, 'body'));
const topOf = /** @type {(d: Document) => Element} */ (getter(Document, 'documentElement'));
const activeOf = /** @type {(d: Document) => Element | null} */ (getter(Document, 'activeElement'));
const titleOf = /** @type {(d: Document) => string} */ (getter(Document, 'title'));
const readyOf = /** @type {(d: Document) => DocumentReadyState} */ (getter(Document, 'readyState'));
const scrollingOf = /** @type {(d: Document) => Element | null} */ (getter(Document, 'scrollingElement'));
const implementationOf = /** @type {(d: Document) => DOMImplementation} */ (getter(Document, 'implementation'));
const baseOf = /** @type {(n: Node) => string} */ (getter(Node, 'baseURI'));
const lastChildOf = /** @type {(n: Node) => ChildNode | null} */ (getter(Node, 'lastChild'));
const textIn = /** @type {(n: Node) => string | null} */ (getter(Node, 'textContent'));
const namespaceOf = /** @type {(e: Element) => string | null} */ (getter(Element, 'namespaceURI'));
const firstElementOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'firstElementChild'));
const countOf = /** @type {(e: Element) => number} */ (getter(Element, 'childElementCount'));
const previousOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'previousElementSibling'));
const nextOf = /** @type {(e: Element) => Element | null} */ (getter(Element, 'nextElementSibling'));
const outerOf = /** @type {(e: Element) => string} */ (getter(Element, 'outerHTML'));
const innerOf = /** @type {(e: Element) => string} */ (getter(Element, 'innerHTML'));
const clientWidthOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientWidth'));
const clientHeightOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientHeight'));
const clientLeftOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientLeft'));
const clientTopOf = /** @type {(e: Element) => number} */ (getter(Element, 'clientTop'));
const scrollWidthOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollWidth'));
const scrollHeightOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollHeight'));
const scrollLeftOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollLeft'));
const scrollTopOf = /** @type {(e: Element) => number} */ (getter(Element, 'scrollTop'));
const offsetWidthOf = /** @type {(e: Element) => number} */ (getter(HTMLElement, 'offsetWidth'));
const offsetHeightOf = /** @type {(e: Element) => number} */ (getter(HTMLElement, 'offsetHeight'));
const readInnerText = /** @type {(e: Element) => string} */ (getter(HTMLElement, 'innerText'));
const readEditable = /** @type {(e: Element) => boolean} */ (getter(HTMLElement, 'isContentEditable'));
const sheetsIn = /** @type {(r: Document) => StyleSheetList} */ (getter(Document, 'styleSheets'));
const adoptedBy = /** @type {(r: Document) => CSSStyleSheet[]} */ (getter(Document, 'adoptedStyleSheets'));
const { getRootNode, contains } = Node.prototype;
const elements = Element.prototype;
const documents = Document.prototype;
/** @typedef {Element | null} Found */

const attributeOf = (/** @type {Element} */ el, /** @type {string} */ name) => elements.getAttribute.call(el, name);
const hasAttribute = (/** @type {Element} */ el, /** @type {string} */ name) => elements.hasAttribute.call(el, name);
const hasAttributes = (/** @type {Element} */ el) => elements.hasAttributes.call(el);
const matchesCSS = (/** @type {Element} */ el, /** @type {string} */ css) => elements.matches.call(el, css);
const closestTo = (/** @type {Element} */ el, /** @type {string} */ css) => /** @type {Found} */ (elements.closest.call(el, css));
const boxOf = (/** @type {Element} */ el) => elements.getBoundingClientRect.call(el);
const rectsOf = (/** @type {Element} */ el) => elements.getClientRects.call(el);
const isRendered = (/** @type {Element} */ el, /** @type {object} */ opts = {}) => elements.checkVisibility.call(el, opts);
const bringIntoView = (/** @type {Element} */ el, /** @type {ScrollIntoViewOptions} */ how) => elements.scrollIntoView.call(el, how);
const scrollElement = (/** @type {Element} */ el, /** @type {ScrollToOptions} */ to) => /** @type {any} */ (elements.scrollTo).call(el, to);
const scrollElementBy = (/** @type {Element} */ el, /** @type {ScrollToOptions} */ by) => /** @type {any} */ (elements.scrollBy).call(el, by);
const giveFocus = (/** @type {Element} */ el, /** @type {FocusOptions} */ how) => HTMLElement.prototype.focus.call(el, how);
const treeOf = (/** @type {Node} */ node) => getRootNode.call(node);
const holds = (/** @type {Node} */ outer, /** @type {Node | null} */ inner) => contains.call(outer, inner);
const dispatch = (/** @type {Element} */ el, /** @type {Event} */ e) => EventTarget.prototype.dispatchEvent.call(el, e);
const newRange = () => documents.createRange.call(document);
const animations = () => documents.getAnimations.call(document);
const HTML = 'http://www.w3.org/1999/xhtml';
const isEditable = (/** @type {Element} */ el) => namespaceOf(el) === HTML && readEditable(el);
const innerTextOf = (/** @type {Element} */ el) => (namespaceOf(el) === HTML ? readInnerText(el) : textIn(el) || '');

/** Attributes other than aria-… that change what an element is or can do, whatever its tag. */
const TELLING = new Set(['role', 'inert', 'tabindex', 'contenteditable', 'onclick', 'hidden', 'popover', 'popovertarget']);

/** Whether answers may be remembered: during one call from Go, see withStyles. */
let remembers = false;

/** The element that tellsOf was asked about last, and its answer. @type {Element | undefined} */
let told;
let toldAs = false;

/**
 * tellsOf reports whether an element has an attribute that says more than its
 * tag does: role, aria-… and the like. Most elements of a page have a class
 * at best, and to ask once is cheaper than to ask for each.
 * @param {Element} el
 */
function tellsOf(el) {
  if (!hasAttributes(el)) return false;
  if (el === told) return toldAs;
  told = remembers ? el : undefined;
  toldAs = false;
  for (const name of elements.getAttributeNames.call(el)) {
    if (name === 'class' || name === 'id' || name === 'style') continue;
    if (name.startsWith('aria-') || TELLING.has(name)) {
      toldAs = true;
      break;
    }
  }
  return toldAs;
}

/**
 * closestAbove is closest without the element itself.
 * @param {Element} el
 * @param {string} css
 */
function closestAbove(el, css) {
  const p = parentElementOf(el);
  return p && closestTo(p, css);
}

/** @param {Element} el @param {string} tag isIn reports whether the parent has a tag */
function isIn(el, tag) {
  const p = parentElementOf(el);
  return !!p && tagOf(p) === tag;
}

/** @param {Node} root methodsOf returns the prototype with the methods of an element, a document or a shadow root */
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
function allIn(root, css) {
  return methodsOf(root).querySelectorAll.call(root, css);
}

/**
 * @param {Node} root
 * @param {string} css
 * @returns {Element | null}
 */
function firstIn(root, css) {
  return methodsOf(root).querySelector.call(root, css);
}

/**
 * childrenIn returns the elements right below a node.
 * @param {ParentNode} root
 * @returns {HTMLCollection}
 */
function childrenIn(root) {
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
function elementFrom(root, x, y) {
  return root instanceof Document ? documents.elementFromPoint.call(root, x, y) : root.elementFromPoint(x, y);
}

/** @param {Root} root sheetsOf returns the style sheets of a document or shadow root */
function sheetsOf(root) {
  if (root instanceof Document) return [...sheetsIn(root), ...adoptedBy(root)];
  return [...root.styleSheets, ...root.adoptedStyleSheets];
}

/**
 * labelsFor returns the labels of a control, none for any other element.
 * @param {Element} el
 * @returns {HTMLLabelElement[]}
 */
function labelsFor(el) {
  if (el instanceof HTMLFormElement) return [];
  return [.../** @type {HTMLInputElement} */ (el).labels || []];
}

/**
 * tagOf returns an element's local name.
 * @param {Element} el
 * @returns {string}
 */
function tagOf(el) {
  const tag = el.localName;
  return typeof tag === 'string' ? tag : 'form';
}

/**
 * tagWord returns the tag of an element if browsers know the tag, and 'element' otherwise: pages can choose unknown tags freely.
 * @param {Element} el
 */
function tagWord(el) {
  const tag = tagOf(el);
  const known = el instanceof HTMLElement ? !(el instanceof HTMLUnknownElement) && !tag.includes('-') :
    el instanceof SVGElement && Object.getPrototypeOf(el) !== SVGElement.prototype;
  return known ? tag : 'element';
}

/** Numbers of elements, in this document, never reused. @type {WeakMap<Element, number>} */
const ids = new WeakMap();
/** @type {Map<number, WeakRef<Element>>} */
const nodes = new Map();
let lastId = 0;
let pruneAt = 4096;

/** Closed shadow roots, which scripts cannot find by themselves. @type {WeakMap<Element, ShadowRoot>} */
const closedRoots = new WeakMap();

/**
 * idOf returns the number of an element, a new one when it has none.
 * @param {Element} el
 * @returns {number}
 */
function idOf(el) {
  let n = ids.get(el);
  if (n === undefined) {
    n = ++lastId;
    ids.set(el, n);
    nodes.set(n, new WeakRef(el));
    if (nodes.size > pruneAt) pruneNodes();
  }
  return n;
}

/** Forgets numbers whose elements are gone, so that a page that renders for ever costs nothing. */
function pruneNodes() {
  for (const [n, ref] of nodes) if (!ref.deref()) nodes.delete(n);
  pruneAt = Math.max(4096, nodes.size * 2);
}

/**
 * byId returns the element with a number, or null when it is gone or no longer in this document.
 * @param {number} n
 * @returns {Element | null}
 */
function byId(n) {
  const el = nodes.get(n)?.deref();
  if (el && !anyShadow && treeOf(el) !== document) anyShadow = true;
  return el && isConnectedOf(el) && ownerOf(el) === document ? el : null;
}

/**
 * shadowOf returns the shadow root of an element, open, or closed and handed in by Go.
 * @param {Element} el
 * @returns {ShadowRoot | null}
 */
function shadowOf(el) {
  const root = shadowRootOf(el) || closedRoots.get(el) || null;
  if (root) watchShadow(root);
  return root;
}

/** Whether a shadow root was met: most documents have none, and then pay nothing for slots. */
let anyShadow = false;

/**
 * flatChildren returns the children of a node in the flat tree: those of its
 * shadow root, the nodes assigned to a slot, else its own.
 * @param {Node} node
 * @returns {NodeListOf<ChildNode> | Node[]}
 */
function flatChildren(node) {
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
 * flatParent returns the parent of an element in the flat tree, null above the root.
 * @param {Element} el
 * @returns {Element | null}
 */
function flatParent(el) {
  const slot = slotOf(el);
  if (slot) return slot;
  const p = parentNodeOf(el);
  return p && typeOfNode(p) === 11 ? /** @type {ShadowRoot} */ (p).host : parentElementOf(el);
}

/**
 * Levels of elements in elements that are walked each in its own call. No page
 * that a parser made is as deep, but scripts make such: what is deeper is read
 * without calls in calls, for which the stack has no room, and flat.
 */
const DEEPEST = 400;

/**
 * descend calls see with each node below an element in the flat tree, in
 * order. What it says false to is not entered; what it gives a function for is
 * entered, and the function called after.
 * @param {Element} el
 * @param {(node: Node, parent: Element) => false | void | (() => void)} see
 */
function descend(el, see) {
  /** @type {{nodes: ArrayLike<Node>, at: number, parent: Element, after: void | (() => void)}[]} */
  const way = [{ nodes: flatChildren(el), at: 0, parent: el, after: undefined }];
  while (way.length) {
    const level = way[way.length - 1];
    if (level.at === level.nodes.length) {
      way.pop();
      level.after?.();
      continue;
    }
    const node = level.nodes[level.at++];
    const after = see(node, level.parent);
    if (after !== false && typeOfNode(node) === 1) way.push({ nodes: flatChildren(node), at: 0, parent: /** @type {Element} */ (node), after });
  }
}

/** @typedef {Document | ShadowRoot} Root */

/**
 * rootOf returns the document or shadow root that an element is in.
 * @param {Element} el
 * @returns {Root}
 */
function rootOf(el) {
  return /** @type {Root} */ (treeOf(el));
}

/** The property that names by element what an attribute names by id, which scripts may set. Browsers lack some of them. @type {Record<string, string>} */
const REFERENCES = {
  'aria-labelledby': 'ariaLabelledByElements', 'aria-describedby': 'ariaDescribedByElements', 'aria-controls': 'ariaControlsElements', 'aria-owns': 'ariaOwnsElements',
};

/**
 * elementsSet returns the elements that a script set for an attribute. The attribute is then empty.
 * @param {Element} el
 * @param {string} attr
 * @returns {Element[]}
 */
function elementsSet(el, attr) {
  return [...Object.getOwnPropertyDescriptor(elements, REFERENCES[attr])?.get?.call(el) || []];
}

/**
 * elementsNamed returns the elements of the same tree that an attribute's list of ids names.
 * @param {Element} el
 * @param {string} attr
 * @returns {Element[]}
 */
function elementsNamed(el, attr) {
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
function elementWithId(root, id) {
  if (root instanceof Document) return Document.prototype.getElementById.call(root, id);
  return typeOfNode(root) === 11 ? root.getElementById(id) : null;
}

/** What the keys go to inside of what has the focus, such as an option of a combo box. */
function activeDescendant() {
  const f = focusedElement();
  return f ? elementsNamed(f, 'aria-activedescendant')[0] || null : null;
}

/** Focus as seen from this document, through shadow roots. */
function focusedElement() {
  let el = activeOf(document);
  for (;;) {
    const inner = el && shadowOf(el)?.activeElement;
    if (!inner) break;
    el = inner;
  }
  return el === bodyOf(document) || el === topOf(document) ? null : el;
}

/**
 * collapse turns runs of white space, as HTML means it, into one space and trims.
 * @param {string} s
 */
function collapse(s) {
  if (!/[\t\n\r\f]| {2}|^ | $/.test(s)) return s;
  return s.replace(/[ \t\n\r\f]+/g, ' ').replace(/^ | $/g, '');
}

api.idOf = idOf;
api.byId = byId;
/** @param {Element} host @param {ShadowRoot} root */
api.addClosedRoot = (host, root) => {
  closedRoots.set(host, root);
  watchShadow(root);
  watchShadowsIn(root);
};
