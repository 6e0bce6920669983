// @ts-check
// Accessible names and descriptions, by accname 1.2 and HTML-AAM. Where Chromium
// deviates, the specifications decide, except for the cases in testdata/accname of
// package outline.

import { roleOf } from './aria_roles.js';
import { allIn, anyShadow, attributeOf, childrenOf, closestTo, collapse, containsNode, DEEPEST, descend, elementsNamed, elementWithId, firstChildOf, firstElementOf, flatChildren, hasAttribute, hasAttributes, hasSemanticAttribute, isRendered, lastChildOf, namespaceOf, rootOf, shadowOf, tagOf, textIn, typeOfNode } from './dom.js';
import { internalsOf } from './internals.js';
import { labelsOf } from './labels.js';
import { isMasked } from './secret_fields.js';
import { generated, hidesText, isFocusable, isHidden, isInHiddenSubtree, mayGenerate, NEVER_SHOWN, styleOf, SVG } from './visibility.js';
/** @import { Root } from './dom.js' */

/** Roles whose name comes from their content. */
const NAME_FROM_CONTENT = new Set(('button cell checkbox columnheader gridcell heading link menuitem menuitemcheckbox menuitemradio option radio rowheader ' +
  'switch tab tooltip treeitem summary').split(' '));

/** Roles that cannot have a name. */
const NAME_PROHIBITED = new Set(('none').split(' '));

/** Phrasing roles, which a title describes but does not name. */
const TITLE_DESCRIBES = new Set('caption code deletion emphasis insertion mark paragraph strong subscript superscript time'.split(' '));

/**
 * @typedef {object} NameContext
 * @property {Set<Element>} seen the elements being visited, to detect cycles
 * @property {boolean} [referenced] inside aria-labelledby or aria-describedby: do not follow
 *   another reference
 * @property {boolean} [hiddenToo] the referenced element is itself hidden, so hidden content counts
 * @property {boolean} [unseen] the element's own text is not visible, but its children may be
 * @property {string} [skip] role of children that add nothing to the name
 * @property {boolean} [embedded] inside content: controls contribute their value
 * @property {Element} [owner] the element whose reference is being followed: it is not embedded in
 *   its own label
 */

/**
 * nameOf returns the accessible name of an element with white space collapsed.
 * @param {Element} el
 * @param {string} [role]
 * @returns {string}
 */
export function nameOf(el, role = roleOf(el)) {
  if (NAME_PROHIBITED.has(role)) return '';
  return collapse(rawName(el, role, { seen: new Set() }));
}

/**
 * @param {Element} el
 * @param {string} role
 * @param {NameContext} ctx
 * @returns {string}
 */
function rawName(el, role, ctx) {
  if (hasSemanticAttribute(el)) {
    if (!ctx.referenced) {
      const from = elementsNamed(el, 'aria-labelledby');
      if (from.length) {
        const s = referencedText(from, el);
        if (collapse(s)) return s;
      }
    }
    const label = attributeOf(el, 'aria-label');
    if (label && label.trim()) return label;
  }
  const given = internalsOf(el)?.name;
  if (given) return given;
  const native = nativeName(el, role, ctx);
  if (native !== null) return native;
  if (NAME_FROM_CONTENT.has(role) || (role === 'row' && inGrid(el))) {
    const s = contentText(el, { ...ctx, seen: new Set(ctx.seen).add(el), skip: role === 'treeitem' ? 'group' : role.startsWith('menuitem') ? 'menu' : '' });
    if (collapse(s)) return s;
  }
  return tooltip(el, role);
}

/**
 * inGrid reports whether a row is in a grid: only there can it be selected and named.
 * @param {Element} el
 */
function inGrid(el) {
  const owner = closestTo(el, 'table, [role=table], [role=grid], [role=treegrid]');
  return !!owner && /grid$/.test(roleOf(owner));
}

/** Elements without a corresponding role that a title names. */
const NO_ROLE = /^(abbr|cite|kbd|var)$/;

/**
 * isTitled reports whether an element without a corresponding role has a title that names it.
 * @param {Element} el
 */
export function isTitled(el) {
  return NO_ROLE.test(tagOf(el)) && collapse(attributeOf(el, 'title') || '') !== '';
}

/**
 * tooltip returns the title if it names the element, which it does not for generic elements.
 * @param {Element} el
 * @param {string} role
 */
function tooltip(el, role) {
  const title = attributeOf(el, 'title');
  if (!title) return '';
  return (role === 'generic' && !NO_ROLE.test(tagOf(el)) && !isFocusable(el)) || TITLE_DESCRIBES.has(role) ? '' : title;
}

/**
 * referencedText returns the text of the elements that owner refers to.
 * @param {Element[]} els
 * @param {Element} owner
 */
