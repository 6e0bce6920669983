// @ts-check
// Form fields: what they are, what they hold, and when something can be put
// into them.

const textTypes = new Set(['text', 'search', 'url', 'tel', 'email', 'password', 'number']);
const valueTypes = new Set(['date', 'time', 'datetime-local', 'month', 'week', 'range', 'color']);

/**
 * fieldKind says how a value gets into an element: 'text' by typing, 'value'
 * by setting it, 'check', 'radio', 'select', 'editable' (contenteditable), 'file', or 'none'.
 * @param {Element} el
 */
function fieldKind(el) {
  if (el instanceof HTMLTextAreaElement) return 'text';
  if (el instanceof HTMLSelectElement) return 'select';
  if (el instanceof HTMLInputElement) {
    if (textTypes.has(el.type)) return 'text';
    if (valueTypes.has(el.type)) return 'value';
    if (el.type === 'checkbox') return 'check';
    if (el.type === 'radio') return 'radio';
    if (el.type === 'file') return 'file';
    return 'none';
  }
  if (isEditable(el)) return 'editable';
  const role = attributeOf(el, 'role');
  if (role === 'checkbox' || role === 'switch' || role === 'menuitemcheckbox') return 'check';
  if (role === 'radio') return 'radio';
  return 'none';
}

/**
 * fieldOf returns the field that an element stands for: itself, the control of
 * a label, the only field inside a wrapper such as a combobox.
 * @param {Element} el
 * @returns {Element}
 */
function fieldOf(el) {
  if (fieldKind(el) !== 'none') return el;
  if (el instanceof HTMLLabelElement && el.control) return el.control;
  const inside = fieldsIn(el);
  return inside.length === 1 ? inside[0] : el;
}

/**
 * fieldsIn returns the fields below an element, in its shadow root too: many
 * components are a wrapper around an input there.
 * @param {Element} el
 * @returns {Element[]}
 */
function fieldsIn(el) {
  const found = [...allIn(el, 'input:not([type=hidden]), textarea, select, [contenteditable]:not([contenteditable=false])')];
  const root = shadowOf(el);
  if (root) {
    found.push(...allIn(root, 'input:not([type=hidden]), textarea, select, [contenteditable]:not([contenteditable=false])'));
    if (!found.length) for (const inner of allIn(root, '*')) if (shadowOf(inner)) found.push(...fieldsIn(inner));
  }
  return found;
}

/**
 * hostOf returns the element that the input events of a field go to: the
 * outermost one of an editor, whose blocks are editable too, else the field.
 * @param {Element} el
 */
function hostOf(el) {
  if (!isEditable(el) || el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) return el;
  let host = el;
  for (let at = parentElementOf(el); at && isEditable(at); at = parentElementOf(at)) host = at;
  return host;
}

/**
 * notEditable says why text cannot go into an element, '' when it can.
 * @param {Element} el
 */
function notEditable(el) {
  const kind = fieldKind(el);
  if (kind === 'text' || kind === 'value') {
    return /** @type {HTMLInputElement} */ (el).readOnly ? 'read-only' : '';
  }
  if (kind === 'editable') return attributeOf(el, 'aria-readonly') === 'true' ? 'read-only' : '';
  return 'not editable';
}

/**
 * stateOf tells whether a checkbox or radio button is checked: 'true', 'false' or 'mixed'; '' for anything else.
 * @param {Element} el
 * @param {string} kind
 */
function stateOf(el, kind) {
  if (kind !== 'check' && kind !== 'radio') return '';
  if (!(el instanceof HTMLInputElement)) return attributeOf(el, 'aria-checked') || 'false';
  return el.indeterminate && kind === 'check' ? 'mixed' : String(el.checked);
}

/**
 * textOfField returns the text that a field holds.
 * @param {Element} el
 * @param {string} kind
 */
function textOfField(el, kind) {
  if (kind === 'editable') return innerTextOf(el);
  return el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement || el instanceof HTMLSelectElement ? String(el.value ?? '') : '';
}

/**
 * inspectField tells what a field is and holds.
 * @param {number} id
 */
