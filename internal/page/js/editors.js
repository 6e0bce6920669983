// @ts-check
// Editors that keep their text in a model: the element that has the focus receives input and does
// not contain the text, or only a part of it. Such an element is a textarea that the page hides
// behind its own rendering, has an EditContext (https://www.w3.org/TR/edit-context/), or is an editable
// element for code.

import { isVisiblyRendered, labelBoxes } from './action_points.js';
import { allIn, attributeNamesOf, attributeOf, boxOf, byId, dispatch, flatChildren, flatParent, focusedElement, innerTextOf, isEditable, isRendered, matchesCSS, tagOf, textIn, typeOfNode, within } from './dom.js';

const readContext = /** @type {((this: Element) => any) | undefined} */ (Object.getOwnPropertyDescriptor(HTMLElement.prototype, 'editContext')?.get);

/** editContextOf returns the EditContext of an element, or null. @param {Element} el */
export function editContextOf(el) {
  return el instanceof HTMLElement && readContext ? readContext.call(el) : null;
}

/** How many ancestors of a hidden field are searched. */
const MAX_ANCESTORS = 5;

/** tiny reports whether a box is too small to be seen. @param {Element} el */
function tiny(el) {
  const b = boxOf(el);
  return b.width <= 4 || b.height <= 4;
}

/**
 * isClippedAway reports whether a box around an element shows nothing of it.
 * @param {Element} el
 */
function isClippedAway(el) {
  let at = flatParent(el);
  for (let n = 0; n < 2 && at; n++, at = flatParent(at)) {
    if (tiny(at) && getComputedStyle(at).overflow !== 'visible') return true;
  }
  return false;
}

/**
 * isHidden reports whether a rendered field is tiny, clipped or transparent.
 * @param {Element} el
 */
function isHidden(el) {
  if (tiny(el) || (el instanceof HTMLTextAreaElement && isClippedAway(el))) return true;
  const { opacity, clip, clipPath } = getComputedStyle(el);
  return opacity === '0' || clip === 'rect(0px, 0px, 0px, 0px)' || /^inset\((50|100)%\)$/.test(clipPath);
}

/**
 * visibleProxyOf returns the element that the user sees for a field that the page keeps tiny,
 * clipped or transparent behind its own rendering, as code editors, sliders and styled selects do: the
 * nearest ancestor with a size. Any other field is its own proxy.
 * @param {Element} el
 */
export function visibleProxyOf(el) {
  if (!isRendered(el, { visibilityProperty: true }) || (!editContextOf(el) && !isHidden(el))) return el;
  if (labelBoxes(el).length) return el;
  let at = flatParent(el);
  for (let n = 0; n < 3 && at && !matchesCSS(at, 'form, body, html'); n++, at = flatParent(at)) if (!tiny(at) && isVisiblyRendered(at)) return at;
  return el;
}

/** What the names of an editor's elements contain. */
const EDITOR_NAME = /editor|code|mirror|monaco|\bace\b|ace_/i;
const TERMINAL_NAME = /\bx?term(inal)?\b/i;

/** namesOf returns the texts that name the kind of an element. @param {Element} el */
function namesOf(el) {
  return ['class', 'id', 'role', 'aria-label', 'aria-roledescription'].map((name) => attributeOf(el, name) || '').join(' ');
}

/**
 * isCode reports whether an editable element contains no text of a language, so that it is neither
 * checked nor translated. Such an editor renders only the lines in view.
 * @param {Element} el
 */
function isCode(el) {
  return isEditable(el) && attributeOf(el, 'spellcheck') === 'false' && attributeOf(el, 'translate') === 'no' && attributeOf(el, 'autocorrect') === 'off';
}

/**
 * editorOf returns how an element enters text into a model: 'model' if the model's text can be
 * selected and read, 'terminal' if it cannot, or '' if the element contains its text itself.
 * @param {Element} el
 * @returns {'' | 'model' | 'terminal'}
 */
export function editorOf(el) {
  if (editContextOf(el) || isCode(el)) return 'model';
  if (!(el instanceof HTMLTextAreaElement) || visibleProxyOf(el) === el) return '';
  let names = attributeOf(el, 'aria-multiline') === 'true' ? 'editor' : '';
  let at = /** @type {Element | null} */ (el);
  for (let n = 0; n < MAX_ANCESTORS && at && !matchesCSS(at, 'form, body, html'); n++, at = flatParent(at)) names += ' ' + namesOf(at);
  if (TERMINAL_NAME.test(names.replace(/[-_]/g, ' '))) return 'terminal';
  return EDITOR_NAME.test(names) ? 'model' : '';
}