export function referencedText(els, owner) {
  const parts = [];
  for (const el of els) {
    const s = textOf(el, { seen: new Set(), referenced: true, hiddenToo: isHidden(el), embedded: true, owner });
    parts.push(collapse(s) ? s : attributeOf(el, 'title') || '');
  }
  return parts.join(' ');
}

/**
 * nativeName returns the name by HTML's own rules, or null if the next rule applies.
 * @param {Element} el
 * @param {string} role
 * @param {NameContext} ctx
 * @returns {string | null}
 */
function nativeName(el, role, ctx) {
  switch (tagOf(el)) {
    case 'input': return inputName(/** @type {HTMLInputElement} */ (el), ctx);
    case 'textarea': return labelText(el, ctx) || attributeOf(el, 'title') || attributeOf(el, 'placeholder') || attributeOf(el, 'aria-placeholder') || '';
    case 'select': case 'meter': case 'progress': case 'output':
      return labelText(el, ctx) || (tagOf(el) === 'output' ? null : attributeOf(el, 'title') || '');
    case 'button': return labelText(el, ctx) || null;
    case 'img': case 'area': {
      const alt = attributeOf(el, 'alt');
      return alt !== null && collapse(alt) ? alt : null;
    }
    case 'fieldset': return partText(el, 'legend', ctx);
    case 'figure': return partText(el, 'figcaption', ctx);
    case 'table': return partText(el, 'caption', ctx) || attributeOf(el, 'title') || attributeOf(el, 'summary');
    case 'option': return /** @type {HTMLOptionElement} */ (el).getAttribute('label') || null;
    case 'optgroup': return attributeOf(el, 'label');
    case 'svg': case 'g': case 'path': case 'circle': case 'rect': case 'a': case 'use': case 'image': {
      if (namespaceOf(el) !== SVG) return null;
      const t = svgPart(el, 'title') || (tagOf(el) === 'use' ? usedName(el) : '') || (tagOf(el) === 'a' ? attributeOf(el, 'xlink:title') : '') || '';
      return t.trim() ? t : null;
    }
  }
  return null;
}

/**
 * svgPart returns the text of the title or desc child of an SVG element.
 * @param {Element} el
 * @param {string} tag
 */
function svgPart(el, tag) {
  const part = [...childrenOf(el)].find((c) => tagOf(c) === tag);
  return (part && textIn(part)) || '';
}

/**
 * usedName returns the name of the element that a use element refers to.
 * @param {Element} el
 */
function usedName(el) {
  const href = attributeOf(el, 'href') || attributeOf(el, 'xlink:href') || '';
  const used = href[0] === '#' ? elementWithId(rootOf(el), href.slice(1)) : null;
  return used ? attributeOf(used, 'aria-label') || svgPart(used, 'title') : '';
}

/**
 * partText returns the text of the child that names its parent, such as a legend.
 * @param {Element} el
 * @param {string} tag
 * @param {NameContext} ctx
 */
function partText(el, tag, ctx) {
  for (const c of childrenOf(el)) {
    if (tagOf(c) !== tag) continue;
    const s = textOf(c, { ...ctx, embedded: true, hiddenToo: ctx.hiddenToo || isHidden(c) });
    return collapse(s) ? s : null;
  }
  return null;
}

/**
 * @param {Element} el
 * @param {NameContext} ctx
 */
function labelText(el, ctx) {
  const labels = labelsOf(el);
  if (!labels) return '';
  const parts = [];
  for (const l of labels) {
    if (ctx.seen.has(l)) continue;
    const seen = new Set(ctx.seen);
    seen.add(el);
    parts.push(textOf(l, { ...ctx, seen, embedded: true, hiddenToo: ctx.hiddenToo || isHidden(l) }));
  }
  const s = parts.join(' ');
  return collapse(s) ? s : '';
}

/**
 * @param {HTMLInputElement} el
 * @param {NameContext} ctx
 */
function inputName(el, ctx) {
  const type = el.type;
  switch (type) {
    case 'button': case 'submit': case 'reset':
      return labelText(el, ctx) || el.value || (type === 'submit' ? attributeOf(el, 'value') ?? 'Submit' : type === 'reset' ? attributeOf(el, 'value') ?? 'Reset' : '') || el.title;
    case 'image':
      return labelText(el, ctx) || el.alt || el.title || 'Submit';
  }
  return labelText(el, ctx) || el.title || (el.placeholder && /^(text|search|url|tel|email|password|number)$/.test(type) ? el.placeholder : '') || attributeOf(el, 'aria-placeholder') || '';
}

/**
 * textOf returns the text that an element contributes to a name.
 * @param {Element} el
 * @param {NameContext} ctx
 * @returns {string}
 */
