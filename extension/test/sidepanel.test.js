// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Port } from './ports.js';

/** An element that accepts everything. @returns {any} */
function element() {
  return {
    textContent: '', value: '', hidden: false, disabled: false, open: false, className: '', dataset: {}, children: [], childElementCount: 0,
    classList: { toggle() {} }, scrollTop: 0, scrollHeight: 0, clientHeight: 0,
    addEventListener() {}, setAttribute() {}, append() {}, prepend() {}, replaceChildren() {}, insertBefore() {}, remove() {}, focus() {}, contains: () => false,
    querySelector: () => null, getBoundingClientRect: () => ({ top: 0 }),
  };
}

/** @type {Map<string, any>} */
const elements = new Map();
const byId = (/** @type {string} */ id) => {
  if (!elements.has(id)) elements.set(id, element());
  return elements.get(id);
};

Object.assign(globalThis, {
  document: { getElementById: byId, createElement: element, addEventListener() {}, querySelector: () => null, activeElement: null },
  ResizeObserver: class { observe() {} }, requestAnimationFrame: () => 0, setInterval: () => 0,
});

const port = new Port('chrome-mcp-panel');
/** @type {any} */ (globalThis).chrome = { runtime: { id: 'own', connect: () => port }, windows: { getCurrent: async () => ({ id: 1 }) } };

/** Waits until no promise is pending. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Answers the last call of a method. @param {string} method @param {any} result */
async function answer(method, result) {
  await settled();
  const call = port.sent.findLast((m) => m.type === 'call' && m.method === method);
  assert.ok(call, `no call of ${method}`);
  port.receive({ type: 'done', id: call.id, result });
  await settled();
  return call.params;
}

const chat = (isOpen = true) => ({ id: 'c1', title: 'T', site: '', agent: 'x', created: 1, updated: 1, open: isOpen, running: false });

/** Writes the first message of a new chat, and returns when the agent starts. @param {string} words */
async function begin(words) {
  byId('new').onclick();
  byId('agent').value = 'x';
  byId('text').value = words;
  byId('form').onsubmit({ preventDefault() {} });
  await settled();
}

test('what a new chat reports and what the user types during its start are kept', async () => {
  await import('../sidepanel.js');
  await answer('agents', { agents: [{ name: 'x' }] });
  await answer('list', { chats: [] });
  await begin('compare these');
  byId('text').value = 'compare these and more';
  await answer('new', { chat: chat(), resumed: '', problem: 'the tab shows another site now' });
  await answer('read', { entries: [], more: false });
  assert.match(byId('trouble').textContent, /The agent has no tab: the tab shows another site now/);
  assert.equal(byId('text').value, 'and more');
  assert.equal((await answer('prompt', { stop: 'end_turn' })).text, 'compare these');
  assert.match(byId('trouble').textContent, /no tab/);
});

test('a chat whose agent exits while it starts gets no message and is shown as closed', async () => {
  await begin('again');
  const before = port.sent.filter((m) => m.method === 'prompt').length;
  await answer('new', { chat: chat(false), resumed: '', problem: 'the chat was closed' });
  await answer('read', { entries: [], more: false });
  assert.equal(port.sent.filter((m) => m.method === 'prompt').length, before);
  assert.equal(byId('text').value, 'again');
  assert.equal(byId('form').hidden, true);
});
