// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { SHORT_TIMEOUT_MS } from '../timeout.js';
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

test('a tab is attached again after a reconnect', async () => {
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
  assert.deepEqual(server.events('cdp'), [], 'no event is sent before the server attaches');
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

/** Starts a download in tab 1, and returns it. @param {Awaited<ReturnType<typeof setUp>>} env @param {number} id */
async function startDownload({ browser, broker, server }, id) {
  await server.call('tab_attach', { tabId: 1 });
  const item = { id, url: `https://example.com/${id}`, filename: `/d/${id}`, state: 'in_progress', bytesReceived: 1, totalBytes: -1 };
  browser.downloads.push(item);
  broker.attachments.onEvent({ tabId: 1 }, 'Page.downloadWillBegin', { url: item.url });
  broker.downloads.onCreated(/** @type {any} */ (item));
  await settled();
  assert.deepEqual(server.events('download').map((d) => [d.id, d.state]), [[id, 'in_progress']]);
  server.sent.length = 0;
  return item;
}

test('a server receives the end of a download, even if its tab is unshared, the worker restarts or the connection is lost', async (t) => {
  /** @typedef {Awaited<ReturnType<typeof setUp>>} Env */
  /** @type {Record<string, (env: Env, end: (env: Env) => void) => Promise<any>>} */
  const cases = {
    'tab released': async (env, end) => {
      await env.server.call('tab_release', { tabId: 1 });
      end(env);
    },
    'tab unshared': async (env, end) => {
      env.broker.tabs.unshare(1, 'user');
      end(env);
    },
    'tab idle': async (env, end) => {
      const a = env.broker.attachments.get(1);
      if (a) a.lastUsed = 0;
      await env.broker.tick();
      assert.equal(env.broker.attachments.get(1), undefined);
      end(env);
    },
    'connection lost': async (env, end) => {
      env.server.lose();
      end(env);
      await settled();
      env.server.connect();
    },
    'worker restarted': async (env, end) => {
      const broker = await env.browser.worker();
      const server = env.browser.connect(broker, 40001);
      await settled();
      assert.deepEqual(server.events('download').map((d) => d.state), ['in_progress']);
      server.sent.length = 0;
      end(Object.assign(env, { broker, server }));
    },
    'worker restarted after the end': async (env, end) => {
      end(env);
      env.server.sent.length = 0;
      const broker = await env.browser.worker();
      Object.assign(env, { broker, server: env.browser.connect(broker, 40001) });
    },
  };
  for (const [name, work] of Object.entries(cases)) {
    await t.test(name, async () => {
      const env = await setUp();
      const item = await startDownload(env, 5);
      await work(env, ({ broker }) => {
        item.state = 'complete';
        broker.downloads.onChanged({ id: 5 });
      });
      await settled();
      assert.deepEqual(env.server.events('download').filter((d) => d.state !== 'in_progress').map((d) => [d.id, d.tabId, d.state]), [[5, 1, 'complete']]);
      const other = env.browser.connect(env.broker, 40002);
      await settled();
      assert.deepEqual(other.events('download'), []);
      assert.equal((await other.call('download_cancel', { id: 5 })).error?.code, 'BAD_ARGS');
      assert.equal((await env.server.call('download_cancel', { id: 5 })).type, 'result');
      assert.equal((await env.server.call('download_cancel', { id: 6 })).error?.code, 'BAD_ARGS');
    });
  }
});

test('the growing size of a download is reported, and only to its server', async () => {
  const env = await setUp();
  const { browser, broker, server } = env;
  const item = await startDownload(env, 5);
  browser.downloads.push({ ...item, id: 6 }); // of the user
  for (const bytes of [1000, 2000]) {
    item.bytesReceived = bytes; // the browser reports no event
    await broker.tick();
    await settled();
  }
  item.state = 'complete';
  await broker.tick();
  await settled();
  assert.deepEqual(server.events('download').map((d) => [d.id, d.state, d.bytes]), [[5, 'in_progress', 1000], [5, 'in_progress', 2000]]);
});

test('the extension works although its storage is slow', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  t.mock.method(console, 'warn', () => {});
  const browser = new Browser();
  browser.stored.settings = { idleMinutes: 3 };
  const { get } = chrome.storage.local;
  let respond = () => {};
  const slow = new Promise((resolve) => { respond = () => resolve(undefined); });
  Object.assign(chrome.storage.local, { get: (/** @type {any} */ key) => slow.then(() => get(key)), set: () => new Promise(() => {}) });
  const started = browser.worker();
  t.mock.timers.tick(SHORT_TIMEOUT_MS);
  await settled();
  respond();
  const broker = await started;
  assert.equal(broker.settings.value.idleMinutes, 3);
});

test('a debugger that the previous worker left is detached from a tab that is not shared', async () => {
  const { browser, server } = await setUp();
  await server.call('tab_attach', { tabId: 1 });
  browser.attached.add(2); // for example, a tab that a page had just opened
  await browser.worker();
  assert.deepEqual([...browser.attached], [1], 'until the server is back');
  browser.tabs[0].groupId = -1; // while no worker runs
  await browser.worker();
  assert.deepEqual([...browser.attached], []);
});

test('a tab that a page opens is not attached for a server if the user chose another driver for it', async () => {
  const { browser, broker, server } = await setUp();
  const other = browser.connect(broker, 40002);
  await server.call('tab_attach', { tabId: 1 });
  let report = () => {};
  broker.drivers.sharedReported = () => new Promise((resolve) => { report = () => resolve(undefined); });
  const opening = broker.openedTabs.opened(1, 2, 'https://example.com/');
  await settled();
  await broker.drivers.choose(2, other.connection.key);
  report();
  await opening;
  await settled();
  assert.deepEqual([...browser.attached], [1]);
});

test('the prompts of a server that exited are removed', async () => {
  const { broker, server } = await setUp();
  const { key } = server.connection;
  broker.consent.ask('https://example.com', { key, name: 'Claude' });
  assert.equal(broker.questions().length, 1);
  broker.servers.owner.gone(server.connection);
  assert.equal(broker.questions().length, 0);
});

test('a tab of a kept site stays shared during a handover at its login provider', async () => {
  for (const [end, stays] of /** @type {[string, boolean][]} */ ([['https://example.com/', true], ['https://other.test/', false]])) {
    const { browser, broker, server } = await setUp();
    Object.assign(chrome.windows, { update: async () => {} });
    broker.tabs.unshare(1, 'user');
    await broker.settings.change({ keepSites: ['https://example.com'] });
    await broker.tabs.share(1, 'site');
    const goTo = (/** @type {string} */ url) => {
      browser.tabs[0].url = url;
      broker.tabs.onUpdated(1, { url }, /** @type {any} */ (browser.tabs[0]));
    };
    const asked = server.send('handover', { id: 'q', tabId: 1, message: 'Log in.', again: false });
    await settled();
    goTo('https://other.test/login');
    await settled();
    assert.equal(server.answer(asked), undefined, 'the question stays open');
    goTo(end);
    broker.handovers.reply(broker.handovers.open()[0].id, 'done');
    await settled();
    assert.equal(server.answer(asked).data?.answer, 'done');
    assert.equal(broker.tabs.get(1) !== undefined, stays, end);
  }
});
