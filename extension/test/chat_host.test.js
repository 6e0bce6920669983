// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ChatHost } from '../chat_host.js';
import { Port, runtime } from './ports.js';

Object.assign(globalThis, { chrome: { runtime } });

function setUp() {
  /** @type {Port[]} */
  const ports = [];
  /** @type {any[]} */
  const events = [];
  let ends = 0;
  const host = new ChatHost({ installation: async () => 'ours', changed() {}, event: (e) => events.push(e), ended: () => { ends++; } }, () => {
    const p = new Port();
    ports.push(p);
    return /** @type {any} */ (p);
  });
  return { host, ports, events, ends: () => ends };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

test('requests wait for the host, and are answered in any order', async () => {
  const { host, ports, events } = setUp();
  const [first, second] = [host.request('agents', {}), host.request('list', { query: 'x' })];
  await settled();
  assert.deepEqual(ports[0].sent, [{ v: 2, type: 'chats', installation: 'ours' }]);
  ports[0].receive({ v: 2, type: 'chats' });
  await settled();
  assert.equal(host.state, 'ok');
  assert.deepEqual(ports[0].sent.slice(1), [{ id: 1, method: 'agents', params: {} }, { id: 2, method: 'list', params: { query: 'x' } }]);
  ports[0].receive({ id: 2, error: { code: 'BAD_ARGS', message: 'the query is too long', hint: 'Shorten it.' } });
  ports[0].receive({ event: 'closed', chat: 'a', message: '', hint: '' });
  ports[0].receive({ id: 7, result: {} }); // of no request
  ports[0].receive({ id: 1, result: { agents: [] } });
  assert.deepEqual(await first, { agents: [] });
  await assert.rejects(second, { message: 'the query is too long', hint: 'Shorten it.' });
  assert.deepEqual(events.map((e) => e.event), ['closed']);
  assert.equal(ports.length, 1);
});

test('a host that ends rejects what is pending, and the next request starts it again', async () => {
  const { host, ports, ends } = setUp();
  const prompt = host.request('prompt', { chat: 'a', text: 'hi' });
  ports[0].receive({ v: 2, type: 'chats' });
  await settled();
  ports[0].end('Native host has exited.');
  await assert.rejects(prompt, { message: 'Native host has exited.' });
  assert.deepEqual([host.state, ends()], ['error', 1]);
  const again = host.request('agents', {});
  assert.equal(ports.length, 2);
  ports[0].receive({ event: 'closed', chat: 'a', message: '', hint: '' }); // a late message of the first
  ports[1].receive({ v: 2, type: 'chats' });
  await settled();
  ports[1].receive({ id: 2, result: { agents: [1] } });
  assert.deepEqual(await again, { agents: [1] });
});

test('a host that is missing, busy, of another version or hangs', async (t) => {
  const { host, ports } = setUp();
  const failed = async (/** @type {(p: Port) => void} */ act) => {
    const opening = host.open();
    act(ports[ports.length - 1]);
    await assert.rejects(opening);
    return [host.state, host.message];
  };
  assert.deepEqual(await failed((p) => p.end('Specified native messaging host not found.')), ['missing', 'Specified native messaging host not found.']);
  assert.deepEqual(await failed((p) => p.receive({ v: 2, error: 'another browser uses the chats' })), ['error', 'another browser uses the chats']);
  for (const answer of [{ v: 1, type: 'chats' }, { v: 2, error: 'unknown request type' }, 'nonsense']) {
    const [state, message] = await failed((p) => p.receive(answer));
    assert.equal(state, 'error');
    assert.match(message, /another version/);
    assert.equal(ports[ports.length - 1].closed, true);
  }
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [state, message] = await failed(() => t.mock.timers.tick(5_000));
  assert.equal(state, 'error');
  assert.match(message, /in time/);
});
