// @ts-check
// The content of the page in formats other than an outline.

import { nameOf, shownText } from './accessible_names.js';
import { roleOf } from './aria_roles.js';
import { valueOf } from './aria_states.js';
import { selectCSS } from './css_selectors.js';
import { excerpt } from './described_elements.js';
import { attributeOf, baseOf, bodyOf, boxOf, byId, closestTo, collapse, DEEPEST, descend, firstChildOf, firstIn, flatChildren, hasAttribute, idOf, isRendered, previousOf, rootOf, scrollingOf, scrollLeftOf, scrollTopOf, shadowOf, tagOf, textIn, topOf, typeOfNode, withCaches } from './dom.js';
import { isShown } from './obstacle_signals.js';
import { clip, startOf } from './same_text.js';
import { isMasked } from './secret_fields.js';
import { recordDocument, recordElement } from './shown_elements.js';
import { everyElement } from './tree_order.js';
import { hidesText, isEditingHost, isHidden, isSeen, NEVER_SHOWN, styleOf } from './visibility.js';

/**
 * describe returns the role and name of an element for messages. An element with a generic role is
 * named by its text, or by its tag and id.
 * @param {number} id
 * @returns {{role: string, name: string, hidden: boolean, at: number, since: number} | null} at and since are
 *   as in recordElement; null if the element no longer exists
 */
export function describe(id) {
  const el = byId(id);
  if (!el) return null;
  const recorded = recordElement(el);
  return withCaches(() => {
    let role = roleOf(el);
    const name = nameOf(el, role);
    if (role === 'generic' && isEditingHost(el)) role = 'textbox';
    if (!name && (role === 'generic' || role === 'none')) {
      const id = attributeOf(el, 'id');
      return { role: 'element', name: clip(excerpt(el) || tagOf(el) + (id ? `#${id}` : ''), 200), hidden: isHidden(el), ...recorded };
    }
    return { role, name: clip(name, 200), hidden: isHidden(el), ...recorded };
  });
}

/**
 * text returns the visible text of an element, or of the complete document
 * for 0, like innerText, but including shadow roots and slots.
 * @param {number} id
 * @returns {string | null} null if the element no longer exists
 */
export function text(id) {
  const answer = textParts(id);
  return answer && answer.parts.filter((p) => typeof p === 'string').join('');
}

/**
 * The maximum number of characters of text or markup of a document. Further ones are only counted.
 */
export const MAX_TEXT = 2 << 20;

/**
 * textParts is text, split at the frames, whose ids are between the parts.
 * @param {number} id
 * @returns {{parts: (string | number)[], more: number} | null} null if the element no longer exists
 */
export function textParts(id) {
  const el = id ? byId(id) : bodyOf(document) || topOf(document);
  if (!el) return id ? null : { parts: [], more: 0 };
  return withCaches(() => {
    const reader = new Reader();
    const all = reader.read(el);
    const kept = startOf(all, MAX_TEXT);
    const parts = [];
    let from = 0;
    for (const [at, frame] of reader.frames) {
      if (at > kept.length) break;
      parts.push(kept.slice(from, at), frame);
      from = at;
    }
    parts.push(kept.slice(from));
    return { parts, more: all.length - kept.length };
  });
}

/**
 * Reader collects text like innerText: white space is collapsed as rendered, and boxes break lines.
 */
class Reader {
  constructor() {
    this.out = '';
    /** The number of line breaks to write before the next text. */
    this.breaks = 0;
    /** Whether to write a space before the next text. */
    this.space = false;
    /**
     * The number of cells that ended since the last text, where their row started, and the line
     * breaks before it.
     */
    this.tabs = 0;
    this.row = -1;
    this.rowBreaks = 0;
    /** The positions of frames, and their ids. @type {[number, number][]} */
    this.frames = [];
    /** The nesting depth of the current element. */
    this.deep = 0;
  }

  /** @param {Element} el */
  read(el) {
    if (tagOf(el) === 'textarea' || tagOf(el) === 'input') return this.fieldText(el);
    this.element(el);
    return this.out;
  }

  /** @param {Element} el */
  fieldText(el) {
    return isMasked(el) ? '' : /** @type {HTMLInputElement} */ (el).value || '';
  }

  /** @param {number} n */
  breakLines(n) {
    this.breaks = Math.max(this.breaks, n);
    this.space = false;
  }

