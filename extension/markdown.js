// @ts-check

import { make } from './elements.js';
import { sanitizeText } from './text.js';

// Renders the Markdown of agents, which is untrusted. It creates elements and sets texts, and never
// parses HTML. Links have the schemes http and https only, and images become links. The work is
// linear in the length of the text.

/** The maximum depth of lists and quotes, and of inline elements. Deeper ones are text. */
const MAX_DEPTH = 8;
const MAX_INLINE_DEPTH = 20;

/** The maximum length of a URL. */
const MAX_URL = 2000;

/** The maximum number of columns of a table. */
const MAX_COLUMNS = 50;

/** Shows a text in an element, and renders only its last blocks again while text is appended. */
export class MarkdownView {
  /** @param {HTMLElement} element */
  constructor(element) {
    this.element = element;
    this.text = '';
    /** Where the last block starts. */
    this.start = 0;
    /** The number of elements of the blocks before it. */
    this.done = 0;
  }

  /** Shows a text. If it continues the last one, only its last block is rendered. @param {string} raw */
  show(raw) {
    const text = sanitizeText(raw);
    if (text === this.text) return;
    if (!text.startsWith(this.text)) this.start = this.done = 0;
    this.text = text;
    while (this.element.childNodes.length > this.done) this.element.lastChild?.remove();
    const lines = text.slice(this.start).split('\n');
    const blocks = blocksOf(lines);
    // The last line may be incomplete, and a block that starts with it may become part of the previous.
    const startOf = (/** @type {number} */ i) => blocks[i - 1]?.end ?? 0;
    const last = Math.max(0, blocks.findLastIndex((_, i) => startOf(i) < lines.length - 1));
    this.element.append(...blocks.slice(0, last).map((b) => render(b, 0)));
    this.start += lines.slice(0, startOf(last)).reduce((n, l) => n + l.length + 1, 0);
    this.done = this.element.childNodes.length;
    this.element.append(...blocks.slice(last).map((b) => render(b, 0)));
  }
}

/**
 * Renders a text.
 *
 * @param {string} text
 * @returns {HTMLElement[]}
 */
export function markdown(text) {
  return blocksOf(sanitizeText(text).split('\n')).map((b) => render(b, 0));
}

/**
 * A block and the line after it. lines are its content, without markers.
 *
 * @typedef {object} Block
 * @property {'heading' | 'code' | 'list' | 'quote' | 'table' | 'rule' | 'paragraph'} kind
 * @property {string[]} lines
 * @property {number} end
 * @property {number} [level] of a heading
 * @property {{lines: string[]}[]} [items] of a list
 * @property {number | null} [first] number of the first item, null if it is not ordered
 */

