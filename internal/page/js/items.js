// @ts-check
// Items: the row, list item or dialog that an element is in. Two elements with the same role and
// name differ by their items.

import { INTERACTIVE } from './aria_constants.js';
import { attributeOf, collapse, elements, hasAttribute, hasAttributes } from './dom.js';
import { foldText } from './same_text.js';

/** Roles of items. */
const ITEM_ROLES = new Set('row listitem option treeitem article tab menuitem menuitemcheckbox menuitemradio'.split(' '));
/** Roles of items that are identified by their title only, because their content keeps changing. */
const TITLED_ROLES = new Set('dialog alertdialog tabpanel'.split(' '));
/** Roles of nodes that are the title of such an item. The first text in a dialog is one, too. */
const TITLE_ROLES = new Set('heading dialog alertdialog tabpanel'.split(' '));

/** The number of characters of an item's text that are compared. */
export const MAX_TEXT = 300;
/** The number of characters of a name that are compared. */
const MAX_NAME = 300;

/**
 * An Item describes an item as it was when it was read. Its text consists of the names and texts of
 * the nodes in it, without those in an item inside it. Values are not part of it.
 * @typedef {object} Item
 * @property {boolean} titled the text is only the title
 * @property {boolean} asks it is a dialog
 * @property {string} text
 * @property {string} position
 * @property {string} key
 * @property {boolean} [plain] it has no role (plain_rows.js)
 * @property {boolean} [done] its text is complete, although it is walked
 * @property {Item} [same] the equal item of an earlier walk
 */

/**
 * kindOf returns whether an element is an item.
 * @param {Element} el
 * @param {string} tag
 * @param {string} role
 * @param {boolean} semantic whether it has a semantic attribute
 * @returns {'' | 'item' | 'titled'}
 */
export function kindOf(el, tag, role, semantic) {
  if (ITEM_ROLES.has(role) || tag === 'li') return 'item';
  if (TITLED_ROLES.has(role)) return 'titled';
  return semantic && (hasAttribute(el, 'aria-posinset') || hasAttribute(el, 'aria-rowindex')) ? 'item' : '';
}

/**
 * newItem returns the item of an element, without its text.
 * @param {Element} el
 * @param {boolean} titled
 * @param {string} role
 * @returns {Item}
 */
export function newItem(el, titled, role) {
  const item = { titled, asks: titled && role !== 'tabpanel', text: '', position: '', key: '' };
  if (titled || !hasAttributes(el)) return item;
  for (const name of elements.getAttributeNames.call(el)) {
    if (name === 'aria-posinset' || name === 'aria-rowindex') item.position += attributeOf(el, name) + ' ';
    else if (name === 'id' || name === 'href' || name === 'data-id' || (name.startsWith('data-') && name.endsWith('key'))) item.key += `${name}=${attributeOf(el, name)} `;
  }
  return item;
}

/** isComplete reports whether an item's text has no place for more. @param {Item} item */
export function isComplete({ titled, text }) {
  return titled ? text !== '' : text.length >= MAX_TEXT;
}

/** The first character of the line of a control in an item. Links are text. */
const CONTROL = '\t';

/**
 * addNode adds the name or text of a node to the text of the item that it is in, as one line.
 * @param {Item} item
 * @param {string} role
 * @param {string} name
 */
export function addNode(item, role, name) {
  if (item.done || isComplete(item) || (item.titled && !TITLE_ROLES.has(role) && !(item.asks && role === 'text'))) return;
  const control = INTERACTIVE.has(role) && role !== 'link' && !ITEM_ROLES.has(role);
  const line = (control ? CONTROL : '') + name.slice(0, MAX_TEXT);
  item.text += item.text === '' ? line : '\n' + line;
}

/**
 * linesForMessages returns the texts of an item, or its controls if it has no text.
 * @param {Item | null} item
 */
export function linesForMessages(item) {
  const lines = (item?.text || '').split('\n');
  const texts = lines.filter((line) => line[0] !== CONTROL);
  return texts.length ? texts : lines.map((line) => line.slice(1));
}

/**
 * titleOfItem returns a description of an item for messages.
 * @param {Item | null} item
 */
