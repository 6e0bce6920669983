// @ts-check
// States and values of elements for the outline.

import { F, MASK } from './aria_constants.js';
import { allIn, anyShadow, attributeOf, baseOf, cachingEnabled, closestTo, collapse, firstIn, flatParent, hasAttribute, hasSemanticAttribute, innerTextOf, matchesCSS, onCacheReset, parentElementOf, tagOf, textIn } from './dom.js';
import { editableTextOf } from './editable_text.js';
import { internalsOf } from './internals.js';
import { clip } from './same_text.js';
import { isMasked, showsDots } from './secret_fields.js';
import { isEditingHost, isFocusable } from './visibility.js';

/**
 * flagsOf returns the boolean states of an element.
 * @param {Element} el
 * @param {string} role
 * @returns {number}
 */
export function flagsOf(el, role) {
  let f = 0;
  const tag = tagOf(el);
  switch (role) {
    case 'checkbox': case 'radio': case 'switch': case 'menuitemcheckbox': case 'menuitemradio':
      f |= checkedFlags(el, tag, role);
      break;
    case 'option':
      if (tag === 'option') f |= /** @type {HTMLOptionElement} */ (el).selected ? F.selected : 0;
      else if (attributeOf(el, 'aria-checked') === 'true') f |= F.checked;
      break;
    case 'button': {
      const p = attributeOf(el, 'aria-pressed');
      f |= p === 'mixed' ? F.mixed | F.pressed : p === 'true' ? F.pressed : 0;
      break;
    }
    case 'summary':
      f |= /** @type {HTMLDetailsElement} */ (parentElementOf(el)).open ? F.expanded : F.collapsed;
      break;
    case 'dialog': case 'alertdialog':
      if (isModal(el)) f |= F.modal;
      break;
  }
  if (NATIVE_CONTROLS.has(tag)) f |= nativeFlags(el, tag);
  if (!(f & F.disabled) && isAriaDisabled(el)) f |= F.disabled;
  f |= internalsOf(el)?.flags ?? 0;
  return hasSemanticAttribute(el) ? f | ariaFlags(el, tag, role) : f;
}

/** Elements with native states. */
const NATIVE_CONTROLS = new Set('input select textarea button option'.split(' '));

/** The roles that support each attribute. */
const MAY_EXPAND = new Set(('application button checkbox combobox gridcell link menuitem menuitemcheckbox menuitemradio row rowheader columnheader switch ' +
  'tab treeitem summary').split(' '));
const MAY_BE_SELECTED = new Set('gridcell option row rowheader columnheader tab treeitem'.split(' '));
const MAY_BE_REQUIRED = new Set('textbox searchbox combobox listbox radiogroup spinbutton tree checkbox switch gridcell date'.split(' '));
const MAY_BE_READONLY = new Set('textbox searchbox combobox listbox radiogroup spinbutton slider checkbox switch grid gridcell treegrid rowheader columnheader date'.split(' '));
const MAY_BE_MULTIPLE = new Set('listbox grid treegrid tree tablist'.split(' '));

/**
 * @param {Element} el
 * @param {string} tag
 * @param {string} role
 */
function checkedFlags(el, tag, role) {
  if (tag === 'input') {
    const input = /** @type {HTMLInputElement} */ (el);
    if (input.type === 'checkbox') return input.indeterminate ? F.mixed : input.checked ? F.checked : 0;
    if (input.type === 'radio') return input.checked ? F.checked : 0;
  }
  const c = (attributeOf(el, 'aria-checked') || '').toLowerCase();
  if (c === '' || c === 'false' || c === 'undefined') return 0;
  if (c === 'mixed') return role === 'checkbox' || role === 'menuitemcheckbox' ? F.mixed : 0;
  return F.checked;
}

/**
 * nativeFlags returns the states of a control by HTML.
 * @param {Element} el
 * @param {string} tag
 */
function nativeFlags(el, tag) {
  const c = /** @type {HTMLInputElement} */ (el);
  let f = matchesCSS(el, ':disabled') ? F.disabled : 0;
  if (tag === 'button' || tag === 'option') return f;
  if (c.required && (tag !== 'input' || !/^(range|color|submit|button|image|reset|hidden)$/.test(c.type))) f |= F.required;
  if (c.readOnly && takesText(el)) f |= F.readonly;
  if (tag === 'select' && /** @type {HTMLSelectElement} */ (el).multiple) f |= F.multiple;
    // An empty required field shows "required" and not "invalid" until the user has tried to submit
    // it.
  if (matchesCSS(el, ':invalid') && (!c.validity.valueMissing || matchesCSS(el, ':user-invalid')) && attributeOf(el, 'aria-invalid') !== 'false') f |= F.invalid;
  return f;
}

