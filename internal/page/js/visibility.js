// @ts-check
// Visibility and focusability of elements. Computed styles are the most expensive part of a walk.

import { allIn, anyShadow, attributeOf, bodyOf, cachingEnabled, closestAbove, closestTo, collapse, DEEPEST, firstIn, flatChildren, flatParent, focusedElement, hasAttribute, isRendered, matchesCSS, namespaceOf, newRange, onCacheReset, parentElementOf, rootOf, sheetsOf, tagOf, textIn, topOf, typeOfNode } from './dom.js';
/** @import { Found, Root } from './dom.js' */

/**
 * The last argument of styleOf, and its style, which is live. Most calls come in a row.
 * @type {Element | undefined}
 */
let styledElement;
/** @type {CSSStyleDeclaration} */
let cachedStyle;

/**
 * @param {Element} el
 * @returns {CSSStyleDeclaration}
 */
export function styleOf(el) {
  if (el !== styledElement) {
    cachedStyle = getComputedStyle(el);
    styledElement = el;
  }
  return cachedStyle;
}

export const SVG = 'http://www.w3.org/2000/svg';
const VISIBLE = { visibilityProperty: true };
export const UNFADED = { visibilityProperty: true, opacityProperty: true };

/** Whether an element or an ancestor is inert or aria-hidden. @type {Map<Element, boolean>} */
let hiddenSubtreeCache = new Map();

/**
 * isHidden reports whether an element is hidden visually or from
 * assistive technology: not rendered, not visible, inert or aria-hidden,
 * itself or by an ancestor.
 * @param {Element} el
 * @returns {boolean}
 */
export function isHidden(el) {
  for (let at = /** @type {Found} */ (el); at; at = flatParent(at)) {
    if (isRendered(at, VISIBLE) && !(namespaceOf(at) === SVG && closestTo(at, 'symbol, defs'))) break;
    // An element without a box may still show its content.
    const cs = styleOf(at);
    if (cs.display !== 'contents' || cs.visibility !== 'visible') return true;
  }
  return isInHiddenSubtree(el);
}

/**
 * @param {Element | null} el
 * @returns {boolean}
 */
export function isInHiddenSubtree(el) {
  /** @type {Element[] | undefined} */
  let path;
  let m = false;
  for (let at = el; at; at = flatParent(at)) {
    const known = hiddenSubtreeCache.get(at);
    m = known ?? hidesSubtree(at);
    if (known !== undefined) break;
    if (path) path.push(at);
    else path = [at];
    if (m) break;
  }
  if (path) for (const at of path) hiddenSubtreeCache.set(at, m);
  return m;
}

/**
 * isRenderedAround reports whether the nearest ancestor with a box is rendered, for an
 * element without a box.
 * @param {Element} el
 * @returns {boolean}
 */
export function isRenderedAround(el) {
  let p = flatParent(el);
  while (p && !isRendered(p) && styleOf(p).display === 'contents') p = flatParent(p);
  return !p || isRendered(p);
}

/** Elements that never show their content. */
export const NEVER_SHOWN = new Set(['script', 'style', 'head', 'template', 'noscript', 'link', 'meta', 'title', 'base', 'datalist', 'param', 'source', 'track']);

/**
 * hidesSubtree reports whether an element makes itself and its descendants inert or aria-hidden,
 * although they are rendered.
 * @param {Element} el
 * @returns {boolean}
 */
export function hidesSubtree(el) {
  if (attributeOf(el, 'inert') !== null) return true;
  if (attributeOf(el, 'aria-hidden') !== 'true') return false;
  // Chromium ignores aria-hidden on an element that contains the focus, and on the root and body.
  if (el === bodyOf(document) || el === topOf(document)) return false;
  const f = focusedElement();
  return !(f && Node.prototype.contains.call(el, f));
}

/**
 * hidesText reports whether an element is shown but its text is not.
 * @param {Element} el
 * @returns {boolean}
 */
export function hidesText(el) {
  if (tagOf(el) === 'details') return !(/** @type {HTMLDetailsElement} */ (el).open);
  return styleOf(el).contentVisibility === 'hidden';
}

/**
 * isSeen reports whether an element is rendered, visible and has a size.
 * @param {Element} el
 * @returns {boolean}
 */
export function isSeen(el) {
  return showsAnything(el, 0);
}

/**
 * @param {Element} el
 * @param {number} deep the depth below the element that isSeen was called for
 * @returns {boolean}
 */
