// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULTS } from '../settings.js';
import { Tabs } from '../tabs.js';

/** The open tabs. @type {{id: number, url: string, groupId: number, windowId: number}[]} */
let open = [];

/** The window that closes while a tab is opened in it. */
let gone = 0;

/** @type {any} */ (globalThis).chrome = {
  tabs: {
    query: async () => open,
    get: async (/** @type {number} */ id) => open.find((t) => t.id === id) ?? Promise.reject(new Error(`No tab with id: ${id}`)),
    create: async (/** @type {{windowId?: number}} */ { windowId }) => {
      if (windowId === gone) throw new Error(`No window with id: ${gone}.`);
      open.push({ id: 50, url: 'about:blank', groupId: -1, windowId: 1 });
      return open[open.length - 1];
    },
    remove: async (/** @type {number} */ id) => {
      open = open.filter((t) => t.id !== id);
    },
    group: async () => 9,
    ungroup: async () => {
      throw new Error('Tabs cannot be edited right now (user may be dragging a tab).');
    },
  },
  tabGroups: { get: async () => ({}), update: async () => ({}) },
  windows: { getLastFocused: async () => ({ id: 1 }) },
  debugger: { getTargets: async () => [] },
};

/** Returns the tabs of a worker, with the storage of the previous one. @param {Map<string, string>} stored @param {import('../settings.js').Settings} [settings] */
async function newTabs(stored, settings = DEFAULTS, working = () => false, handedOver = (/** @type {number} */ _) => false) {
  /** @type {any} */
  const area = {
    get: async (/** @type {string} */ key) => (stored.has(key) ? { [key]: JSON.parse(stored.get(key) ?? '') } : {}),
    set: async (/** @type {any} */ values) => {
      for (const [key, value] of Object.entries(values)) stored.set(key, JSON.stringify(value));
    },
  };
  const tabs = new Tabs(area, () => settings, { added() {}, shared() {}, unshared() {}, updated() {}, working, handedOver });
  await tabs.ready;
  return tabs;
}

/**
 * Makes the browser execute and answer the calls that concern groups one after another, each in its
 * own task, and report every change of a group before it answers.
 *
 * @param {import('node:test').TestContext} t
 * @param {Tabs} tabs
 * @returns {{answered: () => Promise<void>, calls: {name: string}[]}} answered waits until no call is
 *   pending; calls are those that are
 */
function answerInOrder(t, tabs) {
  /** @type {{name: string, run: () => void}[]} */
  const calls = [];
  /** @param {any} object @param {string} name @param {(...args: any[]) => any} run */
  const inOrder = (object, name, run) => t.mock.method(object, name, (/** @type {any[]} */ ...args) => new Promise((resolve, reject) => {
    calls.push({ name, run: () => {
      try {
        resolve(run(...args));
      } catch (e) {
        reject(e);
      }
    } });
  }));
  const tabOf = (/** @type {number} */ id) => open.find((o) => o.id === id) ?? assert.fail(`no tab ${id}`);
  const move = (/** @type {number} */ id, /** @type {number} */ groupId) => {
    const tab = tabOf(id);
    tab.groupId = groupId;
    tabs.onUpdated(id, { groupId }, /** @type {any} */ ({ ...tab }));
    return groupId;
  };
  let last = 8;
  inOrder(chrome.tabs, 'get', (id) => ({ ...tabOf(id) }));
  inOrder(chrome.tabs, 'group', ({ tabIds: [id], groupId = ++last }) => move(id, groupId));
  inOrder(chrome.tabs, 'ungroup', (id) => void move(id, -1));
  inOrder(chrome.tabGroups, 'get', () => ({}));
  inOrder(chrome.tabGroups, 'update', () => ({}));
  inOrder(chrome.debugger, 'getTargets', () => []);
  const answered = async () => {
    for (await settled(); calls.length > 0; await settled()) calls.shift()?.run();
  };
  return { answered, calls };
}

