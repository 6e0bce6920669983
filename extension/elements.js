// @ts-check

// Finds, creates and changes elements of the extension's pages. Values are set as text and
// properties, never as HTML, because pages control the titles and URLs of tabs.

/**
 * Returns an element of the page by its id. It throws if there is none.
 *
 * @param {string} id
 * @returns {HTMLElement}
 */
export function byId(id) {
  const element = document.getElementById(id);
  if (!element) throw new Error(`the page has no element ${id}`);
  return element;
}

/**
 * Creates an element. Keys with a dash, and role, are attributes, the others are
 * properties.
 *
 * @template {keyof HTMLElementTagNameMap} K
 * @param {K} tag
 * @param {Record<string, any>} [props]
 * @param {...(Node | string)} children
 * @returns {HTMLElementTagNameMap[K]}
 */
export function make(tag, props = {}, ...children) {
  const element = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (key.includes('-') || key === 'role') element.setAttribute(key, String(value));
    else /** @type {any} */ (element)[key] = value;
  }
  element.append(...children);
  return element;
}

/**
 * Creates a button.
 *
 * @param {string} text
 * @param {() => void} onclick
 * @param {Record<string, any>} [props]
 */
export function button(text, onclick, props = {}) {
  return make('button', { type: 'button', onclick, ...props }, text);
}

/**
 * Sets a text if it changed, because a live region announces each change.
 *
 * @param {Element} element
 * @param {string} text
 */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/**
 * The rows of a list, one per key. A row stays the same element while
 * its key is present, so that focus and partial input are not lost when
 * other rows change.
 *
 * @template T
 */
export class Rows {
  /**
   * @param {HTMLElement} parent
   * @param {(item: T) => string} keyOf
   * @param {(item: T) => {element: HTMLElement, update: (item: T) => void}} makeRow
   * @param {() => HTMLElement | null} [fallback] returns the element to focus when the last row was
   *   removed
   */
  constructor(parent, keyOf, makeRow, fallback = () => null) {
    this.parent = parent;
    this.keyOf = keyOf;
    this.makeRow = makeRow;
    this.fallback = fallback;
    /** @type {Map<string, {element: HTMLElement, update: (item: T) => void}>} */
    this.rows = new Map();
  }

  /** @param {T[]} items */
  show(items) {
    const keys = new Set(items.map(this.keyOf));
    const at = [...this.parent.children].findIndex((e) => e.contains(document.activeElement));
    for (const [key, row] of this.rows) {
      if (keys.has(key)) continue;
      row.element.remove();
      this.rows.delete(key);
    }
    items.forEach((item, i) => {
      const key = this.keyOf(item);
      let row = this.rows.get(key);
      if (!row) this.rows.set(key, row = this.makeRow(item));
      row.update(item);
      if (this.parent.children[i] !== row.element) this.parent.insertBefore(row.element, this.parent.children[i] ?? null);
    });
    if (at >= 0 && !this.parent.contains(document.activeElement)) {
      const next = this.parent.children[Math.min(at, this.parent.children.length - 1)];
      const target = next?.querySelector('button') ?? this.fallback();
      target?.focus();
    }
  }
}
