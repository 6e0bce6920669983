// @ts-check
// The text of the item and of the group that an element is in, for messages: it distinguishes
// elements with the same role and name. Groups are not part of what an element is
// (shown_elements.js), because they are often renamed.

import { nameOf } from './accessible_names.js';
import { roleOf } from './aria_roles.js';
import { collapse, firstIn, flatParent, hasSemanticAttribute, innerTextOf, tagOf, withCaches } from './dom.js';
import { kindOf, linesForMessages, titleOfItem } from './items.js';
import { itemsAround } from './items_around.js';
import { readPlainRow, rowOf } from './plain_rows.js';
import { foldText } from './same_text.js';

/** Roles of groups. */
const GROUP_ROLES = new Set(['group', 'radiogroup', 'region']);
const HEADINGS = 'h1, h2, h3, h4, h5, h6, [role=heading]';

/** @param {Element} el */
function itemOf(el) {
  const [item, box] = itemsAround(el);
  const row = item ? null : rowOf(el);
  return row ? readPlainRow(row) : item || box;
}

/**
 * groupOf returns the name of the nearest group around an element, or the heading of the nearest
 * section, if that is inside the element's item.
 * @param {Element} el
 */
function groupOf(el) {
  for (let at = flatParent(el); at; at = flatParent(at)) {
    const role = roleOf(at), tag = tagOf(at);
    const name = GROUP_ROLES.has(role) ? collapse(nameOf(at, role)) : '';
    if (name !== '') return name;
    if (kindOf(at, tag, role, hasSemanticAttribute(at))) return '';
    const heading = tag === 'section' ? firstIn(at, HEADINGS) : null;
    if (heading) return collapse(innerTextOf(heading));
  }
  return '';
}

/**
 * itemText returns the text of the group and of the item that an element is in, without the
 * element's own name. It is empty if it is in none.
 * @param {Element} el
 * @param {string} name
 */
export function itemText(el, name) {
  return withCaches(() => {
    const lines = [groupOf(el), ...linesForMessages(itemOf(el))].filter((line) => line !== '' && foldText(line) !== foldText(name));
    const repeated = (/** @type {string} */ line, /** @type {number} */ k) => lines.some((other, j) => other.startsWith(line) && (other !== line || j < k));
    return lines.filter((line, k) => !repeated(line, k)).join(', ').slice(0, MAX_CHARS);
  });
}

/** The number of characters of an item's text in a message, or more. */
const MAX_CHARS = 300;

/**
 * isInItem reports whether an element is in an item with a text, as titleOfItem returns it.
 * @param {Element} el
 * @param {string} text
 */
export function isInItem(el, text) {
  return withCaches(() => foldText(titleOfItem(itemOf(el))) === foldText(text));
}
