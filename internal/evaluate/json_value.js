/**
 * Returns the JSON of this object. If the object contains a value that JSON cannot represent, such
 * as a Map, an element or itself, it returns mark and then JSON in which an array that starts with
 * mark represents each such value:
 *
 *   [mark, "text", text]                      text
 *   [mark, "entries", name, key, value, ...]  name {key => value, ...}
 *   [mark, "values", name, value, ...]        name {value, ...}
 *
 * It returns at most max characters, and undefined if JSON.stringify throws. The function runs in
 * the main world of the page, on the result of a script of the client.
 *
 * @this {object}
 * @param {typeof JSON.stringify} stringify the native function
 * @param {string} mark a string that the page does not know
 * @param {number} max
 * @returns {string | undefined}
 */
function evalValue(stringify, mark, max) {
  // After the first special value, the size is limited: a graph with cycles has no natural end.
  const maxSpecial = 2000;
  const maxDepth = 10;
  const maxEntries = 1000;
  const maxMarkup = 200;
  const maxPart = 60;
  let special = false;
  let values = 0;
  /** @type {any[]} What JSON.stringify traverses. */
  const holders = [];
  /** @type {any[]} The objects that holders represent. */
  const originals = [];
  let depth = 0;

  /** @param {string} s */
  const text = (s) => {
    special = true;
    return [mark, 'text', s];
  };
  /** @param {string} s */
  const short = (s) => (s.length > maxPart ? `${s.substring(0, maxPart)}…` : s);

  /** @param {any} node @param {number} type */
  const markup = (node, type) => {
    if (type === 3) return `#text ${stringify(short(node.data))}`;
    if (type !== 1) return type === 9 ? '#document' : type === 11 ? '#document-fragment' : type === 8 ? '<!---->' : '#node';
    const name = Object.getOwnPropertyDescriptor(Element.prototype, 'localName')?.get?.call(node);
    const names = Element.prototype.getAttributeNames.call(node);
    let s = `<${name}`;
    for (let i = 0; i < names.length; i++) {
      if (s.length > maxMarkup) {
        s += ' …';
        break;
      }
      const value = short(Element.prototype.getAttribute.call(node, names[i]) ?? '').replaceAll('"', '&quot;');
      s += value === '' ? ` ${names[i]}` : ` ${names[i]}="${value}"`;
    }
    if (Object.getOwnPropertyDescriptor(Node.prototype, 'firstChild')?.get?.call(node) === null) return `${s}>`;
    const leaf = Object.getOwnPropertyDescriptor(Element.prototype, 'firstElementChild')?.get?.call(node) === null;
    const content = leaf ? short(Object.getOwnPropertyDescriptor(Node.prototype, 'textContent')?.get?.call(node).trim()) : '…';
    return `${s}>${content.replaceAll('<', '&lt;')}</${name}>`;
  };

  /** Returns the list of pairs or values of a collection. @param {any} value @param {string} name @param {boolean} pairs */
  const list = (value, name, pairs) => {
    const prototype = name === 'Map' ? Map.prototype : name === 'Set' ? Set.prototype : value;
    const size = name === 'Map' || name === 'Set' ? Object.getOwnPropertyDescriptor(prototype, 'size')?.get?.call(value) : undefined;
    /** @type {any[]} */
    const result = [mark, pairs ? 'entries' : 'values', size === undefined ? name : `${name}(${size})`];
    let n = 0;
    for (const entry of pairs ? prototype.entries.call(value) : prototype.values.call(value)) {
      if (n++ === maxEntries) {
        result[result.length] = text('…');
        break;
      }
      if (pairs) {
        result[result.length] = entry[0];
        result[result.length] = entry[1];
      } else {
        result[result.length] = entry;
      }
    }
    special = true;
    return result;
  };

  /** Returns what represents an object. @param {any} value */
  const represent = (value) => {
    const tag = Object.prototype.toString.call(value); // [object Name]
    let name = '';
    for (let i = 8; i < tag.length - 1; i++) name += tag[i];
    switch (name) {
      case 'Array':
      case 'Object':
      case 'Number':
      case 'String':
      case 'Boolean':
        return value;
      case 'Map':
      case 'Headers':
      case 'FormData':
      case 'URLSearchParams':
      case 'Set':
        try {
          return list(value, name, name !== 'Set');
        } catch {
          return value; // an object with this tag only
        }
      case 'Error':
      case 'DOMException': {
        const kind = String(value.name);
        return text(`${/^[\w$]{1,100}$/.test(kind) ? kind : 'Error'}: ${stringify(String(value.message))}`);
      }
      case 'RegExp':
        return text(RegExp.prototype.toString.call(value));
      case 'Window':
        return text('Window');
      case 'NodeList':
      case 'RadioNodeList':
      case 'HTMLCollection':
      case 'HTMLOptionsCollection':
      case 'HTMLFormControlsCollection':
        return Array.from(value);
    }
    let type;
    try {
      type = Object.getOwnPropertyDescriptor(Node.prototype, 'nodeType')?.get?.call(value);
    } catch {
      // not a node
    }
    if (type !== undefined) return text(markup(value, type));
    return Object.keys(value).length > 0 || !/^[\w$]{1,100}$/.test(name) ? value : text(`${name} {}`);
  };

  /** Returns what represents a value in holder. @param {any} holder @param {any} value */
  const resultOf = (holder, value) => {
    switch (typeof value) {
      case 'bigint':
        return text(`${value}n`);
      case 'number':
        return value - value === 0 ? value : text(`${value}`);
      case 'symbol':
        return Array.isArray(holder) ? text(`Symbol(${stringify(value.description ?? '')})`) : value;
      case 'function':
        return Array.isArray(holder) ? text('function') : value;
      case 'object':
        if (value !== null) break;
      // falls through
      default:
        return value;
    }
    for (let i = 0; i < depth; i++) {
      if (originals[i] === value) return text('(circular)');
    }
    if (special && (++values > maxSpecial || depth > maxDepth)) return text(Array.isArray(value) ? '[…]' : '{…}');
    return represent(value);
  };

  /** @this {any} @param {string} _ @param {any} value */
  function replace(_, value) {
    while (depth > 0 && holders[depth - 1] !== this) depth--;
    const result = resultOf(this, value);
    if (typeof result === 'object' && result !== null) {
      holders[depth] = result;
      originals[depth++] = value;
    }
    return result;
  }

  try {
    const json = stringify(this, replace);
    if (!json) return json;
    const s = special ? mark + json : json;
    if (s.length <= max) return s;
    // Use only operations on strings that a page cannot replace.
    let start = '';
    for (let i = 0; i < max; i++) start += s[i];
    return start;
  } catch {
    return undefined;
  }
}