function textOf(el, ctx) {
  if (ctx.seen.has(el)) return ' ';
  if (!ctx.hiddenToo && isHidden(el)) {
    if (!firstElementOf(el) || !isRendered(el) || isInHiddenSubtree(el)) return '';
    ctx = { ...ctx, unseen: true };
  } else if (ctx.unseen) {
    ctx = { ...ctx, unseen: false };
  }
  if (NEVER_SHOWN.has(tagOf(el)) && namespaceOf(el) !== SVG) return '';
  if (ctx.seen.size > DEEPEST) return deepText(el, !!ctx.hiddenToo);
  ctx = { ...ctx, seen: new Set(ctx.seen).add(el) };
  const plain = !hasAttributes(el) && /^(span|div|p|b|i|em|strong|label|legend|small|bdi|code|figcaption|caption)$/.test(tagOf(el));
  // Slots are not part of the tree that names are computed from.
  if (plain || ctx.unseen || (anyShadow && tagOf(el) === 'slot')) return contentText(el, ctx);
  const role = roleOf(el);
  if (role === 'menu') return '';
  if (!ctx.referenced) {
    const from = elementsNamed(el, 'aria-labelledby');
    if (from.length) return apart(referencedText(from, el));
  }
  const embedded = ctx.embedded && el !== ctx.owner;
  if (embedded) {
    const v = embeddedValue(el, role);
    if (v !== null) return apart(v);
  }
  const label = attributeOf(el, 'aria-label');
  if (label && label.trim()) return apart(label);
  const presentational = role === 'none' && hasAttribute(el, 'role'); // the author removed its own meaning
  if (!presentational && (tagOf(el) !== 'button' || !embedded)) {
    const native = nativeName(el, role, ctx);
    if (native !== null && collapse(native)) return apart(native);
  }
  const s = tagOf(el) === 'object' || (el === ctx.owner && contentIsValue(el, role)) ? '' : contentText(el, ctx);
  if (collapse(s)) return APART.has(role) ? apart(s) : s;
  return apart(presentational ? '' : attributeOf(el, 'title') || '');
}

/**
 * apart separates a text from the text around it. Text that is not the content of an element, such as
 * a label, is not part of a word that begins before the element.
 * @param {string} s
 */
const apart = (s) => ` ${s} `;

/** Roles of controls and cells, whose content is separated from the text around them. */
const APART = new Set(('button cell checkbox columnheader combobox gridcell listbox menuitem menuitemcheckbox menuitemradio option radio rowheader searchbox ' +
  'slider spinbutton switch tab textbox').split(' '));

/** Roles of controls with a value that the user enters. */
const VALUE_ROLES = new Set(['textbox', 'searchbox', 'combobox', 'listbox', 'spinbutton']);

/**
 * contentIsValue reports whether the content of a control does not count in its name.
 * @param {Element} el
 * @param {string} role
 */
function contentIsValue(el, role) {
  return /^(textarea|select|meter|progress)$/.test(tagOf(el)) || (VALUE_ROLES.has(role) && isMasked(el));
}

/**
 * deepText returns the text in an element that is nested deeper than DEEPEST, without
 * computing the names of its descendants.
 * @param {Element} el
 * @param {boolean} hiddenToo
 */
function deepText(el, hiddenToo) {
  let out = '';
  descend(el, (node, parent) => {
    const type = typeOfNode(node);
    if (type === 3) out += !hiddenToo && hidesText(parent) ? '' : shownText(/** @type {Text} */ (node), parent);
    if (type !== 1) return;
    const child = /** @type {Element} */ (node);
    if (NEVER_SHOWN.has(tagOf(child)) || /^(textarea|select)$/.test(tagOf(child)) || (!hiddenToo && isHidden(child))) return false;
    if (VALUE_ROLES.has(roleOf(child)) && isMasked(child)) return false;
    if (!breaksText(child)) return;
    out += ' ';
    return () => { out += ' '; };
  });
  return out;
}

/**
 * embeddedValue returns the value of a control inside a label, or null if el is not a control.
 * @param {Element} el
 * @param {string} role
 * @returns {string | null}
 */
