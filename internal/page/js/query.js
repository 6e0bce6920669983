// @ts-check
// Selectors: CSS through open (and handed in closed) shadow roots, text=…, role=…[…].

/** A selector that cannot be understood; its message is for the caller. */
class SelectorError extends Error {}

/**
 * query finds the elements that a selector matches, in document order.
 * @param {string} selector CSS, text=Sign in, text="Sign in", role=button[name="Save"]
 * @param {{limit?: number, root?: number}} [opts] how many to describe, 20 unless told; an element to search in
 * @returns {{total: number, matches: [number, boolean][]} | {error: string}} ids, each with whether a person can
 *   see it; besides the first ones in order the first visible one is always among them, in its place
 */
function query(selector, opts) {
  const scope = opts?.root ? byId(opts.root) : null;
  if (opts?.root && !scope) return { error: 'gone' };
  return withStyles(() => {
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
api.query = query;

/**
 * select returns what a selector matches.
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
 * everyElement yields the elements below a node in document order, what is in
 * a shadow root before what is below its host.
 * @param {ParentNode} root
 * @returns {Generator<Element>}
 */
function* everyElement(root) {
  /** Where to go on, the last one first. @type {(Element | null)[]} */
  const left = [childrenIn(root)[0]];
  while (left.length) {
    const el = left.pop();
    if (!el) continue;
    yield el;
    const shadow = shadowOf(el);
    left.push(nextOf(el), firstElementOf(el));
    if (shadow) {
      anyShadow = true;
      left.push(shadow.firstElementChild);
    }
  }
}

/**
 * foremost returns which of some elements comes first in the document, what is
 * in a shadow root before what is below its host.
 * @param {number[]} list numbers
 * @returns {number} 0 when all are gone
 */
function foremost(list) {
  /** The hosts that an element is in, from the outermost on, and itself. @param {Element} el */
  const wayTo = (el) => {
    const way = [el];
    for (let root = rootOf(el); root !== document && typeOfNode(root) === 11; root = rootOf(way[0])) way.unshift(/** @type {ShadowRoot} */ (root).host);
    return way;
  };
  let first = 0;
  /** @type {Element[]} */
  let firstWay = [];
  for (const id of list) {
    const el = byId(id);
    if (!el) continue;
    const way = wayTo(el);
    const k = way.findIndex((e, n) => e !== firstWay[n]);
    const before = first === 0 || (k < 0 ? way.length < firstWay.length : k < firstWay.length && (comparePosition(firstWay[k], way[k]) & Node.DOCUMENT_POSITION_PRECEDING) !== 0);
    if (before) [first, firstWay] = [id, way];
  }
  return first;
}
api.foremost = foremost;

const comparePosition = (/** @type {Node} */ a, /** @type {Node} */ b) => Node.prototype.compareDocumentPosition.call(a, b);

/**
 * shadowHosts returns the hosts of shadow roots below a node.
 * @param {ParentNode} root
 * @returns {Element[]}
 */
function shadowHosts(root) {
  const out = [];
  for (const el of allIn(root, '*')) if (shadowOf(el)) out.push(el);
  if (out.length) anyShadow = true;
  return out;
}

/**
 * @param {string} css
 * @param {Element | null} scope
 * @returns {Element[]}
 */
function selectCSS(css, scope) {
  const top = scope || document;
  const self = scope && Element.prototype.matches.call(scope, css) ? [scope] : [];
  const own = [...allIn(top, css)];
  const hosts = shadowHosts(top);
  if (scope && shadowOf(scope)) hosts.unshift(scope);
  if (!hosts.length) return self.concat(own);
  // Only with shadow roots does order need a walk.
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
 * unquote returns the text of a quoted string, or null when it is not quoted.
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
 * matcher returns the test that a text, quoted or not, stands for: quoted is
 * the whole text as it is, else any part of it in any case.
 * @param {string} text
 * @param {string} flag 'i' makes a quoted one match in any case and in part
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
  if (collapse(text) === '' || unquote(text.trim()) === '') throw new SelectorError('text= wants a text');
  const fits = matcher(text);
  const exact = unquote(text.trim()) !== null;
  const need = exact ? null : fold(text);
  /** @type {Element[]} */
  const out = [];
  /** An element and the text in it so far. @typedef {{el: Element, s: string, own: boolean, before: number}} Read */
  /** @param {Read} at */
  const end = (at) => {
    // The smallest: nothing inside matches, and there is text of its own in it or in several children.
    if (out.length === at.before && at.s !== '' && (need === null || at.own || at.s.length >= need.length) && fits(at.s)) {
      if (tagOf(at.el) !== 'html') out.push(at.el);
    }
  };
  /** @param {Element} el @returns {boolean} whether there may be text in it */
  const enter = (el) => {
    const tag = tagOf(el);
    if (tag === 'input') {
      const input = /** @type {HTMLInputElement} */ (el);
      if (/^(button|submit|reset)$/.test(input.type)) {
        const label = input.value || (input.type === 'submit' ? 'Submit' : input.type === 'reset' ? 'Reset' : '');
        if (fits(label)) out.push(el);
      }
      return false;
    }
    return !NEVER_SHOWN.has(tag);
  };
  const top = scope || bodyOf(document) || topOf(document);
  if (!enter(top)) return out;
  /** @type {Read[]} */
  const way = [{ el: top, s: '', own: false, before: 0 }];
  descend(top, (node) => {
    const around = way[way.length - 1];
    if (typeOfNode(node) === 3) {
      around.s += /** @type {Text} */ (node).data;
      around.own = true;
    } else if (typeOfNode(node) === 1) {
      const child = /** @type {Element} */ (node);
      if (tagOf(child) === 'br') around.s += ' ';
      else if (enter(child)) {
        const at = { el: child, s: '', own: false, before: out.length };
        way.push(at);
        return () => {
          way.pop();
          end(at);
          if (at.s) around.s += /^(inline|contents)$/.test(styleOf(child).display) ? at.s : ' ' + at.s + ' ';
        };
      }
      return false;
    }
  });
  end(way[0]);
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
 * parseRole reads button[name="Save"][disabled].
 * @param {string} s
 * @returns {RoleSelector}
 */
function parseRole(s) {
  const m = /^([a-z-]+)\s*/i.exec(s);
  if (!m) throw new SelectorError('role= wants a role, as in role=button[name="Save"]');
  const role = m[1].toLowerCase();
  /** @type {RoleSelector} */
  const out = { role: role === 'image' ? 'img' : role, name: null, states: new Map(), hidden: false };
  let rest = s.slice(m[0].length);
  while (rest !== '') {
    const a = /^\[\s*([a-z-]+)\s*(?:=\s*("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\/(?:[^/\\]|\\.)+\/[a-z]*|[^\]]*?)\s*(i|s)?)?\s*\]\s*/i.exec(rest);
    if (!a) throw new SelectorError(`role= does not understand ${JSON.stringify(rest)}`);
    rest = rest.slice(a[0].length);
    const key = a[1].toLowerCase();
    const value = a[2];
    if (key === 'name') {
      if (value === undefined || value === '') throw new SelectorError('name wants a text, as in role=button[name="Save"]');
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
      throw new SelectorError(`role= knows no [${key}]; there are name, ${[...ROLE_STATES].join(', ')}, include-hidden`);
    }
  }
  if (!ARIA_ROLES.has(role) && !INTERACTIVE.has(out.role) && !Object.values(TAG_ROLES).includes(out.role) && out.role !== 'clickable') {
    throw new SelectorError(`there is no role ${JSON.stringify(role)}`);
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
        // A text box by its role in the outline, or by the role that Chromium gives it.
        if (!(want.role === 'textbox' && isEditingHost(el)) && !(want.role === 'button' && role === 'summary') && !(want.role === 'textbox' && role === 'date') &&
          !(want.role === 'clickable' && (role === 'generic' || role === 'paragraph') && clicksByItself(el))) continue;
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
function clicksByItself(el) {
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