/** Waits until no promise is pending. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test('an unshared tab is not shared again because of its group', async (t) => {
  t.mock.method(console, 'warn', () => {});
  const stored = new Map();
  open = [{ id: 1, url: 'https://example.com/', groupId: -1, windowId: 1 }];
  let tabs = await newTabs(stored);
  await tabs.share(1, 'user');
  await settled();
  open[0].groupId = 9;
  tabs.unshare(1, 'user');
  await settled();
  assert.equal(open[0].groupId, 9);

  tabs = await newTabs(stored); // a new worker
  await tabs.reconcile();
  await settled();
  assert.equal(tabs.get(1), undefined);
  tabs.onGrouped(1, 9); // dragged in
  await settled();
  assert.equal(tabs.get(1)?.how, 'group');
});

test('a tab shared for a time expires unless a call renews it', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
  const minutes = (/** @type {number} */ n) => t.mock.timers.tick(n * 60_000);
  const stored = new Map();
  open = [1, 2, 3].map((id) => ({ id, url: 'https://example.com/', groupId: -1, windowId: 1 }));
  let tabs = await newTabs(stored);
  const first = await tabs.share(1, 'user', { until: 'time' });
  await tabs.share(2, 'user', { until: 'idle' });
  assert.equal(tabs.nextExpiry(), Date.now() + 15 * 60_000);
  minutes(14);
  tabs.renew(first);
  const popup = await tabs.share(3, 'popup', { opener: first }); // as long as its opener
  assert.deepEqual([popup.until, popup.expires], ['time', first.expires]);
  minutes(14);
  tabs.renew(popup);
  tabs.expire();
  assert.equal(tabs.list().length, 3);

  tabs = await newTabs(stored); // a new worker
  minutes(1);
  tabs.expire();
  assert.deepEqual(tabs.list().map((s) => s.tabId), [2, 3]);
  assert.equal(tabs.state.ended[1], 'expired');
  minutes(60);
  tabs.expire();
  assert.deepEqual(tabs.list().map((s) => s.tabId), [2]);
  tabs.machineIdle();
  assert.deepEqual([tabs.list().length, tabs.state.ended[2]], [0, 'idle']);
  assert.equal(tabs.nextExpiry(), Infinity);
  await tabs.share(1, 'user');
  assert.equal(tabs.state.ended[1], undefined);
});

test('a tab that is handed over does not expire, and a clock that is set back extends nothing', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
  const minutes = (/** @type {number} */ n) => t.mock.timers.setTime(Date.now() + n * 60_000);
  open = [1, 2].map((id) => ({ id, url: 'https://example.com/', groupId: -1, windowId: 1 }));
  let held = 1;
  const tabs = await newTabs(new Map(), DEFAULTS, undefined, (id) => id === held);
  await tabs.share(1, 'user', { until: 'time' });
  minutes(30);
  tabs.expire();
  assert.equal(tabs.get(1)?.expires, Date.now() + 15 * 60_000);
  held = 0;
  minutes(14);
  tabs.expire();
  assert.ok(tabs.get(1), 'the time begins at the end of the handover');
  minutes(2);
  tabs.expire();
  assert.equal(tabs.state.ended[1], 'expired');

  await tabs.share(2, 'user', { until: 'time' });
  minutes(-60);
  tabs.expire();
  assert.equal(tabs.get(2)?.expires, Date.now() + 15 * 60_000);
  minutes(16);
  tabs.expire();
  assert.equal(tabs.get(2), undefined);
});

test('a tab shared for its site is unshared on another site, and shared again when it returns', async () => {
  open = [{ id: 1, url: 'https://kept.example/', groupId: -1, windowId: 1 }, { id: 2, url: 'https://kept.example/', groupId: -1, windowId: 1 }];
  let active = false;
  const tabs = await newTabs(new Map(), { ...DEFAULTS, keepSites: ['https://kept.example'] }, () => active);
  const goTo = async (/** @type {number} */ id, /** @type {string} */ url) => {
    const tab = open[id - 1];
    tab.url = url;
    tabs.onUpdated(id, { url }, /** @type {any} */ (tab));
    await settled();
    return tabs.get(id)?.how;
  };
  await tabs.autoShareAll();
  await tabs.share(2, 'user');
  await settled();
  assert.equal(await goTo(1, 'https://kept.example/more'), 'site');
  assert.equal(await goTo(1, 'https://bank.example/'), undefined);
  assert.equal(await goTo(1, 'https://kept.example/'), 'site');
  active = true;
  assert.equal(await goTo(1, 'https://login.example/'), 'site', 'an agent navigated there');
  tabs.unshare(2, 'user');
  await tabs.share(2, 'user');
  active = false;
  assert.equal(await goTo(2, 'https://bank.example/'), 'user', 'the user shared this one');
});

