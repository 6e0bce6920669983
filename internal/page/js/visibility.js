// @ts-check
// Who can see or reach an element. Computed styles are what a walk pays most
// for.

/**
 * withStyles runs one call from Go with fresh caches.
 * @template T
 * @param {() => T} run
 * @returns {T}
 */
function withStyles(run) {
  const clear = () => {
    generators = new Map();
    silentDocument = false;
    scrollers = null;
    pointers = null;
    mutes = new Map();
    labelIndex = new Map();
    dataTables = new WeakMap();
    styled = told = ariaDisables = undefined;
    resetUnseen();
  };
  clear();
  remembers = true;
  try {
    return run();
  } finally {
    remembers = false;
    clear();
  }
}

/** The element that styleOf was asked about last, and its style, which is live: most questions come in a row. @type {Element | undefined} */
let styled;
/** @type {CSSStyleDeclaration} */
let styledAs;

/**
 * @param {Element} el
 * @returns {CSSStyleDeclaration}
 */
function styleOf(el) {
  if (el !== styled) {
    styledAs = getComputedStyle(el);
    styled = el;
  }
  return styledAs;
}

const SVG = 'http://www.w3.org/2000/svg';
const VISIBLE = { visibilityProperty: true };
const UNFADED = { visibilityProperty: true, opacityProperty: true };

/** Whether an element or an ancestor is inert or aria-hidden. @type {Map<Element, boolean>} */
let mutes = new Map();

/**
 * isHidden reports whether an element is hidden from everybody or from
 * assistive technology: not rendered, not visible, inert or aria-hidden,
 * itself or by an ancestor.
 * @param {Element} el
 * @returns {boolean}
 */
function isHidden(el) {
  for (let at = /** @type {Found} */ (el); at; at = flatParent(at)) {
    if (isRendered(at, VISIBLE) && !(namespaceOf(at) === SVG && closestTo(at, 'symbol, defs'))) break;
    // An element without a box of its own may still show what is in it.
    const cs = styleOf(at);
    if (cs.display !== 'contents' || cs.visibility !== 'visible') return true;
  }
  return isMuted(el);
}

/**
 * @param {Element | null} el
 * @returns {boolean}
 */
function isMuted(el) {
  /** @type {Element[] | undefined} */
  let way;
  let m = false;
  for (let at = el; at; at = flatParent(at)) {
    const known = mutes.get(at);
    m = known ?? mutesItself(at);
    if (known !== undefined) break;
    if (way) way.push(at);
    else way = [at];
    if (m) break;
  }
  if (way) for (const at of way) mutes.set(at, m);
  return m;
}

/**
 * isRenderedAround reports whether the nearest element with a box around one
 * without is rendered.
 * @param {Element} el
 * @returns {boolean}
 */
function isRenderedAround(el) {
  let p = flatParent(el);
  while (p && !isRendered(p) && styleOf(p).display === 'contents') p = flatParent(p);
  return !p || isRendered(p);
}

/** Elements that never have content of their own to show. */
const NEVER_SHOWN = new Set(['script', 'style', 'head', 'template', 'noscript', 'link', 'meta', 'title', 'base', 'datalist', 'param', 'source', 'track']);

/**
 * mutesItself reports whether an element takes itself and all below it out of
 * reach although it is rendered.
 * @param {Element} el
 * @returns {boolean}
 */
function mutesItself(el) {
  if (attributeOf(el, 'inert') !== null) return true;
  if (attributeOf(el, 'aria-hidden') !== 'true') return false;
  // Chromium does not let aria-hidden hide what has the focus, nor the page itself.
  if (el === bodyOf(document) || el === topOf(document)) return false;
  const f = focusedElement();
  return !(f && Node.prototype.contains.call(el, f));
}

/**
 * hidesText reports whether an element shows itself but not the text in it.
 * @param {Element} el
 * @returns {boolean}
 */
function hidesText(el) {
  if (tagOf(el) === 'details') return !(/** @type {HTMLDetailsElement} */ (el).open);
  return styleOf(el).contentVisibility === 'hidden';
}

/**
 * isSeen reports whether a person could see an element: rendered, visible and with a size.
 * @param {Element} el
 * @returns {boolean}
 */
function isSeen(el) {
  return showsAnything(el, 0);
}

/**
 * @param {Element} el
 * @param {number} deep how many elements this one is below the one asked about
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
  // A box without a size may still show what overflows it.
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
 * inViewport reports whether a box touches the viewport.
 * @param {DOMRect} r
 */
function inViewport(r) {
  return r.bottom > 0 && r.right > 0 && r.top < innerHeight && r.left < innerWidth;
}

/**
 * isFocusable reports whether an element can get the focus, as far as that
 * changes its role.
 * @param {Element} el
 */
