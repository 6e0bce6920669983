// @ts-check
// Values that are chosen, not typed: of selects and radio buttons, and of
// inputs with a picker of the browser's own, such as a date.

/**
 * native finds the browser's own setter of a property, which a framework that
 * keeps track of values may have covered on the element.
 * @param {Element} el
 * @param {string} property
 */
function native(el, property) {
  for (let p = Object.getPrototypeOf(el); p; p = Object.getPrototypeOf(p)) {
    const d = Object.getOwnPropertyDescriptor(p, property);
    if (d?.set) return d.set;
  }
  return null;
}

/** @param {Element} el */
function announce(el) {
  dispatch(el, new InputEvent('input', { bubbles: true, composed: true }));
  dispatch(el, new Event('change', { bubbles: true }));
}

/**
 * normalized returns a value as the browser writes it in an input of that
 * type, '' when it is none.
 * @param {HTMLInputElement} el
 * @param {string} value
 */
function normalized(el, value) {
  if (el.type === 'color' && !CSS.supports('color', value)) return '';
  const scratch = /** @type {HTMLInputElement} */ (documents.createElement.call(document, 'input'));
  scratch.type = el.type;
  scratch.value = value.trim();
  return scratch.value;
}

/**
 * setValue gives an input a value that cannot be typed, such as a date. The
 * browser refuses what has not the form of one: then the value is not it.
 * @param {number} id
 * @param {string} value
 */
function setValue(id, value) {
  const el = /** @type {HTMLInputElement | null} */ (byId(id));
  if (!el) return null;
  const before = el.value;
  const set = native(el, 'value');
  giveFocus(el, { preventScroll: true });
  set?.call(el, value.trim());
  const got = el.value;
  const { rangeUnderflow, rangeOverflow, stepMismatch } = el.validity;
  const same = el.type === 'range' ? value.trim() !== '' && Number(got) === Number(value)
    : got === normalized(el, value) && (got !== '' || value === '') && !rangeUnderflow && !rangeOverflow && !stepMismatch;
  if (!same) {
    set?.call(el, before);
    return { ok: false, type: el.type, masked: isMasked(el), min: el.min, max: el.max, step: el.step };
  }
  if (got !== before) announce(el);
  return { ok: true, type: el.type, masked: isMasked(el), value: el.value, set: got };
}

/** @param {string} s plain is a label without regard to case and white space */
function plain(s) {
  return collapse(s).toLowerCase();
}

/**
 * choice finds an option or radio button by its value, its label, or its label in other case.
 * @template {Element} T
 * @param {T[]} list
 * @param {string} wanted
 * @param {(el: T) => string} value
 * @param {(el: T) => string} label
 * @returns {{el?: T, disabled?: boolean}}
 */
function choice(list, wanted, value, label) {
  const ways = [(/** @type {T} */ x) => value(x) === wanted, (/** @type {T} */ x) => collapse(label(x)) === collapse(wanted), (/** @type {T} */ x) => plain(label(x)) === plain(wanted)];
  for (const way of ways) {
    const el = list.find((x) => way(x) && !isDisabled(x));
    if (el) return { el };
  }
  return { disabled: list.some((x) => ways.some((way) => way(x))) };
}

/** How many options an error names. */
const namedOptions = 40;

/** @param {HTMLOptionElement} o */
const optionLabel = (o) => o.label || textIn(o) || '';

/**
 * pick finds the options that values name, or says why it cannot.
 * @param {HTMLSelectElement} el
 * @param {string[]} values
 */
function pick(el, values) {
  const options = [...el.options];
  const picked = /** @type {HTMLOptionElement[]} */ ([]);
  for (const v of values) {
    const found = choice(options, v, (o) => o.value, optionLabel);
    if (!found.el) {
      return {
        problem: found.disabled ? 'disabled option' : 'no option', value: v, total: options.length,
        options: options.slice(0, namedOptions).map((o) => (collapse(optionLabel(o)) || o.value).slice(0, 80)),
      };
    }
    picked.push(found.el);
  }
  return { picked };
}

