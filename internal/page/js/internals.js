// @ts-check
// Roles, names and states that custom elements set with ElementInternals. Only the element's
// own script can read them, so Go queries CDP, for custom elements only.

import { ARIA_ROLES, F } from './aria_constants.js';
import { allIn, byId, collapse, hasAttribute, HTML, idOf, isRendered, matchesCSS, namespaceOf, shadowOf, tagOf } from './dom.js';
/** @import { Root } from './dom.js' */

/**
 * @typedef {object} Internals
 * @property {string} role
 * @property {string} name
 * @property {string} value
 * @property {number} flags
 */

/**
 * The CDP data of custom elements whose internals have a role.
 * @type {WeakMap<Element, Internals>}
 */
const internals = new WeakMap();
/** Whether internals has an entry. */
let anyInternals = false;
/** Custom elements that CDP was queried about after they were defined. @type {WeakSet<Element>} */
const queriedInternals = new WeakSet();

/** The maximum number of custom elements to query at a time. */
export const MAX_INTERNALS = 100;

/**
 * isInternalsCandidate reports whether CDP should be queried about an element: once for
 * each custom element, and each time for those with internals, because their states
 * change.
 * @param {Element} el
 * @param {string} tag
 */
export function isInternalsCandidate(el, tag) {
  if (!tag.includes('-') || namespaceOf(el) !== HTML || hasAttribute(el, 'role')) return false;
  if (queriedInternals.has(el)) return internals.has(el);
  return matchesCSS(el, ':defined');
}

/** @returns {number[]} the ids of the elements of the document that are candidates */
export function internalsCandidates() {
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

/**
 * flagsOfStates returns the flags for states reported by CDP.
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
 * setInternals stores what CDP reported for elements. It reports whether anything changed.
 * @param {number[]} ids all that CDP was queried about
 * @param {{id: number, role: string, name: string, value: string, states: Record<string, string>}[]} list
 */
export const setInternals = (ids, list) => {
  let changed = false;
  for (const id of ids) {
    const el = byId(id);
    if (el) queriedInternals.add(el);
  }
  for (const { id, role, name, value, states } of list) {
    const el = byId(id);
    if (!el) continue;
    const was = internals.get(el);
    if (!ARIA_ROLES.has(role) || /^(generic|none|presentation)$/.test(role)) {
      changed = internals.delete(el) || changed;
      continue;
    }
    const flags = flagsOfStates(states);
    const now = { role: role === 'image' ? 'img' : role, name: collapse(name), value, flags };
    if (was && was.role === now.role && was.name === now.name && was.value === value && was.flags === flags) continue;
    internals.set(el, now);
    anyInternals = changed = true;
  }
  return changed;
};

/**
 * internalsOf returns the known internals of an element unless its role attribute overrides them.
 * @param {Element} el
 */
export function internalsOf(el) {
  return anyInternals && !hasAttribute(el, 'role') ? internals.get(el) : undefined;
}
