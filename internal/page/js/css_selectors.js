// @ts-check
// CSS selectors as in Playwright: their combinators cross shadow roots, and they have additional
// pseudo-classes such as :has-text("Save"). Selectors that need neither are matched by the browser.

import { allIn, documents, firstIn, previousOf } from './dom.js';
import { equalTo, partOf, patternMatcher, SelectorError, selectText, textOf } from './text_selectors.js';
import { foldText } from './same_text.js';
import { inDocumentOrder, parentOrHost, rootsIn } from './tree_order.js';
import { isSeen } from './visibility.js';

/**
 * A Complex is a sequence of compound selectors. combinators[k] is after compounds[k]. leading is
 * the combinator before the first one, as in :has(> img), or ''. A combinator is ' ', >, + or ~.
 * @typedef {object} Complex
 * @property {string} leading
 * @property {Compound[]} compounds
 * @property {string[]} combinators
 */

/**
 * A Compound is a selector without combinators, such as a.link:has-text("Help").
 * @typedef {object} Compound
 * @property {string} css the part that the browser matches; may be empty
 * @property {PseudoClass[]} tests
 */

/**
 * @typedef {object} PseudoClass
 * @property {string} raw as in the selector
 * @property {string} name
 * @property {SelectorList} [list] the selectors in its parentheses
 * @property {(scope: Element | null) => Set<Element>} [find] the elements that it matches
 * @property {(el: Element) => boolean} [test] or whether it matches an element
 * @property {number} [n] of :nth-match
 */

/**
 * @typedef {object} SelectorList
 * @property {string} css the list as it was given
 * @property {Complex[]} items
 * @property {boolean} extended it contains a pseudo-class that the browser does not have
 * @property {boolean} crossing it contains a combinator or :has, which cross shadow roots
 * @property {boolean} nested it may match an element in a scope and not in one around that
 */

/** Pseudo-classes of CSS with selectors in parentheses, which may contain the additional ones. */
const WITH_SELECTORS = new Set(['is', 'where', 'not', 'has']);

/** The additional pseudo-classes. */
const ADDITIONAL = ':has-text("…"), :text("…"), :text-is("…"), :text-matches("…"), :visible and :nth-match(…, 1)';

/** What other tools support and we do not, and what to write. @type {Record<string, string>} */
const ELSEWHERE = {
  contains: 'write :has-text("…")', hidden: 'write :not(:visible)',
  eq: 'write >> nth=0', first: 'write >> nth=0', last: 'write >> nth=-1', light: '', near: '', above: '', below: '', 'left-of': '', 'right-of': '',
};

/** @param {string} css */
const invalid = (css) => new SelectorError(`${JSON.stringify(css)} is not a valid selector`);

/**
 * parseCSS parses a list of selectors.
 * @param {string} css
 * @param {boolean} [relative] whether a selector may begin with a combinator
 * @returns {SelectorList}
 */
export function parseCSS(css, relative = false) {
  /** @type {SelectorList} */
  const list = { css, items: [], extended: false, crossing: false, nested: false };
  for (const part of split(css)) {
    const item = parseComplex(part, css);
    const first = item.compounds[0];
    // ":scope > a" is "> a".
    if (relative && item.compounds.length > 1 && /^:scope$/i.test(first.css) && !first.tests.length) {
      item.compounds.shift();
      item.leading = item.combinators.shift() || '';
    }
    if (item.leading && !relative) throw invalid(css);
    const tests = item.compounds.flatMap((c) => c.tests);
    list.extended ||= tests.some(isAdditional);
    list.crossing ||= item.compounds.length > 1 || item.leading !== '' || tests.some((t) => t.name === 'has' || t.list?.crossing);
    list.nested ||= item.leading !== '' || tests.some((t) => t.name === 'nth-match' || t.list?.nested || (t.name === 'not' && t.list?.crossing));
    list.items.push(item);
  }
  return list;
}

/**
 * skip returns the index after the string, escape, comment, attribute condition or parenthesis that
 * begins at an index of a selector, or the next index if none does.
 * @param {string} css
 * @param {number} at
 * @returns {number}
 */
