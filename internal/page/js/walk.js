// @ts-check
// One walk over the flat tree: it decides which elements and texts are nodes of the outline.

import { isTitled, nameOf, referencedText, shownText } from './accessible_names.js';
import { ARIA_ROLES, F, INTERACTIVE } from './aria_constants.js';
import { roleOf, tableOf } from './aria_roles.js';
import { flagsOf, isModal } from './aria_states.js';
import { EMPTY_HOSTS, isCandidate, MAX_CANDIDATES } from './closed_shadow_roots.js';
import { activeDescendant, anyShadow, attributeOf, boxOf, childrenOf, clientHeightOf, clientWidthOf, collapse, containsNode, countOf, DEEPEST, descend, elementsNamed, firstChildOf, firstElementOf, firstIn, flatChildren, flatParent, focusedElement, hasAttribute, hasAttributes, hasSemanticAttribute, idOf, isEditableBody, isIn, isRendered, matchesCSS, nextSiblingOf, parentElementOf, shadowOf, tagOf, textIn, typeOfNode } from './dom.js';
import { isInternalsCandidate, MAX_INTERNALS } from './internals.js';
import { isClipped, isLowContrast, showsText } from './invisible_text.js';
import { kindOf, newItem } from './items.js';
import { isNestedClickable, MAX_CLICKABLES, mayContainClickables } from './listeners.js';
import { OutlineNodes } from './outline_nodes.js';
import { generated, hidesSubtree, isEditingHost, isHidden, isRenderedAround, mayGenerate, mayScroll, styleOf, UNFADED } from './visibility.js';
/** @import { Root } from './dom.js' */
/** @import { Item } from './items.js' */

/** Roles that get a line only if the element has a name. */
const UNNAMED_DROPPED = new Set('generic none group label legend caption rowgroup document article img figure form region search math object embed application complementary canvas presentation'.split(' '));
/** Roles that are text, with any name. */
const INLINE = new Set('paragraph strong emphasis code mark subscript superscript deletion insertion suggestion time ruby label legend caption generic none term-inline'.split(' '));
/**
 * Roles whose name is their complete text, so that their content is omitted unless it is
 * interactive.
 */
const NAME_COVERS_CONTENT = new Set('button link heading checkbox radio switch menuitem menuitemcheckbox menuitemradio option tab summary tooltip img progressbar meter slider scrollbar separator'.split(' '));
/** Roles whose value is their content. */
const VALUE_COVERS_CONTENT = new Set('textbox searchbox combobox listbox'.split(' '));
/** Roles that an editable element keeps in the snapshot. The others are shown as textbox. */
const EDITABLE_ROLES = new Set('searchbox combobox spinbutton'.split(' '));
/** Elements whose content is not walked: it is their value, or not visible. */
const ATOMS = new Set('input textarea select iframe frame canvas video audio object embed progress meter img area'.split(' '));

/**
 * @typedef {object} Inherited what a walk knows from the ancestors of an element
 * @property {boolean} pointer the cursor is already a pointer
 * @property {boolean} quiet text and structure are part of the name of an ancestor
 * @property {boolean} unseen text here is not visible
 * @property {boolean} clipped in a box that clips all of its content
 * @property {boolean} away outside of the viewport
 */

/**
 * showsPage reports whether an object or embed element shows a page, as an iframe does, and not an
 * image or PDF.
 * @param {Element} el
 */
function showsPage(el) {
  if (/svg|pdf/i.test(`${attributeOf(el, 'type')} ${attributeOf(el, 'data')} ${attributeOf(el, 'src')}`)) return false;
  if (tagOf(el) === 'object') return /** @type {() => Window | null} */ (contentWindowOfObject).call(el) !== null;
  // An embed element has no reference to its window, but a same-site window has one to its element.
  for (let n = 0; n < window.length; n++) {
    try {
      if (/** @type {any} */ (window)[n].frameElement === el) return true;
    } catch { /* cross-site */ }
  }
  return false;
}

/**
 * hasRows reports whether a table has several rows, most of which have several nonempty cells.
 * @param {HTMLTableElement} table
 */