  /** @param {string} s */
  write(s) {
    // The content of a cell may have ended a line, but the row continues.
    if (this.tabs && this.out.length > this.row) this.breaks = 0;
    else if (this.out.length === this.row) this.breaks = this.rowBreaks;
    if (this.out !== '' && this.breaks) this.out += '\n'.repeat(this.breaks);
    else if (this.space && this.out !== '' && !this.tabs) this.out += ' ';
    this.out += '\t'.repeat(this.tabs) + s;
    this.breaks = 0;
    this.tabs = 0;
    this.space = false;
  }

  /**
   * cells reads a row of a table. Tabs separate its cells, including empty ones.
   * @param {Element} el
   */
  cells(el) {
    const outer = [this.row, this.tabs, this.rowBreaks];
    [this.row, this.tabs, this.rowBreaks] = [this.out.length, 0, this.breaks];
    this.children(el);
    if (this.tabs && this.out.length > this.row) this.write('');
    [this.row, this.tabs, this.rowBreaks] = outer;
  }

  /** @param {Element} el */
  element(el) {
    const tag = tagOf(el);
    if (NEVER_SHOWN.has(tag)) return;
    const cs = styleOf(el);
    const display = cs.display;
    if (display === 'none' || (display !== 'contents' && !isRendered(el)) || isOutOfView(el, cs)) return;
    switch (tag) {
      case 'br':
        this.out += this.breaks ? '\n'.repeat(this.breaks) : '';
        this.breaks = 0;
        this.space = false;
        if (this.out !== '') this.out += '\n';
        return;
      case 'iframe': case 'frame':
        if (isShown(el, 2, 2)) {
          this.breakLines(1);
          this.frames.push([this.out.length, idOf(el)]);
        }
        return;
      case 'input': case 'textarea': case 'canvas': case 'video': case 'audio': case 'object': case 'img': case 'meter': case 'progress':
        if (tag === 'input' && /^(button|submit|reset)$/.test(/** @type {HTMLInputElement} */ (el).type)) this.write(nameOf(el));
        return;
      case 'select': {
        const s = valueOf(el, 'combobox');
        if (s && cs.visibility === 'visible') this.write(s);
        this.space = true;
        return;
      }
    }
    const around = cs.visibility !== 'visible' ? 0 : tag === 'p' || /^h[1-6]$/.test(tag) ? 2 : breaksLine(display) ? 1 : 0;
    if (around) this.breakLines(around);
    if (display === 'table-cell' && previousOf(el)) {
      this.tabs++;
      this.space = false;
    }
    if (++this.deep > DEEPEST) this.flat(el);
    else if (display === 'table-row') this.cells(el);
    else this.children(el);
    this.deep--;
    if (around) this.breakLines(around);
  }

  /**
   * flat reads deeply nested content iteratively.
   * @param {Element} el
   */
  flat(el) {
    descend(el, (node, parent) => {
      const type = typeOfNode(node);
      if (type === 3 && this.shows(parent)) this.textNode(/** @type {Text} */ (node), parent, keepsSpace(parent));
      if (type !== 1) return;
      const child = /** @type {Element} */ (node);
      if (!firstChildOf(child) && !shadowOf(child) || LEAVES.has(tagOf(child))) {
        this.element(child); // no descendants to visit
        return false;
      }
      const cs = styleOf(child);
      if (NEVER_SHOWN.has(tagOf(child)) || cs.display === 'none' || (cs.display !== 'contents' && !isRendered(child)) || isOutOfView(child, cs)) return false;
      if (!breaksLine(cs.display)) return;
      this.breakLines(1);
      return () => this.breakLines(1);
    });
  }

  /** shows reports whether an element's own text is visible. @param {Element} el */
  shows(el) {
    const cs = styleOf(el);
    return cs.visibility === 'visible' && parseFloat(cs.fontSize) > 0 && parseFloat(cs.textIndent) > -999 && !hidesText(el);
  }

  /** @param {Element} el */
  children(el) {
    const seen = this.shows(el);
    const keep = keepsSpace(el);
    for (const node of flatChildren(el)) {
      const type = typeOfNode(node);
      if (type === 1) this.element(/** @type {Element} */ (node));
      else if (type === 3 && seen) this.textNode(/** @type {Text} */ (node), el, keep);
    }
  }

  /**
   * @param {Text} node
   * @param {Element} parent
   * @param {boolean} keep whether white space is preserved
   */
  textNode(node, parent, keep) {
    const s = shownText(node, parent);
    if (keep) {
      if (s !== '') this.write(s);
      return;
    }
    const c = collapse(s);
    if (c === '') {
      if (s !== '' && !this.breaks && !/\s$/.test(this.out)) this.space = true;
      return;
    }
    if (/^[ \t\n\r\f]/.test(s) && !this.breaks && !/\s$/.test(this.out)) this.space = true;
    this.write(c);
    this.space = /[ \t\n\r\f]$/.test(s);
  }
}

