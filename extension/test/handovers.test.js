// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { badgeFor } from '../badge.js';
import { Handovers } from '../handovers.js';
import { handoverText } from '../text.js';

const server = { key: 'k1', name: 'claude' };
const another = { key: 'k2', name: 'claude' };
const code = { id: 'q1', tabId: 7, origin: 'https://example.com', message: 'Enter the code.' };

/** @param {import('node:test').TestContext} t */
function open(t) {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  /** @type {string[]} */
  const events = [];
  const h = new Handovers(() => {}, { opened: (q) => events.push(`opened ${q.tabId}`), closed: (q) => events.push(`closed ${q.tabId}`) });
  return { h, events };
}

test('a question is shown once, however often its command is repeated, until it is answered', async (t) => {
  const { h, events } = open(t);
  const first = h.wait(server, code, 20_000);
  mock.timers.tick(20_000);
  assert.equal(await first, undefined);
  const second = h.wait(server, code, 20_000);
  assert.deepEqual(events, ['opened 7']);
  const [q] = h.open();
  assert.deepEqual([q.kind, q.origin, q.message, q.server], ['handover', 'https://example.com', 'Enter the code.', 'claude']);
  assert.throws(() => h.reply(q.id, 'once'), /done or cannot/);
  assert.equal(h.reply('other', 'done'), undefined);
  h.reply(q.id, 'done');
  assert.equal(await second, 'done');
  assert.deepEqual(events, ['opened 7', 'closed 7']);
  assert.equal(h.reply(q.id, 'cannot'), undefined);
});

test('an answer is kept for the next command of the same server only', async (t) => {
  const { h } = open(t);
  const lost = h.wait(server, code, 20_000);
  h.abandon(server.key);
  assert.equal(await lost, undefined);
  h.reply(h.open()[0].id, 'cannot');
  void h.wait(another, code, 20_000);
  assert.equal(h.open().length, 1); // it asks
  assert.equal(await h.wait(server, code, 20_000), 'cannot');
});

test('a question ends with its tab, its server, another question about the tab, or without its server', async (t) => {
  /** @type {[string, (h: Handovers) => unknown][]} */
  const ends = [
    ['tab', (h) => h.tabUnshared(7)],
    ['server', (h) => h.forget(server.key)],
    ['answered elsewhere', (h) => h.endQuestion(server.key, 'q1')],
    ['another question', (h) => void h.wait(another, { ...code, id: 'q2' }, 20_000)],
    ['connection', (h) => {
      h.abandon(server.key);
      mock.timers.tick(60_000);
    }],
  ];
  const { h, events } = open(t);
  for (const [what, end] of ends) {
    events.length = 0;
    const asked = h.wait(server, code, 20_000_000);
    end(h);
    assert.equal(await asked, undefined, what);
    assert.ok(events.includes('closed 7'), what);
    assert.ok(!h.questions.has(JSON.stringify([server.key, 'q1'])), what);
    h.tabUnshared(7);
  }
  h.endQuestion(another.key, 'q1');
});

test('another server does not end a question', (t) => {
  const { h } = open(t);
  void h.wait(server, code, 20_000);
  h.endQuestion(another.key, 'q1');
  h.forget(another.key);
  h.tabUnshared(8);
  assert.equal(h.open().length, 1);
  assert.ok(h.hasTab(7) && !h.hasTab(8));
});

test('the text of a question is on one line and names agent and site', () => {
  const { title, text } = handoverText({ server: 'cla\nude', origin: 'https://example.com', message: 'Hello\n\u202eworld' + 'x'.repeat(2000) });
  assert.equal(title, 'An agent asks you to take over');
  assert.ok(text.startsWith('cla ude, on https://example.com: \u201cHello'));
  assert.ok(!/[\n\u202e]/.test(text) && text.length < 700);
  assert.ok(handoverText({ server: 'claude', origin: '', message: 'Hello' }).text.startsWith('claude, on a page without a site: '));
  const state = { asking: true, handedOver: true, pairable: true, shared: 1, own: 0, connected: 1, connecting: 0, error: '' };
  assert.equal(badgeFor(state).title, 'chrome-mcp: an agent asks you to take over');
});
