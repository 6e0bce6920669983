// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Consent } from '../consent.js';

/** A storage area in memory. */
class Area {
  /** @type {Record<string, any>} */
  items = {};

  /** @param {string} name */
  async get(name) {
    return structuredClone(name in this.items ? { [name]: this.items[name] } : {});
  }

  /** @param {Record<string, any>} items */
  async set(items) {
    Object.assign(this.items, structuredClone(items));
  }
}

const origin = 'https://example.com';

async function setUp() {
  const session = new Area();
  const local = new Area();
  const open = async () => {
    const c = new Consent(/** @type {any} */ (session), /** @type {any} */ (local), () => {});
    await c.ready;
    return c;
  };
  return { session, local, open, c: await open() };
}

/** @param {import('node:test').TestContext} t */
function timers(t) {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
}

const claude = { key: 'k1', name: 'claude' };
const restarted = { key: 'k2', name: 'claude' };
const other = { key: 'k3', name: 'another agent' };

/** Returns the value of a settled promise, or 'waits'. @param {Promise<any>} p */
const now = (p) => Promise.race([p, Promise.resolve('waits')]);

test('a once grant expires', async (t) => {
  timers(t);
  const { c, open } = await setUp();
  const pending = c.wait(origin, claude, 'h1', 20_000);
  const [q] = c.open();
  assert.equal(q.waits, true);
  assert.equal(c.mayRun(origin, claude), undefined);
  await c.reply(q.id, 'once');
  assert.deepEqual(await pending, { granted: true, answer: 'once' });
  assert.equal(c.mayRun(origin, claude), true);
  assert.equal(c.mayRun(origin, restarted), undefined);
  assert.equal(c.mayRun('https://other.example', claude), undefined);
  mock.timers.tick(9_000); // the call reads the result of its script
  assert.equal(c.mayRun(origin, claude), true);
  mock.timers.tick(1_000); // reading does not extend the grant
  assert.equal(c.mayRun(origin, claude), undefined);
  assert.deepEqual(c.list(), []);
  assert.equal((await open()).mayRun(origin, claude), undefined);
});

test('a once grant does not apply to another call', async (t) => {
  timers(t);
  const { c } = await setUp();
  const first = c.wait(origin, claude, 'h1', 20_000);
  const second = c.wait(origin, claude, 'h2', 20_000);
  assert.equal(c.open().length, 2);
  await c.reply(c.open()[0].id, 'once');
  assert.equal((await first)?.answer, 'once');
  assert.equal(await now(second), 'waits');
  assert.equal(await now(c.wait(origin, claude, 'h1', 20_000)), 'waits'); // a later identical call needs another answer
});

test('once cannot be granted after the call ended', async (t) => {
  timers(t);
  const { c } = await setUp();
  const pending = c.wait(origin, claude, 'h1', 20_000);
  mock.timers.tick(20_000);
  assert.equal(await pending, undefined);
  await assert.rejects(c.reply(c.open()[0].id, 'once'), /no longer waiting/);
  assert.equal(c.open().length, 1);
  assert.equal(c.mayRun(origin, claude), undefined);
  const again = c.wait(origin, claude, 'h1', 20_000);
  c.abandon('k1'); // the connection was lost
  assert.equal(await again, undefined);
  await assert.rejects(c.reply(c.open()[0].id, 'once'), /no longer waiting/);
  void c.wait(origin, claude, 'h2', 20_000);
  assert.equal(c.open().length, 1, 'the newest prompt replaces prompts without a waiting call');
  await c.reply(c.open()[0].id, 'once');
  c.abandon('k1');
  assert.equal(c.mayRun(origin, claude), undefined);
});

test('session and no answers last for the session, always answers permanently', async (t) => {
  timers(t);
  for (const [answer, granted, kept] of /** @type {const} */ ([['session', true, 'session'], ['no', false, 'session'], ['always', true, 'local']])) {
    const { c, open, session, local } = await setUp();
    const q = await c.reply(c.ask(origin, claude).shown.id, answer);
    assert.equal(q?.origin, origin);
    assert.equal((await open()).mayRun(origin, claude), granted);
    assert.deepEqual(Object.keys(session.items), kept === 'session' ? ['evalForNow'] : []);
    assert.deepEqual(Object.keys(local.items), kept === 'local' ? ['evalForGood'] : []);
    await c.revoke(origin);
    assert.equal((await open()).mayRun(origin, claude), undefined);
  }
});

test('consent applies to the agent that asked for it', async (t) => {
  timers(t);
  const { c } = await setUp();
  void c.wait(origin, claude, 'h1', 20_000);
  void c.wait(origin, other, 'h1', 20_000);
  const [mine, others] = c.open();
  await c.reply(mine.id, 'once');
  assert.equal(c.mayRun(origin, other), undefined);
  await c.reply(others.id, 'no');
  assert.equal(c.mayRun(origin, claude), true);
  assert.deepEqual(c.list(), [{ origin, server: 'another agent', granted: false, always: false }]);
  await c.revoke(origin, 'another agent');
  assert.equal(c.mayRun(origin, other), undefined);
  await c.revoke(origin);
  assert.equal(c.mayRun(origin, claude), undefined);
});

test('a prompt names the CDP client that needs it', async (t) => {
  timers(t);
  const { c } = await setUp();
  c.ask(origin, claude, '', 'Playwright/1.65.1');
  assert.deepEqual(c.open().map((q) => [q.server, q.client]), [['claude', 'Playwright/1.65.1']]);
  void c.wait(origin, claude, 'h1', 20_000, 'Playwright/1.65.1');
  void c.wait(origin, claude, 'h2', 20_000, 'Puppeteer');
  void c.wait(origin, claude, 'h3', 20_000);
  assert.deepEqual(c.open().map((q) => q.client), ['Playwright/1.65.1', 'Puppeteer', '']);
});

test('a prompt is shown once, and its answer accepted once', async (t) => {
  timers(t);
  const { c } = await setUp();
  const first = c.ask(origin, claude);
  assert.equal(c.ask(origin, claude), first);
  assert.deepEqual(c.open().map((q) => q.origin), [origin]);
  await c.reply(first.shown.id, 'session');
  assert.equal(await c.reply(first.shown.id, 'no'), undefined);
  assert.equal(c.mayRun(origin, claude), true);
});