function hasRows(table) {
  const rows = [...table.rows].slice(0, 20);
  const full = rows.filter((row) => [...row.cells].filter((cell) => firstElementOf(cell) || (textIn(cell) || '').trim() !== '').length > 1);
  return rows.length > 1 && full.length > rows.length / 2;
}

/**
 * namesParent reports whether an element is the child with the given tag that names its parent.
 * @param {Element} el
 * @param {string} tag
 */
function namesParent(el, tag) {
  const p = /** @type {Element} */ (parentElementOf(el));
  if (hasAttribute(p, 'aria-label') || hasAttribute(p, 'aria-labelledby')) return false;
  return [...childrenOf(p)].find((c) => tagOf(c) === tag) === el;
}

const contentWindowOfObject = Object.getOwnPropertyDescriptor(HTMLObjectElement.prototype, 'contentWindow')?.get;

export class Walk extends OutlineNodes {
  /** @param {number} chars */
  constructor(chars) {
    super(chars);
    /** The element that was walked, if it is the root of the document. @type {Element | null} */
    this.body = null;
    this.focus = focusedElement();
    this.active = activeDescendant();
    /** Elements that aria-owns moves to another parent. @type {Set<Element>} */
    this.owned = new Set();
    /** @type {{el: Element, start: number, end: number}[]} */ this.modals = [];
    /** @type {{el: Element, start: number, end: number}[]} */ this.tops = [];
    /** @type {number[]} */ this.hosts = [];
    /** @type {number[]} */ this.customs = [];
    /** @type {number[]} */ this.clickables = [];
    /** Whether the rows of a layout table are emitted. @type {Map<Element, boolean>} */
    this.tables = new Map();
    /** The nesting depth of the current element. */
    this.nesting = 0;
    /** Whether childrenFlat, not visit, walks the children of an element. */
    this.flat = false;
    /** @type {{el: Element, item: Item}[]} */ this.items = [];
    /** Reports whether the walk may end. @type {(() => boolean) | null} */
    this.stop = null;
    /** The only item whose content is walked. @type {Element | null} */
    this.outer = null;
    /** The element whose nodes get the flag marked. @type {Element | null} */
    this.marked = null;
  }

  /**
   * recordCandidates records an element about which CDP must be queried.
   * @param {Element} el
   * @param {string} tag
   */
  recordCandidates(el, tag) {
    if ((tag.includes('-') || (!el.firstChild && EMPTY_HOSTS.has(tag))) && this.hosts.length < MAX_CANDIDATES && isCandidate(el, tag)) {
      this.hosts.push(idOf(el));
    }
    if (tag.includes('-') && this.customs.length < MAX_INTERNALS && isInternalsCandidate(el, tag)) this.customs.push(idOf(el));
  }

  /** @param {Root} root */
  collectOwned(root) {
    const all = root === document ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
    for (const el of all.call(root, '[aria-owns]')) {
      for (const o of elementsNamed(el, 'aria-owns')) if (!containsNode(o, el)) this.owned.add(o);
    }
  }

