// @ts-check

import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { test } from 'node:test';
import { Connection } from '../connection.js';
import { decodeKey, encode, newNonce, transcriptBytes } from '../handshake.js';
import { CLOSE, LABELS, VERSION } from '../wire.js';

const key = newNonce();
const identity = { instance: 'test', run: 'run1', ext: { id: 'a'.repeat(32), version: '1', chrome: '150' } };

/** A socket that the test controls. */
class Socket {
  readyState = 0;
  bufferedAmount = 0;
  /** @type {any[]} */
  sent = [];
  closed = false;
  /** @type {any} */ onopen = null;
  /** @type {any} */ onmessage = null;
  /** @type {any} */ onclose = null;
  /** @type {any} */ onerror = null;

  /** @param {string} text */
  send(text) {
    this.sent.push(JSON.parse(text));
  }

  close() {
    this.closed = true;
    this.readyState = 3;
  }

  open() {
    this.readyState = 1;
    this.onopen?.();
  }

  /** @param {any} frame */
  receive(frame) {
    this.onmessage?.({ data: typeof frame === 'string' ? frame : JSON.stringify({ v: VERSION, ...frame }) });
  }

  /** @param {number} code */
  closeWith(code) {
    this.readyState = 3;
    this.onclose?.({ code });
  }
}

function setUp() {
  /** @type {Socket[]} */
  const sockets = [];
  /** @type {any[]} */
  const received = [];
  const c = new Connection(38017, identity, {
    changed: () => {}, command: (_, command) => received.push(command), policy: () => {}, servers: () => received.push('servers'), paired: () => {},
  }, () => {
    const s = new Socket();
    sockets.push(s);
    return /** @type {any} */ (s);
  });
  return { c, sockets, received };
}

/** @param {Socket} s @param {string} label @param {Uint8Array} by */
function mac(s, label, by, nonceS = new Uint8Array(32)) {
  const nonceC = decodeKey(s.sent[0].nonce);
  assert.ok(nonceC);
  const t = { extensionId: identity.ext.id, instance: identity.instance, port: 38017, nonceC, nonceS };
  return encode(createHmac('sha256', by).update(label).update(transcriptBytes(t)).digest());
}

/** Waits for asynchronous work, such as a proof. @param {() => boolean} ok */
async function until(ok) {
  while (!ok()) await new Promise((resolve) => setImmediate(resolve));
}

/** @param {Socket} s */
async function welcome(s) {
  s.open();
  s.receive({ type: 'challenge', nonce: encode(new Uint8Array(32)), mac: mac(s, LABELS.server, key) });
  await until(() => s.sent.length === 2);
  assert.deepEqual(s.sent[1], { type: 'proof', v: VERSION, mac: mac(s, LABELS.client, key) });
  s.receive({ type: 'welcome', session: 's1', server: { version: '1', pid: 7, name: 'test' }, heartbeatMs: 15000, policy: { allow: [] } });
}

test('a server with the key is accepted', async () => {
  const { c, sockets, received } = setUp();
  const done = c.connect({ kind: 'boot', key });
  await welcome(sockets[0]);
  assert.equal(await done, true);
  assert.equal(c.state, 'connected');
  assert.equal(c.key, '7@38017');
  assert.deepEqual(Object.keys(sockets[0].sent[0]).sort(), ['ext', 'instance', 'key', 'nonce', 'run', 'type', 'v']);
  assert.equal(sockets[0].sent[0].run, 'run1');
  sockets[0].receive({ type: 'ping', ts: 5 });
  assert.deepEqual(sockets[0].sent[2], { type: 'pong', ts: 5, v: VERSION });
  sockets[0].receive({ type: 'command', id: 'x', method: 'ping_probe', params: {}, timeoutMs: 1 });
  assert.equal(received.length, 1);
  sockets[0].receive({ type: 'servers' });
  assert.equal(received[1], 'servers');
  c.close();
});