const FENCE = /^ {0,3}(?:(`{3,})[^`]*|(~{3,}).*)$/;
const HEADING = /^ {0,3}(#{1,6})(?:[ \t]+(.*))?$/;
const RULE = /^ {0,3}(?:(?:-[ \t]*){3,}|(?:\*[ \t]*){3,}|(?:_[ \t]*){3,})$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const ITEM = /^( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(.*))?$/;
const DELIMITERS = /^\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?$/;

/** @param {string} line */
const isBlank = (line) => line.trim() === '';

/** Reports whether a line ends a paragraph. @param {string} line */
function interrupts(line) {
  return isBlank(line) || FENCE.test(line) || HEADING.test(line) || RULE.test(line) || QUOTE.test(line) || (ITEM.test(line) && !isBlank(ITEM.exec(line)?.[4] ?? ''));
}

/**
 * Splits lines into blocks. A block does not change when lines are appended after the next one has
 * begun.
 *
 * @param {string[]} lines
 * @returns {Block[]}
 */
function blocksOf(lines) {
  /** @type {Block[]} */
  const blocks = [];
  for (let i = 0; i < lines.length;) {
    if (isBlank(lines[i])) {
      i++;
      continue;
    }
    const block = blockAt(lines, i);
    blocks.push(block);
    i = block.end;
  }
  return blocks;
}

/** @param {string[]} lines @param {number} i @returns {Block} */
function blockAt(lines, i) {
  const line = lines[i];
  const fence = FENCE.exec(line);
  if (fence) {
    const marks = fence[1] ?? fence[2];
    const closing = new RegExp(`^ {0,3}${marks[0]}{${marks.length},}[ \\t]*$`);
    let end = i + 1;
    while (end < lines.length && !closing.test(lines[end])) end++;
    return { kind: 'code', lines: lines.slice(i + 1, end), end: Math.min(end + 1, lines.length) };
  }
  const heading = HEADING.exec(line);
  if (heading) return { kind: 'heading', level: heading[1].length, lines: [(heading[2] ?? '').replace(/(?:^|[ \t])#+[ \t]*$/, '')], end: i + 1 };
  if (RULE.test(line)) return { kind: 'rule', lines: [], end: i + 1 };
  if (QUOTE.test(line)) {
    const inside = [];
    for (; i < lines.length && (QUOTE.test(lines[i]) || !interrupts(lines[i])); i++) inside.push(QUOTE.exec(lines[i])?.[1] ?? lines[i]);
    return { kind: 'quote', lines: inside, end: i };
  }
  if (ITEM.test(line)) return listAt(lines, i);
  if (line.includes('|') && i + 1 < lines.length && DELIMITERS.test(lines[i + 1].trim())) {
    let end = i + 2;
    while (end < lines.length && !isBlank(lines[end]) && lines[end].includes('|')) end++;
    return { kind: 'table', lines: [line, ...lines.slice(i + 2, end)], end };
  }
  let end = i + 1;
  while (end < lines.length && !interrupts(lines[end])) end++;
  return { kind: 'paragraph', lines: lines.slice(i, end), end };
}

/** @param {string[]} lines @param {number} i @returns {Block} */
function listAt(lines, i) {
  const ordered = (/** @type {string} */ marker) => /\d/.test(marker);
  const first = /** @type {RegExpExecArray} */ (ITEM.exec(lines[i]));
  /** @type {{lines: string[]}[]} */
  const items = [];
  let indent = 0;
  for (; i < lines.length; i++) {
    const line = lines[i];
    const blank = isBlank(line);
    const spaces = line.length - line.trimStart().length;
    const item = spaces >= indent && items.length > 0 ? null : ITEM.exec(line);
    if (item && !RULE.test(line)) {
      if (ordered(item[2]) !== ordered(first[2])) break;
      indent = item[1].length + item[2].length + Math.min(item[3]?.length ?? 1, 4);
      items.push({ lines: [item[4] ?? ''] });
    } else if (blank || spaces >= indent) {
      items[items.length - 1].lines.push(blank ? '' : line.slice(indent));
    } else if (spaces >= 2) {
      items[items.length - 1].lines.push(line.trimStart()); // agents indent less than the marker requires
    } else if (!isBlank(lines[i - 1]) && !interrupts(line)) {
      items[items.length - 1].lines.push(line);
    } else {
      break;
    }
  }
  return { kind: 'list', lines: [], items, first: ordered(first[2]) ? Number.parseInt(first[2], 10) : null, end: i };
}

/** @param {Block} block @param {number} depth @returns {HTMLElement} */
function render(block, depth) {
  const { kind, lines } = block;
  switch (kind) {
    case 'heading':
      return make(/** @type {'h3'} */ (`h${Math.min((block.level ?? 1) + 2, 6)}`), {}, ...inline(lines[0]));
    case 'code':
      return make('pre', { tabIndex: 0 }, make('code', {}, lines.join('\n')));
    case 'rule':
      return make('hr');
    case 'quote':
      return make('blockquote', {}, ...inner(lines, depth));
    case 'list': {
      const list = block.first === null ? make('ul') : make('ol', { start: block.first });
      for (const item of block.items ?? []) list.append(make('li', {}, ...inner(item.lines, depth, true)));
      return list;
    }
    case 'table':
      return table(lines);
    default:
      return make('p', {}, ...inline(lines.map((l) => l.trimStart()).join('\n')));
  }
}

/**
 * Renders the blocks in a list item or quote.
 *
 * @param {string[]} lines
 * @param {number} depth
 * @param {boolean} [tight] whether a first paragraph is not an element
 * @returns {(Node | string)[]}
 */
function inner(lines, depth, tight = false) {
  if (depth >= MAX_DEPTH) return [make('p', {}, lines.join('\n'))];
  return blocksOf(lines).flatMap((b, i) => (tight && i === 0 && b.kind === 'paragraph' ? inline(b.lines.join('\n')) : [render(b, depth + 1)]));
}

/** @param {string[]} lines header and rows */
function table(lines) {
  const cells = (/** @type {string} */ line) => line.trim().replace(/^\|/, '').replace(/(?<!\\)\|$/, '').split(/(?<!\\)\|/).slice(0, MAX_COLUMNS).map((c) => c.replaceAll('\\|', '|').trim());
  const head = cells(lines[0]);
  const body = lines.slice(1).map((line) => {
    const row = cells(line);
    return make('tr', {}, ...head.map((_, i) => make('td', {}, ...inline(row[i] ?? ''))));
  });
  return make('div', { className: 'table', tabIndex: 0 }, make('table', {},
    make('thead', {}, make('tr', {}, ...head.map((c) => make('th', { scope: 'col' }, ...inline(c))))), make('tbody', {}, ...body)));
}

/**
 * Returns the URL if it is one of the web, or null.
 *
 * @param {string} text
 * @returns {URL | null}
 */
export function webURL(text) {
  if (text.length > MAX_URL || !/^https?:\/\//i.test(text)) return null;
  try {
    return new URL(text);
  } catch {
    return null;
  }
}

/**
 * Creates a link. Unless its text is the URL or the host, it also shows the host.
 *
 * @param {URL} url
 * @param {(Node | string)[]} content
 */
function link(url, content) {
  const a = make('a', { href: url.href, title: url.href, rel: 'noopener noreferrer', target: '_blank' }, ...content);
  if (url.username !== '' || url.password !== '' || ![url.host, url.href, url.href.replace(/\/$/, '')].includes(a.textContent ?? '')) a.append(` (${url.host})`);
  return a;
}

/** An open emphasis, or the open bracket of a link. @typedef {{mark: string, image: boolean, children: (Node | string)[]}} Frame */

/** @type {Record<string, 'em' | 'strong' | 'del'>} */
const EMPHASIS = { '*': 'em', _: 'em', '**': 'strong', __: 'strong', '~~': 'del' };

/** Text up to the next character that may have a meaning. */
const PLAIN = /[^\\`*_~[\]!<h\n]+/y;
const BARE_URL = /https?:\/\/[^\s<>"'`|]{1,2000}/iy;
const AUTO_URL = /<(https?:\/\/[^\s<>]{1,2000})>/iy;
const DESTINATION = /\(\s{0,8}(?:<([^<>\n]{0,2000})>|([^\s()<>]{0,2000}(?:\([^\s()<>]{0,500}\)[^\s()<>]{0,500}){0,3}))(?:\s{1,8}(?:"[^"\n]{0,500}"|'[^'\n]{0,500}'))?\s{0,8}\)/y;

/**
 * Renders the text of a block.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function inline(text) {
  /** @type {Frame[]} */
  const stack = [{ mark: '', image: false, children: [] }];
  const top = () => stack[stack.length - 1];
  const add = (/** @type {Node | string} */ child) => {
    const { children } = top();
    const last = children.length - 1;
    if (typeof child === 'string' && typeof children[last] === 'string') children[last] += child;
    else if (child !== '') children.push(child);
  };
  /** Makes the frames above a number of frames text. @param {number} n */
  const dissolve = (n) => {
    while (stack.length > n) {
      const { mark, children } = /** @type {Frame} */ (stack.pop());
      add(mark);
      children.forEach(add);
    }
  };
  /** Where the runs of backticks of each length are, last first. @type {Map<number, number[]>} */
  const ticks = new Map();
  for (const m of text.matchAll(/`+/g)) {
    const runs = ticks.get(m[0].length);
    if (runs) runs.push(m.index);
    else ticks.set(m[0].length, [m.index]);
  }
  for (const runs of ticks.values()) runs.reverse();
  return scan();

  function scan() {
    for (let i = 0; i < text.length;) i = step(i);
    dissolve(1);
    return stack[0].children;
  }

  /** Renders what starts at a position, and returns the position after it. @param {number} i @returns {number} */
  function step(i) {
    const c = text[i];
    switch (c) {
      case '\\':
        if (/[!-/:-@[-`{-~]/.test(text[i + 1] ?? '')) {
          add(text[i + 1]);
          return i + 2;
        }
        break;
      case '`':
        return code(i);
      case '\n':
        add(text.endsWith('  ', i) || text[i - 1] === '\\' ? make('br') : '\n');
        return i + 1;
      case '!':
        if (text[i + 1] === '[' && stack.length < MAX_INLINE_DEPTH) {
          stack.push({ mark: '![', image: true, children: [] });
          return i + 2;
        }
        break;
      case '[':
        if (stack.length < MAX_INLINE_DEPTH) {
          stack.push({ mark: '[', image: false, children: [] });
          return i + 1;
        }
        break;
      case ']':
        return closeBracket(i);
      case '*': case '_': case '~':
        return emphasis(i);
      case '<': {
        AUTO_URL.lastIndex = i;
        const m = AUTO_URL.exec(text);
        const url = m && webURL(m[1]);
        if (!m || !url || insideLink()) break;
        add(link(url, [m[1]]));
        return i + m[0].length;
      }
      case 'h': {
        BARE_URL.lastIndex = i;
        const m = i === 0 || /[\s(["'*_~]/.test(text[i - 1]) ? BARE_URL.exec(text) : null;
        let found = m?.[0].replace(/[.,;:!?*_~'")\]]+$/, '') ?? '';
        if (m && m[0][found.length] === ')' && found.includes('(')) found += ')';
        const url = webURL(found);
        if (!url || insideLink()) break;
        add(link(url, [found]));
        return i + found.length;
      }
      default: {
        PLAIN.lastIndex = i;
        const m = PLAIN.exec(text);
        if (!m) break;
        add(m[0]);
        return i + m[0].length;
      }
    }
    add(c);
    return i + 1;
  }

  function insideLink() {
    return stack.some((f) => f.mark === '[' || f.mark === '![');
  }

  /** @param {number} i */
  function code(i) {
    const run = /`+/y;
    run.lastIndex = i;
    const marks = run.exec(text)?.[0] ?? '`';
    const end = closingTicks(marks.length, i + marks.length);
    if (end < 0) {
      add(marks);
      return i + marks.length;
    }
    const content = text.slice(i + marks.length, end).replaceAll('\n', ' ');
    add(make('code', {}, content.startsWith(' ') && content.endsWith(' ') && !isBlank(content) ? content.slice(1, -1) : content));
    return end + marks.length;
  }

  /** Returns where a run of n backticks starts at or after a position, or -1. @param {number} n @param {number} from */
  function closingTicks(n, from) {
    const runs = ticks.get(n) ?? [];
    while (runs.length > 0 && runs[runs.length - 1] < from) runs.pop();
    return runs[runs.length - 1] ?? -1;
  }

  /** @param {number} i */
  function closeBracket(i) {
    const at = stack.findLastIndex((f) => f.mark === '[' || f.mark === '![');
    if (at < 0) {
      add(']');
      return i + 1;
    }
    DESTINATION.lastIndex = i + 1;
    const m = text[i + 1] === '(' ? DESTINATION.exec(text) : null;
    const url = m && webURL((m[1] ?? m[2] ?? '').replace(/\\([!-/:-@[-`{-~])/g, '$1'));
    if (!m || !url) {
      dissolve(at);
      add(']');
      return i + 1;
    }
    dissolve(at + 1);
    const { image, children } = /** @type {Frame} */ (stack.pop());
    if (insideLink()) children.forEach(add); // a link in a link is its text
    else add(link(url, image ? ['image: ', ...(children.length > 0 ? children : [url.host])] : children.length > 0 ? children : [url.href]));
    return i + 1 + m[0].length;
  }

  /** @param {number} i */
  function emphasis(i) {
    const c = text[i];
    let end = i;
    while (text[end] === c) end++;
    const before = text[i - 1] ?? ' ';
    const after = text[end] ?? ' ';
    const word = /[\p{L}\p{N}]/u;
    const canClose = !/\s/.test(before) && (c !== '_' || !word.test(after));
    const canOpen = !/\s/.test(after) && (c !== '_' || !word.test(before));
    let left = end - i;
    while (left > 0) {
      const at = canClose ? stack.findLastIndex((f) => f.mark[0] === c && f.mark.length <= left && f.children.length > 0) : -1;
      if (at > 0 && !stack.slice(at + 1).some((f) => f.mark.endsWith('['))) {
        dissolve(at + 1);
        const { mark, children } = /** @type {Frame} */ (stack.pop());
        add(make(EMPHASIS[mark], {}, ...children));
        left -= mark.length;
        continue;
      }
      const size = c === '~' ? 2 : left % 2 === 1 && left > 1 ? 2 : Math.min(left, 2);
      if (canOpen && left >= size && stack.length < MAX_INLINE_DEPTH) {
        stack.push({ mark: c.repeat(size), image: false, children: [] });
        left -= size;
        continue;
      }
      add(c.repeat(left));
      left = 0;
    }
    return end;
  }
}