function isFocusable(el) {
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
function isSummary(el) {
  const p = parentElementOf(el);
  return !!p && tagOf(p) === 'details' && firstIn(p, ':scope > summary') === el;
}

/** @param {Element} el */
function isEditingHost(el) {
  const v = attributeOf(el, 'contenteditable');
  return v !== null && (v === '' || v.toLowerCase() === 'true' || v.toLowerCase() === 'plaintext-only');
}

/**
 * generated returns the text that a ::before or ::after makes, with the
 * alternative text after a slash if there is one.
 * @param {Element} el
 * @param {'::before' | '::after' | '::marker'} which
 * @returns {string}
 */
function generated(el, which) {
  if (!mayGenerate(el)) return '';
  const cs = getComputedStyle(el, which);
  const content = cs.content;
  if (!content || content === 'none' || content === 'normal') return '';
  if (cs.display === 'none' || cs.visibility !== 'visible') return '';
  const words = splitAlternative(content);
  const said = words.replace(/\burl\("(?:[^"\\]|\\.)*"\)/g, '');
  let out = '';
  for (const m of said.matchAll(/"((?:[^"\\]|\\.)*)"|attr\(\s*([\w-]+)\s*\)|\b(open|close)-quote\b/g)) {
    out += m[1] !== undefined ? m[1].replace(/\\(.)/g, '$1') : m[3] ? quoteMark(el, m[3] === 'open') : attributeOf(el, m[2]) || '';
  }
  // Icon fonts live in the private use areas, they are no text.
  out = out.replace(/[\ue000-\uf8ff]|[\udb80-\udbff][\udc00-\udfff]/g, '');
  return out && (cs.display !== 'inline' || words !== content) ? ' ' + out + ' ' : out;
}

/**
 * quoteMark returns a quotation mark: double, and single in a quotation.
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

/** The elements that a style sheet may generate text for, by root; null is any. @type {Map<Root, Set<Element> | null>} */
let generators = new Map();
/** Whether no style sheet generates text in the document itself. */
let silentDocument = false;

/**
 * mayGenerate reports whether a style sheet may generate text for an element:
 * asking the browser for the computed style of two pseudo-elements of each
 * element would double the time of a walk.
 * @param {Element} el
 */
function mayGenerate(el) {
  if (!anyShadow && silentDocument) return false;
  const root = anyShadow ? rootOf(el) : document;
  let set = generators.get(root);
  if (set === undefined) {
    set = generatorsIn(root);
    if (remembers) generators.set(root, set);
    if (remembers && root === document) silentDocument = set !== null && set.size === 0 && !firstIn(document, 'q');
  }
  return set === null || set.has(el) || tagOf(el) === 'q';
}

/**
 * mayScroll reports whether a style sheet or the element itself may let what is
 * in it scroll, or hide it.
 * @param {Element} el in a document whose generated text was asked for
 */
function mayScroll(el) {
  if (!anyShadow && scrollers) return scrollers.has(el);
  return styleOf(el).overflowY !== 'visible';
}

/** The elements of the document that a style sheet lets scroll or hide what is in them; null when that is not known. @type {Set<Element> | null} */
let scrollers = null;

/** The elements of the document that have a style of their own for the cursor. @type {Set<Element> | null} */
let pointers = null;

/**
 * ownsPointer reports whether an element has a pointer as the cursor by a style
 * of its own, and not only since something around it has.
 * @param {Element} el
 */
function ownsPointer(el) {
  if (!pointers) mayGenerate(el);
  return !!pointers && pointers.has(el) && styleOf(el).cursor === 'pointer';
}

/** From so many selectors on it is quicker to ask the elements. */
const MAX_SCROLL_SELECTORS = 50;

/**
 * @param {Root} root
 * @returns {Set<Element> | null} null when a sheet cannot be read (another origin's) or understood
 */
function generatorsIn(root) {
  /** @type {Set<string>} */
  const selectors = new Set();
  const scrolling = new Set(['[style*=overflow]']);
  /** @type {Set<string>} */
  const pointing = new Set(['[style*=cursor]']);
  /** @param {CSSRuleList} rules @returns {boolean} whether all was understood */
  const scan = (rules) => {
    for (const rule of rules) {
      const r = /** @type {any} */ (rule);
      const s = r.selectorText;
      if (s && /:(before|after)\b/.test(s) && saysSomething(r.style.content)) {
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
  if (remembers && root === document) pointers = new Set(allIn(document, [...pointing].join()));
  if (!understood) return null;
  if (remembers && root === document && scrolling.size <= MAX_SCROLL_SELECTORS && !scrolling.has('*')) {
    scrollers = new Set(allIn(document, [...scrolling].join()));
  }
  /** @type {Set<Element>} */
  const out = new Set();
  for (const s of selectors) {
    try {
      const find = root === document ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
      // Nested combinators and the like end with one: what they mean is any element below.
      for (const el of find.call(root, /[>+~]$/.test(s) ? s + ' *' : s)) out.add(el);
    } catch {
      return null;
    }
  }
  return out;
}

/**
 * saysSomething reports whether a rule's content may be text: not nothing, and
 * not only icons.
 * @param {string} content
 */
function saysSomething(content) {
  if (!content || content === 'none' || content === 'normal') return false;
  const m = /^(["'])(.*)\1$/s.exec(content);
  return !m || /[^\s\ue000-\uf8ff]/.test(m[2]);
}
