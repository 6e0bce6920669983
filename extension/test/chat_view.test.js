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

test('an error while older entries are read is not followed by another try until the user scrolls', async () => {
  const element = () => /** @type {any} */ ({ addEventListener() {}, replaceChildren() {} });
  const log = { ...element(), scrollTop: 0, scrollHeight: 100, clientHeight: 10 };
  let reads = 0;
  let failures = 0;
  const view = new ChatView({ log, entries: element(), newest: element() }, {
    read: async () => {
      if (++reads < 5) throw new Error('the host is gone');
      return { entries: [], more: false };
    },
    answer: async () => true, failed: () => { failures++; },
  });
  view.ready = view.more = true;
  for (const want of [1, 2]) {
    view.scrolled();
    await new Promise((resolve) => setImmediate(resolve));
    assert.deepEqual([reads, failures], [want, want]);
  }
});

test('open permission requests that the view moves are notified, and others are not', () => {
  const element = () => /** @type {any} */ ({ addEventListener() {}, replaceChildren() {} });
  const log = { ...element(), scrollTop: 0, scrollHeight: 100, clientHeight: 10 };
  const view = new ChatView({ log, entries: element(), newest: element() }, {
    read: async () => ({ entries: [], more: false }), answer: async () => true, failed: (e) => { throw e; },
  });
  view.ready = true;
  let moved = 0;
  let top = 50;
  const row = { element: /** @type {any} */ ({ getBoundingClientRect: () => ({ top }) }), update() {}, moved: () => { moved++; } };
  const entry = /** @type {any} */ ({ seq: 1, kind: 'permission', permission: { request: 'r' } });
  const plan = /** @type {any} */ ({ seq: 0, kind: 'plan' });
  view.rows.set(0, { entry: plan, row: { element: element(), update() {} } });
  view.rows.set(1, { entry, row });
  const flush = (/** @type {number} */ seq, /** @type {number} */ now) => {
    view.dirty.add(seq);
    top = now;
    view.flush();
    return moved;
  };
  for (const follow of [true, false]) {
    moved = 0;
    view.requests.clear();
    view.follow = follow;
    assert.equal(flush(1, 50), 0, 'it is new');
    assert.equal(flush(0, 50), 0, 'it stays in place');
    assert.equal(flush(0, 60), 1, 'an entry above grows');
    assert.equal(flush(0, 40), 2, 'an entry above shrinks');
    top = 30;
    view.scrolled();
    view.follow = follow;
    assert.equal(flush(0, 30), 2, 'the user has scrolled');
  }
  entry.permission.chosen = 'a';
  assert.equal(flush(0, 90), 2, 'it is answered');
  assert.equal(view.requests.size, 0);
});

test('answers are disabled for some time after the request appears or moves', async (t) => {
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
  const row = entryRow(entry, async () => ++answers > 1); // the first one fails
  const disabled = () => buttons.map((b) => b.disabled);
  row.update(entry);
  assert.deepEqual(disabled(), [true, true]);
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [false, false]);
  row.moved?.();
  assert.deepEqual(disabled(), [true, true]);
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [false, false]);
  const answer = async () => {
    buttons[0].onclick();
    assert.deepEqual(disabled(), [true, true]);
    await Promise.resolve();
    await Promise.resolve();
  };
  await answer();
  assert.deepEqual(disabled(), [false, false]); // it can be answered again
  await answer();
  row.moved?.();
  t.mock.timers.tick(timing.patience.misclick);
  assert.deepEqual(disabled(), [true, true]); // it is answered
  assert.equal(answers, 2);
});

test('tokens of a turn and of the context are not confused', () => {
  for (const [usage, want] of /** @type {[any, string][]} */ ([
    [{ input: 5000, output: 432, total: 5432 }, '5,432 tokens: 5,000 in, 432 out'],
    [{ input: 0, output: 0, total: 0, context: 7, size: 10 }, 'Context: 7 of 10 tokens'],
    [{ input: 0, output: 0, total: 0, context: 7 }, 'Context: 7 tokens'],
    [{ input: 1, output: 2, total: 3, context: 4, size: 5 }, '3 tokens: 1 in, 2 out · Context: 4 of 5 tokens'],
  ])) {
    const row = entryRow(/** @type {any} */ ({ seq: 1, kind: 'usage', usage }), async () => true);
    let shown = '';
    Object.defineProperty(row.element, 'textContent', { get: () => shown, set: (/** @type {string} */ text) => { shown = text; } });
    row.update(/** @type {any} */ ({ seq: 1, kind: 'usage', usage }));
    assert.equal(shown, want);
  }
});