export function titleOfItem(item) {
  return linesForMessages(item).join(', ');
}

/** comparedName returns the part of a name that is compared. @param {string} name */
export const comparedName = (name) => (name.length > MAX_NAME ? name.slice(0, MAX_NAME) : name);

/**
 * sameItem reports whether two items are equal in all that was read.
 * @param {Item | null} a
 * @param {Item | null} b
 */
export function sameItem(a, b) {
  return a === b || (!!a && !!b && a.text === b.text && a.position === b.position && a.key === b.key);
}

/** withoutDigits replaces each number in a text with #. @param {string} s */
export function withoutDigits(s) {
  return foldText(s).replace(/\p{Nd}+(?:[.,:’' ]?\p{Nd}+)*/gu, '#');
}

/** Arrows, bullets, ellipses, check marks and other symbols that show a state. */
const STATE_MARKS = /[\u2190-\u21ff\u2022\u00b7\u00d7\u2026\u25a0-\u27bf\u2b00-\u2bff\ufe0f]+|\.\.\./g;

/**
 * wordsOf returns the words and numbers of a text, without the marks around them that show a state,
 * such as an arrow. A text without words is returned as it is.
 * @param {string} s
 */
function wordsOf(s) {
  const folded = foldText(s);
  return collapse(folded.replace(STATE_MARKS, ' ')).trim() || folded;
}

/**
 * Words are the words of the texts and of the controls of an item.
 * @typedef {[texts: Set<string>, controls: Set<string>]} Words
 */

/** @type {Words} */
const NO_WORDS = [new Set(), new Set()];
/** The lines of items, with which many elements are compared. @type {WeakMap<Item, {text: string, lines: string[], words: Words}>} */
const readLines = new WeakMap();

/**
 * wordsWithout returns the words of an item, without an element in it. It returns the same value
 * again if no line of the item has the name.
 * @param {Item | null} item
 * @param {string} name the name of the element
 * @returns {Words}
 */
function wordsWithout(item, name) {
  if (!item || item.text === '') return NO_WORDS;
  let read = readLines.get(item);
  if (!read || read.text !== item.text) {
    const lines = item.text.split('\n');
    read = { text: item.text, lines, words: wordsOfLines(lines) };
    readLines.set(item, read);
  }
  if (name === '') return read.words;
  const [from, count] = findName(read.lines, name);
  if (count > 0) return wordsOfLines(read.lines.toSpliced(from, count));
  const at = read.lines.findIndex((line) => line.includes(name)); // a tree item's name has those of the elements in it
  return at >= 0 ? wordsOfLines(read.lines.with(at, read.lines[at].replace(name, ' '))) : read.words;
}

/** @param {string[]} lines @returns {Words} */
function wordsOfLines(lines) {
  const words = (/** @type {boolean} */ ofControls) =>
    new Set(lines.filter((line) => (line[0] === CONTROL) === ofControls).map(wordsOf).filter((s) => s !== ''));
  return [words(false), words(true)];
}

/**
 * findName returns the index and the number of the lines that a name consists of, or [-1, 0].
 * @param {string[]} lines
 * @param {string} name
 * @returns {[number, number]}
 */
function findName(lines, name) {
  for (let from = 0; from < lines.length; from++) {
    if (lines[from] === CONTROL + name) return [from, 1];
    for (let end = from, joined = ''; end < lines.length && joined.length < name.length; end++) {
      joined += (end > from ? ' ' : '') + lines[end];
      if (joined === name) return [from, end - from + 1];
    }
  }
  return [-1, 0];
}

/**
 * continues reports whether one of two lists has all of the other, in the same order: an item that got
 * or lost a part, as one that shows more below the pointer, is the same.
 * @param {string[]} a
 * @param {string[]} b
 */
function continues(a, b) {
  const [few, many] = a.length < b.length ? [a, b] : [b, a];
  let at = -1;
  return few.every((s) => (at = many.indexOf(s, at + 1)) >= 0);
}

/**
 * continuesUntilCut is continues for lists of which at least one was not read completely: then what one
 * has after the last line that both have does not count, because the other may have it after the cut.
 * @param {string[]} a
 * @param {string[]} b
 */
function continuesUntilCut(a, b) {
  const read = (/** @type {string[]} */ list, /** @type {string[]} */ other) => list.slice(0, list.findLastIndex((s) => other.includes(s)) + 1);
  return continues(read(a, b), read(b, a));
}

/** isCut reports whether an item has more text than was read. @param {Item | null} item */
const isCut = (item) => !!item && !item.titled && isComplete(item);

/**
 * itemChange returns how the item of an element differs from an earlier one: 'digits' means that only
 * numbers in its text do.
 * @param {Item | null} old
 * @param {string} oldName the name that the element had then
 * @param {Item | null} now
 * @param {string} name
 * @returns {'' | 'digits' | 'other'}
 */
export function itemChange(old, oldName, now, name) {
  if (sameItem(old, now) && oldName === name) return '';
  if ((old?.position ?? '') !== (now?.position ?? '') || (old?.key ?? '') !== (now?.key ?? '')) return 'other';
  const words = wordsWithout(old, oldName), nowWords = wordsWithout(now, name);
  const last = comparisons.get(nowWords);
  if (last?.words === words) return last.change;
  const change = wordChange(old, words, now, nowWords);
  comparisons.set(nowWords, { words, change });
  return change;
}

/** The last result for the words of an item. @type {WeakMap<Words, {words: Words, change: '' | 'digits' | 'other'}>} */
const comparisons = new WeakMap();

/**
 * wordChange is itemChange for items with equal positions and keys.
 * @param {Item | null} old
 * @param {Words} words
 * @param {Item | null} now
 * @param {Words} nowWords
 */
function wordChange(old, [texts, controls], now, [nowTexts, nowControls]) {
  // A row with an equal key and title is the same, whatever the states in its other cells are.
  if (old && now && old.key === now.key && /(^| )data-/.test(now.key) && [...texts][0] === [...nowTexts][0]) return '';
  const same = (/** @type {(s: string) => string} */ fold) => {
    const [a, b, c, d] = [texts, nowTexts, controls, nowControls].map((set) => [...new Set([...set].map(fold))]);
    if (isCut(old) || isCut(now)) return a[0] === b[0] && continuesUntilCut(a, b) && continuesUntilCut(c, d);
    return (a.length === 0) === (b.length === 0) && continues(a, b) && continues(c, d);
  };
  return same((s) => s) ? '' : same(withoutDigits) ? 'digits' : 'other';
}

/**
 * likeText returns the text of an item in which items of a list are equal that differ only in their
 * numbers.
 * @param {string} text
 */
export function likeText(text) {
  const lines = text.split('\n');
  const texts = lines.filter((line) => line[0] !== CONTROL);
  return withoutDigits((texts.length ? texts : lines).join(' '));
}

/**
 * movedItems returns the items of a list whose element showed another item before an action, as in a
 * list whose elements are reused. An item whose own text the action changed is not one: it is the only
 * one of its list, and has a part of its text still.
 * @param {{item: Item, before: Item | null}[]} items the items of the list
 * @returns {Item[]}
 */
export function movedItems(items) {
  const known = items.flatMap(({ item, before }) => (before ? [{ item, before, like: '' }] : []));
  if (known.every(({ item, before }) => sameItem(before, item))) return [];
  for (const k of known) k.like = likeText(k.before.text);
  const changed = known.filter(({ item, before, like }) => {
    const change = itemChange(before, '', item, '');
    return change === 'other' || (change === 'digits' && known.some((o) => o.before !== before && o.like === like));
  });
  return changed.flatMap(({ item, before }) => {
    const [was, is] = [before, item].map((i) => new Set([...wordsWithout(i, '')[0]].flatMap((line) => line.split(' '))));
    const shares = [...is].some((word) => /\p{L}/u.test(word) && was.has(word));
    const elsewhere = known.some((o) => o.before !== before && itemChange(o.before, '', { ...item, position: o.before.position, key: o.before.key }, '') === '');
    return changed.length > 1 || before.position !== item.position || before.key !== item.key || !shares || elsewhere ? [item] : [];
  });
}