test('after Stop all, agents cannot open tabs until the user shares one', async () => {
  const stored = new Map();
  open = [{ id: 1, url: 'https://example.com/', groupId: -1, windowId: 1 }];
  let tabs = await newTabs(stored);
  await tabs.share(1, 'user');
  tabs.unshareAll('stopped');
  await settled();
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });
  tabs = await newTabs(stored);
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });
  assert.equal(open.length, 1);
  await tabs.share(1, 'user');
  assert.equal((await tabs.open('s', 'claude')).openedBy, 's');

  tabs.unshareAll('locked');
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });
  tabs.unlocked();
  open.pop();
  assert.equal((await tabs.open('s', 'claude')).openedBy, 's');
  tabs.unshareAll('stopped');
  tabs.unshareAll('locked');
  tabs.unlocked();
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });
});

test('a tab that a page opened in its group is not shared after a worker restart', async () => {
  const stored = new Map();
  const page = (/** @type {number} */ id) => ({ id, url: 'https://example.com/', groupId: -1, windowId: 1 });
  open = [page(1), page(2)];
  let tabs = await newTabs(stored);
  await tabs.share(1, 'user');
  await settled();
  for (const tab of open) tab.groupId = 9; // the browser adds tabs that a page opens to the group of the page

  tabs = await newTabs(stored);
  await tabs.reconcile();
  await settled();
  assert.deepEqual(tabs.list().map((t) => t.tabId), [1]);

  tabs.unshareAll('stopped');
  tabs = await newTabs(stored);
  await tabs.reconcile();
  await settled();
  assert.deepEqual(tabs.list(), []);
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });
});

test('calls that started before Stop all share nothing after it', async () => {
  const page = (/** @type {number} */ id) => ({ id, url: 'https://example.com/', groupId: -1, windowId: 1 });
  open = [page(1), page(2), page(3), page(4)];
  const tabs = await newTabs(new Map());
  const parent = await tabs.share(1, 'user');
  const calls = [tabs.open('s', 'claude'), tabs.share(2, 'popup', { opener: parent }), tabs.share(3, 'site')];
  tabs.unshareAll('stopped');
  for (const work of calls) await assert.rejects(work, { code: 'TAB_NOT_FOUND' });
  assert.deepEqual(tabs.list(), []);
  assert.deepEqual(open.map((t) => t.id), [1, 2, 3, 4], 'the opened tab is closed');
  await assert.rejects(tabs.open('s', 'claude'), { code: 'POLICY_DENIED' });

  const again = await tabs.share(1, 'user');
  const popup = tabs.share(2, 'popup', { opener: again });
  tabs.unshare(1, 'user');
  await assert.rejects(popup, { code: 'TAB_NOT_FOUND' });
  const last = await tabs.share(1, 'user');
  tabs.onRemoved(1); // a page that opens another and closes itself
  assert.equal((await tabs.share(4, 'popup', { opener: last })).how, 'popup');
});

test('a tab opens in another window if its window closes', async () => {
  open = [];
  gone = 1;
  const tabs = await newTabs(new Map());
  assert.equal((await tabs.open('server', 'name')).tabId, 50);
  gone = 0;
});

test('a tab that is given to a chat leaves the group of shared tabs, and so do the pages that it opens', async (t) => {
  open = [{ id: 1, url: 'https://example.com/', groupId: -1, windowId: 1 }];
  const tabs = await newTabs(new Map());
  const { answered } = answerInOrder(t, tabs);
  const sharing = tabs.share(1, 'user');
  await answered();
  const shared = await sharing;
  assert.deepEqual([shared.group, open[0].groupId], [9, 9]);

  tabs.unshare(1, 'other_server');
  const giving = tabs.share(1, 'user', { chatServer: '7@11' });
  await answered();
  assert.equal((await giving).group, open[0].groupId);
  assert.notEqual(open[0].groupId, 9);
  assert.deepEqual([tabs.get(1)?.chat, tabs.state.groups[open[0].groupId]?.server], [true, '7@11']);

  // The browser adds what its page opens to its group.
  const child = { id: 2, url: 'https://example.com/child', groupId: open[0].groupId, windowId: 1 };
  open.push(child);
  tabs.onUpdated(2, { groupId: child.groupId }, /** @type {any} */ (child));
  await answered();
  assert.equal(tabs.get(2), undefined, 'no other agent sees the page');

  tabs.unshare(1, 'released');
  const back = tabs.share(1, 'user');
  await answered();
  assert.deepEqual([(await back).group, open[0].groupId, tabs.state.groups[9].server], [9, 9, ''], 'it is shared with all agents again');
});

