// @ts-check

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mock, test } from 'node:test';
import { decodeKey, encode, newNonce, transcriptBytes } from '../handshake.js';
import { Servers } from '../servers.js';
import { LABELS, VERSION } from '../wire.js';

const id = 'a'.repeat(32);
Object.assign(globalThis, { navigator: globalThis.navigator ?? { userAgent: '' }, chrome: { runtime: { id, getManifest: () => ({ version: '1' }) } } });

// Do not wait for the delays of the last test.
const { setTimeout: later } = globalThis;
Object.assign(globalThis, { setTimeout: (/** @type {[() => void, number]} */ ...args) => later(...args).unref() });

/** A running server, its key, and the secret of its pairing string. @typedef {{key: Uint8Array, name: string, secret?: Uint8Array}} Running */

/** A storage area. @param {Record<string, any>} [kept] */
function area(kept = {}) {
  return /** @type {any} */ ({ get: async (/** @type {string} */ k) => ({ [k]: kept[k] }), set: async (/** @type {any} */ o) => Object.assign(kept, o) });
}

/**
 * Sets up the servers of a browser that was paired with the one on port 38020.
 *
 * @param {Record<string, any>} [kept]
 */
function setUp(kept) {
  const key = newNonce();
  /** @type {Map<number, Running>} */
  const running = new Map();
  /** @type {number[]} the ports that were tried, in order */
  const dialed = [];
  /** @type {Map<number, any>} */
  const sockets = new Map();
  const host = { state: 'missing', message: '', watches: false, servers: async () => /** @type {any[]} */ ([]) };
  /** @type {string[]} the keys of the servers that are gone */
  const gone = [];
  const s = new Servers(area(), area(kept ?? { pairings: [{ id: 'p', key: encode(key), port: 38020, name: 'claude', added: 1 }] }), {
    changed: () => {}, command: () => {}, policy: () => {}, gone: (c) => gone.push(c.key), searched: () => {},
  }, {
    open: (url) => {
      const port = Number(new URL(url).port);
      dialed.push(port);
      /** @type {any} */
      const socket = { readyState: 0, bufferedAmount: 0, close: () => {}, send: (/** @type {string} */ text) => answer(socket, port, JSON.parse(text), running.get(port)) };
      sockets.set(port, socket);
      setImmediate(() => {
        if (!running.has(port)) socket.onclose?.({ code: 1006 });
        else {
          socket.readyState = 1;
          socket.onopen?.();
        }
      });
      return socket;
    },
  });
  s.host = /** @type {any} */ (host);
  const ends = (/** @type {number} */ port) => {
    running.delete(port);
    sockets.get(port).onclose({ code: 1006 });
  };
  return { s, host, key, running, dialed, ends, gone };
}

/** @type {Map<any, any>} */
const hellos = new Map();

/** @param {any} socket @param {number} port @param {any} frame @param {Running | undefined} server */
function answer(socket, port, frame, server) {
  if (!server) return;
  const respond = (/** @type {any} */ f) => setImmediate(() => socket.onmessage?.({ data: JSON.stringify({ v: VERSION, ...f }) }));
  if (frame.type === 'hello') hellos.set(socket, frame);
  const hello = hellos.get(socket);
  const isPairing = hello.key === 'pairing';
  const nonceC = decodeKey(hello.nonce);
  assert.ok(nonceC);
  const nonceS = new Uint8Array(32);
  const mac = (/** @type {string} */ label) => createHmac('sha256', isPairing ? server.secret ?? newNonce() : server.key).update(label).update(transcriptBytes({ extensionId: id, instance: hello.instance, port, nonceC, nonceS })).digest();
  if (frame.type === 'hello') respond({ type: 'challenge', nonce: encode(nonceS), mac: encode(mac(LABELS.server)) });
  if (frame.type === 'proof') {
    const pad = mac(LABELS.seal);
    respond({
      type: 'welcome', session: 's', server: { version: '1', pid: port, name: server.name }, policy: null, heartbeatMs: 1e9,
      ...(isPairing ? { pairing: { key: encode(server.key.map((b, i) => b ^ pad[i])) } } : {}),
    });
  }
}

/** @param {Servers} s */
const listed = (s) => s.list().map((c) => `${c.port} ${c.state}`);

