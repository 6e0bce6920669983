// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { PermissionPrompts } from '../permission_prompts.js';
import { promptText } from '../text.js';

const server = { key: 'k1', name: 'claude' };
const another = { key: 'k2', name: 'claude' };
/** @type {import('../permission_prompts.js').PermissionRequest} */
const site = { kind: 'site', origin: 'https://example.com', tool: 'navigate', client: 'c1', call: 'h1' };
/** @type {import('../permission_prompts.js').PermissionRequest} */
const click = { kind: 'mutations', origin: 'https://docs.example', tool: 'click', client: 'c1', call: 'h1' };

/** @param {import('node:test').TestContext} t */
function timers(t) {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
}

/** Returns the value of a settled promise, or 'waits'. @param {Promise<any>} p */
const now = (p) => Promise.race([p, Promise.resolve('waits')]);

/** Each differs from click in one value that an answer is bound to. @type {[string, {key: string, name: string}, import('../permission_prompts.js').PermissionRequest][]} */
const others = [
  ['server', another, click],
  ['client', server, { ...click, client: 'c2' }],
  ['tool', server, { ...click, tool: 'fill_form' }],
  ['arguments', server, { ...click, call: 'h2' }],
  ['origin', server, { ...click, origin: 'https://bank.example' }],
  ['kind', server, { ...click, kind: 'downloads' }],
];

test('identical calls share a prompt and its answer', async (t) => {
  timers(t);
  const p = new PermissionPrompts(() => {});
  const both = [p.wait(server, site, 20_000), p.wait(server, site, 20_000)];
  assert.deepEqual(p.open().map((q) => [q.kind, q.origin, q.tool, q.server, q.waits]), [['site', 'https://example.com', 'navigate', 'claude', true]]);
  const { id } = p.open()[0];
  assert.equal(p.reply('other', 'once'), undefined);
  assert.equal(p.reply(id, 'once')?.origin, site.origin);
  assert.equal(p.reply(id, 'session'), undefined);
  assert.deepEqual(await Promise.all(both), ['once', 'once']);
  assert.equal(p.open().length, 0);
  void p.wait(server, site, 20_000); // a once grant is not reused
  assert.equal(p.open().length, 1);
});

test('an open prompt is not shared with another call', async (t) => {
  timers(t);
  for (const [what, from, other] of others) {
    const p = new PermissionPrompts(() => {});
    const first = p.wait(server, click, 20_000);
    const second = p.wait(from, other, 20_000);
    assert.equal(p.open().length, 2, what);
    p.reply(p.open()[0].id, 'once');
    assert.equal(await now(first), 'once');
    assert.equal(await now(second), 'waits', `another ${what} got the answer`);
    assert.equal(p.open().length, 1);
  }
});

test('once applies to waiting calls and is not stored', async (t) => {
  timers(t);
  for (const [what, from, other] of [...others, /** @type {const} */ (['call, the same', server, click])]) {
    const p = new PermissionPrompts(() => {});
    const first = p.wait(server, click, 20_000);
    mock.timers.tick(20_000);
    assert.equal(await first, undefined);
    const [{ id, waits }] = p.open();
    assert.equal(waits, false);
    assert.throws(() => p.reply(id, 'once'), /no longer waiting/);
    assert.equal(p.open().length, 1, 'the prompt was removed');
    assert.equal(await now(p.wait(from, other, 20_000)), 'waits', `another ${what} got the answer`);
  }
  const p = new PermissionPrompts(() => {});
  const [first, lost] = [p.wait(server, click, 20_000), p.wait(another, click, 20_000)];
  p.abandon('k1');
  assert.equal(await first, undefined);
  assert.deepEqual(p.open().map((q) => q.waits), [false, true]);
  const again = p.wait(server, click, 20_000);
  assert.deepEqual(p.open().map((q) => q.waits), [true, true]); // the same call made again
  p.reply(p.open()[0].id, 'once');
  assert.equal(await again, 'once');
  assert.equal(await now(lost), 'waits');
});

test('only the newest prompt of ended calls is shown', (t) => {
  timers(t);
  const p = new PermissionPrompts(() => {});
  for (let i = 0; i < 50; i++) {
    void p.wait(server, { ...click, call: `h${i}` }, 1_000);
    mock.timers.tick(1_000);
  }
  void p.wait(server, site, 1_000); // another scope
  mock.timers.tick(1_000);
  assert.deepEqual(p.open().map((q) => q.kind), ['mutations', 'site']);
});

test('a late session or no answer applies to the next call only', async (t) => {
  timers(t);
  for (const answer of /** @type {const} */ (['session', 'no'])) {
    const p = new PermissionPrompts(() => {});
    const first = p.wait(server, click, 20_000);
    mock.timers.tick(20_000);
    assert.equal(await first, undefined);
    p.reply(p.open()[0].id, answer);
    void p.wait(another, click, 20_000); // another server of the same name
    void p.wait(server, { ...click, client: 'c2' }, 20_000);
    assert.equal(p.open().length, 2);
    assert.equal(await p.wait(server, { ...click, call: 'h2' }, 20_000), answer);
    assert.equal(await now(p.wait(server, click, 20_000)), 'waits');
  }
});

test('prompts and answers that no call uses expire', async (t) => {
  timers(t);
  const p = new PermissionPrompts(() => {});
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

test('each kind states the consequences', () => {
  for (const [kind, part] of [['site', 'not an allowed site (tool click)'], ['mutations', 'read-only access'], ['downloads', 'save a file'], ['clipboard', 'copy or paste'], ['eval', 'run scripts']]) {
    const { wants, follows } = promptText({ kind, tool: 'click' });
    assert.ok(wants.join('X').includes(part), `${kind}: ${wants}`);
    assert.ok(follows.length > 40);
  }
});
