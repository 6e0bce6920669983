// @ts-check
// Texts in selectors: Sign in, "Sign in" and /sign in/i, and the elements whose text they match.

import { allIn, anyShadow, attributeOf, bodyOf, descend, elementsNamed, labelsFor, onCacheReset, tagOf, topOf, typeOfNode } from './dom.js';
import { FOLD_GROWTH, foldCase, foldText } from './same_text.js';
import { inDocumentOrder, isWithin, rootsIn } from './tree_order.js';
import { NEVER_SHOWN, styleOf } from './visibility.js';

/** A SelectorError reports an invalid selector. Its message is shown to the caller. */
export class SelectorError extends Error {}

/** Regular expressions match no text with more characters, because their time can grow fast. */
const MAX_PATTERN_TEXT = 5000;

/**
 * unquote returns the text of a quoted string, or null if it is not quoted.
 * @param {string} s
 */
export function unquote(s) {
  const q = s[0];
  if (s.length < 2 || (q !== '"' && q !== "'") || s[s.length - 1] !== q) return null;
  return s.slice(1, -1).replace(/\\(.)/g, '$1');
}

/**
 * A TextMatcher is the condition on a text in a selector.
 * @typedef {object} TextMatcher
 * @property {(s: string) => boolean} test
 * @property {number} [least] the length of the shortest text that matches, if it is known
 */

/**
 * textMatcher returns the condition for a text in a selector. /save|ok/i is a regular expression, a
 * quoted text must equal the complete text, and another one may be any part of it in any case.
 * @param {string} prefix the part of the selector before the text, for errors
 * @param {string} given
 * @param {string} flag 'i' makes a quoted text match like an unquoted one
 * @returns {TextMatcher}
 */
export function textMatcher(prefix, given, flag = '') {
  const text = given.trim();
  const last = text.lastIndexOf('/');
  if (text[0] === '/' && last > 1) return patternMatcher(text.slice(1, last), text.slice(last + 1));
  const exact = unquote(text);
  if (foldText(exact ?? text) === '') throw new SelectorError(`${prefix} requires a text`);
  return exact !== null && flag !== 'i' ? equalTo(exact) : partOf(exact ?? text);
}

/** equalTo is the condition that a text equals another one. @param {string} text @returns {TextMatcher} */
export function equalTo(text) {
  const want = foldText(text);
  return { test: (s) => foldText(s) === want };
}

/** partOf is the condition that a text contains another one. @param {string} text @returns {TextMatcher} */
export function partOf(text) {
  const want = foldCase(text);
  return { test: (s) => foldCase(s).includes(want), least: want.length / FOLD_GROWTH };
}

/**
 * patternMatcher returns the condition for a regular expression.
 * @param {string} source
 * @param {string} flags
 * @returns {TextMatcher}
 */
export function patternMatcher(source, flags) {
  let pattern;
  try {
    pattern = new RegExp(source.normalize('NFC'), flags.replace(/[gy]/g, ''));
  } catch {
    throw new SelectorError(`/${source}/${flags} is not a regular expression; quote a text that begins with /`);
  }
  const re = pattern;
  return {
    test: (s) => {
      const text = foldText(s);
      return text.length <= MAX_PATTERN_TEXT && re.test(text);
    },
  };
}

/**
 * readTexts reads the texts of an element and of the elements in it, in flat tree order.
 * @template T
 * @param {Element} top
 * @param {() => T} begin is called before an element is read
 * @param {(el: Element, text: string, own: boolean, begun: T) => void} end is called after it, with
 *   its text, whether some of it is in no child element, and the result of begin
 */