  /**
   * @param {Element} el
   * @param {number} depth
   * @param {Inherited} inherited
   */
  visit(el, depth, inherited) {
    if (el === this.marked) {
      this.marked = null;
      this.visitMarked(el, depth, inherited);
      return;
    }
    const tag = tagOf(el);
    if (tag === 'form') {
      this.form(el, depth, inherited);
      return;
    }
    if ((tag === 'div' || tag === 'span') && !inherited.clipped && this.nesting < DEEPEST && this.isWrapper(el) && !(inherited.pointer && isNestedClickable(el))) {
      if (this.text !== '') this.breakText(styleOf(el).display);
      this.nesting++;
      this.visit(/** @type {Element} */ (el.firstChild), depth, inherited);
      this.nesting--;
      if (this.text !== '') this.breakText(styleOf(el).display);
      return;
    }
    const cs = styleOf(el);
    if (!el.checkVisibility() && (cs.display !== 'contents' || !isRenderedAround(el))) return;
    const semantic = el.hasAttributes() && hasSemanticAttribute(el);
    if (semantic && hidesSubtree(el)) return;
    if (tag === 'br') {
      if (this.text !== '') this.text += ' ';
      return;
    }
    this.recordCandidates(el, tag);
    if (!semantic && (tag === 'div' || tag === 'span') && this.visitPlain(el, cs, depth, inherited)) return;
    const role = tag === 'tr' || tag === 'td' ? this.rowRole(el, tag) : roleOf(el);
    // Generic elements show nothing themselves. Their children determine whether they are visible.
    if (role !== 'generic' && cs.visibility !== 'visible') {
      // Its descendants may be visible again.
      this.children(el, depth, { ...inherited, unseen: true });
      return;
    }
    const kind = kindOf(el, tag, role, semantic);
    if (kind && this.outer && this.outer !== el) return;
    const interactive = INTERACTIVE.has(role);
    // In an element with a pointer cursor or an interactive element, a pointer cursor has no
    // further meaning.
    const pointer = inherited.pointer || interactive || cs.cursor === 'pointer';
    const start = this.d.length;
    const html = tag === 'html' || (tag === 'body' && !isEditableBody(el));
    const inner = { pointer, quiet: inherited.quiet, unseen: false, clipped: inherited.clipped, away: inherited.away };
    if (inherited.clipped && (cs.position === 'fixed' || cs.position === 'absolute')) inner.clipped = false;
    // The content of a box outside of the viewport is not measured: except for fixed boxes, it is
    // outside also.
    if (!inner.away && countOf(el) > 3 && !html) inner.away = this.isAway(el);
    const editable = (semantic && isEditingHost(el)) || (role === 'textbox' && tag !== 'input');
    let clicks = false;
    let scrolls = false;
    if (!html) {
      if (!interactive) {
        clicks = (pointer && !inherited.pointer) || (inherited.pointer && !inherited.quiet && isNestedClickable(el)) || (semantic && (hasAttribute(el, 'onclick') || this.isTabStop(el))) || (tag === 'label' && this.replacesControl(el));
        if (clicks && tag === 'label' && !this.replacesControl(el)) clicks = /** @type {HTMLLabelElement} */ (el).control === null && hasAttribute(el, 'onclick');
        if (tag === 'iframe' || tag === 'frame' || role === 'dialog') clicks = false;
      }
      if (tag !== 'textarea' && tag !== 'select' && !interactive) {
        const overflow = this.overflow(el, cs);
        scrolls = overflow === 'scrolls';
        if (overflow === 'clips') inner.clipped = true;
      }
    }

    if ((clicks || scrolls) && role === 'generic' && cs.visibility !== 'visible') {
      clicks = scrolls = false;
      inner.pointer = inherited.pointer;
    }

    if (this.text !== '') this.breakText(cs.display);
    const { item, box } = this;
    if (kind) this.enterItem(el, kind, role);
    this.emitElement(el, tag, role, depth, inner, inherited, interactive, clicks, scrolls, editable);
    if (this.text !== '') this.breakText(cs.display);
    this.item = item;
    this.box = box;
    if (role === 'dialog' || role === 'alertdialog' || (tag === 'dialog' && matchesCSS(el, ':modal'))) {
      if (isModal(el)) {
        this.flush();
        this.modals.push({ el, start, end: this.d.length });
      }
    }
    if (parentElementOf(el) === this.body) {
      this.flush();
      this.tops.push({ el, start, end: this.d.length });
    }
  }

  /**
   * visitMarked visits an element whose text is separate from the text around it, and marks its nodes.
   * @param {Element} el
   * @param {number} depth
   * @param {Inherited} inherited
   */
  visitMarked(el, depth, inherited) {
    this.flush();
    const start = this.d.length;
    this.visit(el, depth, inherited);
    this.flush();
    for (let k = start; k < this.d.length; k++) this.f[k] |= F.marked;
  }

  /**
   * enterItem starts the item of an element.
   * @param {Element} el
   * @param {'item' | 'titled'} kind
   * @param {string} role
   */
  enterItem(el, kind, role) {
    const item = newItem(el, kind === 'titled', role);
    this.items.push({ el, item });
    if (kind === 'titled') this.box = item;
    this.item = kind === 'titled' ? null : item;
  }