function embeddedValue(el, role) {
  if (VALUE_ROLES.has(role) && isMasked(el)) return '';
  switch (role) {
    case 'textbox': case 'searchbox':
      if (tagOf(el) === 'input' || tagOf(el) === 'textarea') return /** @type {HTMLInputElement} */ (el).value;
      return textIn(el) || '';
    case 'combobox': case 'listbox':
      if (tagOf(el) === 'select') {
        return [...(/** @type {HTMLSelectElement} */ (el).selectedOptions)].map((o) => o.label || o.text).join(' ');
      }
      if (tagOf(el) === 'input') return /** @type {HTMLInputElement} */ (el).value;
      return chosenText(el, role);
    case 'spinbutton': case 'slider': case 'progressbar': case 'scrollbar': case 'meter':
      return attributeOf(el, 'aria-valuetext') || attributeOf(el, 'aria-valuenow') ||
        (tagOf(el) === 'input' || tagOf(el) === 'meter' || tagOf(el) === 'progress' ? String(/** @type {HTMLInputElement} */ (el).value) : '');
  }
  return null;
}

/**
 * chosenText returns the selected options of a list box. For a combo box, these are the
 * options in it or in the list that it opens, or else the text that it shows.
 * @param {Element} el
 * @param {string} role
 * @returns {string | null}
 */
function chosenText(el, role) {
  const lists = role === 'combobox' ? [el, ...elementsNamed(el, 'aria-owns'), ...elementsNamed(el, 'aria-controls')] : [el];
  const chosen = lists.flatMap((list) => [...allIn(list, '[role=option][aria-selected=true]')]);
  if (chosen.length) return [...new Set(chosen.map((o) => rawName(o, 'option', { seen: new Set([el]) })))].join(' '); // it may be in both lists
  return role === 'combobox' ? contentText(el, { seen: new Set([el]), embedded: true }) : '';
}

/**
 * contentText returns the text content of an element, including generated content.
 * @param {Element} el
 * @param {NameContext} ctx
 * @returns {string}
 */
export function contentText(el, ctx) {
  const only = firstChildOf(el);
  if (only && only === lastChildOf(el) && typeOfNode(only) === 3 && !shadowOf(el) && !mayGenerate(el) && !(anyShadow && tagOf(el) === 'slot') && !hasAttribute(el, 'aria-owns')) {
    return ctx.unseen || (!ctx.hiddenToo && hidesText(el)) ? '' : shownText(/** @type {Text} */ (only), el);
  }
  let out = generated(el, '::before');
  const children = flatChildren(el);
  for (let i = 0; i < children.length; i++) {
    const node = children[i];
    if (typeOfNode(node) === 3) {
      if (ctx.unseen || (!ctx.hiddenToo && hidesText(el))) continue;
      out += shownText(/** @type {Text} */ (node), el);
    } else if (typeOfNode(node) === 1) {
      const child = /** @type {Element} */ (node);
      if (ctx.skip && roleOf(child) === ctx.skip) continue;
      const tag = tagOf(child);
      if (tag === 'br' || tag === 'wbr' || tag === 'hr') {
        out += ' ';
        continue;
      }
      if (tag === 'rt' || tag === 'rp') continue; // the pronunciation is not part of the text
      const t = textOf(child, { ...ctx, embedded: true, skip: '' });
      if (t) out += breaksText(child) ? ' ' + t + ' ' : t;
    }
  }
  if (hasAttribute(el, 'aria-owns')) {
    for (const o of elementsNamed(el, 'aria-owns')) if (!containsNode(o, el)) out += ' ' + textOf(o, { ...ctx, embedded: true, skip: '' });
  }
  out += generated(el, '::after');
  return out;
}

/**
 * shownText returns the text of a node with text-transform applied.
 * @param {Text} node
 * @param {Element} parent its parent in the flat tree
 */
export function shownText(node, parent) {
  const s = node.data;
  switch (styleOf(parent).textTransform) {
    case 'uppercase': return s.toUpperCase();
    case 'lowercase': return s.toLowerCase();
    case 'capitalize': return s.replace(/(^|[^\p{L}\p{N}'’])(\p{L})/gu, (_, before, letter) => before + letter.toUpperCase());
  }
  return s;
}

/**
 * breaksText reports whether an element is separated from the text around it.
 * @param {Element} el
 */
function breaksText(el) {
  const d = styleOf(el).display;
  return d !== 'inline' && d !== 'contents';
}

/**
 * descriptionOf returns the description of an element, or '' if it equals the name.
 * @param {Element} el
 * @param {string} name
 */
export function descriptionOf(el, name) {
  const from = hasAttribute(el, 'aria-describedby') ? elementsNamed(el, 'aria-describedby') : [];
  let s = from.length ? referencedText(from, el) : '';
  if (!collapse(s)) s = attributeOf(el, 'aria-description') || '';
  if (!collapse(s) && tagOf(el) === 'table') s = partText(el, 'caption', { seen: new Set() }) || '';
  if (!collapse(s) && tagOf(el) === 'svg') s = svgPart(el, 'desc');
  if (!collapse(s)) s = attributeOf(el, 'title') || '';
  s = collapse(s);
  return s === name ? '' : s;
}