function readTexts(top, begin, end) {
  /** @param {Element} el @returns {boolean} whether it may contain text */
  const enter = (el) => {
    const tag = tagOf(el);
    if (tag === 'input') {
      const input = /** @type {HTMLInputElement} */ (el);
      if (/^(button|submit|reset)$/.test(input.type)) {
        end(el, input.value || (input.type === 'submit' ? 'Submit' : input.type === 'reset' ? 'Reset' : ''), true, begin());
      }
      return false;
    }
    return !NEVER_SHOWN.has(tag);
  };
  if (!enter(top)) return;
  /** @type {{el: Element, text: string, own: boolean, begun: T}[]} */
  const stack = [{ el: top, text: '', own: false, begun: begin() }];
  descend(top, (node) => {
    const around = stack[stack.length - 1];
    if (typeOfNode(node) === 3) {
      around.text += /** @type {Text} */ (node).data;
      around.own = true;
    } else if (typeOfNode(node) === 1) {
      const child = /** @type {Element} */ (node);
      if (tagOf(child) === 'br') around.text += ' ';
      else if (enter(child)) {
        const at = { el: child, text: '', own: false, begun: begin() };
        stack.push(at);
        return () => {
          stack.pop();
          end(at.el, at.text, at.own, at.begun);
          if (at.text) around.text += /^(inline|contents)$/.test(styleOf(child).display) ? at.text : ' ' + at.text + ' ';
        };
      }
      return false;
    }
  });
  end(top, stack[0].text, stack[0].own, stack[0].begun);
}

/**
 * selectText finds the smallest elements whose text matches, in an element and including it.
 * @param {TextMatcher} matcher
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function selectText({ test, least }, scope) {
  const top = scope || bodyOf(document) || topOf(document);
  /** @type {Element[]} */
  const out = [];
  if (!top) return out;
  readTexts(top, () => out.length, (el, text, own, before) => {
    // The smallest element: no descendant matches, and the text is its own or spans several
    // children.
    if (out.length > before || text === '' || (least !== undefined && !own && text.length < least)) return;
    if (tagOf(el) === 'html' || !test(text)) return;
    // A slot shows elements that are outside of the shadow root, and may be outside of the scope.
    if (!scope || !anyShadow || (tagOf(el) !== 'slot' && isWithin(el, scope))) out.push(el);
  });
  if (!anyShadow || out.length < 2) return out;
  const found = new Set(out);
  return scope && found.has(scope) ? [scope, ...inDocumentOrder(found, scope)] : inDocumentOrder(found, scope);
}

/** The texts that textOf has read. @type {Map<Element, string>} */
let texts = new Map();
onCacheReset(() => {
  texts = new Map();
});

/**
 * textOf returns the text of an element, as selectText matches it. It must be called in withCaches.
 * @param {Element} el
 * @returns {string}
 */
export function textOf(el) {
  if (!texts.has(el)) {
    texts.set(el, '');
    readTexts(el, () => null, (at, text) => texts.set(at, text));
  }
  return texts.get(el) || '';
}

/** The elements that can have a label. */
const LABELED = 'button, input:not([type=hidden]), meter, output, progress, select, textarea, [aria-label], [aria-labelledby]';

/**
 * selectLabeled finds the elements with a matching label: those that aria-labelledby names, or else
 * aria-label, or else the label elements of a form control.
 * @param {TextMatcher} matcher
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function selectLabeled({ test }, scope) {
  return selectWhere(LABELED, scope, (el) => {
    const named = elementsNamed(el, 'aria-labelledby');
    if (named.length) return named.some((label) => test(textOf(label)));
    const own = attributeOf(el, 'aria-label');
    if (own && own.trim()) return test(own);
    return labelsFor(el).some((label) => test(textOf(label)));
  });
}

/**
 * selectAttribute finds the elements with a matching attribute.
 * @param {string} name
 * @param {(value: string) => boolean} test
 * @param {Element | null} scope
 * @returns {Element[]}
 */
export function selectAttribute(name, test, scope) {
  return selectWhere(`[${name}]`, scope, (el) => test(attributeOf(el, name) || ''));
}

/**
 * selectWhere finds the elements that match a CSS selector without combinators and a condition.
 * @param {string} css
 * @param {Element | null} scope
 * @param {(el: Element) => boolean} test
 * @returns {Element[]}
 */
function selectWhere(css, scope, test) {
  const roots = rootsIn(scope || document);
  const found = roots.flatMap((root) => [...allIn(root, css)].filter(test));
  return roots.length > 1 ? inDocumentOrder(new Set(found), scope) : found;
}