  /**
   * rowRole returns the role of a row or cell. Chromium takes tables without headers and borders
   * for layout tables, but the cells of a row still belong together.
   * @param {Element} el
   * @param {string} tag
   */
  rowRole(el, tag) {
    const role = roleOf(el);
    if (role !== 'generic' || attributeOf(el, 'role') !== null) return role;
    const table = /** @type {HTMLTableElement | null} */ (tableOf(el));
    if (!table) return role;
    let rows = this.tables.get(table);
    if (rows === undefined) {
      rows = attributeOf(table, 'role') === null && roleOf(table) === 'none' && !firstIn(table, 'table') && hasRows(table);
      this.tables.set(table, rows);
    }
    return !rows ? role : tag === 'tr' ? 'row' : 'cell';
  }

  /**
   * isWrapper reports whether an element only wraps one other element, which itself determines its
   * visibility and cursor.
   * @param {Element} el
   */
  isWrapper(el) {
    const only = el.firstChild;
    if (!only || only.nodeType !== 1 || only.nextSibling || (el.hasAttributes() && hasSemanticAttribute(el))) return false;
    return el.parentElement !== this.body && !shadowOf(el) && this.owned.size === 0 && !mayGenerate(el) && !mayScroll(el);
  }

  /**
   * visitPlain walks an element that only contains others, as most elements of a page do. It
   * returns false, and does nothing, if the user could act on the element.
   * @param {Element} el without semantic attributes
   * @param {CSSStyleDeclaration} cs
   * @param {number} depth
   * @param {Inherited} inherited
   */
  visitPlain(el, cs, depth, inherited) {
    if (cs.cursor === 'pointer' && (!inherited.pointer || isNestedClickable(el))) return false;
    const overflow = this.overflow(el, cs);
    if (overflow === 'scrolls') return false;
    let inner = inherited;
    const away = !inherited.away && el.childElementCount > 3 && this.isAway(el);
    const escapes = inherited.clipped && (cs.position === 'fixed' || cs.position === 'absolute');
    if (inherited.unseen || away || overflow || escapes) {
      inner = { ...inherited, unseen: false, away: inherited.away || away, clipped: overflow === 'clips' || (inherited.clipped && !escapes) };
    }
    const start = this.d.length;
    if (this.text !== '') this.breakText(cs.display);
    this.children(el, depth, inner);
    if (this.text !== '') this.breakText(cs.display);
    if (el.parentElement === this.body) {
      this.flush();
      this.tops.push({ el, start, end: this.d.length });
    }
    return true;
  }

  /**
   * overflow returns how an element handles overflowing content: it scrolls, or it clips
   * all of its content.
   * @param {Element} el
   * @param {CSSStyleDeclaration} cs
   * @returns {'' | 'scrolls' | 'clips'}
   */
  overflow(el, cs) {
    if (!el.firstChild) return '';
    switch (cs.overflowY) {
      case 'auto': case 'scroll': return el.scrollHeight > el.clientHeight + 1 || el.scrollWidth > el.clientWidth + 1 ? 'scrolls' : '';
      case 'hidden': case 'clip': return isClipped(el) ? 'clips' : '';
    }
    return '';
  }

  /**
   * form visits a form, whose fields may shadow its properties.
   * @param {Element} el
   * @param {number} depth
   * @param {Inherited} inherited
   */
  form(el, depth, inherited) {
    const cs = styleOf(el);
    if (cs.display !== 'contents' && !isRendered(el)) return;
    if (hidesSubtree(el)) return;
    const unseen = cs.visibility !== 'visible';
    const start = this.d.length;
    if (this.text !== '') this.breakText(cs.display);
    const [token] = (attributeOf(el, 'role') || '').toLowerCase().split(/\s+/);
    const role = token === 'none' || token === 'presentation' ? 'none' : ARIA_ROLES.has(token) ? token : 'form';
    const labelled = elementsNamed(el, 'aria-labelledby');
    const name = collapse((labelled.length && referencedText(labelled, el)) || attributeOf(el, 'aria-label') || attributeOf(el, 'title') || '');
    if (!inherited.quiet && !unseen && role !== 'none' && (name !== '' || !UNNAMED_DROPPED.has(role))) {
      this.flush();
      const seen = !inherited.away && this.inViewport(Element.prototype.getBoundingClientRect.call(el));
      const dialog = role === 'dialog' || role === 'alertdialog';
      const modal = dialog && attributeOf(el, 'aria-modal') === 'true';
      this.emit(el, role, depth, (seen ? F.inViewport : 0) | (modal ? F.modal : 0), dialog ? idOf(el) : 0, name);
      this.children(el, depth + 1, { ...inherited, unseen });
      this.flush();
      if (modal) this.modals.push({ el, start, end: this.d.length });
    } else {
      this.children(el, depth, { ...inherited, unseen });
    }
    if (this.text !== '') this.breakText(cs.display);
    if (parentElementOf(el) === this.body) {
      this.flush();
      this.tops.push({ el, start, end: this.d.length });
    }
  }

