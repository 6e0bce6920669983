// @ts-check
// Selectors: CSS through open shadow roots (and closed ones that Go added), text=…, role=…[…].

import { contentText, nameOf } from './accessible_names.js';
import { ARIA_ROLES, roleOf, TAG_ROLES } from './aria_roles.js';
import { F, flagsOf, INTERACTIVE } from './aria_states.js';
import { allIn, attributeOf, bodyOf, byId, childrenIn, collapse, descend, firstElementOf, flatParent, focusedElement, hasAttribute, idOf, nextOf, rootOf, setAnyShadow, shadowOf, tagOf, topOf, typeOfNode, withCaches } from './dom.js';
import { isListening } from './listeners.js';
import { isEditingHost, isHidden, isSeen, NEVER_SHOWN, styleOf } from './visibility.js';

/** A SelectorError reports an invalid selector. Its message is shown to the caller. */
class SelectorError extends Error {}

/**
 * query finds the elements that a selector matches, in document order.
 * @param {string} selector CSS, text=Sign in, text="Sign in", role=button[name="Save"]
 * @param {{limit?: number, root?: number}} [opts] limit is how many matches to return, by default
 *   20; root is an element to search in
 * @returns {{total: number, matches: [number, boolean][]} | {error: string}} the ids of the first
 *   matches, each with whether it is visible. The first visible match is always included, in order
 */
export function query(selector, opts) {
  const scope = opts?.root ? byId(opts.root) : null;
  if (opts?.root && !scope) return { error: 'gone' };
  return withCaches(() => {
    let found;
    try {
      found = select(selector, scope);
    } catch (e) {
      if (e instanceof SelectorError) return { error: e.message };
      if (e instanceof DOMException) return { error: `${JSON.stringify(selector)} is not a valid selector` };
      throw e;
    }
    const limit = Math.max(opts?.limit ?? 20, 1);
    /** @type {[number, boolean][]} */
    const matches = [];
    let seen = false;
    for (let k = 0; k < found.length; k++) {
      if (matches.length < limit) {
        const visible = isSeen(found[k]);
        seen ||= visible;
        matches.push([idOf(found[k]), visible]);
      } else if (seen || k > 5000) {
        break;
      } else if (isSeen(found[k])) {
        matches.push([idOf(found[k]), true]);
        break;
      }
    }
    return { total: found.length, matches };
  });
}

/**
 * select returns the elements that a selector matches.
 * @param {string} selector
 * @param {Element | null} scope
 * @returns {Element[]}
 */
function select(selector, scope) {
  const s = selector.trim();
  if (s === '') throw new SelectorError('the selector is empty');
  if (/^text\s*=/i.test(s)) return selectText(s.replace(/^text\s*=\s*/i, ''), scope);
  if (/^role\s*=/i.test(s)) return selectRole(s.replace(/^role\s*=\s*/i, ''), scope);
  return selectCSS(s.replace(/^css\s*=\s*/i, ''), scope);
}

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
 * @param {string} css
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function selectCSS(css, scope) {
  const top = scope || document;
  const self = scope && Element.prototype.matches.call(scope, css) ? [scope] : [];
  const own = [...allIn(top, css)];
  const hosts = shadowHosts(top);
  if (scope && shadowOf(scope)) hosts.unshift(scope);
  if (!hosts.length) return self.concat(own);
  // Only shadow roots require a walk, to find the document order.
  const found = new Set(own);
  for (let host = hosts.pop(); host; host = hosts.pop()) {
    const root = /** @type {ShadowRoot} */ (shadowOf(host));
    for (const el of allIn(root, css)) found.add(el);
    hosts.push(...shadowHosts(root));
  }
  if (found.size === own.length) return self.concat(own);
  const out = self;
  const inner = scope && shadowOf(scope);
  if (inner) for (const el of everyElement(inner)) if (found.has(el)) out.push(el);
  for (const el of everyElement(top)) if (found.has(el)) out.push(el);
  return out;
}

/**
 * unquote returns the text of a quoted string, or null if it is not quoted.
 * @param {string} s
 */
function unquote(s) {
  const q = s[0];
  if (s.length < 2 || (q !== '"' && q !== "'") || s[s.length - 1] !== q) return null;
  return s.slice(1, -1).replace(/\\(.)/g, '$1');
}

/** @param {string} s */
function fold(s) {
  return collapse(s.replace(/\u00a0/g, ' ')).toLowerCase();
}

/**
 * matcher returns a predicate for a text. A quoted text must equal the complete text,
 * an unquoted one may be any part of it in any case.
 * @param {string} text
 * @param {string} flag 'i' makes a quoted text match like an unquoted one
 * @returns {(s: string) => boolean}
 */
