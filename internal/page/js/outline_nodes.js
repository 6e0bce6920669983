// @ts-check
// The nodes of an outline as a walk emits them: lines of elements, and runs of text between them.

import { descriptionOf } from './accessible_names.js';
import { F, MASK } from './aria_constants.js';
import { levelOf, linkTarget, optionsOf, valueOf } from './aria_states.js';
import { attributeOf, boxOf, collapse, hasAttribute, hasSemanticAttribute, idOf } from './dom.js';
import { isPart } from './editors.js';
import { FAR, isShrunk, replacesImage } from './invisible_text.js';
import { addNode, comparedName } from './items.js';
import { Columns } from './outline_columns.js';
/** @import { Item } from './items.js' */
/** @import { Shown } from './shown_elements.js' */

/** The columns of an outline, with the element of each node, and the current run of text. */
export class OutlineNodes extends Columns {
  /** @param {number} chars */
  constructor(chars) {
    super(chars);
    /** The element of each node, and the item, dialog or tab panel that it is in. @type {Element[]} */
    this.e = [];
    /** @type {(Item | null)[]} */
    this.owners = [];
    this.text = '';
    /** The element of the current run of text. @type {Element | null} */
    this.textParent = null;
    this.textDepth = 0;
    this.textFlags = 0;
    this.width = innerWidth;
    this.height = innerHeight;
    this.farLeft = -FAR - scrollX;
    this.farTop = -FAR - scrollY;
    /** The item, and the dialog or tab panel, that the next node is in. @type {Item | null} */
    this.item = null;
    /** @type {Item | null} */
    this.box = null;
    /** Those of the current run of text. @type {Item | null} */
    this.textItem = null;
    /** @type {Item | null} */
    this.textBox = null;
    /** What the elements are that can be a target. @type {Shown[]} */
    this.shown = [];
  }

  /**
   * @param {Element} el
   * @param {string} role
   * @param {number} depth
   */
  emit(el, role, depth, flags = 0, id = 0, name = '') {
    this.append(role, depth, flags, id, name);
    const owner = this.item || this.box;
    this.e.push(el);
    this.owners.push(owner);
    if (name !== '' && owner) addNode(owner, role, name);
    if (id) this.shown.push(newShown(id, role, name, this.item, this.box));
    return this.d.length - 1;
  }

  /** truncate drops the nodes from n on. @param {number} n */
  truncate(n) {
    super.truncate(n);
    this.e.length = this.owners.length = n;
  }

  /** flush emits the current run of text. */
  flush() {
    if (this.text === '') return;
    const s = collapse(this.text);
    this.text = '';
    if (s === '') return;
    const { item, box } = this;
    this.item = this.textItem; // the item may have ended, or another one begun, since
    this.box = this.textBox;
    this.emit(/** @type {Element} */ (this.textParent), 'text', this.textDepth, this.textFlags, 0, s);
    this.item = item;
    this.box = box;
  }

  /**
   * breakText separates the text before a box from the text in it or after it.
   * @param {string} display
   */
  breakText(display) {
    if (display === 'inline' || display === 'contents') return;
    if (display.startsWith('inline')) this.text += ' ';
    else if (display.endsWith('math')) this.text += ' ';
    else this.flush();
  }

  /** @param {DOMRect} r */
  inViewport(r) {
    return r.bottom > 0 && r.right > 0 && r.top < this.height && r.left < this.width;
  }

  /** isFar reports whether a box is at a position that cannot be scrolled to. @param {DOMRect} r */
  isFar(r) {
    return r.right < this.farLeft || r.bottom < this.farTop;
  }

  /** @param {Element} el */
  isAway(el) {
    const r = boxOf(el);
    return r.width > 0 && r.height > 0 && !this.inViewport(r) && !this.isFar(r);
  }

  /**
   * @param {string} s
   * @param {number} depth
   * @param {Element} parent
   * @param {boolean} away
   */
  addText(s, depth, parent, away) {
    if (this.text === '') {
      let flags = 0;
      if (!away) {
        const box = boxOf(parent);
        if (this.inViewport(box)) flags = F.inViewport;
        if ((isShrunk(parent, box) || (!flags && this.isFar(box))) && !replacesImage(parent)) return;
      }
      this.textParent = parent;
      this.textDepth = depth;
      this.textFlags = flags;
      this.textItem = this.item;
      this.textBox = this.box;
    }
    this.text += s;
  }

