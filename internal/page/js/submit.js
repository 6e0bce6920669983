// @ts-check
// What became of a form that was sent: the browser sends none that is invalid.

/** @type {Map<string, {stop: () => void, sent: boolean, invalid: {role: string, name: string, message: string}[]}>} */
const sendings = new Map();

/**
 * beginSubmit ends the entry of the field that has the focus, as leaving it
 * would, so that the page has taken in all values before its button is looked
 * at; and it listens for forms that are sent or found invalid.
 * @param {string} token
 * @param {number} id the button
 */
api.beginSubmit = (token, id) => {
  const button = byId(id);
  const at = focusedElement();
  if (at instanceof HTMLElement && at !== button && takesTyping(at) && !isFrame(at)) HTMLElement.prototype.blur.call(at);
  const state = { sent: false, invalid: /** @type {{role: string, name: string, message: string}[]} */ ([]), stop: () => {} };
  const hear = (/** @type {Event} */ e) => {
    const el = e.composedPath()[0];
    if (e.type === 'submit') state.sent = true;
    else if (el instanceof Element && state.invalid.length < 10) {
      const [role, name] = roleAndName(el);
      state.invalid.push({ role, name, message: String(/** @type {HTMLInputElement} */ (el).validationMessage || '') });
    }
  };
  const roots = button ? [window, rootOf(button)] : [window];
  for (const root of roots) for (const type of ['submit', 'invalid']) addListener.call(root, type, hear, { capture: true, passive: true });
  state.stop = () => { for (const root of roots) for (const type of ['submit', 'invalid']) removeListener.call(root, type, hear, { capture: true }); };
  sendings.set(token, state);
  return true;
};

/** @param {string} token endSubmit returns the fields that kept the form from being sent */
api.endSubmit = (token) => {
  const state = sendings.get(token);
  sendings.delete(token);
  state?.stop();
  return state && !state.sent ? state.invalid : [];
};
