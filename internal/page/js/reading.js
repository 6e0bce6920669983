// @ts-check
// What the page says, in other shapes than an outline.

/**
 * describe returns role and name of an element for messages. An element whose role says nothing is named
 * by its text, or by its tag and id.
 * @param {number} id
 * @returns {{role: string, name: string, hidden: boolean} | null} null when it is gone
 */
function describe(id) {
  const el = byId(id);
  if (!el) return null;
  return withStyles(() => {
    let role = roleOf(el);
    const name = nameOf(el, role);
    if (role === 'generic' && isEditingHost(el)) role = 'textbox';
    if (!name && (role === 'generic' || role === 'none')) {
      const id = attributeOf(el, 'id');
      return { role: 'element', name: clip(excerpt(el) || tagOf(el) + (id ? `#${id}` : ''), 200), hidden: isHidden(el) };
    }
    return { role, name: clip(name, 200), hidden: isHidden(el) };
  });
}
api.describe = describe;

/**
 * text returns what a person reads in an element, or in the whole document
 * for 0: as innerText does, but also through shadow roots and slots.
 * @param {number} id
 * @returns {string | null} null when the element is gone
 */
function text(id) {
  const answer = textParts(id);
  return answer && answer.parts.filter((p) => typeof p === 'string').join('');
}
api.text = text;

/** More characters of text or markup than anybody is given of a document. What there is beyond them is only counted. */
const MAX_TEXT = 2 << 20;

/**
 * textParts is text with the numbers of the frames in it between what comes
 * before and after them.
 * @param {number} id
 * @returns {{parts: (string | number)[], more: number} | null} null when the element is gone
 */
