// @ts-check
// One walk over the flat tree of a document, giving the outline's nodes as
// columns: small as JSON, and quick to decode.
//
//   v      version of this format, 1
//   url, title
//   d[i]   depth of node i; a node is in the nearest one before it that is less deep
//   r[i]   role, an index into roles; the role "text" is a run of text, in n
//   f[i]   states, bits as in F
//   i[i]   number of the element (idOf) when it can be a target, else 0
//   n[i]   name, or the text
//   roles  the roles that occur
//   xi, xk, xv  what few nodes have: node, kind (one letter of the string xk), value. Kinds:
//          v value, l level, u URL, p placeholder, d description, c current,
//          t type, o options of a select
//   ci, ck, cr, ch  pieces of text longer than SENT characters, or not sent whole: node (-1 is the document),
//          kind (n name or text, and as in xk; of the document n title, u URL), how many
//          characters were not sent, hash of all of it
//   behind how many nodes were left out because a modal dialog is in front of them
//   hosts  numbers of elements that may have a closed shadow root, see closed.js
//   customs  numbers of custom elements that may have a role by their internals, see internals.js
//   clickables  numbers of clickable elements whose descendants may have click listeners, see listeners.js
//   signs  what tells of an obstacle (obstacle.js), of the whole page only
//
// The Go side of this format is Decode in package outline.

/** Roles without a line of their own unless somebody named them. */
const UNNAMED_DROPPED = new Set('generic none group label legend caption rowgroup document article img figure form region search math object embed application complementary canvas presentation'.split(' '));
/** Roles that are text, whatever their name. */
const INLINE = new Set('paragraph strong emphasis code mark subscript superscript deletion insertion suggestion time ruby label legend caption generic none term-inline'.split(' '));
/** Roles whose name is their whole text, so that what is inside is left out unless a person can act on it. */
const SAID_BY_NAME = new Set('button link heading checkbox radio switch menuitem menuitemcheckbox menuitemradio option tab summary tooltip img progressbar meter slider scrollbar separator'.split(' '));
/** Roles whose value is what is inside. */
const SAID_BY_VALUE = new Set('textbox searchbox combobox listbox'.split(' '));
/** Elements whose inside is not walked: it is their value, or nobody can see it. */
const ATOMS = new Set('input textarea select iframe frame canvas video audio object embed progress meter img area'.split(' '));

/** How many characters of one piece of text are sent, unless the caller says otherwise. Longer ones get a hash. */
const SENT = 20000;
/** How many characters of long pieces one walk sends, and of each piece after that. */
const SENT_IN_ALL = 5 << 20;
const SENT_AT_LEAST = 400;

/**
 * hash returns a 32-bit FNV-1a hash of the UTF-16 code units of a text.
 * @param {string} s
 */