/**
 * isFieldOf reports whether an element is the field of an editor that the user sees as view.
 * @param {Element} el
 * @param {Element} view
 */
const isFieldOf = (el, view) => editorOf(el) !== '' && visibleProxyOf(el) === view;

/** Elements in an editor or a slider that receive events for themselves. */
const CONTROL = 'a[href], button, input, select, textarea, summary, iframe, [contenteditable], [role]:not([role=presentation], [role=none], [role=textbox], [role=code])';

/** How many ancestors of an element in an editor are searched for the editor. */
const MAX_VIEW_DEPTH = 12;

/**
 * viewAround returns the element that the user sees as an editor, if an element is a part of how the
 * editor shows its text, or null.
 * @param {Element} el
 */
function viewAround(el) {
  let at = /** @type {Element | null} */ (el);
  for (let n = 0; n < MAX_VIEW_DEPTH && at && !matchesCSS(at, `form, body, html, ${CONTROL}`); n++, at = flatParent(at)) {
    const view = at;
    if ([...allIn(view, 'textarea, [role=textbox]')].some((field) => isFieldOf(field, view))) return view;
  }
  return null;
}

/**
 * A StandIn receives the pointer events for an element that receives none itself: what the user sees as
 * a hidden range input or as the field of an editor, and the editor for a part of how it shows its text.
 * Ace disables pointer events for its lines, Monaco captures the pointer during a press, and
 * CodeMirror 5 moves its field below the pointer to open the context menu.
 * @typedef {object} StandIn
 * @property {Element} el
 * @property {(hit: Element) => boolean} receives whether an event on hit reaches the element
 */

/**
 * standInOfField returns the stand-in of a field, whose points are used in addition to those of the
 * field. With instead, they are used in place of those: a hidden field is where the caret is. It returns
 * null for other elements.
 * @param {Element} el
 * @returns {StandIn & {instead: boolean} | null}
 */
export function standInOfField(el) {
  const editor = editorOf(el) !== '';
  if (!editor && !(el instanceof HTMLInputElement && el.type === 'range')) return null;
  const proxy = visibleProxyOf(el);
  if (proxy === el) return null;
  return { el: proxy, instead: editor && isHidden(el), receives: (hit) => {
    for (let at = /** @type {Element | null} */ (hit); at; at = flatParent(at)) {
      if (at === proxy) return true;
      if (matchesCSS(at, CONTROL) && !isFieldOf(at, proxy)) return false;
    }
    return false;
  } };
}

/**
 * standInOf returns the stand-in of a field, or of a part of an editor, or null. The points of the part
 * itself are used.
 * @param {Element} el
 * @returns {StandIn | null}
 */
export function standInOf(el) {
  const field = standInOfField(el);
  if (field) return field;
  const view = viewAround(el);
  return view && { el: view, receives: (hit) => isFieldOf(hit, view) || (within(el, hit) && within(hit, view)) };
}

/**
 * @typedef {object} EditorState
 * @property {boolean} focused the element has the focus
 * @property {string} shows the text that the page shows for the editor, or that its field has
 */

/**
 * editorState returns the state of an editor.
 * @param {number} id
 * @returns {EditorState | null}
 */
export function editorState(id) {
  const el = byId(id);
  if (!el) return null;
  return { focused: within(focusedElement(), el), shows: shownText(el) || (el instanceof HTMLTextAreaElement ? el.value : String(editContextOf(el)?.text ?? '')) };
}

/** The number of lines of which some editors give their field one page. */
const PAGE_LINES = 10;

/** The height of a part of an editor without text in place of lines that are not rendered. */
const GAP_HEIGHT = 50;

/**
 * isPart reports whether the value of a field may be only a part of the text of its editor. A field of
 * a model has the selection or the lines around the caret, and an editable element for code those in
 * view.
 * @param {Element} el
 * @param {string} value
 */
export function isPart(el, value) {
  if (value === '' || editorOf(el) !== 'model') return false;
  if (visibleProxyOf(el) === el) return [...flatChildren(el)].some((part) => part instanceof Element && tagOf(part) !== 'br' && innerTextOf(part).trim() === '' && boxOf(part).height > GAP_HEIGHT);
  const fold = (/** @type {string} */ s) => s.replace(/\s+/g, ' ');
  const has = fold(value);
  return value.split('\n').length >= PAGE_LINES || shownText(el).split('\n').some((line) => /[^\d\s]/.test(line) && !has.includes(fold(line).trim()));
}

