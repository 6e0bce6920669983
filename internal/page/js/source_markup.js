// @ts-check
// The markup of the page as the browser serializes it.

import { MASK } from './aria_constants.js';
import { allIn, attributeOf, byId, firstChildOf, implementationOf, innerOf, matchesCSS, nextSiblingOf, outerOf, shadowOf, tagOf, textIn, topOf, typeOfNode, withCaches } from './dom.js';
import { startOf } from './same_text.js';
import { isMasked } from './secret_fields.js';
import { MAX_TEXT } from './text_extraction.js';
import { shadowHosts } from './tree_order.js';

/**
 * html returns the markup of an element, or of the complete document for 0,
 * including its shadow roots as templates. It excludes typed values, and
 * masks secrets in the page's markup.
 * @param {number} id
 * @param {boolean} outer whether to include the element itself
 * @param {boolean} shorten whether to shorten data: URLs and the coordinates of drawings
 * @returns {{html: string, more: number, shortened: number} | null} null if the element no longer exists
 */
export function html(id, outer, shorten) {
  const el = id ? byId(id) : topOf(document);
  if (!el) return id ? null : { html: '', more: 0, shortened: 0 };
  return withCaches(() => {
    const all = htmlOf(el, outer);
    const { text, count } = shorten ? shortenData(all) : { text: all, count: 0 };
    const kept = startOf(text, MAX_TEXT);
    return { html: kept, more: text.length - kept.length, shortened: count };
  });
}

/** Longer data: URLs and coordinates are shortened. */
const MAX_DATA = 100;
/** The number of coordinates that are kept, in characters. */
const KEPT_COORDINATES = 20;
/** The start of a data: URL, up to its data. */
const DATA_URL = /\bdata:([\w.+-]+\/[\w.+-]+)?(;[\w.+=-]+)*,/gi;
/** What ends a URL in a text. */
const URL_END = /[\s"'<>()]|&quot;/g;
/** The coordinates in an attribute of an SVG shape. */
const COORDINATES = /(\s(?:d|points)=")([MLHVCSQTAZE\d\s,.+-]+)(?=")/gi;

/**
 * shortenData shortens the data: URLs, wherever they are in markup, and the coordinates of SVG shapes.
 * They have no meaning for a reader, and can be a thousand times as long as the rest.
 * @param {string} markup as the browser serializes it
 * @returns {{text: string, count: number}}
 */
function shortenData(markup) {
  let text = '', from = 0, count = 0;
  for (const start of markup.matchAll(DATA_URL)) {
    if (start.index < from) continue;
    const end = endOfURL(markup, start.index, start.index + start[0].length);
    if (end - start.index <= MAX_DATA) continue;
    text += markup.slice(from, start.index) + 'data:' + (start[1] || '') + '… (' + size(end - start.index) + ')';
    from = end;
    count++;
  }
  text = (text + markup.slice(from)).replace(COORDINATES, (all, name, value) => {
    if (value.length <= MAX_DATA) return all;
    count++;
    return name + value.slice(0, KEPT_COORDINATES) + '… (' + size(value.length) + ')';
  });
  return { text, count };
}

/**
 * endOfURL returns the end of a data: URL in markup. A URL that is the value of an attribute, or an
 * argument of the CSS function url, can contain spaces and quotes.
 * @param {string} markup
 * @param {number} start
 * @param {number} data the position of its data
 */
function endOfURL(markup, start, data) {
  const before = markup.slice(Math.max(0, start - 20), start);
  const call = /url\(\s*("|'|&quot;|)$/i.exec(before);
  const end = call && call[1] ? markup.indexOf(call[1], data) : /="\s*$/.test(before) && !/srcset="\s*$/i.test(before) ? markup.indexOf('"', data) : -1;
  if (end >= 0) return end;
  URL_END.lastIndex = data;
  return URL_END.exec(markup)?.index ?? markup.length;
}

/** size returns a number of characters for a reader. @param {number} n */
function size(n) {
  return n < 1000 ? n + ' B' : n < 1e6 ? Math.round(n / 1e3) + ' kB' : (n / 1e6).toFixed(1) + ' MB';
}

/**
 * writesSecret reports whether the markup of a field contains its value and the value is secret.
 * @param {Element} el
 */
function writesSecret(el) {
  return matchesCSS(el, WRITTEN_VALUES) && isMasked(el) && (tagOf(el) === 'select' || (tagOf(el) === 'textarea' ? textIn(el) : attributeOf(el, 'value')) !== '');
}

/** Fields whose markup contains their value. */
const WRITTEN_VALUES = 'input[value], textarea, select:has(option[selected])';

/** @param {Element} el @param {boolean} outer */
function htmlOf(el, outer) {
  const copies = shadowOf(el) || shadowHosts(el).length > 0 || writesSecret(el) || [...allIn(el, WRITTEN_VALUES)].some(writesSecret);
  if (!copies) return outer ? outerOf(el) : innerOf(el);
  // Copy into a separate document, so that nothing is loaded or run and the page notices nothing.
  const inert = implementationOf(document).createHTMLDocument('');
  /** @type {ShadowRoot[]} */
  const roots = [];
  /**
   * The nodes still to fill, each with the node whose children are copied.
   * @type {[Node, Node][]}
   */
  const pending = [];
  /** Copies of selects whose selection is secret. @type {Element[]} */
  const secretSelects = [];
  /** @param {Element} from */
  const copy = (from) => {
    const to = /** @type {Element} */ (inert.importNode(from, tagOf(from) === 'template'));
    const secret = writesSecret(from);
    if (secret && tagOf(from) === 'input') to.setAttribute('value', MASK);
    const root = shadowOf(from);
    if (root) {
      const made = to.attachShadow({ mode: root.mode, delegatesFocus: root.delegatesFocus });
      roots.push(made);
      pending.push([made, root]);
    }
    if (secret && tagOf(from) === 'textarea') to.textContent = MASK;
    else if (tagOf(from) !== 'template') pending.push([to, from]);
    if (secret && tagOf(from) === 'select') secretSelects.push(to);
    return to;
  };
  const made = copy(el);
  for (let next = pending.pop(); next; next = pending.pop()) {
    const [to, from] = next;
    for (let n = firstChildOf(from); n; n = nextSiblingOf(n)) to.appendChild(typeOfNode(n) === 1 ? copy(/** @type {Element} */ (n)) : inert.importNode(n));
  }
  for (const list of secretSelects) for (const o of list.querySelectorAll('option')) o.removeAttribute('selected');
  const within = outer ? inert.createElement('div') : made;
  if (outer) within.appendChild(made);
  return /** @type {any} */ (within).getHTML({ shadowRoots: roots });
}