function showsAnything(el, deep) {
  if (deep > DEEPEST) return collapse(textIn(el) || '') !== '';
  if (!isRendered(el, VISIBLE)) {
    if (styleOf(el).display !== 'contents') return false;
    for (const child of flatChildren(el)) {
      if (typeOfNode(child) === 1 ? showsAnything(/** @type {Element} */ (child), deep + 1) : typeOfNode(child) === 3 && collapse(child.nodeValue || '') !== '') return true;
    }
    return false;
  }
  const box = Element.prototype.getBoundingClientRect.call(el);
  if (box.width > 0 && box.height > 0) return true;
  // A box without a size may still show overflowing content.
  if (styleOf(el).overflow !== 'visible') return false;
  for (const child of flatChildren(el)) {
    if (typeOfNode(child) === 1 && showsAnything(/** @type {Element} */ (child), deep + 1)) return true;
    if (typeOfNode(child) === 3 && collapse(child.nodeValue || '') !== '') {
      const range = newRange();
      range.selectNode(child);
      const r = range.getBoundingClientRect();
      if (r.width > 0 && r.height > 0) return true;
    }
  }
  return false;
}

/**
 * inViewport reports whether a box intersects the viewport.
 * @param {DOMRect} r
 */
export function inViewport(r) {
  return r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth;
}

/**
 * isFocusable reports whether an element can be focused, to the extent that
 * it affects its role.
 * @param {Element} el
 */
export function isFocusable(el) {
  if (hasAttribute(el, 'tabindex') && !Number.isNaN(parseInt(attributeOf(el, 'tabindex') || '', 10))) return true;
  switch (tagOf(el)) {
    case 'a': case 'area': return hasAttribute(el, 'href');
    case 'button': case 'select': case 'textarea': return !matchesCSS(el, ':disabled');
    case 'input': return /** @type {HTMLInputElement} */ (el).type !== 'hidden' && !matchesCSS(el, ':disabled');
    case 'iframe': return true;
    case 'summary': return isSummary(el);
    case 'audio': case 'video': return hasAttribute(el, 'controls');
  }
  return isEditingHost(el);
}

/** @param {Element} el */
export function isSummary(el) {
  const p = parentElementOf(el);
  return !!p && tagOf(p) === 'details' && firstIn(p, ':scope > summary') === el;
}

/** @param {Element} el */
export function isEditingHost(el) {
  const v = attributeOf(el, 'contenteditable');
  return v !== null && (v === '' || v.toLowerCase() === 'true' || v.toLowerCase() === 'plaintext-only');
}

/**
 * generated returns the text that a ::before or ::after pseudo-element generates. If its content
 * has alternative text after a slash, it returns that.
 * @param {Element} el
 * @param {'::before' | '::after' | '::marker'} which
 * @returns {string}
 */
export function generated(el, which) {
  if (!mayGenerate(el)) return '';
  const cs = getComputedStyle(el, which);
  const content = cs.content;
  if (!content || content === 'none' || content === 'normal') return '';
  if (cs.display === 'none' || cs.visibility !== 'visible') return '';
  const source = splitAlternative(content);
  const withoutImages = source.replace(/\burl\("(?:[^"\\]|\\.)*"\)/g, '');
  let out = '';
  for (const m of withoutImages.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(\s*([\w-]+)\s*\)|\b(open|close)-quote\b/g)) {
    out += m[1] !== undefined ? m[1].replace(/\\(.)/g, '$1') : m[3] ? quoteMark(el, m[3] === 'open') : attributeOf(el, m[2]) || '';
  }
  // Icon fonts use the private use areas, which are not text.
  out = out.replace(/[\ue000-\uf8ff]|[\udb80-\udbff][\udc00-\udfff]/g, '');
  return out && (cs.display !== 'inline' || source !== content) ? ' ' + out + ' ' : out;
}

/**
 * quoteMark returns a double quotation mark, or a single one inside a quotation.
 * @param {Element} el
 * @param {boolean} open
 */
function quoteMark(el, open) {
  const inner = closestAbove(el, 'q');
  return open ? (inner ? '‘' : '“') : inner ? '’' : '”';
}

/** @param {string} content */
function splitAlternative(content) {
  let quoted = false;
  for (let i = 0; i < content.length; i++) {
    if (content[i] === '\\') i++;
    else if (content[i] === '"') quoted = !quoted;
    else if (content[i] === '/' && !quoted) return content.slice(i + 1);
  }
  return content;
}

/**
 * The elements for which a style sheet may generate text, by root; null means any element.
 * @type {Map<Root, Set<Element> | null>}
 */
let generators = new Map();
/** Whether no style sheet generates text in the document itself. */
let hasNoGeneratedContent = false;

/**
 * mayGenerate reports whether a style sheet may generate text for an element.
 * Computing the styles of two pseudo-elements for each element would double
 * the time of a walk.
 * @param {Element} el
 */