  /**
   * emitElement emits the line of an element, if it gets one, and its content.
   * @param {Element} el
   * @param {string} tag
   * @param {string} role
   * @param {number} depth
   * @param {Inherited} inner
   * @param {Inherited} inherited
   * @param {boolean} interactive
   * @param {boolean} clicks
   * @param {boolean} scrolls
   * @param {boolean} editable
   */
  emitElement(el, tag, role, depth, inner, inherited, interactive, clicks, scrolls, editable) {
    const html = tag === 'html' || (tag === 'body' && !editable);
    if ((tag === 'object' || tag === 'embed') && showsPage(el)) role = 'iframe';
    const target = interactive || clicks || scrolls || role === 'iframe' || tag === 'frame' || tag === 'video' || tag === 'audio' || role === 'dialog' || role === 'alertdialog';
    if (inherited.quiet && !interactive && !(clicks && hasAttribute(el, 'onclick'))) {
      this.children(el, depth, inner);
      return;
    }
    if (html || (!target && INLINE.has(role) && !this.isNamed(el, role))) {
      if (tag === 'label' && this.namesControl(el)) inner.quiet = true;
      else if ((tag === 'legend' && isIn(el, 'fieldset')) || (tag === 'figcaption' && isIn(el, 'figure'))) inner.quiet = namesParent(el, tag);
      else if (tag === 'caption') inner.quiet = true;
      if (!ATOMS.has(tag)) this.children(el, depth, inner);
      return;
    }

    let name = '';
    if (clicks && (INLINE.has(role) || role === 'img' || role === 'group')) {
      if (role !== 'img') name = collapse(attributeOf(el, 'aria-label') || attributeOf(el, 'title') || '');
      else name = nameOf(el, role);
    } else if (role === 'cell' || role === 'gridcell' || role === 'columnheader' || role === 'rowheader' || role === 'row' || role === 'treeitem') {
      if (hasAttribute(el, 'aria-label') || hasAttribute(el, 'aria-labelledby')) name = nameOf(el, role);
      else if (role === 'treeitem') name = nameOf(el, role);
    } else if (role !== 'listitem' && role !== 'term' && (role !== 'generic' || !target)) {
      name = nameOf(el, role);
    }
    if (role === 'heading' && (!isRendered(el, UNFADED) || (hasAttributes(el) && isLowContrast(el)))) {
      this.children(el, depth, inner);
      return;
    }
    if (!target && name === '' && UNNAMED_DROPPED.has(role)) {
      if (!ATOMS.has(tag) || tag === 'object') this.children(el, depth, inner);
      else if (role === 'canvas') this.node(el, role, depth, '', 0, true);
      return;
    }

    // A frame of at most one pixel is loaded for its effects, not to be seen.
    if (tag === 'iframe' && clientWidthOf(el) <= 1 && clientHeightOf(el) <= 1) return;
    let shown = role !== 'generic' ? role : isTitled(el) ? tag : 'group';
    if (clicks && (INLINE.has(role) || role === 'group')) shown = 'clickable';
    else if (scrolls && !interactive && (INLINE.has(role) || (role === 'group' && name === ''))) shown = 'scrollable';
    if (editable) shown = EDITABLE_ROLES.has(role) ? role : 'textbox';
    let flags = flagsOf(el, role) | (!inherited.away && this.inViewport(boxOf(el)) ? F.inViewport : 0);
    if (interactive || editable) flags |= F.interactive;
    if (clicks) flags |= F.clickable;
    if (scrolls) flags |= F.scrollable;
    if (el === this.focus || el === this.active) flags |= F.focused;
    if (shown === 'clickable' && tag === 'label') flags |= this.controlFlags(el);

    if (clicks && this.clickables.length < MAX_CLICKABLES && mayContainClickables(el)) this.clickables.push(idOf(el));
    this.flush();
    const at = this.emit(el, shown, depth, flags, target || role === 'canvas' ? idOf(el) : 0, name);
    if (shown === tag && role === 'generic' && !firstElementOf(el)) {
      this.extra(at, 'v', showsText(el) ? collapse(textIn(el) || '') : '');
      return;
    }
    if (role === 'link' && this.item) this.shown[this.shown.length - 1].href = attributeOf(el, 'href') || '';
    this.extras(at, el, tag, role, name);
    if (ATOMS.has(tag) || editable) return;
    if (NAME_COVERS_CONTENT.has(role) && name !== '' && role !== 'separator') {
      if (firstElementOf(el) || shadowOf(el)) {
        const quiet = tag === 'svg' ? !firstIn(el, 'a, text, foreignObject') : true;
        this.children(el, depth + 1, { ...inner, quiet });
        if (this.textDepth > depth) this.text = '';
      }
      return;
    }
    if (role === 'svg' || (tag === 'svg' && !firstIn(el, 'a, text, foreignObject'))) return;
    this.children(el, depth + 1, role === 'treeitem' ? { ...inner, quiet: false } : inner);
    this.flush();
    if (shown === 'clickable' && name === '') this.nameByText(at);
    else if (role === 'treeitem') this.dropRepeatedText(at, name);
  }

