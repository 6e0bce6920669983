// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { Consent } from '../consent.js';

/** A storage area in memory. */
class Area {
  /** @type {Record<string, any>} */
  kept = {};

  /** @param {string} name */
  async get(name) {
    return structuredClone(name in this.kept ? { [name]: this.kept[name] } : {});
  }

  /** @param {Record<string, any>} items */
  async set(items) {
    Object.assign(this.kept, structuredClone(items));
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

test('a leave for once is used up', async (t) => {
  timers(t);
  const { c, open } = await setUp();
  const asked = c.wait(origin, 'claude', 20_000);
  assert.equal(c.use(origin, 'claude'), undefined);
  await c.reply(c.open()[0].id, 'once');
  assert.equal(await asked, true);
  mock.timers.tick(60_000); // the agent takes its time to begin
  assert.equal(c.use(origin, 'claude'), true);
  mock.timers.tick(5_000); // and reads what its script gave
  assert.equal(c.use(origin, 'claude'), true);
  mock.timers.tick(5_000); // which does not make it longer
  assert.equal(c.use(origin, 'claude'), undefined);
  assert.deepEqual(c.list(), []);
  assert.equal((await open()).answer(origin, 'claude'), undefined);
});

test('a leave for once that nobody uses ends', async (t) => {
  timers(t);
  const { c } = await setUp();
  await c.reply(c.ask(origin, 'claude').id, 'once');
  assert.equal(c.answer(origin, 'claude'), true);
  assert.equal(c.answer('https://other.example', 'claude'), undefined);
  mock.timers.tick(10 * 60_000);
  assert.equal(c.use(origin, 'claude'), undefined);
});

test('answers are kept as long as they are meant', async (t) => {
  timers(t);
  for (const [answer, granted, kept] of /** @type {const} */ ([['session', true, 'session'], ['no', false, 'session'], ['always', true, 'local']])) {
    const { c, open, session, local } = await setUp();
    const q = await c.reply(c.ask(origin, 'claude').id, answer);
    assert.equal(q?.origin, origin);
    assert.equal((await open()).answer(origin, 'claude'), granted);
    assert.deepEqual(Object.keys(session.kept), kept === 'session' ? ['evalForNow'] : []);
    assert.deepEqual(Object.keys(local.kept), kept === 'local' ? ['evalForGood'] : []);
    await c.forget(origin);
    assert.equal((await open()).answer(origin, 'claude'), undefined);
  }
});

test('a leave is of the agent that asked', async (t) => {
  timers(t);
  const { c } = await setUp();
  const [mine, others] = [c.ask(origin, 'claude'), c.ask(origin, 'a stranger')];
  assert.notEqual(mine, others);
  await c.reply(mine.id, 'once');
  assert.equal(c.use(origin, 'a stranger'), undefined);
  await c.reply(others.id, 'no');
  assert.equal(c.use(origin, 'claude'), true);
  assert.deepEqual(c.list(), [{ origin, server: 'a stranger', granted: false, always: false }]);
  await c.forget(origin, 'a stranger');
  assert.equal(c.answer(origin, 'a stranger'), undefined);
  assert.equal(c.answer(origin, 'claude'), true);
  await c.forget(origin);
  assert.equal(c.answer(origin, 'claude'), undefined);
});

test('a question is asked once, and its answer taken once', async (t) => {
  timers(t);
  const { c } = await setUp();
  const first = c.ask(origin, 'claude');
  assert.equal(c.ask(origin, 'claude'), first);
  assert.deepEqual(c.open().map((q) => q.origin), [origin]);
  await c.reply(first.id, 'session');
  assert.equal(await c.reply(first.id, 'no'), undefined);
  assert.equal(c.answer(origin, 'claude'), true);
});