export function mayGenerate(el) {
  if (!anyShadow && hasNoGeneratedContent) return false;
  const root = anyShadow ? rootOf(el) : document;
  let set = generators.get(root);
  if (set === undefined) {
    set = generatorsIn(root);
    if (cachingEnabled) generators.set(root, set);
    if (cachingEnabled && root === document) hasNoGeneratedContent = set !== null && set.size === 0 && !firstIn(document, 'q');
  }
  return set === null || set.has(el) || tagOf(el) === 'q';
}

/**
 * mayScroll reports whether a style sheet or the element's style attribute may make it
 * scroll or clip its content.
 * @param {Element} el in a document for which mayGenerate was called
 */
export function mayScroll(el) {
  if (!anyShadow && scrollers) return scrollers.has(el);
  return styleOf(el).overflowY !== 'visible';
}

/**
 * The elements of the document that a style sheet may make scroll or clip their content; null means
 * unknown.
 * @type {Set<Element> | null}
 */
let scrollers = null;

/** The elements of the document whose own style sets the cursor. @type {Set<Element> | null} */
let pointers = null;

onCacheReset(() => {
  generators = new Map();
  hasNoGeneratedContent = false;
  scrollers = null;
  pointers = null;
  hiddenSubtreeCache = new Map();
  styledElement = undefined;
});

/**
 * ownsPointer reports whether an element's own style sets a pointer cursor, as opposed
 * to inheriting it.
 * @param {Element} el
 */
export function ownsPointer(el) {
  if (!pointers) mayGenerate(el);
  return !!pointers && pointers.has(el) && styleOf(el).cursor === 'pointer';
}

/** With more selectors than this, computing the style of each element is faster. */
const MAX_SCROLL_SELECTORS = 50;

/**
 * @param {Root} root
 * @returns {Set<Element> | null} null if a sheet cannot be read (cross-origin) or parsed
 */
function generatorsIn(root) {
  /** @type {Set<string>} */
  const selectors = new Set();
  const scrolling = new Set(['[style*=overflow]']);
  /** @type {Set<string>} */
  const pointing = new Set(['[style*=cursor]']);
  /** @param {CSSRuleList} rules @returns {boolean} whether all rules were understood */
  const scan = (rules) => {
    for (const rule of rules) {
      const r = /** @type {any} */ (rule);
      const s = r.selectorText;
      if (s && /:(before|after)\b/.test(s) && hasVisibleContent(r.style.content)) {
        if (/[&]|:host|::slotted|::part/.test(s)) return false;
        for (const part of s.split(',')) {
          if (/::?(before|after)\s*$/.test(part)) selectors.add(part.replace(/::?(before|after)\s*$/, '').trim() || '*');
          else if (/:(before|after)\b/.test(part) || /[()]/.test(part)) return false;
        }
      }
      if (s && /auto|scroll|hidden|clip/.test(r.style.overflowY + r.style.overflowX)) scrolling.add(/&|:scope/.test(s) ? '*' : s);
      if (s && r.style.cursor === 'pointer' && !/[*&]|:scope/.test(s)) pointing.add(s);
      if (r.styleSheet && !scanSheet(r.styleSheet)) return false;
      if (r.cssRules && r.cssRules.length && !scan(r.cssRules)) return false;
    }
    return true;
  };
  /** @param {CSSStyleSheet} sheet */
  const scanSheet = (sheet) => {
    try {
      return sheet.disabled || scan(sheet.cssRules);
    } catch {
      return false;
    }
  };
  const understood = [...sheetsOf(root)].map(scanSheet).every(Boolean);
  if (cachingEnabled && root === document) pointers = new Set(allIn(document, [...pointing].join()));
  if (!understood) return null;
  if (cachingEnabled && root === document && scrolling.size <= MAX_SCROLL_SELECTORS && !scrolling.has('*')) {
    scrollers = new Set(allIn(document, [...scrolling].join()));
  }
  /** @type {Set<Element>} */
  const out = new Set();
  for (const s of selectors) {
    try {
      const find = root === document ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
      // Nested rules may end with a combinator. They apply to any descendant.
      for (const el of find.call(root, /[>+~]$/.test(s) ? s + ' *' : s)) out.add(el);
    } catch {
      return null;
    }
  }
  return out;
}

/**
 * hasVisibleContent reports whether a rule's content may be text: not empty and
 * not only icons.
 * @param {string} content
 */
function hasVisibleContent(content) {
  if (!content || content === 'none' || content === 'normal') return false;
  const m = /^(["'])(.*)\1$/s.exec(content);
  return !m || /[^\s\ue000-\uf8ff]/.test(m[2]);
}