/** shownText returns the text that the page shows for an editor. @param {Element} el */
function shownText(el) {
  const text = innerTextOf(visibleProxyOf(el));
  return text.replace(/[\u200b-\u200d\u2060\ufeff]/g, '').replace(/\u00a0/g, ' ');
}

/**
 * readEditor returns the text of an editor whose text is selected: what the editor would copy, or
 * else what the page shows. The copy event is dispatched by a script, so it does not change the
 * clipboard. A page that prevents copying has canceled the event and provides no text: what its
 * field then has may be a part.
 * @param {number} id
 * @returns {{text: string, exact: boolean} | null}
 */
export function readEditor(id) {
  const el = byId(id);
  if (!el) return null;
  const clipboardData = new DataTransfer();
  const handled = !dispatch(el, new ClipboardEvent('copy', { clipboardData, bubbles: true, cancelable: true, composed: true }));
  if (clipboardData.types.includes('text/plain')) return { text: clipboardData.getData('text/plain'), exact: true };
  const context = handled ? null : editContextOf(el);
  if (context) {
    const [from, to] = [context.selectionStart, context.selectionEnd].sort((a, b) => a - b);
    if (from < to) return { text: String(context.text).slice(from, to), exact: true };
  }
  if (!handled && el instanceof HTMLTextAreaElement && el.selectionStart < el.selectionEnd) {
    return { text: el.value.slice(el.selectionStart, el.selectionEnd), exact: true };
  }
  return { text: shownText(el), exact: false };
}

/**
 * pasteInto offers text to an editor by a paste event, which the script dispatches. It reports
 * whether the editor handled the event.
 * @param {number} id
 * @param {string} text
 */
export function pasteInto(id, text) {
  const el = byId(id);
  if (!el) return false;
  const clipboardData = new DataTransfer();
  clipboardData.setData('text/plain', text);
  return !dispatch(el, new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true, composed: true }));
}

/** isBlock reports whether an element begins and ends lines. @param {Element} el */
function isBlock(el) {
  const { display } = getComputedStyle(el);
  return !/^(inline|contents|none|ruby)/.test(display);
}

/** Attributes that identify an element. */
const KEY = /^(id|data-(.*-)?(id|key))$/;

/**
 * editableLines returns the lines of text in an editable element, whether the element contains no
 * blocks, only text and line breaks, and whether each of its innermost blocks has a key, by which its
 * editor finds the block in its model.
 * @param {number} id
 * @returns {{lines: string[], single: boolean, keyed: boolean} | null}
 */
export function editableLines(id) {
  const el = byId(id);
  if (!el) return null;
  const lines = /** @type {string[]} */ ([]);
  /** @type {string | null} */
  let line = null; // null: no line was started
  let keyed = true;
  let blocks = 0;
  const end = () => {
    lines.push(line ?? '');
    line = null;
  };
  const walk = (/** @type {Node} */ node, /** @type {Element} */ parent) => {
    if (typeOfNode(node) === 3) {
      const text = textIn(node) || '';
      const pre = /^(pre|break-spaces)/.test(getComputedStyle(parent).whiteSpace);
      if (!pre) {
        if (text.trim() !== '' || (text !== '' && line !== null)) line = (line ?? '') + text.replace(/\s+/g, ' ');
        return;
      }
      const parts = text.split('\n');
      parts.forEach((part, i) => {
        if (part !== '') line = (line ?? '') + part;
        if (i < parts.length - 1) end();
      });
      return;
    }
    if (typeOfNode(node) !== 1) return;
    const child = /** @type {Element} */ (node);
    if (tagOf(child) === 'br') {
      end();
      return;
    }
    if (attributeOf(child, 'contenteditable') === 'false' || getComputedStyle(child).display === 'none') return;
    const block = isBlock(child);
    if (block && line !== null) end();
    const found = block ? ++blocks : blocks;
    for (const inner of flatChildren(child)) walk(inner, child);
    if (block && line !== null) end();
    if (block && found === blocks && keyed) keyed = attributeNamesOf(child).some((name) => KEY.test(name));
  };
  for (const inner of flatChildren(el)) walk(inner, el);
  if (line !== null) end();
  return { lines: lines.map((text) => text.replace(/[\u200b\u2060\ufeff]/g, '').replace(/\u00a0/g, ' ')), single: !blocks, keyed: keyed && blocks > 0 };
}