function skip(css, at) {
  switch (css[at]) {
    case '\\': return at + 2;
    case '/': return css[at + 1] === '*' ? after(css, '*/', at + 2) : at + 1;
    case '"': case "'":
      for (let k = at + 1; k < css.length; k += css[k] === '\\' ? 2 : 1) if (css[k] === css[at]) return k + 1;
      return css.length + 1;
    case '[': case '(': {
      const close = css[at] === '[' ? ']' : ')';
      for (let k = at + 1; k < css.length; k = skip(css, k)) if (css[k] === close) return k + 1;
      return css.length + 1;
    }
  }
  return at + 1;
}

/** @param {string} css @param {string} end @param {number} from */
function after(css, end, from) {
  const k = css.indexOf(end, from);
  return k < 0 ? css.length + 1 : k + end.length;
}

/**
 * split splits a selector list at its commas.
 * @param {string} css
 */
function split(css) {
  const out = [];
  let start = 0;
  for (let k = 0; k < css.length; k = skip(css, k)) {
    if (css[k] !== ',') continue;
    out.push(css.slice(start, k));
    start = k + 1;
  }
  return [...out, css.slice(start)];
}

/** @param {string} c */
const isSign = (c) => c === '>' || c === '+' || c === '~';

/**
 * parseComplex parses a selector without commas.
 * @param {string} css
 * @param {string} whole the selector that it is a part of, for errors
 * @returns {Complex}
 */
