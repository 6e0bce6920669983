// @ts-check

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { mock, test } from 'node:test';
import { decodeKey, encode, newNonce, transcriptBytes } from '../handshake.js';
import { Servers } from '../servers.js';
import { LABELS, VERSION } from '../wire.js';

const id = 'a'.repeat(32);
Object.assign(globalThis, { navigator: globalThis.navigator ?? { userAgent: '' }, chrome: { runtime: { id, getManifest: () => ({ version: '1' }) } } });

// Nobody waits for the pauses of the last test.
const { setTimeout: later } = globalThis;
Object.assign(globalThis, { setTimeout: (/** @type {[() => void, number]} */ ...args) => later(...args).unref() });

/** A server that holds a key. @typedef {{key: Uint8Array, name: string}} There */

/** A storage area. @param {Record<string, any>} [kept] */
function area(kept = {}) {
  return /** @type {any} */ ({ get: async (/** @type {string} */ k) => ({ [k]: kept[k] }), set: async (/** @type {any} */ o) => Object.assign(kept, o) });
}

/**
 * The servers of a browser that is paired by a string with one on port 38020.
 *
 * @param {Record<string, any>} [kept]
 */
function setUp(kept) {
  const key = newNonce();
  /** @type {Map<number, There>} */
  const there = new Map();
  /** @type {number[]} the ports that were dialed, in order */
  const dialed = [];
  /** @type {Map<number, any>} */
  const sockets = new Map();
  const host = { state: 'missing', message: '', watches: false, servers: async () => /** @type {any[]} */ ([]) };
  const s = new Servers(area(), area(kept ?? { pairings: [{ id: 'p', key: encode(key), port: 38020, name: 'claude', added: 1 }] }), {
    changed: () => {}, command: () => {}, policy: () => {}, gone: () => {}, looked: () => {},
  }, {
    open: (url) => {
      const port = Number(new URL(url).port);
      dialed.push(port);
      /** @type {any} */
      const socket = { readyState: 0, bufferedAmount: 0, close: () => {}, send: (/** @type {string} */ text) => answer(socket, port, JSON.parse(text), there.get(port)) };
      sockets.set(port, socket);
      setImmediate(() => {
        if (!there.has(port)) socket.onclose?.({ code: 1006 });
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
    there.delete(port);
    sockets.get(port).onclose({ code: 1006 });
  };
  return { s, host, key, there, dialed, ends };
}

/** @type {Map<any, any>} */
const hellos = new Map();

/** @param {any} socket @param {number} port @param {any} frame @param {There | undefined} server */
function answer(socket, port, frame, server) {
  if (!server) return;
  const says = (/** @type {any} */ f) => setImmediate(() => socket.onmessage?.({ data: JSON.stringify({ v: VERSION, ...f }) }));
  if (frame.type === 'hello') {
    hellos.set(socket, frame);
    const nonceC = decodeKey(frame.nonce);
    assert.ok(nonceC);
    const nonceS = new Uint8Array(32);
    const mac = createHmac('sha256', server.key).update(LABELS.server).update(transcriptBytes({ extensionId: id, instance: frame.instance, port, nonceC, nonceS })).digest();
    says({ type: 'challenge', nonce: encode(nonceS), mac: encode(mac) });
  }
  if (frame.type === 'proof') says({ type: 'welcome', session: 's', server: { version: '1', pid: port, name: server.name }, policy: null, heartbeatMs: 1e9 });
}

/** @param {Servers} s */
const told = (s) => s.list().map((c) => `${c.port} ${c.state}`);

test('ports where a server only might be are nobody to tell of', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, key, there, dialed, ends } = setUp();
  const looking = s.refresh();
  assert.deepEqual(told(s), []);
  await looking;
  assert.equal(dialed.length, 16);
  assert.deepEqual(told(s), [], 'no server runs');

  there.set(38020, { key, name: 'claude' }).set(38021, { key: newNonce(), name: 'a stranger' });
  await s.refresh(true);
  assert.deepEqual(told(s), ['38020 connected'], 'the one that holds another key is not of ours');

  ends(38020);
  await new Promise((done) => setImmediate(done));
  assert.deepEqual(told(s), ['38020 waiting'], 'it was there a moment ago');
  mock.timers.tick(61_000);
  assert.deepEqual(told(s), []);
});

test('guessing keeps no server waiting that is named', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, host, there, dialed } = setUp();
  const boot = newNonce();
  const name = (/** @type {number} */ port) => {
    there.set(port, { key: boot, name: 'zed' });
    host.servers = async () => [{ port, token: encode(boot), name: 'zed' }];
  };
  host.state = 'ok';
  await s.refresh(); // the pairing is stale: nobody is on any of its ports
  assert.equal(dialed.length, 16);

  dialed.length = 0;
  name(38030);
  await s.refresh();
  assert.deepEqual(dialed, [38030], 'and no others so soon');
  assert.deepEqual(told(s), ['38030 connected']);

  dialed.length = 0;
  mock.timers.tick(61_000);
  await s.refresh();
  assert.equal(dialed.length, 2, 'one of the usual ports, and the one of the pairing');
  assert.ok(dialed.includes(38020));

  dialed.length = 0;
  await s.refresh(true);
  assert.equal(dialed.length, 15, 'all, when the user asks for it');

  dialed.length = 0;
  name(38031);
  await s.refresh(true);
  assert.equal(dialed[0], 38031, 'what is named comes first');
});

test('a paired server that was lost is dialed again after each pause', async (t) => {
  mock.timers.enable({ apis: ['Date'], now: 1_000_000 });
  t.after(() => mock.timers.reset());
  const { s, host, key, there, dialed, ends } = setUp();
  host.state = 'ok'; // which knows nothing of this one
  there.set(38020, { key, name: 'claude' });
  await s.refresh();
  assert.deepEqual(told(s), ['38020 connected']);
  ends(38020);
  await new Promise((done) => setImmediate(done));
  dialed.length = 0;
  there.set(38020, { key, name: 'claude' });
  mock.timers.tick(1_000);
  while (dialed.length === 0) await new Promise((done) => later(done, 10)); // for its timer
  await s.refreshing;
  assert.deepEqual(dialed, [38020]);
  assert.deepEqual(told(s), ['38020 connected']);
});
