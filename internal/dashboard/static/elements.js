// @ts-check

// Helpers to build and update elements. Texts of pages and agents are only ever set as text.

/** @param {string} id */
export function byId(id) {
  const node = document.getElementById(id);
  if (!node) throw new Error(`no element #${id}`);
  return node;
}

/**
 * @param {string} name
 * @param {Record<string, string>} [attributes]
 * @param {...(Node | string)} content
 */
export function element(name, attributes = {}, ...content) {
  const node = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) node.setAttribute(key, value);
  node.append(...content);
  return node;
}

/**
 * Sets the text of an element unless it has it, so that it is not announced again.
 *
 * @param {Element | null} node
 * @param {string} text
 */
export function setText(node, text) {
  if (node && node.textContent !== text) node.textContent = text;
}

/**
 * Makes the children of a node match a list. Elements of values that stay are kept. If the focus was in
 * one that is removed, it moves to a button of the next one, or else to the title of the sessions.
 *
 * @template T
 * @param {Element | null} parent
 * @param {T[]} list
 * @param {(value: T) => string} key
 * @param {(value: T) => HTMLElement} make
 * @param {(node: HTMLElement, value: T) => void} update
 */
export function children(parent, list, key, make, update) {
  if (!parent) return;
  const keys = list.map(key);
  const focused = [...parent.children].findIndex((node) => node.contains(document.activeElement));
  for (const node of [...parent.children]) {
    if (!keys.includes(/** @type {HTMLElement} */ (node).dataset.key ?? '')) node.remove();
  }
  list.forEach((value, i) => {
    let node = /** @type {HTMLElement | undefined} */ ([...parent.children].find((one) => /** @type {HTMLElement} */ (one).dataset.key === keys[i]));
    if (!node) {
      node = make(value);
      node.dataset.key = keys[i];
    }
    if (parent.children[i] !== node) parent.insertBefore(node, parent.children[i] ?? null);
    update(node, value);
  });
  if (focused < 0 || parent.contains(document.activeElement)) return;
  const next = parent.children[Math.min(focused, parent.children.length - 1)];
  /** @type {HTMLElement} */ (next?.querySelector('button:enabled') ?? byId('sessions-title')).focus();
}

/**
 * Sends a request and returns why it failed, or "".
 *
 * @param {string} path
 * @param {object} body
 */
export async function send(path, body) {
  try {
    const response = await fetch(path, { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: JSON.stringify(body) });
    return response.ok ? '' : await response.text();
  } catch {
    return 'chrome-mcp does not respond.';
  }
}
