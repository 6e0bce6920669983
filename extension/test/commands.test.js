// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { handle } from '../commands.js';

test('calls of agents renew the time that a tab is shared for, and requests of pages do not', async () => {
  let renewed = 0;
  const shared = { tabId: 1 };
  /** @type {any} */
  const broker = {
    tabs: { get: (/** @type {number} */ id) => (id === 1 ? shared : undefined), expire() {}, renew: (/** @type {any} */ tab) => { renewed += tab === shared ? 1 : 100; } },
    drivers: { visible: () => true }, scopes: { installing: new Map() },
    attachments: { currentOf: () => ({ command: async () => ({}) }) },
  };
  for (const [want, method, params] of /** @type {[number, string, {tabId: number}][]} */ ([
    [1, 'tab_used', { tabId: 1 }],
    [0, 'tab_used', { tabId: 2 }],
    [0, 'cdp', { tabId: 1, method: 'Runtime.evaluate' }], // of a tool, whose call is reported
    [0, 'cdp', { tabId: 1, method: 'Fetch.continueRequest' }],
    [1, 'cdp', { tabId: 1, method: 'Runtime.evaluate', client: 'playwright' }],
    [0, 'cdp', { tabId: 1, method: 'Fetch.continueRequest', client: 'playwright' }],
  ])) {
    renewed = 0;
    const answer = /** @type {any} */ (await new Promise((answered) => {
      handle(broker, /** @type {any} */ ({ session: 's', state: 'connected', send: answered }), { id: '1', method, params, timeoutMs: 1000 });
    }));
    assert.equal(answer.type, params.tabId === 1 ? 'result' : 'error');
    assert.equal(renewed, want, `${method} ${JSON.stringify(params)}`);
  }
});
