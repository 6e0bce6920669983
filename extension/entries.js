// @ts-check

import { button, make, setText } from './elements.js';
import { MarkdownView } from './markdown.js';
import { count, displayURL, exactText, sanitizeLine, sanitizeText } from './text.js';
import { timing } from './timing.js';

/** @typedef {import('./chat_host.js').Entry} Entry */
/** @typedef {import('./chat_host.js').PermissionOption} PermissionOption */

/**
 * A row of the conversation. moved is called when the view has moved the row.
 *
 * @typedef {{element: HTMLElement, update: (e: Entry) => void, moved?: () => void}} Row
 */

/** The maximum length of shown inputs and outputs of tools. */
const MAX_SHOWN = 20_000;

/** Precedes text that pages can determine. */
const PAGE_TEXT = 'Page text';

/** @type {Record<string, [mark: string, label: string]>} */
const MARKS = { pending: ['○', 'waiting'], in_progress: ['◐', 'running'], completed: ['✓', 'done'], failed: ['✕', 'failed'] };

/** The options of a permission request in the order in which they are shown: "always" is last. */
const ORDER = ['allow_once', 'reject_once', 'reject_always', 'allow_always'];

/**
 * Creates the row of an entry.
 *
 * @param {Entry} entry
 * @param {(request: string, option: string) => Promise<boolean>} answer answers a permission request, and reports whether that succeeded
 * @returns {Row}
 */
export function entryRow(entry, answer) {
  switch (entry.kind) {
    case 'user': return userRow();
    case 'agent': return agentRow();
    case 'thought': return thoughtRow();
    case 'tool': return toolRow();
    case 'plan': return planRow();
    case 'permission': return permissionRow(answer);
    case 'usage': return textRow('usage', ({ usage }) => (usage ? usageText(usage) : ''));
    default: return textRow('notice', ({ text = '' }) => sanitizeText(text));
  }
}

/** @param {number} n */
const number = (n) => n.toLocaleString('en-US');

/** @param {import('./chat_host.js').Usage} usage */
function usageText({ input, output, total, context = 0, size = 0 }) {
  const parts = [];
  if (total > 0 || context === 0) parts.push(`${number(total)} tokens: ${number(input)} in, ${number(output)} out`);
  if (size > 0) parts.push(`Context: ${number(context)} of ${number(size)} tokens`);
  else if (context > 0) parts.push(`Context: ${number(context)} tokens`);
  return parts.join(' · ');
}

/** @param {string} className @param {(e: Entry) => string} textOf @returns {Row} */
function textRow(className, textOf) {
  const element = make('p', { className: `entry ${className}` });
  return { element, update: (e) => setText(element, textOf(e)) };
}

/** @returns {Row} */
function userRow() {
  const element = make('article', { className: 'entry user', 'aria-label': 'You' });
  return {
    element,
    update: ({ text = '', quote }) => {
      element.replaceChildren(...(quote ? [
        make('p', { className: 'origin theirs', title: sanitizeLine(quote.url, 300) }, `${PAGE_TEXT} of ${displayURL(quote.url)}: `),
        make('blockquote', { className: 'theirs', dir: 'auto' }, sanitizeText(quote.text)),
      ] : []),
        make('div', { className: 'words', dir: 'auto' }, sanitizeText(text)));
    },
  };
}

/** @returns {Row} */
function agentRow() {
  const element = make('article', { className: 'entry agent markdown', dir: 'auto', 'aria-label': 'Agent' });
  const view = new MarkdownView(element);
  return { element, update: ({ text = '' }) => view.show(text) };
}

/** @returns {Row} */
function thoughtRow() {
  const body = make('div', { className: 'markdown', dir: 'auto' });
  const element = make('details', { className: 'entry thought' }, make('summary', {}, 'Thought'), body);
  const view = new MarkdownView(body);
  let text = '';
  element.ontoggle = () => {
    if (element.open) view.show(text);
  };
  return {
    element,
    update: (e) => {
      text = e.text ?? '';
      if (element.open) view.show(text);
    },
  };
}