function hash(s) {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = imul(h ^ s.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

const { imul } = Math;

/**
 * @typedef {object} Around what a walk knows from above
 * @property {boolean} pointer the cursor is a pointer already
 * @property {boolean} quiet text and structure are said by a name above
 * @property {boolean} unseen text here is not visible
 * @property {boolean} clipped in a box that shows nothing
 * @property {boolean} away outside of the viewport
 */

/**
 * snapshot walks the document, or one element of it.
 * @param {{root?: number, survey?: boolean, chars?: number}} [opts] chars: of one piece of text
 * @returns {object} columns as above, or {error}
 */
function snapshot(opts) {
  const from = opts?.root ? byId(opts.root) : bodyOf(document) || topOf(document);
  if (!from) return { error: opts?.root ? 'gone' : 'empty' };
  return withStyles(() => new Walk(opts?.chars || SENT).run(from, !opts?.root, !!opts?.survey));
}
api.snapshot = snapshot;

/**
 * showsPage reports whether an object or embed element shows a page, as an iframe does; a picture or PDF is none.
 * @param {Element} el
 */
function showsPage(el) {
  if (/svg|pdf/i.test(`${attributeOf(el, 'type')} ${attributeOf(el, 'data')} ${attributeOf(el, 'src')}`)) return false;
  if (tagOf(el) === 'object') return /** @type {() => Window | null} */ (contentWindowOfObject).call(el) !== null;
  // Nothing leads from an embed element to what it shows, but a document of the same site knows where it is.
  for (let n = 0; n < window.length; n++) {
    try {
      if (/** @type {any} */ (window)[n].frameElement === el) return true;
    } catch { /* of another site */ }
  }
  return false;
}

/**
 * hasRows reports whether a table has several rows, most of them of several cells with something in them.
 * @param {HTMLTableElement} table
 */
function hasRows(table) {
  const rows = [...table.rows].slice(0, 20);
  const full = rows.filter((row) => [...row.cells].filter((cell) => firstElementOf(cell) || (textIn(cell) || '').trim() !== '').length > 1);
  return rows.length > 1 && full.length > rows.length / 2;
}

/**
 * namesParent reports whether a child with a certain tag is what names its parent.
 * @param {Element} el
 * @param {string} tag
 */
function namesParent(el, tag) {
  const p = /** @type {Element} */ (parentElementOf(el));
  if (hasAttribute(p, 'aria-label') || hasAttribute(p, 'aria-labelledby')) return false;
  return [...childrenOf(p)].find((c) => tagOf(c) === tag) === el;
}

const contentWindowOfObject = Object.getOwnPropertyDescriptor(HTMLObjectElement.prototype, 'contentWindow')?.get;

class Walk {
  /** @param {number} chars */
  constructor(chars) {
    this.chars = chars;
    /** How many characters of long pieces may still be sent. */
    this.room = SENT_IN_ALL;
    /** @type {number[]} */ this.ci = [];
    /** @type {string[]} */ this.ck = [];
    /** @type {number[]} */ this.cr = [];
    /** @type {number[]} */ this.ch = [];
    /** @type {number[]} */ this.d = [];
    /** @type {number[]} */ this.r = [];
    /** @type {number[]} */ this.f = [];
    /** @type {number[]} */ this.i = [];
    /** @type {string[]} */ this.n = [];
    /** @type {number[]} */ this.xi = [];
    /** @type {string[]} */ this.xk = [];
    /** @type {string[]} */ this.xv = [];
    /** @type {Map<string, number>} */ this.roles = new Map();
    this.text = '';
    this.textDepth = 0;
    this.textFlags = 0;
    this.width = innerWidth;
    this.height = innerHeight;
    this.farLeft = -FAR - scrollX;
    this.farTop = -FAR - scrollY;
    this.focus = focusedElement();
    this.active = activeDescendant();
    /** Elements that aria-owns moves elsewhere. @type {Set<Element>} */
    this.owned = new Set();
    /** @type {{el: Element, start: number, end: number}[]} */ this.modals = [];
    /** @type {{el: Element, start: number, end: number}[]} */ this.tops = [];
    /** @type {number[]} */ this.hosts = [];
    /** @type {number[]} */ this.customs = [];
    /** @type {number[]} */ this.clickables = [];
    /** Whether the rows of a table for layout are shown. @type {Map<Element, boolean>} */
    this.tables = new Map();
    /** In how many elements this is. */
    this.deep = 0;
    /** Whether what is in an element is walked by rest, and not by its own visit. */
    this.flat = false;
  }

  /**
   * @param {Element} from
   * @param {boolean} whole
   * @param {boolean} survey
   */
  run(from, whole, survey) {
    this.collectOwned(document);
    this.body = whole ? from : null;
    this.visit(from, 0, { pointer: false, quiet: false, unseen: false, clipped: false, away: false });
    this.flush();
    const behind = whole ? cutBehindModal(this) : 0;
    const url = this.piece(-1, 'u', location.href);
    const title = this.piece(-1, 'n', titleOf(document));
    return {
      v: 1, url, title, ci: this.ci, ck: this.ck.join(''), cr: this.cr, ch: this.ch, d: this.d, r: this.r, f: this.f, i: this.i, n: this.n,
      roles: [...this.roles.keys()], xi: this.xi, xk: this.xk.join(''), xv: this.xv, behind,
      hosts: this.hosts, customs: this.customs, clickables: this.clickables,
      signs: whole && survey ? surveyObstacles() : null,
    };
  }

  /**
   * Notes an element that the protocol must be asked about.
   * @param {Element} el
   * @param {string} tag
   */
  closed(el, tag) {
    if ((tag.includes('-') || (!el.firstChild && EMPTY_HOSTS.has(tag))) && this.hosts.length < MAX_CANDIDATES && isCandidate(el, tag)) {
      this.hosts.push(idOf(el));
    }
    if (tag.includes('-') && this.customs.length < MAX_INTERNALS && isInternalsCandidate(el, tag)) this.customs.push(idOf(el));
  }

  /** @param {Root} root */
  collectOwned(root) {
    const all = root === document ? Document.prototype.querySelectorAll : DocumentFragment.prototype.querySelectorAll;
    for (const el of all.call(root, '[aria-owns]')) {
      for (const o of elementsNamed(el, 'aria-owns')) if (!holds(o, el)) this.owned.add(o);
    }
  }

  /**
   * @param {string} role
   * @param {number} depth
   */
  emit(role, depth, flags = 0, id = 0, name = '') {
    let r = this.roles.get(role);
    if (r === undefined) {
      r = this.roles.size;
      this.roles.set(role, r);
    }
    this.d.push(depth);
    this.r.push(r);
    this.f.push(flags);
    this.i.push(id);
    this.n.push(name.length > SENT_AT_LEAST ? this.piece(this.n.length, 'n', name) : name);
    return this.d.length - 1;
  }

  /**
   * @param {number} node
   * @param {string} kind
   * @param {string} value
   */
  extra(node, kind, value) {
    if (value === '') return;
    this.xi.push(node);
    this.xk.push(kind);
    this.xv.push(this.piece(node, kind, value));
  }

  /**
   * Returns what is sent of a piece of text, and notes its length and hash when it is long.
   * @param {number} node
   * @param {string} kind
   * @param {string} s
   */
  piece(node, kind, s) {
    if (s.length <= SENT_AT_LEAST) return s;
    const max = Math.min(s.length, this.chars) <= this.room ? this.chars : SENT_AT_LEAST;
    const sent = startOf(s, max);
    this.room -= sent.length;
    if (s.length > SENT || sent.length < s.length) {
      this.ci.push(node);
      this.ck.push(kind);
      this.cr.push(s.length - sent.length);
      this.ch.push(hash(s));
    }
    return sent;
  }

  /** Drops what was noted of pieces from a node on. @param {number} n */
  dropPieces(n) {
    while (this.ci.length && this.ci[this.ci.length - 1] >= n) {
      this.ci.pop();
      this.ck.pop();
      this.cr.pop();
      this.ch.pop();
    }
  }

  /** Ends a run of text. */
  flush() {
    if (this.text === '') return;
    const s = collapse(this.text);
    this.text = '';
    if (s !== '') this.emit('text', this.textDepth, this.textFlags, 0, s);
  }

  /**
   * Parts the text before a box from the text in or after it.
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

  /** Whether a box is where nobody can scroll to. @param {DOMRect} r */
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
        if ((isShrunk(parent, box) || (!flags && this.isFar(box))) && !standsForPicture(parent)) return;
      }
      this.textDepth = depth;
      this.textFlags = flags;
    }
    this.text += s;
  }

  /** Drops the nodes from n on. @param {number} n */
  truncate(n) {
    this.d.length = this.r.length = this.f.length = this.i.length = this.n.length = n;
    while (this.xi.length && this.xi[this.xi.length - 1] >= n) {
      this.xi.pop();
      this.xk.pop();
      this.xv.pop();
    }
    this.dropPieces(n);
  }

  /**
   * @param {Element} el
   * @param {number} depth
   * @param {Around} around
   */
  visit(el, depth, around) {
    const tag = tagOf(el);
    if (tag === 'form') {
      this.form(el, depth, around);
      return;
    }
    if ((tag === 'div' || tag === 'span') && !around.clipped && this.deep < DEEPEST && this.passes(el) && !(around.pointer && isNestedClickable(el))) {
      if (this.text !== '') this.breakText(styleOf(el).display);
      this.deep++;
      this.visit(/** @type {Element} */ (el.firstChild), depth, around);
      this.deep--;
      if (this.text !== '') this.breakText(styleOf(el).display);
      return;
    }
    const cs = styleOf(el);
    if (!el.checkVisibility() && (cs.display !== 'contents' || !isRenderedAround(el))) return;
    const tells = el.hasAttributes() && tellsOf(el);
    if (tells && mutesItself(el)) return;
    if (tag === 'br') {
      if (this.text !== '') this.text += ' ';
      return;
    }
    this.closed(el, tag);
    if (!tells && (tag === 'div' || tag === 'span') && this.plain(el, cs, depth, around)) return;
    const role = tag === 'tr' || tag === 'td' ? this.rowRole(el, tag) : roleOf(el);
    // Structure has nothing to show itself: what is in it says whether it is visible.
    if (role !== 'generic' && cs.visibility !== 'visible') {
      // What is in it may be visible again.
      this.children(el, depth, { ...around, unseen: true });
      return;
    }
    const acts = INTERACTIVE.has(role);
    // Below a pointer, and in what acts by itself, a pointer tells nothing new.
    const pointer = around.pointer || acts || cs.cursor === 'pointer';
    const start = this.d.length;
    const html = tag === 'html' || tag === 'body';
    const inner = { pointer, quiet: around.quiet, unseen: false, clipped: around.clipped, away: around.away };
    if (around.clipped && (cs.position === 'fixed' || cs.position === 'absolute')) inner.clipped = false;
    // What is in a box away from the viewport is not measured: fixed boxes aside it is away as well.
    if (!inner.away && countOf(el) > 3 && !html) inner.away = this.isAway(el);
    const editable = (tells && isEditingHost(el)) || (role === 'textbox' && tag !== 'input');
    let clicks = false;
    let scrolls = false;
    if (!html) {
      if (!acts) {
        clicks = (pointer && !around.pointer) || (around.pointer && !around.quiet && isNestedClickable(el)) || (tells && (hasAttribute(el, 'onclick') || this.isTabStop(el))) || (tag === 'label' && this.standsForControl(el));
        if (clicks && tag === 'label' && !this.standsForControl(el)) clicks = /** @type {HTMLLabelElement} */ (el).control === null && hasAttribute(el, 'onclick');
        if (tag === 'iframe' || tag === 'frame' || role === 'dialog') clicks = false;
      }
      if (tag !== 'textarea' && tag !== 'select' && !acts) {
        const overflow = this.overflow(el, cs);
        scrolls = overflow === 'scrolls';
        if (overflow === 'clips') inner.clipped = true;
      }
    }

    if ((clicks || scrolls) && role === 'generic' && cs.visibility !== 'visible') {
      clicks = scrolls = false;
      inner.pointer = around.pointer;
    }

    if (this.text !== '') this.breakText(cs.display);
    this.line(el, tag, role, depth, inner, around, acts, clicks, scrolls, editable);
    if (this.text !== '') this.breakText(cs.display);
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
   * The role of a row or cell. Chromium takes tables without headers and borders
   * for layout, but what stands in a row belongs together all the same.
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
   * Whether an element is no more than a wrapper around one other: whether
   * that is visible, and what the cursor is over it, it knows itself.
   * @param {Element} el
   */
  passes(el) {
    const only = el.firstChild;
    if (!only || only.nodeType !== 1 || only.nextSibling || (el.hasAttributes() && tellsOf(el))) return false;
    return el.parentElement !== this.body && !shadowOf(el) && this.owned.size === 0 && !mayGenerate(el) && !mayScroll(el);
  }

  /**
   * Walks a box that only holds others, as most of a page's elements do. It
   * reports whether it was one: not if a person could act on it.
   * @param {Element} el without an attribute that tells something
   * @param {CSSStyleDeclaration} cs
   * @param {number} depth
   * @param {Around} around
   */
  plain(el, cs, depth, around) {
    if (cs.cursor === 'pointer' && (!around.pointer || isNestedClickable(el))) return false;
    const overflow = this.overflow(el, cs);
    if (overflow === 'scrolls') return false;
    let inner = around;
    const away = !around.away && el.childElementCount > 3 && this.isAway(el);
    const escapes = around.clipped && (cs.position === 'fixed' || cs.position === 'absolute');
    if (around.unseen || away || overflow || escapes) {
      inner = { ...around, unseen: false, away: around.away || away, clipped: overflow === 'clips' || (around.clipped && !escapes) };
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
   * What an element does with that which does not fit in it: lets a person
   * scroll to it, or has no room and hides all of it.
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
   * Visits a form, whose own properties its fields may hide.
   * @param {Element} el
   * @param {number} depth
   * @param {Around} around
   */
  form(el, depth, around) {
    const cs = styleOf(el);
    if (cs.display !== 'contents' && !isRendered(el)) return;
    if (mutesItself(el)) return;
    const unseen = cs.visibility !== 'visible';
    const start = this.d.length;
    if (this.text !== '') this.breakText(cs.display);
    const [token] = (attributeOf(el, 'role') || '').toLowerCase().split(/\s+/);
    const role = token === 'none' || token === 'presentation' ? 'none' : ARIA_ROLES.has(token) ? token : 'form';
    const labelled = elementsNamed(el, 'aria-labelledby');
    const name = collapse((labelled.length && referencedText(labelled)) || attributeOf(el, 'aria-label') || attributeOf(el, 'title') || '');
    if (!around.quiet && !unseen && role !== 'none' && (name !== '' || !UNNAMED_DROPPED.has(role))) {
      this.flush();
      const seen = !around.away && this.inViewport(Element.prototype.getBoundingClientRect.call(el));
      const dialog = role === 'dialog' || role === 'alertdialog';
      const modal = dialog && attributeOf(el, 'aria-modal') === 'true';
      this.emit(role, depth, (seen ? F.inViewport : 0) | (modal ? F.modal : 0), dialog ? idOf(el) : 0, name);
      this.children(el, depth + 1, { ...around, unseen });
      this.flush();
      if (modal) this.modals.push({ el, start, end: this.d.length });
    } else {
      this.children(el, depth, { ...around, unseen });
    }
    if (this.text !== '') this.breakText(cs.display);
    if (parentElementOf(el) === this.body) {
      this.flush();
      this.tops.push({ el, start, end: this.d.length });
    }
  }

  /**
   * Emits the line of an element, if it gets one, and what is in it.
   * @param {Element} el
   * @param {string} tag
   * @param {string} role
   * @param {number} depth
   * @param {Around} inner
   * @param {Around} around
   * @param {boolean} acts
   * @param {boolean} clicks
   * @param {boolean} scrolls
   * @param {boolean} editable
   */
  line(el, tag, role, depth, inner, around, acts, clicks, scrolls, editable) {
    const html = tag === 'html' || tag === 'body';
    if ((tag === 'object' || tag === 'embed') && showsPage(el)) role = 'iframe';
    const target = acts || clicks || scrolls || role === 'iframe' || tag === 'frame' || tag === 'video' || tag === 'audio' || role === 'dialog' || role === 'alertdialog';
    if (around.quiet && !acts && !(clicks && hasAttribute(el, 'onclick'))) {
      this.children(el, depth, inner);
      return;
    }
    if (html || (!target && INLINE.has(role) && !this.isNamed(el, role))) {
      if (tag === 'label' && this.saysName(el)) inner.quiet = true;
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
    if (role === 'heading' && (!isRendered(el, UNFADED) || (hasAttributes(el) && isFaint(el)))) {
      this.children(el, depth, inner);
      return;
    }
    if (!target && name === '' && UNNAMED_DROPPED.has(role)) {
      if (!ATOMS.has(tag) || tag === 'object') this.children(el, depth, inner);
      else if (role === 'canvas') this.node(el, role, depth, '', 0, true);
      return;
    }

    // A frame of a point or less is there to be loaded, not to be seen.
    if (tag === 'iframe' && clientWidthOf(el) <= 1 && clientHeightOf(el) <= 1) return;
    let shown = role === 'generic' ? 'group' : role;
    if (clicks && (INLINE.has(role) || role === 'group')) shown = 'clickable';
    else if (scrolls && !acts && (INLINE.has(role) || (role === 'group' && name === ''))) shown = 'scrollable';
    if (editable) shown = role === 'searchbox' || role === 'combobox' ? role : 'textbox';
    let flags = flagsOf(el, role) | (!around.away && this.inViewport(boxOf(el)) ? F.inViewport : 0);
    if (acts || editable) flags |= F.interactive;
    if (clicks) flags |= F.clickable;
    if (scrolls) flags |= F.scrollable;
    if (el === this.focus || el === this.active) flags |= F.focused;
    if (shown === 'clickable' && tag === 'label') flags |= this.controlFlags(el);

    if (clicks && this.clickables.length < MAX_CLICKABLES && mayContainClickables(el)) this.clickables.push(idOf(el));
    this.flush();
    const at = this.emit(shown, depth, flags, target || role === 'canvas' ? idOf(el) : 0, name);
    this.extras(at, el, tag, role, name);
    if (ATOMS.has(tag) || editable) return;
    if (SAID_BY_NAME.has(role) && name !== '' && role !== 'separator') {
      if (firstElementOf(el) || shadowOf(el)) {
        const quiet = tag === 'svg' ? !firstIn(el, 'a, text, foreignObject') : true;
        this.children(el, depth + 1, { ...inner, quiet });
        this.text = this.textDepth > depth ? '' : this.text;
      }
      return;
    }
    if (role === 'svg' || (tag === 'svg' && !firstIn(el, 'a, text, foreignObject'))) return;
    this.children(el, depth + 1, role === 'treeitem' ? { ...inner, quiet: false } : inner);
    this.flush();
    if (shown === 'clickable' && name === '') this.nameByText(at);
    else if (role === 'treeitem') this.dropSaid(at, name);
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
    return this.emit(role, depth, flags | (this.inViewport(boxOf(el)) ? F.inViewport : 0), target ? idOf(el) : 0, name);
  }

  /** Names a node by the text in it, when text is all there is. @param {number} at */
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
    this.truncate(at + 1);
  }

  /** Drops the text in front that only repeats the name. @param {number} at @param {string} name */
  dropSaid(at, name) {
    if (this.r[at + 1] !== this.roles.get('text') || !name.includes(this.n[at + 1])) return;
    for (const column of [this.d, this.r, this.f, this.i, this.n]) column.splice(at + 1, 1);
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
    const tells = tellsOf(el);
    const level = role === 'heading' || tells ? levelOf(el, role) : 0;
    if (level) this.extra(at, 'l', String(level));
    if (role === 'link') this.extra(at, 'u', linkTarget(el, name));
    if (value === '' && (tag === 'input' || tag === 'textarea' || role === 'textbox' || role === 'searchbox' || role === 'combobox')) {
      const p = collapse(attributeOf(el, 'placeholder') || attributeOf(el, 'aria-placeholder') || '');
      if (p !== name) this.extra(at, 'p', p);
    }
    if ((tells && (hasAttribute(el, 'aria-describedby') || hasAttribute(el, 'aria-description'))) || (hasAttribute(el, 'title') && role !== 'iframe') ||
      tag === 'svg' || tag === 'table') {
      this.extra(at, 'd', descriptionOf(el, name));
    }
    if (tells) {
      const cur = attributeOf(el, 'aria-current');
      if (cur && cur !== 'false') this.extra(at, 'c', cur);
    }
    if (tag === 'input') {
      const type = /** @type {HTMLInputElement} */ (el).type;
      if (/^(password|file|time|month|week|datetime-local)$/.test(type)) this.extra(at, 't', type);
    } else if (tag === 'select') {
      this.extra(at, 'o', optionsOf(/** @type {HTMLSelectElement} */ (el)));
    }
  }

  /**
   * Whether an author gave a name to an element that has a line for its name
   * only, and the name is not the text in it. A part of a sentence has none, so
   * that the sentence stays whole.
   * @param {Element} el
   * @param {string} role
   */
  isNamed(el, role) {
    if (!tellsOf(el) || !(hasAttribute(el, 'aria-label') || hasAttribute(el, 'aria-labelledby'))) return false;
    if (role === 'none' || role === 'label' || role === 'legend') return false;
    const text = collapse(textIn(el) || '');
    if (text !== '' && styleOf(el).display === 'inline') return false;
    const name = nameOf(el, role);
    return name !== '' && name !== text;
  }

  /**
   * Whether a label's text is the name of a control that gets a line of its own.
   * @param {Element} el
   */
  saysName(el) {
    const c = /** @type {HTMLLabelElement} */ (el).control;
    return !!c && !hasAttribute(c, 'aria-label') && !hasAttribute(c, 'aria-labelledby') && !isHidden(c);
  }

  /**
   * Whether a label is what a person clicks, because its control is hidden.
   * @param {Element} el
   */
  standsForControl(el) {
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
   * @param {Around} around
   */
  children(el, depth, around) {
    if (this.deep === DEEPEST) {
      this.rest(el, depth, around);
      return;
    }
    this.deep++;
    const shadow = shadowOf(el);
    if (shadow) this.collectOwned(shadow);
    const silent = around.quiet || around.unseen || around.clipped;
    const generates = !silent && mayGenerate(el);
    if (generates) this.addGenerated(el, '::before', depth, around);
    if (shadow || (anyShadow && tagOf(el) === 'slot')) {
      for (const node of flatChildren(el)) this.child(node, el, depth, around, silent);
    } else {
      for (let node = firstChildOf(el); node; node = nextSiblingOf(node)) this.child(node, el, depth, around, silent);
    }
    if (this.owned.size > 0 && attributeOf(el, 'aria-owns') !== null) {
      for (const o of elementsNamed(el, 'aria-owns')) {
        if (holds(o, el) || !this.owned.delete(o)) continue;
        if (this.text !== '') this.text += ' ';
        this.visit(o, depth, around);
        this.owned.add(o);
      }
    }
    if (generates) this.addGenerated(el, '::after', depth, around);
    this.deep--;
  }

  /**
   * Walks what is deep in the page without a call for each level: all that has
   * a line of its own gets it at the same depth, one after the other.
   * @param {Element} el
   * @param {number} depth
   * @param {Around} around
   */
  rest(el, depth, around) {
    if (this.flat) return;
    this.flat = true;
    const silent = around.quiet || around.unseen || around.clipped;
    descend(el, (node, parent) => {
      if (typeOfNode(node) !== 1) {
        this.child(node, parent, depth, around, silent);
        return;
      }
      const child = /** @type {Element} */ (node);
      const { display } = styleOf(child);
      if (this.owned.has(child) || (!isRendered(child) && display !== 'contents') || mutesItself(child)) return false;
      const at = this.d.length;
      this.visit(child, depth, around);
      const last = this.d.length - 1;
      if (last >= at) {
        const role = [...this.roles.keys()][this.r[last]];
        if ((SAID_BY_NAME.has(role) && this.n[last] !== '') || SAID_BY_VALUE.has(role)) return false;
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
   * @param {Around} around
   */
  addGenerated(el, which, depth, around) {
    const s = generated(el, which);
    if (s) this.addText(s, depth, el, around.away);
  }

  /**
   * @param {Node} node
   * @param {Element} el its parent in the flat tree
   * @param {number} depth
   * @param {Around} around
   * @param {boolean} silent
   */
  child(node, el, depth, around, silent) {
    // Only a form can give something else than a number.
    const type = node.nodeType;
    if (type !== 3 && type !== 8) {
      if (this.owned.size === 0 || !this.owned.has(/** @type {Element} */ (node))) this.visit(/** @type {Element} */ (node), depth, around);
    } else if (type === 3 && !silent) {
      const data = /** @type {Text} */ (node).data;
      if (!/[^ \t\n\r\f]/.test(data)) {
        if (this.text !== '') this.text += ' ';
      } else if (showsText(el)) {
        this.addText(shownText(/** @type {Text} */ (node), el), depth, el, around.away);
      }
    }
  }
}
