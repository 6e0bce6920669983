// @ts-check
// Selectors as in Playwright: CSS, XPath, text=, role= and others, chained with >>.

import { contentText, nameOf } from './accessible_names.js';
import { ARIA_ROLES, F, INTERACTIVE } from './aria_constants.js';
import { roleOf, TAG_ROLES } from './aria_roles.js';
import { flagsOf } from './aria_states.js';
import { parseCSS, related, selectCSS } from './css_selectors.js';
import { roleAndName } from './described_elements.js';
import { attributeOf, documents, flatParent, focusedElement, hasAttribute, idOf, tagOf, typeOfNode, withCaches } from './dom.js';
import { itemText } from './item_text.js';
import { isListening } from './listeners.js';
import { selectAttribute, selectLabeled, SelectorError, selectText, textMatcher, unquote } from './text_selectors.js';
import { elementsIn, inDocumentOrder } from './tree_order.js';
import { isEditingHost, isHidden, isSeen, styleOf } from './visibility.js';

/**
 * query finds the elements that a selector matches, in document order.
 * @param {string} selector
 * @param {{limit?: number}} [opts] limit is how many matches to return, by default 20
 * @returns {{total: number, nth: boolean, matches: [number, boolean][], item: string} | {error: string}} the
 *   ids of the first matches, each with whether it is visible, and whether nth= chose among the
 *   matches. The first visible match is always included, in order. If there are several, item is the
 *   text of the item that the first visible one is in
 */
export function query(selector, opts) {
  return withCaches(() => {
    let found, parts;
    try {
      parts = parseSelector(selector);
      found = select(parts);
    } catch (e) {
      if (e instanceof SelectorError) return { error: e.message };
      if (e instanceof DOMException) return { error: `${JSON.stringify(selector)} is not a valid selector` };
      throw e;
    }
    const limit = Math.max(opts?.limit ?? 20, 1);
    /** @type {[number, boolean][]} */
    const matches = [];
    /** The first visible match. @type {Element | null} */
    let seen = null;
    for (let k = 0; k < found.length; k++) {
      if (matches.length < limit) {
        const visible = isSeen(found[k]);
        if (visible) seen ||= found[k];
        matches.push([idOf(found[k]), visible]);
      } else if (seen || k > 5000) {
        break;
      } else if (isSeen(found[k])) {
        seen = found[k];
        matches.push([idOf(seen), true]);
        break;
      }
    }
    const item = seen && found.length > 1 ? itemText(seen, roleAndName(seen)[1]) : '';
    return { total: found.length, nth: parts.some((part) => part.nth), matches, item };
  });
}

/**
 * A Part is a part of a selector between >>.
 * @typedef {object} Part
 * @property {(scope: Element | null) => Element[]} [select] finds elements in an element, or in the
 *   document
 * @property {boolean} [nested] whether it may find an element in a scope and not in one around that
 * @property {(list: Element[]) => Element[]} [filter] or chooses among those of the part before
 * @property {boolean} [nth] whether filter depends on their number
 */

/**
 * select returns the elements that a selector matches, in document order.
 * @param {Part[]} parts
 * @returns {Element[]}
 */
function select(parts) {
  let found = /** @type {Element[]} */ ([]);
  parts.forEach(({ select: find, filter, nested }, k) => {
    if (filter) found = filter(found);
    else if (find && k === 0) found = find(null);
    else if (find) {
      const isInner = related(' ', new Set(found));
      const scopes = nested ? found : found.filter((el) => !isInner(el));
      const all = scopes.flatMap(find);
      found = nested && scopes.length > 1 ? inDocumentOrder(new Set(all), null) : all;
    }
  });
  return found;
}

/** What a selector can begin with, for errors. */
const PREFIXES = 'CSS, text=, role=, label=, placeholder=, alt=, title=, testid= and xpath=, and after >> also nth= and visible=';

/** The prefixes before a text. */
const TEXT_PREFIX = /^\s*(text|label|placeholder|alt|title|testid)\s*=\s*/i;

/**
 * parseSelector parses a selector.
 * @param {string} selector
 * @returns {Part[]}
 */
function parseSelector(selector) {
  if (selector.trim() === '') throw new SelectorError('the selector is empty');
  return split(selector).map((part, k) => parsePart(part.trim(), k === 0));
}

/**
 * split splits a selector at >> outside of strings and regular expressions.
 * @param {string} selector
 */
function split(selector) {
  if (!selector.includes('>>')) return [selector];
  const out = [];
  for (let rest = selector; ;) {
    const end = endOfPart(rest);
    out.push(rest.slice(0, end));
    if (end === rest.length) return out;
    rest = rest.slice(end + 2);
  }
}

