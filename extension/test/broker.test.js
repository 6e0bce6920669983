// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
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
