// @ts-check
// Roles, by ARIA 1.2 and HTML-AAM. Where Chromium deviates, the specifications decide,
// except for the cases in testdata/accname of package outline.

import { ARIA_ROLES } from './aria_constants.js';
import { attributeOf, closestAbove, closestTo, collapse, countOf, elementsNamed, firstElementOf, firstIn, flatParent, hasAttribute, hasSemanticAttribute, isEditableBody, namespaceOf, nextOf, onCacheReset, parentElementOf, previousOf, rootOf, tagOf, textIn } from './dom.js';
import { internalsOf } from './internals.js';
import { isEditingHost, isFocusable, isSummary, styleOf, SVG } from './visibility.js';

/**
 * Roles of the graphics and publishing modules that are aliases of these.
 * @type {Record<string, string>}
 */
const MODULE_ROLES = {
  'graphics-document': 'img', 'graphics-symbol': 'img', 'graphics-object': 'img',
  'doc-backlink': 'link', 'doc-biblioref': 'link', 'doc-glossref': 'link', 'doc-noteref': 'link',
};

/** Attributes that all roles support. Any of them overrides role=none. */
const GLOBAL_ARIA = ['aria-atomic', 'aria-busy', 'aria-controls', 'aria-current', 'aria-describedby', 'aria-details', 'aria-dropeffect', 'aria-flowto',
  'aria-grabbed', 'aria-keyshortcuts', 'aria-label', 'aria-labelledby', 'aria-live', 'aria-owns', 'aria-relevant', 'aria-roledescription'];

/** @type {Record<string, string>} */
export const TAG_ROLES = {
  address: 'group', article: 'article', aside: 'complementary', blockquote: 'blockquote', button: 'button', caption: 'caption', canvas: 'canvas', code: 'code',
  datalist: 'listbox', dd: 'definition', del: 'deletion', details: 'group', dfn: 'term', dialog: 'dialog', dl: 'list', dt: 'term', em: 'emphasis', fieldset: 'group', figcaption: 'caption',
  figure: 'figure', form: 'form', h1: 'heading', h2: 'heading', h3: 'heading', h4: 'heading', h5: 'heading', h6: 'heading', hgroup: 'group', hr: 'separator', html: 'document',
  iframe: 'iframe', frame: 'iframe', ins: 'insertion', label: 'label', legend: 'legend', li: 'listitem', main: 'main', mark: 'mark', math: 'math', menu: 'list', meter: 'meter',
  nav: 'navigation', ol: 'list', optgroup: 'group', option: 'option', output: 'status', p: 'paragraph', progress: 'progressbar', s: 'deletion', search: 'search',
  strong: 'strong', sub: 'subscript', sup: 'superscript', textarea: 'textbox', tfoot: 'rowgroup', thead: 'rowgroup', time: 'time',
  ul: 'list', video: 'video', audio: 'audio', object: 'object', embed: 'embed', svg: 'img', dir: 'list',
};

/** @type {Record<string, string>} */
const INPUT_ROLES = {
  button: 'button', checkbox: 'checkbox', color: 'color', date: 'date', 'datetime-local': 'date', email: 'textbox', file: 'button', image: 'button', month: 'date',
  number: 'spinbutton', password: 'textbox', radio: 'radio', range: 'slider', reset: 'button', search: 'searchbox', submit: 'button', tel: 'textbox', text: 'textbox',
  time: 'date', url: 'textbox', week: 'date',
};

const SECTIONING = 'article, aside, main, nav, section, [role=article], [role=complementary], [role=main], [role=navigation], [role=region]';

/**
 * roleOf returns the computed role of an element. 'generic' and 'none' are
 * elements without semantics.
 * @param {Element} el
 * @returns {string}
 */
export function roleOf(el) {
  if (hasSemanticAttribute(el)) {
    const attr = attributeOf(el, 'role');
    const r = attr ? explicitRole(el, attr) : '';
    if (r) return r;
  }
  return internalsOf(el)?.role || implicitRole(el);
}

/**
 * @param {Element} el
 * @param {string} attr
 * @returns {string}
 */