/**
 * ariaFlags returns the states set by ARIA attributes that the role supports.
 * @param {Element} el
 * @param {string} tag
 * @param {string} role
 */
function ariaFlags(el, tag, role) {
  let f = 0;
  if (MAY_EXPAND.has(role)) {
    const ex = attributeOf(el, 'aria-expanded');
    if (ex === 'true') f |= F.expanded;
    else if (ex === 'false') f |= F.collapsed;
    else if (tag === 'button' && hasAttribute(el, 'popovertarget')) f |= popoverFlags(el);
  }
  if (MAY_BE_SELECTED.has(role) && attributeOf(el, 'aria-selected') === 'true') f |= F.selected;
  if (attributeOf(el, 'aria-required') === 'true' && MAY_BE_REQUIRED.has(role)) f |= F.required;
  if (attributeOf(el, 'aria-readonly') === 'true' && MAY_BE_READONLY.has(role) && !isEditingHost(el)) f |= F.readonly;
  const inv = attributeOf(el, 'aria-invalid');
  if (inv && inv !== 'false' && inv !== 'undefined') f |= F.invalid;
  if (MAY_BE_MULTIPLE.has(role) && attributeOf(el, 'aria-multiselectable') === 'true') f |= F.multiple;
  return f;
}

/** @param {Element} el a button */
function popoverFlags(el) {
  const pop = /** @type {HTMLButtonElement} */ (el).popoverTargetElement;
  return !pop ? 0 : matchesCSS(pop, ':popover-open') ? F.expanded : F.collapsed;
}

/** Whether the document contains an element with aria-disabled. @type {boolean | undefined} */
let ariaDisables;
onCacheReset(() => {
  ariaDisables = undefined;
});

/**
 * isAriaDisabled reports whether aria-disabled disables an element: its own attribute or, if it is
 * focusable, an ancestor's.
 * @param {Element} el
 */
function isAriaDisabled(el) {
  if (!anyShadow) {
    const any = ariaDisables ?? firstIn(document, '[aria-disabled=true]') !== null;
    if (cachingEnabled) ariaDisables = any;
    if (!any) return false;
  }
  const own = attributeOf(el, 'aria-disabled');
  if (own === 'true' || own === 'false') return own === 'true';
  const near = closestTo(el, '[aria-disabled=true], [aria-disabled=false]');
  return !!near && attributeOf(near, 'aria-disabled') === 'true' && isFocusable(el);
}

/**
 * levelOf returns the level of a heading or tree item if the page specifies it, or 0.
 * @param {Element} el
 * @param {string} role
 * @returns {number}
 */
export function levelOf(el, role) {
  const l = attributeOf(el, 'aria-level');
  if (l) return /^(heading|treeitem|listitem|row|comment)$/.test(role) ? Math.max(parseInt(l, 10) || 1, 1) : 0;
  if (role !== 'heading') return 0;
  return /^h[1-6]$/.test(tagOf(el)) ? +tagOf(el)[1] : 2;
}

/** @param {Element} el */
function takesText(el) {
  return tagOf(el) === 'textarea' || (tagOf(el) === 'input' && !/^(button|checkbox|color|file|hidden|image|radio|range|reset|submit)$/.test(/** @type {HTMLInputElement} */ (el).type));
}

/** @param {Element} el */
export function isModal(el) {
  return tagOf(el) === 'dialog' ? matchesCSS(el, ':modal') || (hasAttribute(el, 'open') && attributeOf(el, 'aria-modal') === 'true') : attributeOf(el, 'aria-modal') === 'true';
}

/**
 * valueOf returns the value of a control, with secrets masked, or ''.
 * @param {Element} el
 * @param {string} role
 * @returns {string}
 */
