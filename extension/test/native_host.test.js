// @ts-check

import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { NativeHost } from '../native_host.js';
import { Port, runtime } from './ports.js';

Object.assign(globalThis, { chrome: { runtime } });

function setUp() {
  /** @type {Port[]} */
  const ports = [];
  let changes = 0;
  const host = new NativeHost(() => { changes++; }, () => {
    const p = new Port();
    ports.push(p);
    return /** @type {any} */ (p);
  });
  return { host, ports, changes: () => changes };
}

const one = { port: 38017, token: 'x', name: 'a' };

test('one port serves all queries', async () => {
  const { host, ports, changes } = setUp();
  const first = host.servers('ours');
  const second = host.servers('ours');
  assert.equal(ports.length, 1);
  assert.deepEqual(ports[0].sent, [{ v: 1, type: 'servers', installation: 'ours' }, { v: 1, type: 'servers', installation: 'ours' }]);
  ports[0].receive({ v: 1, changed: true }); // between a query and its result
  ports[0].receive({ v: 1, servers: [one] });
  ports[0].receive({ v: 1, servers: [] });
  assert.deepEqual(await first, [one]);
  assert.deepEqual(await second, []);
  assert.equal(changes(), 1);
  assert.equal(host.state, 'ok');
  assert.equal(host.watches, true);
});

test('a host that exited is restarted after growing delays', async () => {
  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const { host, ports, changes } = setUp();
    let pause = 0;
    for (let i = 0; i < 8; i++) {
      const pending = host.servers('ours');
      ports[i].receive({ v: 1, servers: [one] });
      assert.equal((await pending).length, 1);
      ports[i].end();
      assert.equal(host.watches, false);
      assert.notEqual(host.state, 'ok'); // otherwise servers that it does not list would count as exited
      assert.deepEqual(await host.servers('ours'), []);
      assert.equal(ports.length, i + 1, 'not yet');
      const now = host.due - Date.now();
      assert.ok(now >= pause && now <= 30_000, `${now} after ${pause}`);
      pause = now;
      mock.timers.tick(pause);
      assert.equal(changes(), i + 1);
    }
    assert.equal(pause, 30_000);
  } finally {
    mock.timers.reset();
  }
});

test('a host that is missing, invalid or hangs', async () => {
  const { host, ports } = setUp();
  for (const [why, state] of [
    ['Specified native messaging host not found.', 'missing'],
    ['Access to the specified native messaging host is forbidden.', 'missing'],
    ['Native host has exited.', 'error'],
  ]) {
    const pending = host.servers('ours');
    ports[ports.length - 1].end(why);
    assert.deepEqual(await pending, []);
    assert.equal(host.state, state);
    assert.equal(host.message, why);
  }
  assert.equal(ports.length, 3, 'queried each time'); // the user may have installed it
  const pending = host.servers('ours');
  ports[3].receive({ v: 1, error: 'unknown request type' });
  assert.deepEqual(await pending, []);
  assert.match(host.message, /another version/);

  mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  try {
    const silent = host.servers('ours');
    mock.timers.tick(5_000);
    assert.deepEqual(await silent, []);
    assert.match(host.message, /in time/);
    assert.equal(ports[3].closed, true);
  } finally {
    mock.timers.reset();
  }
});
