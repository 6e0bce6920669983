// @ts-check
// Roles, names and states that custom elements give themselves by
// ElementInternals. No script can read them but the element's own, so the
// protocol is asked, about custom elements only.

/**
 * @typedef {object} Internals
 * @property {string} role
 * @property {string} name
 * @property {string} value
 * @property {number} flags
 */

/** What the browser said of custom elements that have a role by their internals. @type {WeakMap<Element, Internals>} */
const internals = new WeakMap();
/** Whether there is one. */
let anyInternals = false;
/** Custom elements that were asked about once defined. @type {WeakSet<Element>} */
const askedInternals = new WeakSet();

/** Most custom elements that are asked about in one go. */
const MAX_INTERNALS = 100;

/**
 * isInternalsCandidate reports whether the browser is worth asking about an
 * element: once about each custom element, and each time about those with
 * internals, whose states change.
 * @param {Element} el
 * @param {string} tag
 */
function isInternalsCandidate(el, tag) {
  if (!tag.includes('-') || namespaceOf(el) !== HTML || hasAttribute(el, 'role')) return false;
  if (askedInternals.has(el)) return internals.has(el);
  if (!matchesCSS(el, ':defined')) return false;
  askedInternals.add(el);
  return true;
}

/** @returns {number[]} the numbers of the elements of the document that are candidates */
function internalsCandidates() {
  /** @type {number[]} */
  const out = [];
  /** @param {Root} root */
  const scan = (root) => {
    for (const el of allIn(root, '*')) {
      if (out.length >= MAX_INTERNALS) return;
      if (isInternalsCandidate(el, tagOf(el)) && isRendered(el)) out.push(idOf(el));
      const inner = shadowOf(el);
      if (inner) scan(inner);
    }
  };
  scan(document);
  return out;
}
api.internalsCandidates = internalsCandidates;

/**
 * flagsOfStates returns the flags of what the browser says of states.
 * @param {Record<string, string>} states
 */
function flagsOfStates(states) {
  /** @type {Record<string, Record<string, number>>} */
  const flags = {
    checked: { true: F.checked, mixed: F.mixed }, pressed: { true: F.pressed, mixed: F.pressed | F.mixed }, expanded: { true: F.expanded, false: F.collapsed },
    selected: { true: F.selected }, disabled: { true: F.disabled }, required: { true: F.required }, readonly: { true: F.readonly },
    invalid: { true: F.invalid, grammar: F.invalid, spelling: F.invalid }, multiselectable: { true: F.multiple },
  };
  let f = 0;
  for (const state in states) f |= flags[state]?.[states[state]] ?? 0;
  return f;
}

/**
 * setInternals takes what the browser said of elements. It reports whether any of it is news.
 * @param {{id: number, role: string, name: string, value: string, states: Record<string, string>}[]} list
 */
api.setInternals = (list) => {
  let news = false;
  for (const { id, role, name, value, states } of list) {
    const el = byId(id);
    if (!el) continue;
    const was = internals.get(el);
    if (!ARIA_ROLES.has(role) || /^(generic|none|presentation)$/.test(role)) {
      news = internals.delete(el) || news;
      continue;
    }
    const flags = flagsOfStates(states);
    const now = { role: role === 'image' ? 'img' : role, name: collapse(name), value, flags };
    if (was && was.role === now.role && was.name === now.name && was.value === value && was.flags === flags) continue;
    internals.set(el, now);
    anyInternals = news = true;
  }
  return news;
};

/**
 * internalsOf returns what is known of an element's internals that an attribute does not override.
 * @param {Element} el
 */
function internalsOf(el) {
  return anyInternals && !hasAttribute(el, 'role') ? internals.get(el) : undefined;
}
