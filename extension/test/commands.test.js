// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CommandError } from '../command_error.js';
import { handle } from '../commands.js';

/** Sends a command, and returns the answer. @param {any} broker @param {any} c @param {string} method @param {any} params @returns {Promise<any>} */
const command = (broker, c, method, params) => new Promise((answered) => {
  handle(broker, Object.assign(c, { generation: 1, state: 'connected', send: answered }), { id: '1', method, params, timeoutMs: 1000 });
});

test('calls of agents renew the time that a tab is shared for, and requests of pages do not', async () => {
  let renewed = 0;
  const shared = { tabId: 1 };
  /** @type {any} */
  const broker = {
    tabs: { get: (/** @type {number} */ id) => (id === 1 ? shared : undefined), expire() {}, renew: (/** @type {any} */ tab) => { renewed += tab === shared ? 1 : 100; } },
    drivers: { mayDrive: () => true }, scopes: { installing: new Map() },
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
    const answer = await command(broker, {}, method, params);
    assert.equal(answer.type, params.tabId === 1 ? 'result' : 'error');
    assert.equal(renewed, want, `${method} ${JSON.stringify(params)}`);
  }
});

/**
 * Returns a broker with one tab that any server sees, at first.
 *
 * @param {(attached: Map<number, any>) => void} attach called when the debugger is attached
 */
function withTab(attach) {
  const shared = { tabId: 1, driver: '', openedBy: '' };
  /** @type {Map<number, any>} */
  const attached = new Map();
  /** @type {any} */
  const broker = {
    changed() {}, log: { add() {} }, attachErrors: new Map(),
    servers: { nameOf: (/** @type {string} */ key) => key },
    scopes: { policyFor: () => ({ allow: [{}], block: [], userBlock: [] }) },
    tabs: { get: () => shared, open: async () => shared, expire() {}, shareRefusal: () => null, describe: () => ({}) },
    drivers: { mayDrive: (/** @type {any} */ tab, /** @type {any} */ c) => tab.driver === '' || tab.driver === c.key, setDriver: (/** @type {any} */ tab, /** @type {any} */ c) => { tab.driver = c.key; }, clearDriver() {}, findTarget: async () => {} },
    attachments: {
      get: (/** @type {number} */ id) => attached.get(id),
      release: async (/** @type {number} */ id) => void attached.delete(id),
      attach: async (/** @type {any} */ connection, /** @type {number} */ id) => {
        attached.set(id, { connection });
        attach(attached);
      },
    },
  };
  Object.assign(globalThis, { chrome: { tabs: { get: async () => ({ id: 1, url: 'https://example.com/' }) } } });
  return { broker, shared, attached };
}

test('a tab is not left attached for a server that stopped being its driver during the call', async () => {
  const { broker, shared, attached } = withTab(() => { shared.driver = 'b'; });
  const answer = await command(broker, { key: 'a' }, 'tab_attach', { tabId: 1 });
  assert.match(answer.error.message, /driven by another agent, b/);
  assert.equal(attached.size, 0);

  const b = { connection: { key: 'b' } };
  const next = withTab((map) => {
    next.shared.driver = 'b';
    map.set(1, b);
  });
  assert.equal((await command(next.broker, { key: 'a' }, 'tab_attach', { tabId: 1 })).error.code, 'TAB_NOT_FOUND');
  assert.equal(next.attached.get(1), b, 'the other server keeps it');
});

test('a new tab that cannot be attached is closed', async () => {
  const { broker, shared } = withTab(() => {
    throw new CommandError('DEVTOOLS_OPEN', 'another debugger is attached');
  });
  shared.openedBy = 'a';
  /** @type {number[]} */
  const closed = [];
  Object.assign(chrome.tabs, { remove: async (/** @type {number} */ id) => void closed.push(id) });
  assert.equal((await command(broker, { key: 'a', policy: { allow: ['example.com'] } }, 'tab_new', {})).error.code, 'DEVTOOLS_OPEN');
  assert.deepEqual(closed, [1]);
  shared.openedBy = ''; // the user has given it to another agent
  await command(broker, { key: 'a', policy: { allow: ['example.com'] } }, 'tab_new', {});
  assert.deepEqual(closed, [1]);
  assert.equal((await command(withTab(() => {}).broker, { key: 'a', policy: { allow: ['example.com'] } }, 'tab_new', {})).type, 'result');
  assert.deepEqual(closed, [1]);
});

test('a server learns which of the tabs that it names are open', async () => {
  Object.assign(globalThis, { chrome: { debugger: { getTargets: async () => [{ id: 'T1' }, { id: 'T2' }] } } });
  const answer = await command({}, {}, 'open_targets', { targets: ['T2', 'T3'] });
  assert.deepEqual(answer.data, { targets: ['T2'] });
});