test('a tab in a group of the user stays there', async (t) => {
  open = [{ id: 1, url: 'https://example.com/', groupId: 4, windowId: 1 }];
  const tabs = await newTabs(new Map());
  const { answered } = answerInOrder(t, tabs);
  const giving = tabs.share(1, 'user', { chatServer: '7@11' });
  await answered();
  assert.deepEqual([(await giving).group, open[0].groupId], [-1, 4]);
});

test('Stop all while a tab is being added to a group is not undone by the group', async (t) => {
  open = [1, 2].map((id) => ({ id, url: 'https://example.com/', groupId: -1, windowId: 1 }));
  const tabs = await newTabs(new Map());
  const { answered, calls } = answerInOrder(t, tabs);
  const first = tabs.share(1, 'user');
  await answered();
  const second = tabs.share(2, 'user');
  for (await settled(); calls[0].name !== 'group'; await settled()) calls.shift()?.run();
  await Promise.all([first, second]);
  tabs.unshareAll('stopped');
  await answered();
  assert.deepEqual([tabs.list(), tabs.state.halted], [[], 'stopped']);
  assert.deepEqual(open.map((o) => o.groupId), [-1, -1]);
});

test('a tab shared for its site stays shared on other sites while it is handed over', async () => {
  open = [{ id: 1, url: 'https://kept.example/', groupId: -1, windowId: 1 }];
  let handedOver = true;
  const tabs = await newTabs(new Map(), { ...DEFAULTS, keepSites: ['https://kept.example'] }, () => false, () => handedOver);
  const goTo = (/** @type {string} */ url) => {
    open[0].url = url;
    tabs.onUpdated(1, { url }, /** @type {any} */ (open[0]));
  };
  await tabs.autoShareAll();
  await settled();
  goTo('https://login.example/');
  assert.equal(tabs.get(1)?.how, 'site', 'the site redirects to its login provider');
  await tabs.handoverEnded(1); // another question has replaced it
  assert.equal(tabs.get(1)?.how, 'site');
  goTo('https://kept.example/');
  handedOver = false;
  await tabs.handoverEnded(1);
  assert.equal(tabs.get(1)?.how, 'site');
  handedOver = true;
  goTo('https://login.example/');
  handedOver = false;
  await tabs.handoverEnded(1);
  assert.equal(tabs.get(1), undefined);
  goTo('https://kept.example/');
  await settled();
  assert.equal(tabs.get(1)?.how, 'site', 'it is shared again when it returns');
});

test('a tab whose target cannot be found is not shared', async (t) => {
  open = [{ id: 1, url: 'https://kept.example/', groupId: -1, windowId: 1 }];
  const tabs = await newTabs(new Map(), { ...DEFAULTS, keepSites: ['https://kept.example'] });
  /** @type {string[]} */
  const seen = [];
  Object.assign(tabs.watcher, { shared: () => seen.push('shared'), unshared: () => seen.push('unshared') });
  const hung = t.mock.method(chrome.debugger, 'getTargets', () => Promise.reject(new Error('listing targets did not finish in time')));
  await assert.rejects(tabs.share(1, 'user'), /listing targets/);
  assert.deepEqual([tabs.list(), seen], [[], ['unshared']]);
  hung.mock.restore();
  await tabs.autoShareAll();
  await settled();
  assert.deepEqual([tabs.get(1)?.how, seen], ['site', ['unshared', 'shared']]);

  tabs.unshare(1, 'user');
  t.mock.method(chrome.debugger, 'getTargets', async () => {
    tabs.unshare(1, 'user');
    throw new Error('listing targets did not finish in time');
  });
  await assert.rejects(tabs.share(1, 'user'), /listing targets/);
  assert.deepEqual(tabs.state.declined, [1], 'the user unshared it');
});