function explicitRole(el, attr) {
  for (const token of attr.toLowerCase().split(/\s+/)) {
    if (!ARIA_ROLES.has(token)) {
      const base = MODULE_ROLES[token];
      if (base) return base;
      continue;
    }
    if (token === 'none' || token === 'presentation') {
      // The presentational conflict rule: focusable elements and those with global attributes keep
      // their role.
      if (isFocusable(el) || hasGlobalAria(el)) return '';
      return 'none';
    }
    if (token === 'image') return 'img';
    if (token === 'directory') return 'list';
    if ((token === 'form' || token === 'region') && !authorName(el)) continue;
    if (token === 'listitem' && !inList(el)) continue;
    return token;
  }
  return '';
}

/**
 * inList reports whether an item is in a list, with only generic elements between.
 * @param {Element} el
 */
function inList(el) {
  for (let p = flatParent(el); p; p = flatParent(p)) {
    if (attributeOf(p, 'role') === 'listitem') break; // would check its own ancestors
    const role = roleOf(p);
    if (role === 'list') return true;
    if (role !== 'generic' && role !== 'none' && role !== 'group') break;
  }
  const id = attributeOf(el, 'id');
  const owner = id && firstIn(rootOf(el), `[aria-owns~="${CSS.escape(id)}"]`);
  return !!owner && roleOf(owner) === 'list';
}

/** @param {Element} el */
function hasGlobalAria(el) {
  for (const a of GLOBAL_ARIA) if (hasAttribute(el, a)) return true;
  return false;
}

/** authorName reports whether the author named the element. @param {Element} el */
function authorName(el) {
  return !!(collapse(attributeOf(el, 'aria-label') || '') || elementsNamed(el, 'aria-labelledby').length || collapse(attributeOf(el, 'title') || ''));
}

/**
 * @param {Element} el
 * @returns {string}
 */
function implicitRole(el) {
  const tag = tagOf(el);
  if (tag === 'form') return 'form';
  if (namespaceOf(el) === SVG) return svgRole(el);
  switch (tag) {
    case 'div': case 'span': return hasSemanticAttribute(el) && isEditingHost(el) ? 'textbox' : 'generic';
    case 'body': return isEditableBody(el) ? 'textbox' : 'generic';
    case 'a': case 'area': return hasAttribute(el, 'href') ? 'link' : 'generic';
    case 'img': return imageRole(el);
    case 'input': return inputRole(/** @type {HTMLInputElement} */ (el));
    case 'select': {
      const s = /** @type {HTMLSelectElement} */ (el);
      return s.multiple || s.size > 1 ? 'listbox' : 'combobox';
    }
    case 'header': return closestTo(el, SECTIONING) ? 'generic' : 'banner';
    case 'footer': return closestTo(el, SECTIONING) ? 'generic' : 'contentinfo';
    case 'section': return authorName(el) ? 'region' : 'generic';
    case 'aside': return closestAbove(el, 'article, aside, nav, section') && !authorName(el) ? 'generic' : 'complementary';
    case 'summary': return isSummary(el) ? 'summary' : 'generic';
    case 'label': return isRedundantLabel(/** @type {HTMLLabelElement} */ (el)) ? 'none' : 'label';
    case 'table': return isDataTable(/** @type {HTMLTableElement} */ (el)) ? 'table' : 'none';
    case 'tr': return partOfTable(el) ? 'row' : 'generic';
    case 'td': return cellRole(el);
    case 'th': return headerRole(el);
    case 'thead': case 'tfoot': return partOfTable(el) ? 'rowgroup' : 'generic';
    case 'li': {
      if (inList(el)) return 'listitem';
      const p = parentElementOf(el);
      return p && /^(ul|ol|menu|dir)$/.test(tagOf(p)) ? 'none' : 'generic';
    }
  }
  return TAG_ROLES[tag] || 'generic';
}

/** @param {Element} el */
function imageRole(el) {
  const alt = attributeOf(el, 'alt');
  if (alt === '' && !isFocusable(el) && !hasGlobalAria(el) && !attributeOf(el, 'title')) return 'none';
  return 'img';
}

/** @param {HTMLInputElement} el */
function inputRole(el) {
  const type = el.type;
  if (type === 'hidden') return 'none';
  if (el.list && /^(text|search|email|tel|url)$/.test(type)) return 'combobox';
  return INPUT_ROLES[type] || 'textbox';
}

