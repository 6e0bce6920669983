// @ts-check
// The visible part of the page as HTML, from which Go creates markdown: the flat tree with
// shadow roots and without hidden elements.

import { nameOf } from './accessible_names.js';
import { INTERACTIVE } from './aria_constants.js';
import { roleOf } from './aria_roles.js';
import { attributeOf, baseOf, bodyOf, byId, childrenOf, collapse, DEEPEST, descend, elements, elementWithId, firstChildOf, firstIn, flatChildren, getter, hasAttribute, idOf, innerOf, nextSiblingOf, shadowOf, tagOf, textIn, topOf, typeOfNode, withCaches } from './dom.js';
import { isShown, surveyObstacles } from './obstacle_signals.js';
import { startOf } from './same_text.js';
import { recordDocument } from './shown_elements.js';
import { isOutOfView } from './text_extraction.js';
import { styleOf } from './visibility.js';

/** Elements without text content. */
const NO_TEXT = new Set(['style', 'link', 'template', 'svg', 'canvas', 'video', 'audio', 'object', 'embed', 'textarea', 'select', 'datalist', 'base', 'param', 'source', 'track', 'map']);
/** Elements that are inline unless a style sheet sets another display type. */
const INLINE = new Set(['a', 'abbr', 'b', 'button', 'cite', 'em', 'i', 'label', 'mark', 'q', 's', 'small', 'span', 'strong', 'time', 'u']);
const VOID = new Set(['area', 'br', 'col', 'hr', 'img', 'input', 'meta', 'wbr']);
/** Attributes whose value is a URL. */
const URL_ATTRIBUTES = new Set(['href', 'src', 'cite', 'data-src', 'data-original', 'data-lazy-src']);
/** Attributes that do not affect the text. */
const DROPPED_ATTRIBUTES = /^(on.*|data-element-mark|style|value|integrity|nonce|srcdoc|sizes|tabindex|loading)$/;
/** Interactive roles that get no mark: their content is written as usual. */
const NOT_MARKED = new Set(['scrollbar', 'summary', 'treeitem']);
/** Elements whose content is not written. */
const FIELDS = new Set(['input', 'select', 'textarea']);
/** Matches descendants that can be controls. An element that contains one is not written as a control. */
const INNER_CONTROLS = 'a[href], button, input, select, textarea, [role], [contenteditable]';
/** The schemes of links whose URL is part of the markdown. */
const LINK_SCHEMES = /^(https?|mailto|tel|ftp|file):/i;
/** Longer attribute values are dropped. */
const MAX_ATTRIBUTE = 4000;
/** The minimum size of a frame that may be part of the main content. */
const FRAME_WIDTH = 200;
const FRAME_HEIGHT = 100;
/** The maximum size of the markup, in characters. */
const MAX_MARKUP = 4 << 20;

/**
 * readable returns the HTML from which markdown is created, split at the frames, whose ids are
 * between the parts. For the complete page it includes the obstacle signals. The text of a document
 * that is not HTML is returned unchanged.
 *
 * With marks, links have the attribute data-element-mark with the number of their mark. Other
 * controls are elements with this attribute that contain their role and name.
 * @param {number} id 0 for the complete page
 * @param {number} [first] the number of the first mark; without it, there are none
 * @param {number} [since] as in recordWalk
 * @returns {{parts: (string | number)[], type: string, signs: object | null, marks?: [number, string, string][], at?: number, replaced?: number[], more: number} | null}
 *   null if the element no longer exists; more is the number of characters that were not written; a mark has the id, role and name of an element. With marks,
 *   at and replaced are the result of recordWalk
 */
export function readable(id, first = -1, since = 0) {
  const el = id ? byId(id) : window === top ? topOf(document) : bodyOf(document);
  if (!el) return id ? null : { parts: [], type: 'text/html', signs: null, more: 0 };
  const recorded = first >= 0 ? recordDocument(since) : null;
  return withCaches(() => {
    const type = typeOf(document);
    const whole = !id || el === bodyOf(document);
    const source = whole ? sourceOf(type) : null;
    if (source !== null) {
      const kept = startOf(source, MAX_MARKUP);
      return { parts: [kept], type, signs: null, more: source.length - kept.length };
    }
    const m = new Markup(first);
    m.element(el);
    return { parts: m.result(), type: 'text/html', signs: whole ? surveyObstacles() : null, marks: m.marks, more: m.more, ...recorded };
  });
}