function matcher(text, flag = '') {
  const exact = unquote(text.trim());
  if (exact !== null && flag !== 'i') {
    const want = collapse(exact);
    return (s) => collapse(s.replace(/\u00a0/g, ' ')) === want;
  }
  const want = fold(exact ?? text);
  return (s) => fold(s).includes(want);
}

/**
 * selectText finds the smallest elements whose rendered text matches.
 * @param {string} text
 * @param {Element | null} scope
 * @returns {Element[]}
 */
function selectText(text, scope) {
  if (collapse(text) === '' || unquote(text.trim()) === '') throw new SelectorError('text= requires a text');
  const matches = matcher(text);
  const exact = unquote(text.trim()) !== null;
  const need = exact ? null : fold(text);
  /** @type {Element[]} */
  const out = [];
  /**
   * An element and the text read in it.
   * @typedef {{el: Element, s: string, own: boolean, before: number}} Read
   */
  /** @param {Read} at */
  const end = (at) => {
    // The smallest element: no descendant matches, and the text is its own or spans several
    // children.
    if (out.length === at.before && at.s !== '' && (need === null || at.own || at.s.length >= need.length) && matches(at.s)) {
      if (tagOf(at.el) !== 'html') out.push(at.el);
    }
  };
  /** @param {Element} el @returns {boolean} whether it may contain text */
  const enter = (el) => {
    const tag = tagOf(el);
    if (tag === 'input') {
      const input = /** @type {HTMLInputElement} */ (el);
      if (/^(button|submit|reset)$/.test(input.type)) {
        const label = input.value || (input.type === 'submit' ? 'Submit' : input.type === 'reset' ? 'Reset' : '');
        if (matches(label)) out.push(el);
      }
      return false;
    }
    return !NEVER_SHOWN.has(tag);
  };
  const top = scope || bodyOf(document) || topOf(document);
  if (!enter(top)) return out;
  /** @type {Read[]} */
  const stack = [{ el: top, s: '', own: false, before: 0 }];
  descend(top, (node) => {
    const around = stack[stack.length - 1];
    if (typeOfNode(node) === 3) {
      around.s += /** @type {Text} */ (node).data;
      around.own = true;
    } else if (typeOfNode(node) === 1) {
      const child = /** @type {Element} */ (node);
      if (tagOf(child) === 'br') around.s += ' ';
      else if (enter(child)) {
        const at = { el: child, s: '', own: false, before: out.length };
        stack.push(at);
        return () => {
          stack.pop();
          end(at);
          if (at.s) around.s += /^(inline|contents)$/.test(styleOf(child).display) ? at.s : ' ' + at.s + ' ';
        };
      }
      return false;
    }
  });
  end(stack[0]);
  return out;
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
 * @returns {RoleSelector}
 */
function parseRole(s) {
  const m = /^([a-z-]+)\s*/i.exec(s);
  if (!m) throw new SelectorError('role= requires a role, as in role=button[name="Save"]');
  const role = m[1].toLowerCase();
  /** @type {RoleSelector} */
  const out = { role: role === 'image' ? 'img' : role, name: null, states: new Map(), hidden: false };
  let rest = s.slice(m[0].length);
  while (rest !== '') {
    const a = /^\[\s*([a-z-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/(?:[^/\\]|\\.)+\/[a-z]*|[^\]]*?)\s*(i|s)?)?\s*\]\s*/i.exec(rest);
    if (!a) throw new SelectorError(`role= cannot parse ${JSON.stringify(rest)}`);
    rest = rest.slice(a[0].length);
    const key = a[1].toLowerCase();
    const value = a[2];
    if (key === 'name') {
      if (value === undefined || value === '') throw new SelectorError('name requires a text, as in role=button[name="Save"]');
      const re = /^\/(.+)\/([a-z]*)$/s.exec(value);
      if (re) {
        let pattern;
        try {
          pattern = new RegExp(re[1], re[2].replace(/[gy]/g, ''));
        } catch {
          throw new SelectorError(`${value} is not a regular expression`);
        }
        out.name = (n) => pattern.test(n);
      } else {
        out.name = matcher(value, a[3]?.toLowerCase());
      }
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
  return out;
}

/**
 * @param {string} s
 * @param {Element | null} scope
 * @returns {Element[]}
 */
function selectRole(s, scope) {
  const want = parseRole(s);
  const out = /** @type {Element[]} */ ([]);
  /** @param {Iterable<Element>} list */
  const scan = (list) => {
    for (const el of list) {
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
  };
  if (scope) {
    scan([scope]);
    const shadow = shadowOf(scope);
    if (shadow) scan(everyElement(shadow));
  }
  scan(everyElement(scope || document));
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