/** @param {Element} el */
function svgRole(el) {
  switch (tagOf(el)) {
    case 'svg': return 'img';
    case 'a': return hasAttribute(el, 'href') || hasAttribute(el, 'xlink:href') ? 'link' : 'generic';
    case 'text': case 'tspan': case 'textPath': case 'foreignObject': return 'generic';
    case 'g': case 'path': case 'circle': case 'rect': case 'ellipse': case 'line': case 'polygon': case 'polyline': case 'use': case 'image':
      if (authorName(el) || firstIn(el, ':scope > title')) return tagOf(el) === 'g' ? 'group' : 'img';
      return 'none';
  }
  return 'none';
}

/** @param {Element} el */
export function tableOf(el) {
  return closestTo(el, 'table');
}

/** @param {Element} el */
function tableRole(el) {
  const t = tableOf(el);
  return t ? roleOf(t) : '';
}

/** @param {Element} el */
function partOfTable(el) {
  return /^(table|grid|treegrid)$/.test(tableRole(el));
}

/** @param {Element} el */
function cellRole(el) {
  switch (tableRole(el)) {
    case 'table': return 'cell';
    case 'grid': case 'treegrid': return 'gridcell';
  }
  return 'generic';
}

/** @param {Element} el */
function headerRole(el) {
  if (!partOfTable(el)) return 'generic';
  switch ((attributeOf(el, 'scope') || '').toLowerCase()) {
    case 'row': case 'rowgroup': return 'rowheader';
    case 'col': case 'colgroup': return 'columnheader';
  }
  // Without a scope, the adjacent cells decide, as in Chromium.
  const prev = previousOf(el);
  const next = nextOf(el);
  if ((!prev || tagOf(prev) === 'th') && (!next || tagOf(next) === 'th')) return 'columnheader';
  const data = [prev, next].some((c) => c && tagOf(c) === 'td' && (textIn(c) || '').trim() !== '');
  return data ? 'rowheader' : 'columnheader';
}

/**
 * isRedundantLabel reports whether a label contains only what is already in the name
 * of its check box or radio button.
 * @param {HTMLLabelElement} el
 */
function isRedundantLabel(el) {
  const c = el.control;
  if (!(c instanceof HTMLInputElement) || (c.type !== 'checkbox' && c.type !== 'radio')) return false;
  if (hasAttribute(el, 'aria-label') || hasAttribute(el, 'aria-labelledby')) return false;
  if (!firstElementOf(el) || (countOf(el) === 1 && firstElementOf(el) === c)) return true;
  return false;
}

/** Whether tables are data tables. @type {WeakMap<Element, boolean>} */
let dataTables = new WeakMap();
onCacheReset(() => {
  dataTables = new WeakMap();
});

/**
 * isDataTable distinguishes data tables from layout tables, by Chromium's criteria.
 * @param {HTMLTableElement} t
 */
function isDataTable(t) {
  let data = dataTables.get(t);
  if (data === undefined) {
    data = looksLikeData(t);
    dataTables.set(t, data);
  }
  return data;
}

/** @param {HTMLTableElement} t */
function looksLikeData(t) {
  if (t.caption || t.tHead || t.tFoot || attributeOf(t, 'summary') || attributeOf(t, 'rules')) return true;
  if (authorName(t) || isFocusable(t) || hasGlobalAria(t)) return true;
  if (parseInt(attributeOf(t, 'border') || '0', 10) > 0) return true;
  if (firstIn(t, ':scope > colgroup, :scope > col')) return true;
  const rows = t.rows;
  if (!rows.length) return false;
  let cells = 0;
  let bordered = 0;
  for (let r = 0; r < rows.length && r < 20; r++) {
    for (const cell of rows[r].cells) {
      if (tagOf(cell) === 'th' || hasAttribute(cell, 'headers') || hasAttribute(cell, 'scope') || hasAttribute(cell, 'abbr') || hasAttribute(cell, 'axis')) return true;
      cells++;
      const cs = styleOf(cell);
      if (parseFloat(cs.borderTopWidth) > 0 || parseFloat(cs.borderBottomWidth) > 0) bordered++;
    }
  }
  if (cells <= 1) return false;
  if (firstIn(t, 'table')) return false;
  return bordered > cells / 2 || rows.length >= 20;
}