/** @returns {Row} */
function toolRow() {
  const mark = make('span', { className: 'mark', role: 'img' });
  const name = make('span', { className: 'name line' });
  const site = make('span', { className: 'site line theirs' });
  const origin = make('span', { className: 'origin', title: 'It can contain text of the page, which is not from the agent' }, `${PAGE_TEXT}:`);
  const result = make('span', { className: 'result line theirs' });
  const body = make('div');
  const element = make('details', { className: 'entry tool' }, make('summary', {}, mark, name, ' ', site, ' ', origin, ' ', result), body);
  /** @type {import('./chat_host.js').ToolCall | undefined} */
  let tool;
  const fill = () => {
    if (!element.open || !tool) return;
    const { input = '', output = '' } = tool;
    body.replaceChildren(
      ...(input ? [make('p', { className: 'quiet' }, 'Input'), make('pre', { className: 'exact', tabIndex: 0 }, shortened(exactText(input)))] : []),
      ...(output ? [make('p', { className: 'quiet' }, 'Output. It can contain text of the page, which is not from the agent:'), make('pre', { className: 'text theirs', tabIndex: 0, dir: 'auto' }, shortened(sanitizeText(output)))] : []),
      ...(input || output ? [] : [make('p', { className: 'quiet' }, 'No input or output.')]));
  };
  element.ontoggle = fill;
  return {
    element,
    update: (e) => {
      tool = e.tool;
      if (!tool) return;
      const [sign, label] = MARKS[tool.status] ?? MARKS.pending;
      element.className = `entry tool ${tool.status in MARKS ? tool.status : 'pending'}`;
      setText(mark, sign);
      mark.setAttribute('aria-label', label);
      setText(name, sanitizeLine(tool.title || tool.kind, 120));
      setText(site, sanitizeLine(tool.site ?? '', 80));
      setText(result, sanitizeLine((tool.output ?? '').slice(0, 2000).split('\n').find((l) => l.trim() !== '') ?? '', 160));
      origin.hidden = result.textContent === '';
      fill();
    },
  };
}

/** @param {string} text */
function shortened(text) {
  return text.length <= MAX_SHOWN ? text : `${text.slice(0, MAX_SHOWN)}\n… ${number(text.length - MAX_SHOWN)} more characters: export the chat to see them`;
}

/** @returns {Row} */
function planRow() {
  const list = make('ul');
  const title = make('p', { className: 'quiet' });
  const element = make('section', { className: 'entry plan', 'aria-label': 'Plan' }, title, list);
  return {
    element,
    update: ({ plan = [] }) => {
      setText(title, `Plan: ${plan.filter((s) => s.status === 'completed').length} of ${count(plan.length, 'step')} done`);
      list.replaceChildren(...plan.map(({ text, status }) => {
        const [sign, label] = MARKS[status] ?? MARKS.pending;
        return make('li', { className: status in MARKS ? status : 'pending' }, make('span', { className: 'mark', role: 'img', 'aria-label': label }, sign), make('span', { className: 'theirs' }, sanitizeLine(text, 500)));
      }));
    },
  };
}

/** Sorts options so that "always" is last and none is preselected. @param {PermissionOption[]} options */
export function sortOptions(options) {
  const rank = (/** @type {PermissionOption} */ o) => (ORDER.includes(o.kind) ? ORDER.indexOf(o.kind) : ORDER.length);
  return [...options].sort((a, b) => rank(a) - rank(b));
}

/** @param {(request: string, option: string) => Promise<boolean>} answer @returns {Row} */
function permissionRow(answer) {
  const title = make('p', {});
  const detail = make('pre', { className: 'exact', dir: 'ltr' });
  const buttons = make('div', { className: 'row' });
  const chosen = make('p', { className: 'quiet' });
  const element = make('section', { className: 'entry permission', 'aria-label': 'Permission request' }, title, detail, buttons, chosen);
  let shown = '';
  /** @type {HTMLButtonElement[]} */
  let all = [];
  let answering = false;
  /** @type {ReturnType<typeof setTimeout>} */
  let timer;
  /** @param {boolean} on */
  const enable = (on) => {
    for (const b of all) b.disabled = !on || answering;
  };
  /** Disables the buttons for some time: a click may be meant for what was there before. */
  const delay = () => {
    enable(false);
    clearTimeout(timer);
    timer = setTimeout(() => enable(true), timing.patience.misclick);
  };
  return {
    element,
    moved: delay,
    update: ({ permission }) => {
      if (!permission) return;
      const { request, options } = permission;
      setText(title, `The agent asks for permission: ${sanitizeLine(permission.title, 300)}`);
      setText(detail, exactText(permission.detail ?? ''));
      detail.hidden = !permission.detail;
      const open = permission.chosen === undefined;
      element.classList.toggle('answered', !open);
      const option = options.find((o) => o.id === permission.chosen);
      setText(chosen, open ? '' : option ? `You chose: ${sanitizeLine(option.name, 100)}` : 'Canceled');
      buttons.hidden = !open;
      const now = JSON.stringify([request, options, permission.detail]);
      if (now === shown) return;
      shown = now;
      all = sortOptions(options).map((o) => button(sanitizeLine(o.name, 100), () => {
        answering = true;
        enable(false);
        void answer(request, o.id).then((done) => {
          answering = done;
          enable(true);
        });
      }, { className: o.kind.startsWith('reject') ? 'stop' : '' }));
      answering = false;
      buttons.replaceChildren(...all);
      delay();
    },
  };
}

/** Returns the text of a quote for the composer. @param {import('./chat_host.js').Quote} quote */
export function quoteLine(quote) {
  return `${sanitizeLine(quote.text, 400)} (${displayURL(quote.url)})`;
}