/** Elements whose children are not read. */
const LEAVES = new Set(['iframe', 'frame', 'input', 'textarea', 'canvas', 'video', 'audio', 'object', 'img', 'meter', 'progress', 'select']);

/** keepsSpace reports whether white space is preserved. @param {Element} el */
const keepsSpace = (el) => /^(pre|pre-wrap|pre-line|break-spaces)/.test(styleOf(el).whiteSpace);

/** @param {string} display */
function breaksLine(display) {
  return /^(block|flex|grid|list-item|table|table-row|table-caption|flow-root|table-row-group|table-header-group|table-footer-group)$/.test(display);
}

/**
 * isOutOfView reports whether an element is positioned where it cannot be seen: to the left of or
 * above the page, or clipped to a point, for screen readers only.
 * @param {Element} el
 * @param {CSSStyleDeclaration} cs
 */
export function isOutOfView(el, cs) {
  if (cs.position !== 'absolute' && cs.position !== 'fixed') return false;
  const r = boxOf(el);
  if (r.width <= 1 && r.height <= 1) return cs.overflow === 'hidden' || cs.overflow === 'clip' || cs.clip !== 'auto' || cs.clipPath !== 'none';
  if (/^rect\((0px|1px)(,? (0px|1px)){3}\)$/.test(cs.clip) || cs.clipPath === 'inset(50%)' || cs.clipPath === 'inset(100%)') return true;
  if (cs.position === 'fixed') return r.right <= 0 || r.bottom <= 0;
  // Pages scroll to the right and down only.
  const root = scrollingOf(document);
  return r.right + (root ? scrollLeftOf(root) : 0) <= 0 && cs.direction !== 'rtl' || r.bottom + (root ? scrollTopOf(root) : 0) <= 0;
}

/**
 * imageOfArea returns the image that an area belongs to, or the area itself.
 * @param {Element} area
 */
function imageOfArea(area) {
  const map = closestTo(area, 'map');
  const name = map && attributeOf(map, 'name');
  return (name && firstIn(rootOf(area), 'img[usemap="#' + CSS.escape(name) + '"]')) || area;
}

/**
 * links lists the visible links in an element, or in the complete document
 * for 0, in document order. It stops after MAX_TEXT characters.
 * @param {number} id
 * @param {number} since as in recordWalk
 * @returns {{links: [string, string, number][], more: boolean, at: number, replaced?: number[]} | null}
 *   absolute URL, text, id, and the result of recordWalk; null if the element no longer exists
 */
export function links(id, since) {
  const from = id ? byId(id) : null;
  if (id && !from) return null;
  const recorded = recordDocument(since);
  return withCaches(() => {
    /** @type {[string, string, number][]} */
    const out = [];
    let size = 0;
    /** @param {Iterable<Element>} list */
    const scan = (list) => {
      for (const el of list) {
        if (size > MAX_TEXT) return;
        if ((tagOf(el) !== 'a' && tagOf(el) !== 'area') || !(hasAttribute(el, 'href') || hasAttribute(el, 'xlink:href'))) continue;
        if (!isSeen(tagOf(el) === 'a' ? el : imageOfArea(el))) continue;
        const raw = /** @type {any} */ (el).href;
        const href = typeof raw === 'string' ? raw : new URL(raw?.baseVal || '', baseOf(document)).href;
        // javascript: URLs are not destinations.
        if (href && !/^[\s\u0000-\u001f]*j[\s]*a[\s]*v[\s]*a[\s]*s[\s]*c[\s]*r[\s]*i[\s]*p[\s]*t[\s]*:/i.test(href)) {
          const row = /** @type {[string, string, number]} */ ([href, clip(nameOf(el) || collapse(textIn(el) || ''), 300), idOf(el)]);
          size += row[0].length + row[1].length + 10;
          if (size <= MAX_TEXT) out.push(row);
        }
      }
    };
    if (from) {
      scan([from]);
      const shadow = shadowOf(from);
      if (shadow) scan(everyElement(shadow));
    }
    scan(everyElement(from || document));
    return { links: out, more: size > MAX_TEXT, ...recorded };
  });
}

/**
 * main returns the id of the element with the main content, if the page marks one, or 0.
 */
export function main() {
  const all = selectCSS('main, [role=main]', null).filter(isSeen);
  return all.length === 1 ? idOf(all[0]) : 0;
}
