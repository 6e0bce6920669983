// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Permits } from '../permits.js';
import { questionWords } from '../words.js';

const server = { key: 'k1', name: 'claude' };
const site = /** @type {const} */ ({ kind: 'site', origin: 'https://example.com', tool: 'navigate' });

/** @param {import('node:test').TestContext} t */
function timers(t) {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
}

test('what is asked twice is one question, and its answer is for all that wait', async (t) => {
  timers(t);
  let changes = 0;
  const p = new Permits(() => changes++);
  const both = [p.wait(server, site, 20_000), p.wait(server, site, 20_000)];
  assert.deepEqual(p.open().map((q) => [q.kind, q.origin, q.tool, q.server]), [['site', 'https://example.com', 'navigate', 'claude']]);
  const { id } = p.open()[0];
  assert.equal(p.reply('other', 'once'), undefined);
  assert.equal(p.reply(id, 'once')?.origin, site.origin);
  assert.equal(p.reply(id, 'session'), undefined);
  assert.deepEqual(await Promise.all(both), ['once', 'once']);
  assert.equal(p.open().length, 0);
  assert.equal(changes, 2);
  void p.wait(server, site, 20_000); // once was once
  assert.equal(p.open().length, 1);
});

test('an answer after the deadline is found by the next that asks, once', async (t) => {
  timers(t);
  const p = new Permits(() => {});
  const first = p.wait(server, site, 20_000);
  mock.timers.tick(20_000);
  assert.equal(await first, undefined);
  assert.equal(p.open().length, 1);
  p.reply(p.open()[0].id, 'session');
  void p.wait({ key: 'k2', name: 'claude' }, site, 20_000); // another server of the same name
  assert.equal(p.open().length, 1);
  assert.equal(await p.wait(server, site, 20_000), 'session');
  const again = p.wait(server, site, 20_000);
  mock.timers.tick(20_000);
  assert.equal(await again, undefined);
});

test('questions and answers that nobody wants end', async (t) => {
  timers(t);
  const p = new Permits(() => {});
  void p.wait(server, site, 20_000);
  mock.timers.tick(20_000);
  mock.timers.tick(5 * 60_000);
  assert.equal(p.open().length, 0);
  void p.wait(server, site, 20_000);
  mock.timers.tick(20_000);
  p.reply(p.open()[0].id, 'session');
  mock.timers.tick(10 * 60_000);
  void p.wait(server, site, 20_000);
  assert.equal(p.open().length, 1);
  void p.wait({ key: 'k10', name: 'another' }, site, 20_000);
  p.forget('k1');
  assert.deepEqual(p.open().map((q) => q.server), ['another']);
});

test('each kind says what would follow', () => {
  for (const [kind, part] of [['site', 'not on its list of sites (tool click)'], ['mutations', 'only look'], ['downloads', 'save a file'], ['eval', 'run scripts']]) {
    const { wants, follows } = questionWords({ kind, tool: 'click' });
    assert.ok(wants.join('X').includes(part), `${kind}: ${wants}`);
    assert.ok(follows.length > 40);
  }
});
