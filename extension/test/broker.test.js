// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { timing } from '../timing.js';
import { Browser, settled } from './browser.js';

Object.assign(globalThis, { navigator: globalThis.navigator ?? { userAgent: '' } });

// Do not wait for the delays of the last test.
const { setTimeout: later } = globalThis;
Object.assign(globalThis, { setTimeout: (/** @type {[() => void, number]} */ ...args) => later(...args).unref() });

/** Sets up a browser whose tab 1 is shared, and a server that is connected to it. */
async function setUp() {
  const browser = new Browser();
  const broker = await browser.worker();
  await broker.tabs.share(1, 'user');
  const server = browser.connect(broker, 40001);
  await settled();
  return { browser, broker, server };
}

test('a tab is attached under the rules that apply when it is attached', async () => {
  const { browser, broker, server } = await setUp();
  const { get } = chrome.tabs;
  let respond = () => {};
  chrome.tabs.get = /** @type {any} */ ((/** @type {number} */ id) => new Promise((resolve) => { respond = () => resolve(get(id)); }));
  const id = server.send('tab_attach', { tabId: 1 });
  await settled();
  chrome.tabs.get = get;
  await broker.settings.change({ blockList: ['other.test'] });
  await broker.settingsChanged();
  respond();
  await settled();
  assert.equal(server.answer(id).type, 'result');
  const { error } = await server.call('cdp', { tabId: 1, method: 'Page.navigate', params: { url: 'https://other.test/' } });
  assert.equal(error?.code, 'POLICY_DENIED');
  assert.ok(!browser.calls.includes('Page.navigate 1'));
});

test('a tab is attached again after a reconnect with the same session', async () => {
  const { browser, broker, server } = await setUp();
  await server.call('tab_attach', { tabId: 1 });
  const listing = server.send('tabs_list', {});
  server.lose();
  server.connect();
  await settled();
  assert.equal(server.answer(listing), undefined, 'an answer to the lost connection is not sent');
  browser.calls.length = 0;
  server.sent.length = 0;
  broker.attachments.onEvent({ tabId: 1 }, 'Page.frameNavigated', { frame: { id: 'T1', url: 'https://example.com/' } });
  assert.deepEqual(server.events('cdp'), [], 'nothing is sent before the server attaches');
  assert.equal((await server.call('cdp', { tabId: 1, method: 'Page.reload' })).error?.code, 'DETACHED');
  assert.equal((await server.call('tab_attach', { tabId: 1 })).type, 'result');
  assert.deepEqual(browser.calls.filter((c) => /tach/.test(c)), ['detach 1', 'attach 1']);
  assert.equal((await server.call('cdp', { tabId: 1, method: 'Page.reload' })).type, 'result');
});

test('a tab that is not attached again soon after a reconnect is released', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { browser, server } = await setUp();
  await server.call('tab_attach', { tabId: 1 });
  server.lose();
  server.connect();
  t.mock.timers.tick(timing.patience.reconnect);
  await settled();
  assert.deepEqual([...browser.attached], []);
});

test('a tab is not attached for a connection that was lost', async () => {
  const { browser, broker, server } = await setUp();
  const { get } = chrome.tabs;
  let respond = () => {};
  chrome.tabs.get = /** @type {any} */ ((/** @type {number} */ id) => new Promise((resolve) => { respond = () => resolve(get(id)); }));
  server.send('tab_attach', { tabId: 1 });
  await settled();
  chrome.tabs.get = get;
  server.lose();
  respond();
  await settled();
  assert.deepEqual([...browser.attached], []);
  server.connect();
  assert.equal((await server.call('tab_attach', { tabId: 1 })).type, 'result');
  assert.equal(broker.attachments.get(1)?.rules.allow.length, 2, 'the rules are those of the new connection');
});