function textParts(id) {
  const el = id ? byId(id) : bodyOf(document) || topOf(document);
  if (!el) return id ? null : { parts: [], more: 0 };
  return withStyles(() => {
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
 * startOf returns the start of s, of at most n characters that are whole.
 * @param {string} s
 * @param {number} n
 */
function startOf(s, n) {
  if (s.length <= n) return s;
  const last = s.charCodeAt(n - 1);
  return s.slice(0, last >= 0xd800 && last < 0xdc00 ? n - 1 : n);
}
api.textParts = textParts;

/** Collects text the way innerText does: white space collapsed as rendered, lines where boxes break them. */
class Reader {
  constructor() {
    this.out = '';
    /** Line breaks wanted before the next text. */
    this.breaks = 0;
    /** A space wanted before the next text. */
    this.space = false;
    /** Cells that ended since something was written, where their row began, and the line breaks before it. */
    this.tabs = 0;
    this.row = -1;
    this.rowBreaks = 0;
    /** Where frames are, and their numbers. @type {[number, number][]} */
    this.frames = [];
    /** In how many elements this is. */
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
    // What is in a cell may have ended its own line; the row goes on.
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
   * Reads a row of a table: its cells are parted by tabs, empty ones too.
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
    if (display === 'none' || (display !== 'contents' && !isRendered(el)) || isOutOfSight(el, cs)) return;
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
    if (++this.deep > DEEPEST) this.rest(el);
    else if (display === 'table-row') this.cells(el);
    else this.children(el);
    this.deep--;
    if (around) this.breakLines(around);
  }

  /**
   * Reads what is deep in the page without a call for each level.
   * @param {Element} el
   */
  rest(el) {
    descend(el, (node, parent) => {
      const type = typeOfNode(node);
      if (type === 3 && this.shows(parent)) this.textNode(/** @type {Text} */ (node), parent, keepsSpace(parent));
      if (type !== 1) return;
      const child = /** @type {Element} */ (node);
      if (!firstChildOf(child) && !shadowOf(child) || LEAVES.has(tagOf(child))) {
        this.element(child); // which has nothing below it to enter
        return false;
      }
      const cs = styleOf(child);
      if (NEVER_SHOWN.has(tagOf(child)) || cs.display === 'none' || (cs.display !== 'contents' && !isRendered(child)) || isOutOfSight(child, cs)) return false;
      if (!breaksLine(cs.display)) return;
      this.breakLines(1);
      return () => this.breakLines(1);
    });
  }

  /** Whether the text right in an element is seen. @param {Element} el */
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
   * @param {boolean} keep whether white space is rendered as it is
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

/** Elements that a reader takes as they are, without what is in them. */
const LEAVES = new Set(['iframe', 'frame', 'input', 'textarea', 'canvas', 'video', 'audio', 'object', 'img', 'meter', 'progress', 'select']);

/** Whether white space is rendered as it is. @param {Element} el */
const keepsSpace = (el) => /^(pre|pre-wrap|pre-line|break-spaces)/.test(styleOf(el).whiteSpace);

/** @param {string} display */
function breaksLine(display) {
  return /^(block|flex|grid|list-item|table|table-row|table-caption|flow-root|table-row-group|table-header-group|table-footer-group)$/.test(display);
}

/**
 * isOutOfSight reports whether an element is placed where nobody can see it:
 * left of or above the page, or cut down to a point, for screen readers alone.
 * @param {Element} el
 * @param {CSSStyleDeclaration} cs
 */
function isOutOfSight(el, cs) {
  if (cs.position !== 'absolute' && cs.position !== 'fixed') return false;
  const r = boxOf(el);
  if (r.width <= 1 && r.height <= 1) return cs.overflow === 'hidden' || cs.overflow === 'clip' || cs.clip !== 'auto' || cs.clipPath !== 'none';
  if (/^rect\((0px|1px)(,? (0px|1px)){3}\)$/.test(cs.clip) || cs.clipPath === 'inset(50%)' || cs.clipPath === 'inset(100%)') return true;
  if (cs.position === 'fixed') return r.right <= 0 || r.bottom <= 0;
  // A page scrolls to the right and down only.
  const root = scrollingOf(document);
  return r.right + (root ? scrollLeftOf(root) : 0) <= 0 && cs.direction !== 'rtl' || r.bottom + (root ? scrollTopOf(root) : 0) <= 0;
}

/**
 * html returns the markup of an element, or of the whole document for 0, with
 * the shadow roots in it as templates. Values that were typed are not in it,
 * and secrets that a page wrote into its markup are masked.
 * @param {number} id
 * @param {boolean} outer with the element itself
 * @returns {{html: string, more: number} | null} null when the element is gone
 */
function html(id, outer) {
  const el = id ? byId(id) : topOf(document);
  if (!el) return id ? null : { html: '', more: 0 };
  return withStyles(() => {
    const all = htmlOf(el, outer);
    const kept = startOf(all, MAX_TEXT);
    return { html: kept, more: all.length - kept.length };
  });
}
api.html = html;

/** @param {Element} el writesSecret reports whether the markup of a field holds its value, and it is a secret */
function writesSecret(el) {
  return matchesCSS(el, WRITTEN_VALUES) && isMasked(el) && (tagOf(el) === 'select' || (tagOf(el) === 'textarea' ? textIn(el) : attributeOf(el, 'value')) !== '');
}

/** Fields whose markup has their value. */
const WRITTEN_VALUES = 'input[value], textarea, select:has(option[selected])';

/** @param {Element} el @param {boolean} outer */
function htmlOf(el, outer) {
  const copies = shadowOf(el) || shadowHosts(el).length > 0 || writesSecret(el) || [...allIn(el, WRITTEN_VALUES)].some(writesSecret);
  if (!copies) return outer ? outerOf(el) : innerOf(el);
  // In a document of its own, so that nothing is loaded or run and the page sees nothing.
  const inert = implementationOf(document).createHTMLDocument('');
  /** @type {ShadowRoot[]} */
  const roots = [];
  /** What is still to be filled, and with the children of what. @type {[Node, Node][]} */
  const left = [];
  /** Lists whose choice is secret. @type {Element[]} */
  const choices = [];
  /** @param {Element} from */
  const copy = (from) => {
    const to = /** @type {Element} */ (inert.importNode(from, tagOf(from) === 'template'));
    const secret = writesSecret(from);
    if (secret && tagOf(from) === 'input') to.setAttribute('value', MASK);
    const root = shadowOf(from);
    if (root) {
      const made = to.attachShadow({ mode: root.mode, delegatesFocus: root.delegatesFocus });
      roots.push(made);
      left.push([made, root]);
    }
    if (secret && tagOf(from) === 'textarea') to.textContent = MASK;
    else if (tagOf(from) !== 'template') left.push([to, from]);
    if (secret && tagOf(from) === 'select') choices.push(to);
    return to;
  };
  const made = copy(el);
  for (let next = left.pop(); next; next = left.pop()) {
    const [to, from] = next;
    for (let n = firstChildOf(from); n; n = nextSiblingOf(n)) to.appendChild(typeOfNode(n) === 1 ? copy(/** @type {Element} */ (n)) : inert.importNode(n));
  }
  for (const list of choices) for (const o of list.querySelectorAll('option')) o.removeAttribute('selected');
  const within = outer ? inert.createElement('div') : made;
  if (outer) within.appendChild(made);
  return /** @type {any} */ (within).getHTML({ shadowRoots: roots });
}

/**
 * pictureOf returns the picture that an area is a part of, or the area.
 * @param {Element} area
 */
function pictureOf(area) {
  const map = closestTo(area, 'map');
  const name = map && attributeOf(map, 'name');
  return (name && firstIn(rootOf(area), 'img[usemap="#' + CSS.escape(name) + '"]')) || area;
}

/**
 * links lists the links that a person can see in an element, or in the whole
 * document for 0, in document order. Of more than MAX_TEXT characters of them
 * only the first are listed.
 * @param {number} id
 * @returns {{links: [string, string, number][], more: boolean} | null} absolute URL, text, id; null when the element is gone
 */
function links(id) {
  const from = id ? byId(id) : null;
  if (id && !from) return null;
  return withStyles(() => {
    /** @type {[string, string, number][]} */
    const out = [];
    let size = 0;
    /** @param {Iterable<Element>} list */
    const scan = (list) => {
      for (const el of list) {
        if (size > MAX_TEXT) return;
        if ((tagOf(el) !== 'a' && tagOf(el) !== 'area') || !(hasAttribute(el, 'href') || hasAttribute(el, 'xlink:href'))) continue;
        if (!isSeen(tagOf(el) === 'a' ? el : pictureOf(el))) continue;
        const raw = /** @type {any} */ (el).href;
        const href = typeof raw === 'string' ? raw : new URL(raw?.baseVal || '', baseOf(document)).href;
        // Code is no place to go to.
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
    return { links: out, more: size > MAX_TEXT };
  });
}
api.links = links;

/**
 * main returns the number of the element that holds the main content, as the
 * page itself says, or 0.
 */
function main() {
  const all = selectCSS('main, [role=main]', null).filter(isSeen);
  return all.length === 1 ? idOf(all[0]) : 0;
}
api.main = main;