export function valueOf(el, role) {
  switch (tagOf(el)) {
    case 'input': {
      const input = /** @type {HTMLInputElement} */ (el);
      switch (input.type) {
        case 'checkbox': case 'radio': case 'button': case 'submit': case 'reset': case 'image': case 'hidden': return '';
        case 'file': return [...(input.files || [])].map((f) => f.name).join(', ');
      }
      if (isMasked(el)) return input.value && MASK;
      return input.type === 'range' || input.type === 'number' ? formatValue(el, input.value) : input.value;
    }
    case 'textarea': {
      const v = /** @type {HTMLTextAreaElement} */ (el).value;
      return v && isMasked(el) ? MASK : v;
    }
    case 'select': {
      const s = [...(/** @type {HTMLSelectElement} */ (el).selectedOptions)].map((o) => collapse(o.label || o.text)).filter(Boolean).join(', ');
      return s && isMasked(el) ? MASK : s;
    }
    case 'progress': case 'meter': {
      const m = /** @type {HTMLProgressElement} */ (el);
      const value = tagOf(m) === 'progress' && !hasAttribute(m, 'value') ? '' : m.max === 1 ? String(m.value) : m.value + ' of ' + m.max;
      return formatValue(el, value, String(m.value));
    }
  }
  switch (role) {
    case 'slider': case 'spinbutton': case 'progressbar': case 'meter': case 'scrollbar': case 'separator': {
      const now = attributeOf(el, 'aria-valuenow') || internalsOf(el)?.value || '';
      return formatValue(el, Number.isNaN(parseFloat(now)) ? '' : now.trim());
    }
    case 'textbox': case 'searchbox':
      return showsDots(el) || isMasked(el) ? editableTextOf(el) && MASK : editableTextOf(el);
    case 'combobox':
      return collapse(choiceIn(el));
  }
  return '';
}

/**
 * choiceIn returns the text that a combo box shows, without the options that it contains to choose
 * from.
 * @param {Element} el
 */
function choiceIn(el) {
  let text = innerTextOf(el) || '';
  for (const list of allIn(el, 'select, [role=listbox]')) {
    const offers = tagOf(list) === 'select' || firstIn(list, '[role=option]:not([aria-selected=true])');
    if (offers) text = text.replace(innerTextOf(list), ' ');
  }
  if (text.trim() !== '') return text;
  const chosen = firstIn(el, '[role=option][aria-selected=true], option:checked');
  return (chosen && textIn(chosen)) || '';
}

/**
 * formatValue adds the page's text for a value (aria-valuetext).
 * @param {Element} el
 * @param {string} value as shown
 * @param {string} [bare] the number alone
 */
function formatValue(el, value, bare = value) {
  const words = collapse(attributeOf(el, 'aria-valuetext') || '');
  if (!words) return value;
  return !value || words.includes(bare) ? words : `${value} (${words})`;
}

/**
 * optionsOf lists the labels of a select's options, with groups and states, one per line.
 * @param {HTMLSelectElement} el
 */
export function optionsOf(el) {
  const out = [];
  let group = null;
  for (const o of el.options) {
    const parent = parentElementOf(o);
    const head = parent !== group && parent && tagOf(parent) === 'optgroup' ? clip(collapse(attributeOf(parent, 'label') || ''), 60) + ': ' : '';
    group = parent;
    out.push(head + (collapse(o.label || o.text) || '""') + (matchesCSS(o, ':disabled') && !el.disabled ? ' (disabled)' : ''));
  }
  return out.join('\n');
}

/**
 * linkTarget returns the URL of a link if its name does not include it: the host and path
 * for another host, the path if the name is not specific.
 * @param {Element} el
 * @param {string} name
 */
export function linkTarget(el, name) {
  const raw = attributeOf(el, 'href') || '';
  if (!raw || raw[0] === '#' || /^(javascript|data|blob):/i.test(raw)) return '';
  const vague = name.length < 3 || /^(click )?(here|more|read more|learn more|see more|details|link|download|view|open|edit|this|go|show|next|previous|continue|permalink|reply|source|comments?)[.…!>» ]*$/i.test(name);
  if (!vague && !/^[a-z][a-z0-9+.-]*:|^\/\//i.test(raw)) return '';
  let u;
  try {
    u = new URL(raw, baseOf(document));
  } catch {
    return '';
  }
  if (u.protocol !== 'http:' && u.protocol !== 'https:') return name.includes(raw.replace(/^\w+:/, '')) ? '' : raw;
  if (u.host === location.host) return vague ? u.pathname + u.search : '';
  return name.toLowerCase().includes(u.host.replace(/^www\./, '')) ? '' : u.host + (u.pathname === '/' ? '' : u.pathname);
}

/**
 * isDisabled reports whether a control is disabled, natively or by ARIA.
 * @param {Element} el
 */
export function isDisabled(el) {
  if (matchesCSS(el, ':disabled')) return true;
  for (let at = /** @type {Element | null} */ (el); at; at = flatParent(at)) {
    if (attributeOf(at, 'aria-disabled') === 'true') return true;
    if (at !== el && matchesCSS(at, 'fieldset, form, body')) break;
  }
  return false;
}