test('ports where a server might be are not listed', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, key, running, dialed, ends } = setUp();
  const search = s.refresh();
  assert.deepEqual(listed(s), []);
  await search;
  assert.equal(dialed.length, 16);
  assert.deepEqual(listed(s), [], 'no server runs');

  running.set(38020, { key, name: 'claude' }).set(38021, { key: newNonce(), name: 'another server' });
  await s.refresh(true);
  assert.deepEqual(listed(s), ['38020 connected'], 'a server with another key is not listed');

  ends(38020);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(listed(s), ['38020 waiting'], 'it was connected recently');
  mock.timers.tick(61_000);
  assert.deepEqual(listed(s), []);
});

test('probing ports does not delay listed servers', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, host, running, dialed } = setUp();
  const boot = newNonce();
  const name = (/** @type {number} */ port) => {
    running.set(port, { key: boot, name: 'zed' });
    host.servers = async () => [{ port, token: encode(boot), name: 'zed' }];
  };
  host.state = 'ok';
  await s.refresh(); // the pairing is stale: no server is on any of its ports
  assert.equal(dialed.length, 16);

  dialed.length = 0;
  name(38030);
  await s.refresh();
  assert.deepEqual(dialed, [38030], 'no other port is tried yet');
  assert.deepEqual(listed(s), ['38030 connected']);

  dialed.length = 0;
  mock.timers.tick(61_000);
  await s.refresh();
  assert.equal(dialed.length, 2, 'one of the default ports, and the port of the pairing');
  assert.ok(dialed.includes(38020));

  dialed.length = 0;
  await s.refresh(true);
  assert.equal(dialed.length, 15, 'all ports, on the user\'s request');

  dialed.length = 0;
  name(38031);
  await s.refresh(true);
  assert.equal(dialed[0], 38031, 'the listed server comes first');
});

test('a lost paired server is retried after each delay', async (t) => {
  mock.timers.enable({ apis: ['Date', 'setTimeout'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, host, key, running, dialed, ends } = setUp();
  host.state = 'ok'; // it does not list this server
  running.set(38020, { key, name: 'claude' });
  await s.refresh();
  assert.deepEqual(listed(s), ['38020 connected']);
  ends(38020);
  await new Promise((done) => setImmediate(done));
  dialed.length = 0;
  running.set(38020, { key, name: 'claude' });
  mock.timers.tick(1_000);
  while (dialed.length === 0) await new Promise((done) => setImmediate(done));
  await s.refreshing;
  assert.deepEqual(dialed, [38020]);
  assert.deepEqual(listed(s), ['38020 connected']);
});

test('a pairing replaces the connection to a running server only when it succeeds, and the server does not count as exited', async () => {
  const { s, key, running, gone } = setUp();
  running.set(38020, { key, name: 'claude' });
  await s.refresh(true);
  gone.length = 0; // the ports without a server
  const before = s.connections.get(38020);
  const secret = newNonce();
  const text = `cm1-${encode(Uint8Array.of(38020 >> 8, 38020 & 255, ...secret))}`;
  await assert.rejects(s.pair(text), /does not have the key/);
  assert.deepEqual([listed(s), s.connections.get(38020) === before, gone], [['38020 connected'], true, []]);

  running.set(38020, { key: newNonce(), name: 'claude', secret });
  const pairing = s.pair(text);
  assert.deepEqual(listed(s), ['38020 connected']);
  await pairing;
  assert.deepEqual([listed(s), s.connections.get(38020) === before, before?.state, gone], [['38020 connected'], false, 'waiting', []]);

  await s.unpair(s.pairings.value[1].id);
  assert.deepEqual([listed(s), gone], [[], ['38020@38020']]);
});

test('a search continues after the key that it tries was removed', async () => {
  const { s, key, running } = setUp();
  running.set(38020, { key, name: 'claude' });
  await s.refresh();
  const [c] = s.list();
  c.closeAndRetry('waiting', 'silent', '');
  c.lostAt = 0;
  c.open = () => /** @type {any} */ ({ close: () => {} }); // it does not respond
  let gone = 0;
  s.owner.gone = () => gone++;
  const search = s.refresh(true);
  while (c.state !== 'connecting') await new Promise((done) => setImmediate(done));
  await s.unpair('p');
  await search;
  assert.equal(s.connections.get(38020), undefined);
  assert.equal(gone, 16, 'each of the tried ports once');
});
