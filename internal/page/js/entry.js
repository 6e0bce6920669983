// @ts-check
// Putting text into a field: the focus, the caret, and a guard that keeps text
// from going anywhere else.

/** @returns {Promise<void>} nextTask resolves in a task after those that are waiting now */
function nextTask() {
  return new Promise((resolve) => {
    const { port1, port2 } = new MessageChannel();
    port1.onmessage = () => { port1.close(); resolve(); };
    port2.postMessage(0);
  });
}

/**
 * selectedPart returns where the selection in a field that has the focus begins and ends, null when nothing is selected there.
 * In an editor the places are not told: it is only said that there is one.
 * @param {Element} el
 * @returns {[number, number] | null}
 */
function selectedPart(el) {
  if (!hasFocus(el)) return null;
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
    const { selectionStart: from, selectionEnd: to } = el; // null where the type has no selection
    return from !== null && to !== null && from < to ? [from, to] : null;
  }
  const s = getSelection();
  return s && !s.isCollapsed && holds(el, s.anchorNode) && holds(el, s.focusNode) ? [0, 0] : null;
}

/** @param {Element} el hasFocus reports whether the focus is in a field */
function hasFocus(el) {
  const at = focusedElement();
  return at === el || within(at, el) || within(at, hostOf(el));
}

/**
 * placeCaret selects all of a field's text, or puts the caret at its end. It reports whether it could.
 * @param {Element} el
 * @param {boolean} all
 */
function placeCaret(el, all) {
  if (el instanceof HTMLInputElement || el instanceof HTMLTextAreaElement) {
    if (all) {
      el.select();
      return true;
    }
    try {
      const end = el.value.length;
      el.setSelectionRange(end, end);
      return el.selectionEnd === end;
    } catch {
      return false; // number and email have no selection
    }
  }
  const selection = getSelection();
  selection?.selectAllChildren(el);
  if (!all) selection?.collapseToEnd();
  return true;
}

/**
 * beginEntry gives a field the focus and selects what the text is to replace:
 * all of it, what was selected in it already, or nothing at its end. From then
 * on until outcome(token) keys and text that would go elsewhere are held back.
 * @param {number} id
 * @param {string} token
 * @param {boolean} all
 */
async function beginEntry(id, token, all) {
  const el = byId(id);
  if (!el) return null;
  const part = all ? null : selectedPart(el);
  giveFocus(hostOf(el), { preventScroll: true });
  const placed = part !== null || placeCaret(el, all);
  // Editors learn where the caret is by an event that comes in a task of its
  // own; a page that moves the focus on does it by then.
  await nextTask();
  if (!isConnectedOf(el)) return null;
  listen(token, hostOf(el), { types: ['beforeinput', 'input', 'keydown'], text: true });
  const at = focusedElement();
  const focused = hasFocus(el);
  return { focused, placed, part, empty: textOfField(el, fieldKind(el)) === '' && !(el instanceof HTMLInputElement && el.validity.badInput), by: !focused && at && takesTyping(at) ? named(at) : null };
}

/**
 * preset gives a textarea a text without telling the page, and puts the caret at its end.
 * @param {number} id
 * @param {string} text
 */
function preset(id, text) {
  const el = byId(id);
  if (!(el instanceof HTMLTextAreaElement)) return;
  native(el, 'value')?.call(el, text);
  placeCaret(el, false);
}

/** @param {Element} el takesTyping reports whether what is typed goes into an element */
function takesTyping(el) {
  const kind = fieldKind(el);
  return (kind === 'text' || kind === 'editable') && !notEditable(el) || isFrame(el);
}

/**
 * entryFocus tells, after a click meant to give a field the focus, whether it has it, and which other one does.
 * @param {number} id
 */
function entryFocus(id) {
  const el = byId(id);
  if (!el) return null;
  const at = focusedElement();
  return { focused: hasFocus(el), by: at ? named(at) : null };
}

/**
 * focusedField tells about the field that has the focus now, null when none has.
 */
function focusedField() {
  const at = focusedElement();
  return at && takesTyping(at) && !isFrame(at) ? { ...inspectField(idOf(at)), ...named(at), id: idOf(at) } : null;
}

api.beginEntry = beginEntry;
api.preset = preset;
api.entryFocus = entryFocus;
api.focusedField = focusedField;