/**
 * selectOptions selects exactly the options that values name, by value or by
 * label, and tells what there is when one does not exist. It waits a while for
 * options that are still to come.
 * @param {number} id
 * @param {string[]} values
 * @param {number} patience milliseconds
 */
async function selectOptions(id, values, patience) {
  const end = performance.now() + patience;
  for (;;) {
    const given = byId(id);
    if (!given) return null;
    const el = fieldOf(given);
    if (!(el instanceof HTMLSelectElement)) return { problem: 'not a select' };
    if (!el.multiple && values.length !== 1) return { problem: 'single' };
    const found = pick(el, values);
    const left = end - performance.now();
    if (found.picked) return selectExactly(el, found.picked);
    if (left <= 0) return found;
    await api.nextChange(left);
  }
}

/**
 * @param {HTMLSelectElement} el
 * @param {HTMLOptionElement[]} picked
 */
function selectExactly(el, picked) {
  giveFocus(el, { preventScroll: true });
  const options = [...el.options];
  const changed = options.some((o) => o.selected !== picked.includes(o));
  if (el.multiple) for (const o of options) o.selected = picked.includes(o);
  else picked[0].selected = true;
  const values = picked.map((o) => o.value);
  if (changed) announce(el);
  const selected = [...el.selectedOptions].map((o) => o.value);
  const kept = selected.length === values.length && selected.every((v) => values.includes(v));
  return { selected, problem: kept ? '' : 'reverted' };
}

/**
 * pickRadio finds the radio button of the group that an element is in, or
 * holds, by its value or label.
 * @param {number} id
 * @param {string} wanted
 */
function pickRadio(id, wanted) {
  const el = byId(id);
  if (!el) return null;
  const radios = 'input[type=radio], [role=radio], [role=menuitemradio]';
  /** @type {Element[]} */
  let group;
  if (el instanceof HTMLInputElement && el.name) {
    group = [...allIn(rootOf(el), 'input[type=radio]')].filter((r) => r.name === el.name && r.form === el.form);
  } else {
    const holder = matchesCSS(el, radios) ? closestTo(el, '[role=radiogroup], fieldset') || parentElementOf(el) || el : el;
    group = [...allIn(holder, radios)];
  }
  const label = (/** @type {Element} */ r) => roleAndName(r)[1];
  const found = choice(group, wanted, (r) => (r instanceof HTMLInputElement ? r.value : attributeOf(r, 'data-value') || attributeOf(r, 'value') || ''), label);
  if (found.el) return { id: idOf(found.el) };
  return { disabled: !!found.disabled, total: group.length, options: group.slice(0, namedOptions).map((r) => (collapse(label(r)) || textOfField(r, 'radio')).slice(0, 80)) };
}

/**
 * listOption returns the option with a label that a list of the page's own
 * shows, null when it shows none.
 * @param {number} id
 * @param {string} wanted
 */
function listOption(id, wanted) {
  const el = byId(id);
  if (!el) return null;
  for (const list of [el, ...elementsNamed(el, 'aria-controls'), ...elementsNamed(el, 'aria-owns')]) {
    for (const option of allIn(list, '[role=option], [role=menuitemradio], [role=treeitem]')) {
      if (!shown(option)) continue;
      const [role, name] = roleAndName(option);
      if (plain(name) === plain(wanted) || attributeOf(option, 'data-value') === wanted) return { id: idOf(option), role, name };
    }
  }
  return null;
}

/**
 * putBack gives a field its old value, and reports whether the field holds it then.
 * @param {number} id
 * @param {string} value
 */
function putBack(id, value) {
  const el = byId(id);
  if (!(el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement)) return false;
  native(el, 'value')?.call(el, value);
  announce(el);
  return el.value === value;
}

api.setValue = setValue;
api.putBack = putBack;
api.listOption = listOption;
api.selectOptions = selectOptions;
api.pickRadio = pickRadio;