const typeOf = /** @type {(d: Document) => string} */ (getter(Document, 'contentType'));

/**
 * sourceOf returns the text of a document that is not HTML, such as plain text, JSON or
 * XML. It returns null for HTML and for documents without text.
 * @param {string} type
 */
function sourceOf(type) {
  const body = bodyOf(document);
  if (type === 'text/html' || type === 'application/xhtml+xml' || /^(image\/(?!svg)|video\/|audio\/)/.test(type) ) return null;
  // The PDF viewer does not expose the text of the document.
  if (type === 'application/pdf') return '';
  if (document instanceof XMLDocument || !body) {
    // Chromium shows XML without a style sheet as a tree, and keeps the source in this element.
    const kept = elementWithId(document, 'webkit-xml-viewer-source-xml');
    return kept ? innerOf(kept) : new XMLSerializer().serializeToString(document);
  }
  const pre = firstIn(body, ':scope > pre');
  return pre ? textIn(pre) : null;
}

/** Markup writes HTML. */
class Markup {
  /** @param {number} first the number of the first mark, or -1 for no marks */
  constructor(first) {
    this.first = first;
    /** The id, role and name of each marked element. @type {[number, string, string][]} */
    this.marks = [];
    /** The mark of the next element that is opened, or ''. */
    this.mark = '';
    this.out = '';
    this.size = 0;
    /** The number of characters that were not written. */
    this.more = 0;
    /** How many <pre> elements are open. */
    this.pre = 0;
    /** @type {(string | number)[]} */
    this.parts = [];
    /** How many elements are open. */
    this.deep = 0;
  }

  result() {
    this.parts.push(this.out);
    return this.parts;
  }

  /** @param {string} s */
  write(s) {
    const kept = this.size > MAX_MARKUP ? '' : startOf(s, MAX_MARKUP);
    this.out += kept;
    this.size += kept.length;
    this.more += s.length - kept.length;
  }

  /** @param {Element} el */
  element(el) {
    const tag = tagOf(el);
    if (this.first >= 0 && this.control(el, tag) || NO_TEXT.has(tag)) return;
    switch (tag) {
      case 'head':
        this.head(el);
        return;
      case 'script': case 'noscript':
        if (tag === 'noscript' || attributeOf(el, 'type') === 'application/ld+json') this.open(el, tag), this.write((textIn(el) || '').replace(/<\/(script|noscript)/gi, '') + '</' + tag + '>');
        return;
      case 'iframe': case 'frame':
        if (isShown(el, FRAME_WIDTH, FRAME_HEIGHT)) {
          this.parts.push(this.out, idOf(el));
          this.out = '';
        }
        return;
    }
    const cs = styleOf(el);
    // The content of a closed <details> has no box but belongs to the text.
    if (cs.display === 'none' || isOutOfView(el, cs)) return;
    const as = tag === 'body' && window !== top ? 'div' : tag.includes('-') || tag === 'slot' || tag === 'frameset' ? (cs.display === 'contents' ? '' : cs.display.startsWith('inline') ? 'span' : 'div') : tag;
    // Separate such elements, for example menu items: without a space, their words would join.
    const apart = INLINE.has(tag) && !this.pre && !cs.display.startsWith('inline') && cs.display !== 'contents';
    if (apart) this.write(' ');
    if (as !== '') this.open(el, as);
    if (VOID.has(tag)) return;
    if (tag === 'pre') this.pre++;
    const seen = cs.visibility === 'visible' && parseFloat(cs.fontSize) > 0;
    if (++this.deep > DEEPEST) this.flat(el);
    else if (shadowOf(el) || tag === 'slot') for (const node of flatChildren(el)) this.node(node, seen);
    else for (let node = firstChildOf(el); node; node = nextSiblingOf(node)) this.node(node, seen);
    this.deep--;
    if (tag === 'pre') this.pre--;
    if (as !== '') this.write('</' + as + '>');
    if (apart) this.write(' ');
  }