function parseComplex(css, whole) {
  /** @type {Complex} */
  const out = { leading: '', compounds: [], combinators: [] };
  /** @type {Compound | null} */
  let compound = null;
  let combinator = '';
  for (let k = 0; k < css.length;) {
    const c = css[k];
    const end = skip(css, k);
    if (end > css.length) throw invalid(whole);
    if (/[ \t\n\r\f>+~]/.test(c)) {
      if (isSign(c) && isSign(combinator)) throw invalid(whole);
      combinator = isSign(c) ? c : combinator || ' ';
      compound = null;
      k = end;
      continue;
    }
    if (!compound) {
      if (c === '/' && end > k + 1) { // a comment
        k = end;
        continue;
      }
      compound = { css: '', tests: [] };
      if (!out.compounds.length) out.leading = combinator.trim();
      else out.combinators.push(combinator);
      combinator = '';
      out.compounds.push(compound);
    }
    const pseudo = c === ':' ? /^:([a-z-]+)(\()?/i.exec(css.slice(k)) : null;
    if (!pseudo) {
      compound.css += css.slice(k, end);
      k = end;
      continue;
    }
    const open = k + pseudo[0].length;
    const close = pseudo[2] ? skip(css, open - 1) : open;
    if (close > css.length) throw invalid(whole);
    const raw = css.slice(k, close);
    const test = parsePseudoClass(raw, pseudo[1].toLowerCase(), pseudo[2] ? css.slice(open, close - 1) : null);
    if (test) compound.tests.push(test);
    else compound.css += raw;
    k = close;
  }
  if (!out.compounds.length || isSign(combinator)) throw invalid(whole);
  for (const { css: own, tests } of out.compounds) check(own + tests.map((t) => (isAdditional(t) ? '' : t.raw)).join(''), whole);
  return out;
}

/**
 * check throws an error for a selector that the browser does not accept.
 * @param {string} css
 * @param {string} whole
 */
function check(css, whole) {
  if (css === '') return;
  try {
    firstIn(documents.createDocumentFragment.call(document), css);
  } catch {
    throw invalid(whole);
  }
}

/**
 * parsePseudoClass parses a pseudo-class that the browser does not have, or one that may contain
 * such a one. For others it returns null.
 * @param {string} raw
 * @param {string} name
 * @param {string | null} given what is in its parentheses, or null if it has none
 * @returns {PseudoClass | null}
 */
function parsePseudoClass(raw, name, given) {
  const prefix = `:${name}()`;
  const text = () => {
    const s = given === null ? null : cssString(given);
    if (s === null) throw new SelectorError(`${prefix} requires a quoted text, as in :${name}("Save")`);
    if (foldText(s) === '') throw new SelectorError(`${prefix} requires a text`);
    return s;
  };
  if (WITH_SELECTORS.has(name) && given?.trim()) return { raw, name, list: parseCSS(given, name === 'has') };
  switch (name) {
    case 'visible':
      if (given !== null) throw new SelectorError(':visible has no parentheses');
      return { raw, name, test: isSeen };
    case 'has-text': {
      const { test } = partOf(text());
      return { raw, name, test: (el) => test(textOf(el)) };
    }
    case 'text': case 'text-is': {
      const matcher = name === 'text' ? partOf(text()) : equalTo(text());
      return { raw, name, find: (scope) => new Set(selectText(matcher, scope)) };
    }
    case 'text-matches': {
      const [source, flags = '""'] = split(given || '');
      const body = cssString(source), letters = cssString(flags);
      if (!body || letters === null) throw new SelectorError(':text-matches() requires a quoted regular expression, as in :text-matches("^save", "i")');
      const matcher = patternMatcher(body, letters);
      return { raw, name, find: (scope) => new Set(selectText(matcher, scope)) };
    }
    case 'nth-match': {
      const items = split(given || '');
      const n = Number(items.pop());
      if (!items.length || !Number.isInteger(n) || n < 1) throw new SelectorError(':nth-match() requires a selector and a number from 1, as in :nth-match(.row, 2)');
      return { raw, name, list: parseCSS(items.join(',')), n };
    }
  }
  if (Object.hasOwn(ELSEWHERE, name)) throw new SelectorError(`:${name} is not supported${ELSEWHERE[name] && `: ${ELSEWHERE[name]}`}; in addition to CSS there are ${ADDITIONAL}`);
  return null;
}

/**
 * cssString returns the text of a string of CSS, or null if it is not one.
 * @param {string} s
 */
function cssString(s) {
  const given = s.trim();
  if (!/^["']/.test(given) || skip(given, 0) !== given.length) return null;
  return given.slice(1, -1).replace(/\\(?:([0-9a-f]{1,6})[ \t\n\r\f]?|\n|(.))/gi, (_, hex, c) => (hex ? codePoint(parseInt(hex, 16)) : c || ''));
}

/** @param {number} n */
const codePoint = (n) => (n > 0 && n <= 0x10ffff ? String.fromCodePoint(n) : '\ufffd');

/**
 * selectCSS returns the elements that a CSS selector matches, in an element or in the document, in
 * document order.
 * @param {string | SelectorList} css
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function selectCSS(css, scope) {
  const list = typeof css === 'string' ? parseCSS(css) : css;
  // Only a selector that begins with + or ~ matches elements outside of the scope.
  const siblings = scope !== null && list.items.some((item) => /[+~]/.test(item.leading));
  const top = siblings ? parentOrHost(scope) : scope;
  const roots = rootsIn(top || document);
  const crossing = list.crossing && (scope !== null || roots.length > 1);
  if (crossing || list.extended) return new Evaluation(top, roots, crossing).ordered(list, scope);
  const own = [...allIn(roots[0], list.css)];
  if (roots.length === 1) return own;
  // Only shadow roots require a walk, to find the document order.
  const found = new Set(own);
  for (const root of roots.slice(1)) for (const el of allIn(root, list.css)) found.add(el);
  return found.size === own.length ? own : inDocumentOrder(found, top);
}

/**
 * An Evaluation matches a selector that the browser cannot match. It computes the set of all
 * elements that match the first compound selector, then the set of those that match the second one
 * and have the relation of the combinator to an element of the first set, and so on.
 */
class Evaluation {
  /**
   * @param {Element | null} scope the element to search in, or null for the document
   * @param {ParentNode[]} roots the scope and the shadow roots in it
   * @param {boolean} crossing whether combinators must be evaluated here
   */
  constructor(scope, roots, crossing) {
    this.scope = scope;
    this.roots = roots;
    this.crossing = crossing;
    /** What the pseudo-classes match. @type {Map<PseudoClass, Set<Element>>} */
    this.sets = new Map();
  }

  /**
   * ordered returns the elements that a list of selectors matches, in document order.
   * @param {SelectorList} list
   * @param {Element | null} anchor what the selectors are relative to
   */
  ordered(list, anchor) {
    const found = this.select(list, anchor);
    return this.roots.length > 1 || list.items.length > 1 ? inDocumentOrder(found, this.scope) : [...found];
  }

  /**
   * select returns the elements that a list of selectors matches.
   * @param {SelectorList} list
   * @param {Element | null} anchor
   * @returns {Set<Element>}
   */
  select(list, anchor) {
    /** @type {Set<Element>} */
    const out = new Set();
    for (const { leading, compounds, combinators } of list.items) {
      let found = this.candidates(compounds[0]);
      const relation = leading || (anchor && anchor !== this.scope ? ' ' : '');
      if (anchor && relation) found = found.filter(related(relation, new Set([anchor])));
      combinators.forEach((combinator, k) => {
        found = this.candidates(compounds[k + 1]).filter(related(combinator, new Set(found)));
      });
      for (const el of found) out.add(el);
    }
    return out;
  }

  /**
   * containing returns the elements that match :has with a list of selectors.
   * @param {SelectorList} list
   * @returns {Set<Element>}
   */
  containing(list) {
    /** @type {Set<Element>} */
    const out = new Set();
    for (const { leading, compounds, combinators } of list.items) {
      let found = this.candidates(compounds[compounds.length - 1]);
      for (let k = combinators.length - 1; k >= 0; k--) {
        const before = reached(combinators[k], found);
        found = this.candidates(compounds[k]).filter((el) => before.has(el));
      }
      for (const el of reached(leading || ' ', found)) out.add(el);
    }
    return out;
  }

  /**
   * candidates returns the elements that a compound selector matches.
   * @param {Compound} compound
   * @returns {Element[]}
   */
  candidates({ css, tests }) {
    const ours = tests.filter((t) => isAdditional(t) || (this.crossing && (t.name === 'has' || t.list?.crossing)));
    const native = css + tests.map((t) => (ours.includes(t) ? '' : t.raw)).join('');
    let found = this.roots.flatMap((root) => /** @type {Element[]} */ ([...allIn(root, native || '*')]));
    for (const t of ours) found = found.filter(this.tester(t));
    return found;
  }

  /**
   * tester returns the condition of a pseudo-class.
   * @param {PseudoClass} pseudo
   * @returns {(el: Element) => boolean}
   */
  tester(pseudo) {
    const { name, list, find, test, n = 0 } = pseudo;
    if (test) return test;
    let set = this.sets.get(pseudo);
    if (!set) {
      if (!list) set = /** @type {NonNullable<typeof find>} */ (find)(this.scope);
      else if (name === 'has') set = this.containing(list);
      else if (name === 'nth-match') set = new Set(this.ordered(list, null).slice(n - 1, n));
      else set = this.select(list, null);
      this.sets.set(pseudo, set);
    }
    const matches = set;
    return name === 'not' ? (el) => !matches.has(el) : (el) => matches.has(el);
  }
}

/**
 * isAdditional reports whether the browser does not have a pseudo-class, or one in its parentheses.
 * @param {PseudoClass} t
 */
function isAdditional(t) {
  return !t.list || t.list.extended || t.name === 'nth-match';
}

/**
 * stepBefore returns the function that goes one step against the direction of a combinator.
 * @param {string} combinator
 */
const stepBefore = (combinator) => (combinator === '>' || combinator === ' ' ? parentOrHost : previousOf);

/** isDeep reports whether a combinator is for any number of steps. @param {string} combinator */
const isDeep = (combinator) => combinator === ' ' || combinator === '~';

/**
 * related returns a function that reports whether an element has the relation of a combinator to an
 * element of a set. It remembers its results, so that all elements together take linear time.
 * @param {string} combinator
 * @param {Set<Element>} set
 * @returns {(el: Element) => boolean}
 */
export function related(combinator, set) {
  const step = stepBefore(combinator), deep = isDeep(combinator);
  /** Whether an element, or one that further steps reach, is in the set. @type {Map<Element, boolean>} */
  const known = new Map();
  return (el) => {
    const path = [];
    let found = false;
    for (let at = step(el); at; at = deep ? step(at) : null) {
      found = known.get(at) ?? set.has(at);
      if (found || known.has(at)) break;
      path.push(at);
    }
    if (deep) for (const at of path) known.set(at, found);
    return found;
  };
}

/**
 * reached returns the elements to which an element of a list has the relation of a combinator.
 * @param {string} combinator
 * @param {Element[]} list
 * @returns {Set<Element>}
 */
function reached(combinator, list) {
  const step = stepBefore(combinator), deep = isDeep(combinator);
  /** @type {Set<Element>} */
  const out = new Set();
  for (const el of list) for (let at = step(el); at && !out.has(at); at = deep ? step(at) : null) out.add(at);
  return out;
}
