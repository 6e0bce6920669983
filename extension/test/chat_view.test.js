// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import './dom.js';
import { ChatView } from '../chat_view.js';
import { entryRow } from '../entries.js';
import { timing } from '../timing.js';

Object.assign(globalThis, { ResizeObserver: class { observe() {} }, requestAnimationFrame: () => 0 });

test('text that is appended while a chat is read is shown once', async () => {
  /** @type {(answer: any) => void} */
  let answer = () => {};
  const element = () => /** @type {any} */ ({ addEventListener() {}, replaceChildren() {} });
  const view = new ChatView({ log: element(), entries: element(), newest: element() }, {
    read: () => new Promise((resolve) => { answer = resolve; }), answer: async () => true, failed: (e) => { throw e; },
  });
  view.flush = () => {}; // the rows are not rendered
  const opened = view.open('c1');
  /** @param {number} seq @param {string} text @returns {any} */
  const entry = (seq, text) => ({ seq, at: 1, kind: 'agent', text });
  view.append(1, 'b', 1); // the answer contains this one
  view.append(1, 'c', 2); // and not this one
  view.put(entry(2, 'x'));
  view.append(2, 'y', 1);
  answer({ entries: [entry(1, 'ab')], more: false });
  await opened;
  view.append(1, 'd', 3);
  view.append(2, 'y', 1); // again
  assert.deepEqual([...view.rows.values()].map((r) => r.entry.text), ['abcd', 'xy']);
});

test('rows that the view moves to its end are notified', () => {
  const element = () => /** @type {any} */ ({ addEventListener() {}, replaceChildren() {} });
  let top = 0;
  const log = { ...element(), scrollHeight: 100, get scrollTop() { return top; }, set scrollTop(y) { top = Math.min(y, this.scrollHeight - 10); } };
  const view = new ChatView({ log, entries: element(), newest: element() }, {
    read: async () => ({ entries: [], more: false }), answer: async () => true, failed: (e) => { throw e; },
  });
  let moved = 0;
  const row = { element: element(), update() {}, moved: () => { moved++; } };
  view.rows.set(1, { entry: /** @type {any} */ ({ seq: 1, kind: 'permission' }), row });
  view.toEnd();
  assert.equal(moved, 1);
  view.toEnd(); // the row does not move
  assert.equal(moved, 1);
  log.scrollHeight = 200; // an entry was added
  view.toEnd();
  assert.equal(moved, 2);
});

test('answers are disabled for some time after the request appears or moves', (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  /** @type {any[]} */
  const buttons = [];
  t.mock.method(document, 'createElement', (/** @type {string} */ tag) => {
    const e = /** @type {any} */ ({ append() {}, replaceChildren() {}, setAttribute() {}, classList: { toggle() {} }, textContent: '' });
    if (tag === 'button') buttons.push(e);
    return e;
  });
  /** @type {any} */
  const entry = { kind: 'permission', permission: { request: 'r', title: 'Run', options: [{ id: 'a', name: 'Allow', kind: 'allow_once' }, { id: 'b', name: 'Reject', kind: 'reject_once' }] } };
  let answers = 0;
  const row = entryRow(entry, async () => { answers++; return true; });
  const disabled = () => buttons.map((b) => b.disabled);
  row.update(entry);
  assert.deepEqual(disabled(), [true, true]);
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [false, false]);
  row.moved?.();
  assert.deepEqual(disabled(), [true, true]);
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [false, false]);
  buttons[0].onclick();
  row.moved?.();
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [true, true]); // it is answered
  assert.equal(answers, 1);
});
