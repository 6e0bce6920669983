// @ts-check

// The part of the DOM that the pages use to build elements. It throws for everything that parses
// HTML.

class FakeNode {
  /** @type {FakeElement | null} */
  parentNode = null;

  remove() {
    if (this.parentNode) this.parentNode.childNodes = this.parentNode.childNodes.filter((n) => n !== this);
    this.parentNode = null;
  }
}

class FakeText extends FakeNode {
  /** @param {string} text */
  constructor(text) {
    super();
    this.textContent = text;
  }
}

export class FakeElement extends FakeNode {
  /** @type {(FakeElement | FakeText)[]} */
  childNodes = [];
  /** @type {Record<string, string>} */
  attributes = {};

  /** @param {string} tag */
  constructor(tag) {
    super();
    this.tag = tag;
    return new Proxy(this, {
      set: (target, key, value) => {
        if (/html|^on|srcdoc|style/i.test(String(key))) throw new Error(`${String(key)} is set`);
        if (key in target) return Reflect.set(target, key, value);
        target.attributes[String(key)] = String(value);
        return true;
      },
    });
  }

  /** @param {string} key @param {string} value */
  setAttribute(key, value) {
    this.attributes[key] = value;
  }

  /** @param {...(FakeElement | FakeText | string)} children */
  append(...children) {
    for (const c of children) {
      const node = typeof c === 'string' ? new FakeText(c) : c;
      node.parentNode = this;
      this.childNodes.push(node);
    }
  }

  get lastChild() {
    return this.childNodes[this.childNodes.length - 1] ?? null;
  }

  /** @returns {string} */
  get textContent() {
    return this.childNodes.map((n) => n.textContent).join('');
  }

  /** @returns {FakeElement[]} the elements in it */
  all() {
    return this.childNodes.flatMap((n) => (n instanceof FakeElement ? [n, ...n.all()] : []));
  }

  /** @returns {string} like HTML, for comparisons */
  toString() {
    const { href } = this.attributes;
    return `<${this.tag}${href ? ` ${href}` : ''}>${this.childNodes.map((n) => (n instanceof FakeElement ? String(n) : n.textContent)).join('')}</${this.tag}>`;
  }
}

Object.assign(globalThis, { document: { createElement: (/** @type {string} */ tag) => new FakeElement(tag) } });