  /**
   * isNamed reports whether the author named an element that gets a line only if it has a name, and
   * the name differs from its text. Inline parts of a sentence do not count, so that the sentence
   * stays in one piece, except for an abbreviation and its like, whose title explains it.
   * @param {Element} el
   * @param {string} role
   */
  isNamed(el, role) {
    const titled = hasAttributes(el) && isTitled(el);
    if (!titled && (!hasSemanticAttribute(el) || !(hasAttribute(el, 'aria-label') || hasAttribute(el, 'aria-labelledby')))) return false;
    if (role === 'none' || role === 'label' || role === 'legend') return false;
    const text = collapse(textIn(el) || '');
    if (!titled && text !== '' && styleOf(el).display === 'inline') return false;
    const name = nameOf(el, role);
    return name !== '' && name !== text;
  }

  /**
   * namesControl reports whether a label's text is the name of a control that gets its own line.
   * @param {Element} el
   */
  namesControl(el) {
    const c = /** @type {HTMLLabelElement} */ (el).control;
    return !!c && !hasAttribute(c, 'aria-label') && !hasAttribute(c, 'aria-labelledby') && !isHidden(c);
  }

  /**
   * replacesControl reports whether users click a label because its control is hidden.
   * @param {Element} el
   */
  replacesControl(el) {
    if (tagOf(el) !== 'label') return false;
    const c = /** @type {HTMLLabelElement} */ (el).control;
    return !!c && isHidden(c);
  }

  /** @param {Element} el */
  controlFlags(el) {
    const c = /** @type {HTMLLabelElement} */ (el).control;
    return c ? flagsOf(c, roleOf(c)) : 0;
  }

  /** @param {Element} el */
  isTabStop(el) {
    if (!hasAttribute(el, 'tabindex')) return false;
    const role = roleOf(el);
    return /** @type {HTMLElement} */ (el).tabIndex >= 0 && (INLINE.has(role) || role === 'gridcell' || role === 'row' || role === 'cell' || role === 'img' || role === 'listitem');
  }