test('an untrusted program on the port learns nothing', async () => {
  for (const bad of [
    (/** @type {Socket} */ s) => ({ type: 'challenge', nonce: encode(new Uint8Array(32)), mac: mac(s, LABELS.server, newNonce()) }),
    (/** @type {Socket} */ s) => ({ type: 'challenge', nonce: encode(new Uint8Array(32)), mac: mac(s, LABELS.client, key) }),
    () => ({ type: 'challenge', nonce: encode(new Uint8Array(32)), mac: '' }),
    () => ({ type: 'challenge', nonce: 'short', mac: '' }),
    () => ({ type: 'welcome', session: 's', server: {}, heartbeatMs: 1, policy: {} }),
    () => ({ type: 'command', id: 'x', method: 'tabs_list', params: {}, timeoutMs: 1 }),
    () => 'junk',
    () => JSON.stringify({ type: 'challenge', v: VERSION + 1 }),
  ]) {
    const { c, sockets, received } = setUp();
    const done = c.connect({ kind: 'boot', key });
    sockets[0].open();
    sockets[0].receive(bad(sockets[0]));
    assert.equal(await done, false);
    assert.equal(c.state, 'refused');
    assert.notEqual(c.message, '');
    assert.equal(sockets[0].sent.length, 1, 'only the hello');
    assert.equal(sockets[0].closed, true);
    assert.equal(received.length, 0);
  }
});

test('a server of another version is reported, with what to do about it', async () => {
  const { c, sockets } = setUp();
  const done = c.connect({ kind: 'boot', key });
  sockets[0].open();
  sockets[0].receive(JSON.stringify({ type: 'refused', v: VERSION + 1, reason: 'bad_version', message: '' }));
  assert.equal(await done, false);
  assert.equal(c.state, 'refused');
  assert.match(c.message, new RegExp(`^the program on the port uses protocol version ${VERSION + 1}, this extension version ${VERSION}: update chrome-mcp and reload the extension$`));
});

test('a stopped server is reported as stopped', async () => {
  const { c, sockets } = setUp();
  const done = c.connect({ kind: 'boot', key });
  await welcome(sockets[0]);
  assert.equal(await done, true);
  sockets[0].closeWith(CLOSE.stopped);
  await until(() => c.state !== 'connected');
  assert.deepEqual([c.state, c.reason], ['refused', 'stopped']);
  assert.match(c.message, /chrome-mcp stop/);
});

test('a stale socket changes nothing', async () => {
  const { c, sockets, received } = setUp();
  const first = c.connect({ kind: 'boot', key });
  const late = { ...sockets[0] };
  sockets[0].open();
  const { onmessage, onclose } = sockets[0];
  const second = c.connect({ kind: 'boot', key });
  await welcome(sockets[1]);
  assert.equal(await second, true);
  onmessage({ data: JSON.stringify({ type: 'command', v: VERSION, id: 'x', method: 'tabs_list', params: {}, timeoutMs: 1 }) });
  onclose({ code: 1006 });
  late.onclose?.({ code: 1006 });
  assert.equal(await first, false);
  assert.equal(c.state, 'connected');
  assert.equal(received.length, 0);
  c.close();
});

test('delays grow to a maximum, and are short again after a stable connection', async (t) => {
  t.mock.timers.enable({ apis: ['Date'] });
  const { c, sockets } = setUp();
  let before = 0;
  for (let i = 0; i < 12; i++) {
    const done = c.connect({ kind: 'boot', key });
    sockets[sockets.length - 1].closeWith(1006);
    assert.equal(await done, false);
    const pause = c.due - Date.now();
    assert.ok(pause <= 15_000 && pause > before * 0.7, `${pause} after ${before}`);
    before = Math.max(pause, before);
  }
  assert.ok(before > 10_000);
  const done = c.connect({ kind: 'boot', key });
  await welcome(sockets[sockets.length - 1]);
  await done;
  c.connectedAt -= 60_000;
  sockets[sockets.length - 1].closeWith(1006);
  await until(() => c.state === 'waiting');
  assert.ok(c.due - Date.now() <= 250);
});

test('the message of a rejection is shown', async () => {
  const { c, sockets } = setUp();
  const done = c.connect({ kind: 'paired', key });
  sockets[0].open();
  sockets[0].receive({ type: 'refused', reason: 'not_paired', message: 'this browser was unpaired\u0007' });
  assert.equal(await done, false);
  assert.equal(c.reason, 'not_paired');
  assert.equal(c.message, 'this browser was unpaired ');
});

test('an attempt that is ended fails', async () => {
  const { c, sockets } = setUp();
  const first = c.connect({ kind: 'boot', key });
  c.close();
  assert.equal(await first, false);
  const second = c.connect({ kind: 'boot', key });
  sockets[1].open();
  const third = c.connect({ kind: 'boot', key });
  assert.equal(await second, false);
  await welcome(sockets[2]);
  assert.equal(await third, true);
  c.close();
});
