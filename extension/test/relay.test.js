// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Relay } from '../debugger.js';
import { compile } from '../rules.js';

/** What was sent to the browser. @type {string[]} */
let sent = [];

/** @type {any} */ (globalThis).chrome = {
  debugger: {
    attach: async () => {},
    detach: async () => {},
    sendCommand: async (/** @type {any} */ _, /** @type {string} */ method) => {
      sent.push(method);
      return {};
    },
  },
  tabs: { get: async () => ({ id: 1, url: 'https://example.com/' }) },
};

/** Attaches a relay to a tab. */
async function attached() {
  sent = [];
  /** @type {any[]} */
  const told = [];
  /** @type {any} */
  const connection = { session: 's', state: 'connected', send: (/** @type {any} */ frame) => told.push(frame) };
  const relay = new Relay(/** @type {any} */ ({
    protect: async () => {}, detached: () => {}, cancelled: () => {}, doing: () => {}, askEval: () => {}, evalAnswer: () => undefined,
    download: () => {}, moved: () => {},
  }));
  await relay.attach(connection, 1, compile({ allow: ['example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] }), false);
  const a = relay.holdOf(connection, 1);
  assert.ok(a);
  return { relay, a, told };
}

test('events that carry the cookies of all sites are not told', async () => {
  const { relay, told } = await attached();
  for (const method of ['Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo', 'Network.webSocketWillSendHandshakeRequest', 'Network.loadingFinished']) {
    relay.onEvent({ tabId: 1 }, method, { requestId: 'r' });
  }
  assert.deepEqual(told.map((frame) => frame.data.method), ['Network.loadingFinished']);
});

test('numbers of worlds are forgotten with Runtime.disable', async () => {
  const { relay, a } = await attached();
  relay.onEvent({ tabId: 1 }, 'Runtime.executionContextCreated', { context: { id: 7, uniqueId: 'u7', origin: 'https://example.com', auxData: { isDefault: false } } });
  const evaluate = async () => {
    try {
      await relay.command(a, '', 'Runtime.evaluate', { expression: 'x', contextId: 7 }, 1000);
      return 'sent';
    } catch (e) {
      return /** @type {any} */ (e).code;
    }
  };
  assert.equal(await evaluate(), 'sent');
  // The next document may be in a process of its own that counts from the
  // beginning, and nothing tells of its worlds.
  await relay.command(a, '', 'Runtime.disable', {}, 1000);
  assert.equal(await evaluate(), 'CDP_ERROR');
  assert.deepEqual(sent, ['Runtime.evaluate', 'Runtime.disable']);
});