  /**
   * @param {Element} el
   * @param {string} role
   * @param {number} depth
   * @param {string} name
   * @param {number} flags
   * @param {boolean} target
   */
  node(el, role, depth, name, flags, target) {
    this.flush();
    return this.emit(el, role, depth, flags | (this.inViewport(boxOf(el)) ? F.inViewport : 0), target ? idOf(el) : 0, name);
  }

  /**
   * nameByText makes the text in a node its name if the node contains only text.
   * @param {number} at
   */
  nameByText(at) {
    const end = this.d.length;
    if (end === at + 1) return;
    const text = this.roles.get('text');
    const parts = [];
    for (let k = at + 1; k < end; k++) {
      if (this.r[k] !== text) {
        if (this.i[k] || this.d[k] > this.d[at] + 1 || !this.n[k]) return;
      }
      parts.push(this.n[k]);
    }
    const s = parts.join(' ');
    if (s.length > 300) return;
    this.n[at] = s;
    for (let k = at + 1; k < end; k++) this.f[at] |= this.f[k] & F.marked;
    this.shown[this.shown.length - 1].name = comparedName(s); // the nodes in it are no targets
    this.truncate(at + 1);
  }

  /**
   * dropRepeatedText drops the first text of a node if it repeats the node's name.
   * @param {number} at
   * @param {string} name
   */
  dropRepeatedText(at, name) {
    if (this.r[at + 1] !== this.roles.get('text') || !name.includes(this.n[at + 1])) return;
    for (const column of [this.d, this.r, this.f, this.i, this.n, this.e, this.owners]) column.splice(at + 1, 1);
    for (let x = this.xi.length - 1; x >= 0 && this.xi[x] > at; x--) if (this.xi[x] > at + 1) this.xi[x]--;
    for (let x = this.ci.length - 1; x >= 0 && this.ci[x] > at; x--) {
      if (this.ci[x] > at + 1) this.ci[x]--;
      else for (const column of [this.ci, this.cr, this.ch, this.ck]) column.splice(x, 1);
    }
  }

  /**
   * @param {number} at
   * @param {Element} el
   * @param {string} tag
   * @param {string} role
   * @param {string} name
   */
  extras(at, el, tag, role, name) {
    const value = valueOf(el, role);
    this.extra(at, 'v', value === name && role !== 'textbox' ? '' : value);
    if (value === MASK) this.f[at] |= F.masked;
    else if (role === 'textbox' && isPart(el, value)) this.f[at] |= F.partial;
    const semantic = hasSemanticAttribute(el);
    const level = role === 'heading' || semantic ? levelOf(el, role) : 0;
    if (level) this.extra(at, 'l', String(level));
    if (role === 'link') this.extra(at, 'u', linkTarget(el, name));
    if (value === '' && (tag === 'input' || tag === 'textarea' || role === 'textbox' || role === 'searchbox' || role === 'combobox')) {
      const p = collapse(attributeOf(el, 'placeholder') || attributeOf(el, 'aria-placeholder') || '');
      if (p !== name) this.extra(at, 'p', p);
    }
    if ((semantic && (hasAttribute(el, 'aria-describedby') || hasAttribute(el, 'aria-description'))) || (hasAttribute(el, 'title') && role !== 'iframe') ||
      tag === 'svg' || tag === 'table') {
      this.extra(at, 'd', descriptionOf(el, name));
    }
    if (semantic) {
      const cur = attributeOf(el, 'aria-current');
      if (cur && cur !== 'false') this.extra(at, 'c', cur);
    }
    if (tag === 'input') {
      const type = /** @type {HTMLInputElement} */ (el).type;
      if (/^(password|file|time|month|week|datetime-local)$/.test(type)) this.extra(at, 't', type);
    } else if (tag === 'select') {
      const { length } = /** @type {HTMLSelectElement} */ (el).options;
      if (length > 10) this.extra(at, 'm', String(length));
      this.extra(at, 'o', optionsOf(/** @type {HTMLSelectElement} */ (el)));
    }
  }
}

/**
 * newShown returns what an element is in a walk.
 * @param {number} id
 * @param {string} role
 * @param {string} name
 * @param {Item | null} item
 * @param {Item | null} box
 * @returns {Shown}
 */
export function newShown(id, role, name, item, box) {
  return { at: 0, since: 0, id, role, name: comparedName(name), href: '', item, box, walked: true, before: null, depth: 0 };
}