/** QUOTED matches a string at the beginning, and PATTERN a regular expression. */
const QUOTED = /^(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')/s;
const PATTERN = /^\/(?:\[(?:[^\]\\]|\\.)*\]|[^/\\[]|\\.)+\/[a-z]*/is;

/**
 * endOfPart returns the index of the first >> in a selector that ends its first part.
 * @param {string} s
 */
function endOfPart(s) {
  const prefix = TEXT_PREFIX.exec(s);
  if (prefix) {
    // Quotation marks inside of a text are a part of it: text=Don't
    const at = prefix[0].length, text = s.slice(at);
    const literal = QUOTED.exec(text) || PATTERN.exec(text);
    const end = s.indexOf('>>', at + (literal ? literal[0].length : 0));
    return end < 0 ? s.length : end;
  }
  const role = /^\s*role\s*=/i.test(s);
  for (let k = 0; k < s.length;) {
    if (s.startsWith('>>', k)) return k;
    const quoted = s[k] === '"' || s[k] === "'", pattern = role && s[k] === '/' && s[k - 1] === '=';
    const literal = quoted ? QUOTED.exec(s.slice(k)) : pattern ? PATTERN.exec(s.slice(k)) : null;
    k += literal ? literal[0].length : s[k] === '\\' ? 2 : 1;
  }
  return s.length;
}

/**
 * parsePart parses a part of a selector.
 * @param {string} part
 * @param {boolean} first whether it is the first one
 * @returns {Part}
 */
function parsePart(part, first) {
  if (part === '') throw new SelectorError('the selector is empty before or after >>; quote a text that contains >>, as in text="Next >>"');
  if (unquote(part) !== null) return parseText(part, 'text');
  if (/^\(*\/\//.test(part) || part.startsWith('..')) return parseXPath(part);
  const m = /^([a-z_*][\w:*-]*)\s*=\s*/i.exec(part);
  if (!m) return parseStyle(part, first);
  const name = m[1].toLowerCase();
  const body = part.slice(m[0].length);
  switch (name) {
    case 'css': return parseStyle(body, first);
    case 'role': return parseRole(body);
    case 'xpath': return parseXPath(body);
    case 'text': case 'label': case 'placeholder': case 'alt': case 'title': case 'testid': return parseText(body, name);
    case 'nth': case 'visible':
      if (first) throw new SelectorError(`${name}= must follow another selector, as in li >> ${part}`);
      return name === 'nth' ? parseNth(body) : parseVisible(body);
  }
  throw new SelectorError(`${m[1]}= is unknown; a selector is ${PREFIXES}. An attribute is written [${CSS.escape(m[1])}="…"]`);
}

/**
 * @param {string} css
 * @param {boolean} first
 * @returns {Part}
 */
function parseStyle(css, first) {
  const list = parseCSS(css, !first);
  return { select: (scope) => selectCSS(list, scope), nested: list.nested };
}

/**
 * @param {string} text
 * @param {string} name
 * @returns {Part}
 */
function parseText(text, name) {
  if (name === 'testid') {
    const exact = unquote(text) ?? text;
    const { test } = textMatcher('testid=', text);
    return { select: (scope) => selectAttribute('data-testid', PATTERN.test(text) ? test : (s) => s === exact, scope) };
  }
  const matcher = textMatcher(`${name}=`, text);
  if (name === 'text') return { select: (scope) => selectText(matcher, scope) };
  if (name === 'label') return { select: (scope) => selectLabeled(matcher, scope) };
  return { select: (scope) => selectAttribute(name, matcher.test, scope) };
}

/**
 * @param {string} body
 * @returns {Part}
 */
function parseNth(body) {
  if (!/^-?\d+$/.test(body)) throw new SelectorError('nth= requires a number: nth=0 is the first match, nth=-1 the last one');
  const n = Number(body);
  return { filter: (list) => list.slice(n, n === -1 ? undefined : n + 1), nth: true };
}

/**
 * @param {string} body
 * @returns {Part}
 */
function parseVisible(body) {
  if (body !== 'true' && body !== 'false') throw new SelectorError('visible= requires true or false');
  return { filter: (list) => list.filter((el) => isSeen(el) === (body === 'true')) };
}

/**
 * parseXPath parses an XPath expression. It matches no elements in shadow roots, unless the part
 * before it does.
 * @param {string} xpath
 * @returns {Part}
 */
function parseXPath(xpath) {
  const run = (/** @type {() => any} */ f) => {
    try {
      return f();
    } catch {
      throw new SelectorError(`${JSON.stringify(xpath)} is not a valid XPath expression for elements`);
    }
  };
  run(() => documents.createExpression.call(document, xpath, null));
  return {
    nested: true,
    select(scope) {
      const expression = scope && xpath[0] === '/' ? '.' + xpath : xpath;
      const result = /** @type {XPathResult} */ (run(() => documents.evaluate.call(document, expression, scope || document, null, XPathResult.ORDERED_NODE_SNAPSHOT_TYPE, null)));
      /** @type {Element[]} */
      const out = [];
      for (let k = 0; k < result.snapshotLength; k++) {
        const node = /** @type {Node} */ (result.snapshotItem(k));
        const type = typeOfNode(node);
        if (type === 2 || type === 3) throw new SelectorError(`${JSON.stringify(xpath)} matches attributes or text; write the condition in brackets, as in //a[@href]`);
        if (type === 1) out.push(/** @type {Element} */ (node));
      }
      return out;
    },
  };
}

/**
 * @typedef {object} RoleSelector
 * @property {string} role
 * @property {((name: string) => boolean) | null} name
 * @property {Map<string, string>} states
 * @property {boolean} hidden
 */

const ROLE_STATES = new Set(['checked', 'disabled', 'expanded', 'selected', 'pressed', 'level', 'required', 'invalid', 'readonly', 'focused', 'current']);

/**
 * parseRole parses a role selector such as button[name="Save"][disabled].
 * @param {string} s
 * @returns {Part}
 */
function parseRole(s) {
  const m = /^([a-z-]+)\s*/i.exec(s);
  if (!m) throw new SelectorError('role= requires a role, as in role=button[name="Save"]');
  const role = m[1].toLowerCase();
  /** @type {RoleSelector} */
  const out = { role: role === 'image' ? 'img' : role, name: null, states: new Map(), hidden: false };
  let rest = s.slice(m[0].length);
  while (rest !== '') {
    const a = /^\[\s*([a-z-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/(?:\[(?:[^\]\\]|\\.)*\]|[^/\\[]|\\.)+\/[a-z]*|[^\]]*?)\s*(i|s)?)?\s*\]\s*/i.exec(rest);
    if (!a) throw new SelectorError(`role= cannot parse ${JSON.stringify(rest)}`);
    rest = rest.slice(a[0].length);
    const key = a[1].toLowerCase();
    const value = a[2];
    if (key === 'name') {
      if (value === undefined || value === '') throw new SelectorError('name requires a text, as in role=button[name="Save"]');
      out.name = textMatcher('name', value, a[3]?.toLowerCase()).test;
    } else if (key === 'include-hidden') {
      out.hidden = value === undefined || value === 'true';
    } else if (ROLE_STATES.has(key)) {
      out.states.set(key, (unquote(value || '') ?? value ?? 'true').toLowerCase());
    } else {
      throw new SelectorError(`role= does not support [${key}]; supported are name, ${[...ROLE_STATES].join(', ')}, include-hidden`);
    }
  }
  if (!ARIA_ROLES.has(role) && !INTERACTIVE.has(out.role) && !Object.values(TAG_ROLES).includes(out.role) && out.role !== 'clickable') {
    throw new SelectorError(`unknown role ${JSON.stringify(role)}`);
  }
  return { select: (scope) => selectRole(out, scope) };
}

/**
 * @param {RoleSelector} want
 * @param {Element | null} scope
 * @returns {Element[]}
 */
function selectRole(want, scope) {
  const out = /** @type {Element[]} */ ([]);
  for (const el of elementsIn(scope)) {
    let role = roleOf(el);
    if (role !== want.role) {
      // A text box also matches by its role in the outline or the role that Chromium assigns.
      if (!(want.role === 'textbox' && isEditingHost(el)) && !(want.role === 'button' && role === 'summary') && !(want.role === 'textbox' && role === 'date') &&
        !(want.role === 'clickable' && (role === 'generic' || role === 'paragraph') && isNativelyClickable(el))) continue;
      role = want.role;
    }
    if (!want.hidden && isHidden(el)) continue;
    if (want.states.size && !hasStates(el, role, want.states)) continue;
    if (want.name && !want.name(role === 'clickable' ? contentText(el, { seen: new Set() }) : nameOf(el, role))) continue;
    out.push(el);
  }
  return out;
}

/** @param {Element} el */
function isNativelyClickable(el) {
  if (hasAttribute(el, 'onclick') || isListening(el)) return true;
  if (styleOf(el).cursor !== 'pointer') return false;
  const p = flatParent(el);
  return !p || styleOf(p).cursor !== 'pointer';
}

/**
 * @param {Element} el
 * @param {string} role
 * @param {Map<string, string>} want
 */
function hasStates(el, role, want) {
  const f = flagsOf(el, role);
  for (const [key, value] of want) {
    let is;
    switch (key) {
      case 'level': is = attributeOf(el, 'aria-level') || (/^h[1-6]$/.test(tagOf(el)) ? tagOf(el)[1] : ''); break;
      case 'current': {
        const c = attributeOf(el, 'aria-current') || 'false';
        if (value === 'true' ? c === 'false' : c !== value) return false;
        continue;
      }
      case 'focused': is = String(el === focusedElement()); break;
      case 'checked': is = f & F.mixed ? 'mixed' : String(!!(f & F.checked)); break;
      case 'pressed': is = f & F.mixed ? 'mixed' : String(!!(f & F.pressed)); break;
      case 'expanded': is = f & F.expanded ? 'true' : 'false'; break;
      default: is = String(!!(f & F[/** @type {keyof typeof F} */ (key)]));
    }
    if (is !== value) return false;
  }
  return true;
}