  /**
   * @param {Element} el
   * @param {number} depth
   * @param {Inherited} inherited
   */
  children(el, depth, inherited) {
    if (this.nesting === DEEPEST) {
      this.childrenFlat(el, depth, inherited);
      return;
    }
    this.nesting++;
    const shadow = shadowOf(el);
    if (shadow) this.collectOwned(shadow);
    const silent = inherited.quiet || inherited.unseen || inherited.clipped;
    const generates = !silent && mayGenerate(el);
    if (generates) this.addGenerated(el, '::before', depth, inherited);
    if (shadow || (anyShadow && tagOf(el) === 'slot')) {
      for (const node of flatChildren(el)) this.child(node, el, depth, inherited, silent);
    } else {
      for (let node = firstChildOf(el); node; node = nextSiblingOf(node)) this.child(node, el, depth, inherited, silent);
    }
    if (this.owned.size > 0 && attributeOf(el, 'aria-owns') !== null) {
      for (const o of elementsNamed(el, 'aria-owns')) {
        if (containsNode(o, el) || !this.owned.delete(o)) continue;
        if (this.text !== '') this.text += ' ';
        this.visit(o, depth, inherited);
        this.owned.add(o);
      }
    }
    if (generates) this.addGenerated(el, '::after', depth, inherited);
    this.nesting--;
  }

  /**
   * childrenFlat walks deeply nested content iteratively: all lines are emitted in order at the
   * same depth.
   * @param {Element} el
   * @param {number} depth
   * @param {Inherited} inherited
   */
  childrenFlat(el, depth, inherited) {
    if (this.flat) return;
    this.flat = true;
    const silent = inherited.quiet || inherited.unseen || inherited.clipped;
    descend(el, (node, parent) => {
      if (typeOfNode(node) !== 1) {
        this.child(node, parent, depth, inherited, silent);
        return;
      }
      const child = /** @type {Element} */ (node);
      const { display } = styleOf(child);
      if (this.owned.has(child) || (!isRendered(child) && display !== 'contents') || hidesSubtree(child)) return false;
      const at = this.d.length;
      this.visit(child, depth, inherited);
      const last = this.d.length - 1;
      if (last >= at) {
        const role = [...this.roles.keys()][this.r[last]];
        if ((NAME_COVERS_CONTENT.has(role) && this.n[last] !== '') || VALUE_COVERS_CONTENT.has(role)) return false;
      }
      if (ATOMS.has(tagOf(child))) return false;
      return () => {
        if (this.text !== '') this.breakText(display);
      };
    });
    this.flat = false;
  }

  /**
   * @param {Element} el
   * @param {'::before' | '::after'} which
   * @param {number} depth
   * @param {Inherited} inherited
   */
  addGenerated(el, which, depth, inherited) {
    const s = generated(el, which);
    if (s) this.addText(s, depth, el, inherited.away);
  }

  /**
   * @param {Node} node
   * @param {Element} el its parent in the flat tree
   * @param {number} depth
   * @param {Inherited} inherited
   * @param {boolean} silent
   */
  child(node, el, depth, inherited, silent) {
    if (this.stop !== null && this.stop()) return;
    // Only for a form can this be something other than a number.
    const type = node.nodeType;
    if (type !== 3 && type !== 8) {
      if (this.owned.size === 0 || !this.owned.has(/** @type {Element} */ (node))) this.visit(/** @type {Element} */ (node), depth, inherited);
    } else if (type === 3 && !silent) {
      const data = /** @type {Text} */ (node).data;
      if (!/[^ \t\n\r\f]/.test(data)) {
        if (this.text !== '') this.text += ' ';
      } else if (showsText(el)) {
        this.addText(shownText(/** @type {Text} */ (node), el), depth, el, inherited.away);
      }
    }
  }
}

/**
 * walkPart walks an element as a walk of the document would.
 * @param {Element} el
 * @param {(walk: Walk) => boolean} stop whether no more is needed
 * @param {Element | null} outer the only item whose content is walked
 */
export function walkPart(el, stop, outer = null) {
  const walk = new Walk(2000);
  walk.stop = () => stop(walk);
  walk.outer = outer;
  const parent = flatParent(el);
  let pointer = !!parent && styleOf(parent).cursor === 'pointer';
  for (let at = parent; at && !pointer; at = flatParent(at)) pointer = INTERACTIVE.has(roleOf(at));
  walk.visit(el, 0, { pointer, quiet: false, unseen: false, clipped: false, away: false });
  walk.flush();
  return walk;
}