  /**
   * control marks an element if it is a link, a button, a field or another control. It reports whether
   * it has written the complete element.
   * @param {Element} el
   * @param {string} tag
   */
  control(el, tag) {
    const role = roleOf(el);
    if (!INTERACTIVE.has(role) || NOT_MARKED.has(role) || this.size > MAX_MARKUP) return false;
    const cs = styleOf(el);
    if (cs.display === 'none' || cs.visibility !== 'visible' || isOutOfView(el, cs)) return false;
    const name = nameOf(el, role);
    const mark = ` data-element-mark="${this.first + this.marks.length}"`;
    this.marks.push([idOf(el), role, name]);
    if (tag === 'a' && LINK_SCHEMES.test(absolute(attributeOf(el, 'href') || ''))) {
      this.mark = mark;
      if (collapse(textIn(el) || '') !== '' || firstIn(el, 'img')) return false;
      this.open(el, tag);
      this.write(escapeMarkup(name || role) + '</a>');
      return true;
    }
    this.write(` <span${mark}>${escapeMarkup(role + (name && ` "${name}"`))}</span> `);
    return FIELDS.has(tag) || !hasAttribute(el, 'contenteditable') && !firstIn(el, INNER_CONTROLS);
  }

  /**
   * flat writes deeply nested content iteratively and without elements that only contain
   * others: readers of the HTML cannot process so many levels.
   * @param {Element} el
   */
  flat(el) {
    descend(el, (node, parent) => {
      if (typeOfNode(node) !== 1) {
        const cs = styleOf(parent);
        this.node(node, cs.visibility === 'visible' && parseFloat(cs.fontSize) > 0);
        return;
      }
      const child = /** @type {Element} */ (node);
      const tag = tagOf(child);
      if (!firstChildOf(child) && !shadowOf(child) || NO_TEXT.has(tag) || VOID.has(tag) || /^(script|noscript|i?frame|head)$/.test(tag)) {
        this.element(child); // no descendants to visit
        return false;
      }
      const cs = styleOf(child);
      if (cs.display === 'none' || isOutOfView(child, cs)) return false;
      if (cs.display.startsWith('inline') || cs.display === 'contents') return;
      this.write(' ');
      return () => this.write(' ');
    });
  }

  /** @param {Node} node @param {boolean} seen */
  node(node, seen) {
    const type = typeOfNode(node);
    if (type === 1) this.element(/** @type {Element} */ (node));
    else if (seen && (type === 3 || type === 4)) this.write(escapeMarkup(node.nodeValue || ''));
  }

  /** head writes the title and metadata of the page. @param {Element} el */
  head(el) {
    this.write('<head>');
    for (const child of childrenOf(el)) {
      const tag = tagOf(child);
      if (tag === 'title') this.write('<title>' + escapeMarkup(textIn(child) || '') + '</title>');
      else if (tag === 'meta') this.open(child, tag);
      else if (tag === 'script') this.element(child);
    }
    this.write('</head>');
  }

  /** @param {Element} el @param {string} as */
  open(el, as) {
    let s = '<' + as + this.mark;
    this.mark = '';
    for (const name of elements.getAttributeNames.call(el)) {
      if (DROPPED_ATTRIBUTES.test(name) || !/^[\w:.-]+$/.test(name)) continue;
      let value = attributeOf(el, name) || '';
      if (value.length > MAX_ATTRIBUTE) continue;
      if (value.trim() !== '' && URL_ATTRIBUTES.has(name)) value = absolute(value);
      s += ' ' + name + '="' + escapeMarkup(value).replace(/"/g, '&quot;') + '"';
    }
    this.write(s + '>');
  }
}

/** @param {string} s */
function escapeMarkup(s) {
  return /[&<>\u00a0]/.test(s) ? s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;') : s;
}

/** absolute resolves a URL against this document's base. @param {string} url */
function absolute(url) {
  try {
    return new URL(url, baseOf(document)).href;
  } catch {
    return url;
  }
}
