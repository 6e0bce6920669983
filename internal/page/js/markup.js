// @ts-check
// The page as markup of what can be seen of it, for whoever makes a text of
// it: the flat tree, with what is in shadow roots, without what is hidden.

/** Elements that show nothing that a text could say. */
const WORDLESS = new Set(['style', 'link', 'template', 'svg', 'canvas', 'video', 'audio', 'object', 'embed', 'textarea', 'select', 'datalist', 'base', 'param', 'source', 'track', 'map']);
/** Elements that stand in a line by themselves, unless a style sheet makes boxes of them. */
const IN_LINE = new Set(['a', 'abbr', 'b', 'button', 'cite', 'em', 'i', 'label', 'mark', 'q', 's', 'small', 'span', 'strong', 'time', 'u']);
const VOID = new Set(['area', 'br', 'col', 'hr', 'img', 'input', 'meta', 'wbr']);
/** Attributes whose value is an address. */
const ADDRESSES = new Set(['href', 'src', 'cite', 'data-src', 'data-original', 'data-lazy-src']);
/** Attributes of the page's that tell a text nothing. */
const DROPPED_ATTRIBUTES = /^(on.*|style|value|integrity|nonce|srcdoc|sizes|tabindex|loading)$/;
/** Longest value of an attribute that is kept. */
const MAX_ATTRIBUTE = 4000;
/** A frame of this size may hold what the page is about. */
const FRAME_WIDTH = 200;
const FRAME_HEIGHT = 100;
/** More markup than is read of it. */
const MAX_MARKUP = 4 << 20;

/**
 * readable returns the markup that markdown is made of, with the numbers of
 * the frames in it between what comes before and after them, and for the whole
 * page what tells of obstacles. What is no page of markup is given as it is.
 * @param {number} id
 * @returns {{parts: (string | number)[], type: string, signs: object | null} | null} null when the element is gone
 */
function readable(id) {
  const el = id ? byId(id) : window === top ? topOf(document) : bodyOf(document);
  if (!el) return id ? null : { parts: [], type: 'text/html', signs: null };
  return withStyles(() => {
    const type = typeOf(document);
    const whole = !id || el === bodyOf(document);
    const source = whole ? sourceOf(type) : null;
    if (source !== null) return { parts: [startOf(source, MAX_MARKUP)], type, signs: null };
    const m = new Markup();
    m.element(el);
    return { parts: m.result(), type: 'text/html', signs: whole ? surveyObstacles() : null };
  });
}
api.readable = readable;

const typeOf = /** @type {(d: Document) => string} */ (getter(Document, 'contentType'));

/**
 * sourceOf returns the text of a document that is no page: plain text, JSON,
 * XML. null when it is a page, or has no text.
 * @param {string} type
 */
function sourceOf(type) {
  const body = bodyOf(document);
  if (type === 'text/html' || type === 'application/xhtml+xml' || /^(image\/(?!svg)|video\/|audio\/)/.test(type) ) return null;
  // The viewer keeps the text of the document to itself.
  if (type === 'application/pdf') return '';
  if (document instanceof XMLDocument || !body) {
    // Chromium shows XML without a style of its own as a tree, and keeps the source.
    const kept = elementWithId(document, 'webkit-xml-viewer-source-xml');
    return kept ? innerOf(kept) : new XMLSerializer().serializeToString(document);
  }
  const pre = firstIn(body, ':scope > pre');
  return pre ? textIn(pre) : null;
}

/** Writes markup. */
class Markup {
  constructor() {
    this.out = '';
    this.size = 0;
    /** How many <pre> this is in. */
    this.pre = 0;
    /** @type {(string | number)[]} */
    this.parts = [];
    /** In how many elements this is. */
    this.deep = 0;
  }

  result() {
    this.parts.push(this.out);
    return this.parts;
  }

  /** @param {string} s */
  write(s) {
    if (this.size > MAX_MARKUP) return;
    this.out += startOf(s, MAX_MARKUP);
    this.size += s.length;
  }

  /** @param {Element} el */
  element(el) {
    const tag = tagOf(el);
    if (WORDLESS.has(tag)) return;
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
    // What is in closed <details> has no box, and yet is a part of the text.
    if (cs.display === 'none' || isOutOfSight(el, cs)) return;
    const as = tag === 'body' && window !== top ? 'div' : tag.includes('-') || tag === 'slot' || tag === 'frameset' ? (cs.display === 'contents' ? '' : cs.display.startsWith('inline') ? 'span' : 'div') : tag;
    // Two of them side by side are two words: the parts of a menu, or lines.
    const apart = IN_LINE.has(tag) && !this.pre && !cs.display.startsWith('inline') && cs.display !== 'contents';
    if (apart) this.write(' ');
    if (as !== '') this.open(el, as);
    if (VOID.has(tag)) return;
    if (tag === 'pre') this.pre++;
    const seen = cs.visibility === 'visible' && parseFloat(cs.fontSize) > 0;
    if (++this.deep > DEEPEST) this.rest(el);
    else if (shadowOf(el) || tag === 'slot') for (const node of flatChildren(el)) this.node(node, seen);
    else for (let node = firstChildOf(el); node; node = nextSiblingOf(node)) this.node(node, seen);
    this.deep--;
    if (tag === 'pre') this.pre--;
    if (as !== '') this.write('</' + as + '>');
    if (apart) this.write(' ');
  }

  /**
   * Writes what is deep in the page without a call for each level, and without
   * the elements that only hold others: who reads it has no room for as many.
   * @param {Element} el
   */
  rest(el) {
    descend(el, (node, parent) => {
      if (typeOfNode(node) !== 1) {
        const cs = styleOf(parent);
        this.node(node, cs.visibility === 'visible' && parseFloat(cs.fontSize) > 0);
        return;
      }
      const child = /** @type {Element} */ (node);
      const tag = tagOf(child);
      if (!firstChildOf(child) && !shadowOf(child) || WORDLESS.has(tag) || VOID.has(tag) || /^(script|noscript|i?frame|head)$/.test(tag)) {
        this.element(child); // which has nothing below it to enter
        return false;
      }
      const cs = styleOf(child);
      if (cs.display === 'none' || isOutOfSight(child, cs)) return false;
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

  /** The title, and what pages tell of themselves. @param {Element} el */
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
    let s = '<' + as;
    for (const name of elements.getAttributeNames.call(el)) {
      if (DROPPED_ATTRIBUTES.test(name) || !/^[\w:.-]+$/.test(name)) continue;
      let value = attributeOf(el, name) || '';
      if (value.length > MAX_ATTRIBUTE) continue;
      if (value.trim() !== '' && ADDRESSES.has(name)) value = absolute(value);
      s += ' ' + name + '="' + escapeMarkup(value).replace(/"/g, '&quot;') + '"';
    }
    this.write(s + '>');
  }
}

/** @param {string} s */
function escapeMarkup(s) {
  return /[&<>\u00a0]/.test(s) ? s.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;') : s;
}

/** @param {string} url absolute resolves an address against this document's base */
function absolute(url) {
  try {
    return new URL(url, baseOf(document)).href;
  } catch {
    return url;
  }
}