function inspectField(id) {
  const given = byId(id);
  if (!given) return null;
  const el = fieldOf(given);
  const kind = fieldKind(el);
  const input = /** @type {HTMLInputElement} */ (el);
  return {
    id: idOf(el), kind, checked: stateOf(el, kind), value: textOfField(el, kind),
    type: el instanceof HTMLInputElement ? el.type : tagWord(el),
    masked: isMasked(el),
    limit: kind === 'text' ? Math.max(input.maxLength, 0) : 0,
    bad: kind === 'text' && input.validity.badInput,
  };
}

/**
 * faceOf returns what stands on the screen for a field that the page keeps
 * tiny or see-through behind a look of its own, as code editors and dressed-up
 * selects do: the nearest element around it that has a size. Any other field
 * is its own face.
 * @param {Element} el
 */
function faceOf(el) {
  if (!isRendered(el, { visibilityProperty: true })) return el;
  const tiny = (/** @type {Element} */ e) => { const b = boxOf(e); return b.width <= 4 || b.height <= 4; };
  if (!tiny(el) && getComputedStyle(el).opacity !== '0') return el;
  if (labelBoxes(el).length) return el;
  let at = flatParent(el);
  for (let n = 0; n < 3 && at && !matchesCSS(at, 'form, body, html'); n++, at = flatParent(at)) if (!tiny(at) && shown(at)) return at;
  return el;
}

/** How long a component may take to show that it was checked, in ms. */
const checkPatience = 500;

/**
 * checkedSoon tells about a checkbox or radio button when it is in a state, or some other one after a while.
 * @param {number} id
 * @param {string} state
 */
async function checkedSoon(id, state) {
  const end = performance.now() + checkPatience;
  for (;;) {
    const info = inspectField(id);
    if (!info || info.checked === state || performance.now() > end) return info;
    await nextFrame();
  }
}

/** What takes no text, and never will. */
const takesNoText = new Set(['select', 'check', 'radio', 'file']);

/**
 * approach waits, as aim does, until something can be put into the field that
 * an element stands for, and tells about the field. With opts.editable that
 * is text; else it does not wait for what is clicked, a checkbox or radio button.
 * @param {number} id
 * @param {AimOptions} opts
 */
async function approach(id, opts) {
  const given = byId(id);
  if (!given) return { problem: 'gone' };
  const el = fieldOf(given);
  const kind = fieldKind(el);
  const typed = kind === 'text' || kind === 'editable' || kind === 'value';
  if (opts.editable && (takesNoText.has(kind) || (kind === 'none' && matchesCSS(el, 'a[href], button, input')))) {
    return { problem: 'not editable', detail: kind === 'none' ? tagOf(el) : kind };
  }
  if (!typed && kind !== 'select' && !opts.editable) return { problem: 'click', info: inspectField(idOf(el)) };
  const face = faceOf(el);
  if (face !== el && isDisabled(el)) return { problem: 'disabled' };
  const how = { ...opts, editable: face === el && (typed || opts.editable), calm: true };
  const aimed = /** @type {any} */ (await aim(idOf(face), how));
  if (aimed.ok) {
    aimed.info = inspectField(idOf(el));
    if (!aimed.info) return { problem: 'gone' };
    if (opts.entry && (kind === 'text' || kind === 'editable')) aimed.entry = await beginEntry(aimed.info.id, opts.entry.token, opts.entry.all);
  }
  return aimed;
}

api.inspectField = inspectField;
api.approach = approach;
api.checkedSoon = checkedSoon;
/** @param {number} id focus gives an element the focus and tells whether it has it */
api.focus = (id) => {
  const el = /** @type {HTMLElement | null} */ (byId(id));
  if (!el) return null;
  const field = /** @type {HTMLElement} */ (fieldOf(el));
  giveFocus(field, { preventScroll: true });
  const at = focusedElement();
  return at === field || within(at, field) || field === bodyOf(document);
};
/**
 * focusedFrame returns the number of the frame that has the focus, or 0 when the document itself has it. In that case
 * it listens for keys, as expect does, unless the token is empty.
 * @param {string} token
 */
api.focusedFrame = (token) => {
  const el = focusedElement();
  if (el && isFrame(el)) return idOf(el);
  if (token) listen(token, null, { types: ['keydown', 'keyup'] }); // a page may stop one of them before it gets here
  return 0;
};
