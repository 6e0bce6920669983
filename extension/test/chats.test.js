// @ts-check

import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Broker } from '../broker.js';
import { Chats } from '../chats.js';
import { handle } from '../commands.js';
import { Port, runtime } from './ports.js';

/** @typedef {{id: number, url: string, title: string, windowId: number, active: boolean, groupId: number, incognito?: boolean}} Tab */

/** The open tabs. @type {Tab[]} */
let open = [];
/** What the previous worker stored. @type {Record<string, any>} */
let stored = {};
/** The tabs that the debugger left. @type {number[]} */
let detached = [];

const PANEL_URL = 'chrome-extension://own/sidepanel.html';
const listener = { addListener() {} };
/** @param {() => any} [value] */
const later = (value = () => undefined) => async () => value();
const area = {
  get: async (/** @type {string} */ key) => (key in stored ? { [key]: structuredClone(stored[key]) } : {}),
  set: async (/** @type {any} */ values) => void Object.assign(stored, structuredClone(values)),
};

/** @type {any} */ (globalThis).chrome = {
  runtime: Object.assign(runtime, {
    id: 'own', getURL: (/** @type {string} */ path) => `chrome-extension://own/${path}`, getManifest: () => ({ version: '1' }),
    getContexts: async (/** @type {any} */ { documentIds: [id] }) => (id.startsWith('window-') ? [{ windowId: Number(id.slice(7)) }] : [{ windowId: -1 }]),
    connectNative: () => new Port(),
  }),
  storage: { session: area, local: area },
  tabs: {
    query: async () => open.map((t) => ({ ...t })),
    get: async (/** @type {number} */ id) => open.find((t) => t.id === id) ?? Promise.reject(new Error(`No tab with id: ${id}`)),
    create: async () => {
      open.push({ id: 50, url: 'about:blank', title: '', windowId: 1, active: false, groupId: -1 });
      return open[open.length - 1];
    },
    remove: later(), update: later(),
    group: async (/** @type {any} */ { tabIds: [id], groupId }) => {
      const tab = open.find((t) => t.id === id);
      if (tab) tab.groupId = groupId ?? 100 + id;
      return groupId ?? 100 + id;
    },
    ungroup: async (/** @type {number} */ id) => {
      const tab = open.find((t) => t.id === id);
      if (tab) tab.groupId = -1;
    },
  },
  tabGroups: { get: later(() => ({})), update: later() },
  windows: { getLastFocused: later(() => ({ id: 1 })), update: later() },
  debugger: { getTargets: async () => open.map((t) => ({ tabId: t.id, type: 'page', id: `t${t.id}`, attached: detached.includes(-t.id) })), detach: async (/** @type {any} */ { tabId }) => void detached.push(tabId), onEvent: listener, onDetach: listener },
  contextMenus: { create() {}, update: later() },
  action: { setBadgeText: later(), setBadgeBackgroundColor: later(), setTitle: later() },
  alarms: { create: later(), clear: later(), get: later() },
  idle: { setDetectionInterval() {} },
  declarativeNetRequest: { updateSessionRules: later(), getSessionRules: later(() => []), getDynamicRules: later(() => []) },
  webNavigation: { getAllFrames: later(() => []) },
  privacy: { network: { networkPredictionEnabled: { get: later(() => ({})), set: later(), clear: later() } } },
  sidePanel: { open: later() },
};

/** Ends the pending requests of the last worker. */
let end = () => {};
afterEach(() => end());

/** Waits until no promise is pending. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** A connected server. @param {number} port @param {boolean} [isChat] @returns {any} */
function server(port, isChat = false) {
  /** @type {any[]} */
  const sent = [];
  return {
    port, key: `7@${port}`, isChat, guessed: false, state: 'connected', session: 's', server: { name: isChat ? 'Chat agent' : 'Claude', pid: 7, version: '1' }, sent, lostAt: 0, due: 0, reason: '',
    policy: { allow: ['https://a.test', 'https://b.test'], subresources: 'public' }, clients: [], message: '',
    send: (/** @type {any} */ m) => sent.push(structuredClone(m)),
  };
}

/** Returns a worker with its chats, in which two servers run: one is for everything. */
async function setUp() {
  open = [
    { id: 1, url: 'https://a.test/', title: 'A', windowId: 1, active: true, groupId: -1 },
    { id: 2, url: 'https://b.test/', title: 'B', windowId: 1, active: false, groupId: -1 },
    { id: 3, url: 'https://a.test/3', title: 'C', windowId: 2, active: true, groupId: -1 },
  ];
  stored = {};
  detached = [];
  return worker();
}

/** Returns a worker with the storage of the previous one. */
async function worker() {
  const broker = new Broker();
  broker.servers.refresh = async () => {};
  broker.scopes.networkRules.update = async () => {};
  await broker.ready;
  broker.log.add = () => {};
  /** @type {Port[]} */
  const natives = [];
  const chats = new Chats(broker, () => {
    const p = new Port();
    natives.push(p);
    queueMicrotask(() => p.receive({ v: 2, type: 'chats' }));
    return /** @type {any} */ (p);
  });
  end = () => chats.host.close();
  const everyone = server(1);
  broker.servers.connections.set(1, everyone);
  /** Adds the server of a chat. @param {number} port */
  const addServer = (port) => {
    const c = server(port, true);
    broker.servers.connections.set(port, c);
    return c;
  };
  return { broker, chats, natives, everyone, addServer };
}

/** @param {Chats} chats @param {number} [windowId] */
function openPanel(chats, windowId = 1) {
  const port = new Port('chrome-mcp-panel', { id: 'own', url: PANEL_URL, documentId: windowId < 0 ? 'unknown' : `window-${windowId}` });
  assert.equal(chats.onConnect(/** @type {any} */ (port)), true);
  let id = 0;
  const call = async (/** @type {string} */ method, /** @type {any} */ params = {}) => {
    const mine = ++id;
    port.receive({ type: 'call', id: mine, method, params });
    for (;;) {
      const done = port.sent.find((m) => m.type === 'done' && m.id === mine);
      if (done?.error) throw Object.assign(new Error(done.error.message), { hint: done.error.hint });
      if (done) return done.result;
      await settled();
    }
  };
  return {
    port, call,
    state: () => port.sent.findLast((m) => m.type === 'state')?.state,
    events: () => port.sent.filter((m) => m.type === 'event').map((m) => m.event),
  };
}

/** Answers the last request of a method. @param {Port} native @param {string} method @param {any} result */
async function answer(native, method, result) {
  await settled();
  const request = native.sent.findLast((m) => m.method === method);
  assert.ok(request, `no request ${method}`);
  native.receive({ id: request.id, result });
  await settled();
  return request.params;
}

/** @param {string} id */
const chat = (id, isOpen = true) => ({ id, title: id, site: 'a.test', agent: 'x', created: 1, updated: 1, open: isOpen, running: false });

/** Opens a chat about tab 1. @param {Awaited<ReturnType<typeof worker>>} w */
async function openChat(w, id = 'c1', port = 11, tab = open[0]) {
  const panel = openPanel(w.chats, tab.windowId);
  const c = w.addServer(port);
  const started = panel.call('new', { agent: 'x', title: 'T', tabId: tab.id, url: tab.url });
  const params = await answer(w.natives[0], 'new', { chat: chat(id), port });
  return { panel, c, params, result: await started };
}

/** The ids of the tabs that a server sees. @param {Broker} broker @param {any} c */
const seen = (broker, c) => broker.tabs.list().filter((t) => broker.drivers.mayDrive(t, c)).map((t) => t.tabId);

/** Sends a command. @param {Broker} broker @param {any} c @param {string} method @param {any} params @returns {Promise<any>} */
async function command(broker, c, method, params = {}) {
  handle(broker, c, { id: 'q', method, params, timeoutMs: 1000 });
  await settled();
  return c.sent.findLast((/** @type {any} */ m) => m.id === 'q');
}

test('only pages of the extension connect a panel', async () => {
  const { chats, natives } = await setUp();
  for (const sender of [undefined, { id: 'own', url: 'https://a.test/' }, { id: 'other', url: 'chrome-extension://other/sidepanel.html' }, { id: 'own' }, { id: 'own', url: 'https://a.test/?chrome-extension://own/' }]) {
    assert.equal(chats.onConnect(/** @type {any} */ (new Port('chrome-mcp-panel', sender))), false);
  }
  assert.equal(chats.onConnect(/** @type {any} */ (new Port('chrome-mcp-page', { id: 'own', url: PANEL_URL }))), false);
  assert.equal(natives.length, 0);
  openPanel(chats);
  assert.equal(natives.length, 1);
});

test('a new chat gets the current tab, which no other server ever sees', async () => {
  const w = await setUp();
  const { broker, everyone } = w;
  await broker.tabs.share(2, 'user');
  const { c, params, result } = await openChat(w);
  assert.deepEqual(params, { agent: 'x', title: 'T', tab: 1, url: 'https://a.test' });
  assert.equal(result.problem, '');
  assert.deepEqual([seen(broker, c), seen(broker, everyone)], [[1], [2]]);
  assert.ok(!everyone.sent.some((/** @type {any} */ m) => m.data?.tabId === 1), 'an event about the tab');
  assert.deepEqual(c.sent.filter((/** @type {any} */ m) => m.event).map((/** @type {any} */ m) => [m.event, m.data.tabId]), [['tab_shared', 1]]);

  const listed = async (/** @type {any} */ s) => (await command(broker, s, 'tabs_list')).data;
  assert.deepEqual((await listed(c)).tabs.map((/** @type {any} */ t) => t.tabId), [1]);
  assert.equal((await listed(c)).elsewhere, undefined);
  assert.deepEqual((await listed(everyone)).tabs.map((/** @type {any} */ t) => t.tabId), [2]);
  assert.equal((await listed(everyone)).elsewhere, undefined);
  for (const [s, tabId] of [[c, 2], [everyone, 1]]) {
    assert.match((await command(broker, s, 'tab_attach', { tabId })).error.message, /not shared with this agent/);
  }
  await assert.rejects(broker.drivers.choose(1, everyone.key), /side panel/); // nor from the popup
  await assert.rejects(broker.drivers.choose(2, c.key), /side panel/);
  assert.deepEqual([seen(broker, c), seen(broker, everyone)], [[1], [2]]);
});

test('at no moment another server sees a tab that is given', async () => {
  const w = await setUp();
  const { broker, everyone } = w;
  let reveals = 0;
  const check = () => {
    if (seen(broker, everyone).includes(1)) reveals++;
  };
  const { added } = broker.tabs.watcher;
  broker.tabs.watcher.added = (tab) => {
    check();
    added(tab);
  };
  let ended = false;
  const watching = (async () => {
    while (!ended) {
      check();
      await settled();
    }
  })();
  await openChat(w);
  ended = true;
  await watching;
  assert.equal(reveals, 0);
  assert.equal(broker.tabs.get(1)?.chat, true);
});

test('tabs that a chat opens, and that its pages open, belong to the chat', async () => {
  const w = await setUp();
  const { broker, everyone } = w;
  const { c, panel } = await openChat(w);
  const own = await broker.tabs.open(c.key, 'x', c.isChat);
  open.push({ id: 51, url: 'https://a.test/popup', title: '', windowId: 1, active: false, groupId: -1 });
  const popup = await broker.tabs.share(51, 'popup', { opener: broker.tabs.get(1) });
  assert.deepEqual([own.chat, popup.chat], [true, true]);
  assert.deepEqual([seen(broker, c).sort(), seen(broker, everyone)], [[1, 50, 51], []]);
  const closing = panel.call('close', { chat: 'c1' });
  await settled();
  assert.deepEqual(broker.tabs.list(), [], 'unshared before the host answers');
  await answer(w.natives[0], 'close', {});
  await closing;
  assert.deepEqual(open.map((t) => t.id), [1, 2, 3, 50, 51], 'the tabs stay open');
});

test('the tabs of a chat are unshared when it ends in any way', async () => {
  /** @type {Record<string, (w: Awaited<ReturnType<typeof worker>>, c: any, panel: ReturnType<typeof openPanel>) => void>} */
  const ends = {
    closed: (w) => w.natives[0].receive({ event: 'closed', chat: 'c1', message: 'the agent exited', hint: '' }),
    changed: (w) => w.natives[0].receive({ event: 'chat', chat: chat('c1', false) }),
    deleted: (_, __, panel) => void panel.call('delete', { chat: 'c1' }).catch(() => {}),
    host: (w) => w.natives[0].end('Native host has exited.'),
    server: (w, c) => {
      c.state = 'waiting';
      w.broker.servers.forget(c);
    },
    stopped: (w, c) => {
      c.state = 'waiting';
      c.reason = 'stopped';
      w.broker.drivers.onConnected(c.key);
      w.broker.connectionChanged(c);
    },
    orphan: (w, c) => {
      w.broker.drivers.serverExited(c.key);
    },
    stopAll: (w) => w.broker.stopAll(),
  };
  for (const [name, finish] of Object.entries(ends)) {
    const w = await setUp();
    const { c, panel } = await openChat(w);
    assert.equal(w.broker.tabs.list().length, 1);
    finish(w, c, panel);
    if (name === 'deleted') await settled();
    assert.deepEqual(w.broker.tabs.list(), [], name);
    w.chats.host.close();
    assert.deepEqual(w.everyone.sent.filter((/** @type {any} */ m) => m.event === 'tab_shared'), [], name);
  }
});

test('the next worker unshares the tabs of chats, and detaches from them', async () => {
  const w = await setUp();
  await w.broker.tabs.share(2, 'user');
  await openChat(w);
  await settled();
  detached = [-1, -2]; // attached
  const next = await worker();
  await settled();
  assert.deepEqual(next.broker.tabs.list().map((t) => t.tabId), [2]);
  assert.deepEqual(detached, [-1, -2, 1]);
});

test('a tab that another agent or chat uses is not given', async () => {
  const w = await setUp();
  const { broker, everyone } = w;
  const shared = await broker.tabs.share(1, 'user');
  broker.drivers.setDriver(shared, everyone);
  const panel = openPanel(w.chats);
  await settled();
  assert.match(panel.state().current.obstacle, /another agent, Claude, uses the tab/);
  await assert.rejects(panel.call('new', { agent: 'x', title: 'T', tabId: 1, url: 'https://a.test/' }), /another agent/);
  assert.ok(!w.natives[0].sent.some((m) => m.method === 'new'));

  broker.drivers.clearDriver(1); // it is only shared
  const first = await openChat(w);
  assert.equal(first.result.problem, '');
  assert.deepEqual([seen(broker, first.c), seen(broker, everyone)], [[1], []]);
  assert.deepEqual(everyone.sent.filter((/** @type {any} */ m) => m.event === 'tab_unshared').map((/** @type {any} */ m) => m.data), [{ tabId: 1, reason: 'other_server' }]);

  const other = w.addServer(12);
  await assert.rejects(broker.drivers.give(1, other, broker.tabs.stopCount), /another chat/);
  assert.deepEqual([seen(broker, first.c), seen(broker, other)], [[1], []]);
});

test('a server that does not say that it is limited gets no tab', async () => {
  const w = await setUp();
  const panel = openPanel(w.chats);
  const started = panel.call('new', { agent: 'x', title: 'T', tabId: 1, url: 'https://a.test/' });
  await answer(w.natives[0], 'new', { chat: chat('c1'), port: w.everyone.port });
  assert.match((await started).problem, /not limited/);
  assert.deepEqual(w.broker.tabs.list(), []);
});

test('a chat that ends while it gets its tab, and Stop all, leave nothing shared', async () => {
  for (const name of ['closed', 'stopped']) {
    const w = await setUp();
    const { broker } = w;
    const give = broker.drivers.give.bind(broker.drivers);
    broker.drivers.give = (...args) => {
      const giving = give(...args);
      if (name === 'closed') w.natives[0].receive({ event: 'closed', chat: 'c1', message: '', hint: '' });
      return giving;
    };
    const panel = openPanel(w.chats);
    w.addServer(11);
    const started = panel.call('new', { agent: 'x', title: 'T', tabId: 1, url: 'https://a.test/' });
    if (name === 'stopped') await settled().then(() => broker.stopAll());
    await answer(w.natives[0], 'new', { chat: chat('c1'), port: 11 });
    assert.notEqual((await started).problem, '', name);
    assert.deepEqual(broker.tabs.list(), [], name);
  }
});

test('a chat whose agent exits while it starts is returned as closed', async () => {
  for (const name of ['before the answer', 'after the answer', 'an earlier agent']) {
    const w = await setUp();
    const panel = openPanel(w.chats);
    const started = panel.call('open', { chat: 'c1' });
    await settled();
    const closed = () => w.natives[0].receive({ event: 'closed', chat: 'c1', message: 'it exited', hint: '' });
    if (name !== 'after the answer') closed();
    if (name === 'an earlier agent') {
      w.addServer(11);
      w.natives[0].receive({ event: 'chat', chat: chat('c1') });
    }
    await answer(w.natives[0], 'open', { chat: chat('c1'), port: 11, resumed: 'loaded' });
    if (name === 'after the answer') closed();
    const runs = name === 'an earlier agent';
    assert.equal((await started).chat.open, runs, name);
    assert.equal(w.chats.open.has('c1'), runs, name);
    w.chats.host.close();
  }
});

test('the tab of a chat is the one that the user saw', async () => {
  const { chats, natives } = await setUp();
  const panel = openPanel(chats);
  for (const [tabId, url] of [[2, 'https://b.test/'], [1, 'https://b.test/'], [3, 'https://a.test/3'], [99, '']]) {
    await assert.rejects(panel.call('new', { agent: 'x', title: 'T', tabId, url }), /changed: try again/);
  }
  open[0].url = 'chrome://settings/';
  await assert.rejects(panel.call('open', { chat: 'c1', tabId: 1, url: 'chrome://settings/' }), /belong to the browser/);
  assert.deepEqual(natives[0].sent.map((m) => m.method), [undefined]);
  const started = panel.call('open', { chat: 'c1' });
  assert.deepEqual(await answer(natives[0], 'open', { chat: chat('c1'), port: 11, resumed: 'loaded' }), { chat: 'c1', tab: 0, url: '' });
  natives[0].receive({ event: 'closed', chat: 'c1', message: '', hint: '' });
  assert.equal((await started).problem, 'the chat was closed');
});

test('a tab that shows another site when the agent has started is not given', async () => {
  for (const name of ['before', 'during']) {
    const w = await setUp();
    const { broker } = w;
    const c = w.addServer(11);
    if (name === 'during') {
      const { added } = broker.tabs.watcher;
      broker.tabs.watcher.added = (tab) => {
        open[0].url = 'https://b.test/private';
        added(tab);
      };
    }
    const panel = openPanel(w.chats);
    const started = panel.call('new', { agent: 'x', title: 'T', tabId: 1, url: 'https://a.test/' });
    await settled();
    if (name === 'before') open[0].url = 'https://b.test/private';
    await answer(w.natives[0], 'new', { chat: chat('c1'), port: 11 });
    assert.equal((await started).problem, 'the tab shows another site now: try again', name);
    assert.deepEqual(broker.tabs.list(), [], name);
    if (name === 'before') assert.deepEqual(c.sent, [], 'the tab is not reported');
    await settled();
    assert.deepEqual(w.natives[0].sent.filter((m) => m.method === 'remove').map((m) => m.params), [{ chat: 'c1', tab: 1 }], name);

    open[0].url = 'https://a.test/';
    const adding = panel.call('addTab', { chat: 'c1', tabId: 1, url: 'https://a.test/' });
    await settled();
    if (name === 'before') open[0].url = 'https://b.test/private';
    const refused = assert.rejects(adding, /another site now/);
    await answer(w.natives[0], 'allow', {});
    await refused;
    assert.deepEqual(broker.tabs.list(), [], name);

    open[0].url = 'https://a.test/other';
    broker.tabs.watcher.added = () => {};
    const again = panel.call('addTab', { chat: 'c1', tabId: 1, url: 'https://a.test/' }); // another page of the site
    await answer(w.natives[0], 'allow', {});
    await again;
    assert.deepEqual(seen(broker, c), [1], name);
    w.chats.host.close();
  }
});

test('the host receives only the site of a page', async () => {
  const w = await setUp();
  const rest = `/?${'x'.repeat(1 << 21)}`;
  open[0].url = `https://a.test${rest}`;
  open[1].url = `https://b.test${rest}`;
  const { panel, params } = await openChat(w);
  assert.equal(params.url, 'https://a.test');
  const adding = panel.call('addTab', { chat: 'c1', tabId: 2, url: open[1].url });
  assert.equal((await answer(w.natives[0], 'allow', {})).url, 'https://b.test');
  await adding;
});

test('more tabs of the window can be added, and removed', async () => {
  const w = await setUp();
  const { broker } = w;
  const { panel, c } = await openChat(w);
  await assert.rejects(panel.call('addTab', { chat: 'c1', tabId: 3, url: 'https://b.test/' }), /not in the window/);
  await assert.rejects(panel.call('addTab', { chat: 'c2', tabId: 2, url: 'https://b.test/' }), /closed/);
  await assert.rejects(panel.call('addTab', { chat: 'c1', tabId: 2, url: 'https://other.test/' }), /another site/);
  assert.deepEqual(panel.state().others.map((/** @type {any} */ t) => t.tabId), [2]);
  const adding = panel.call('addTab', { chat: 'c1', tabId: 2, url: 'https://b.test/page' });
  assert.deepEqual(await answer(w.natives[0], 'allow', {}), { chat: 'c1', tab: 2, url: 'https://b.test' });
  await adding;
  assert.deepEqual(seen(broker, c), [1, 2]);
  await settled();
  assert.deepEqual(panel.state().given.map((/** @type {any} */ t) => t.tabId), [1, 2]);
  await panel.call('removeTab', { chat: 'c1', tabId: 1 });
  assert.deepEqual(broker.tabs.list().map((t) => t.tabId), [2]);
  await broker.tabs.share(1, 'user');
  await panel.call('removeTab', { chat: 'c1', tabId: 1 }); // no longer the chat's
  assert.ok(broker.tabs.get(1));
  broker.tabs.unshare(2, 'user'); // in the popup
  await settled();
  const removed = () => w.natives[0].sent.filter((m) => m.method === 'remove').map((m) => m.params);
  assert.deepEqual(removed(), [{ chat: 'c1', tab: 1 }, { chat: 'c1', tab: 2 }], 'the chat may no longer use their sites');

  broker.drivers.give = async () => Promise.reject(new Error('the tab was closed'));
  const refused = assert.rejects(panel.call('addTab', { chat: 'c1', tabId: 1, url: 'https://a.test/' }), /tab was closed/);
  await answer(w.natives[0], 'allow', {});
  await refused;
  assert.deepEqual(removed().slice(2), [{ chat: 'c1', tab: 1 }]);

  broker.drivers.give = async () => {
    w.natives[0].end('Native host has exited.');
    throw new Error('the chat was closed');
  };
  const late = assert.rejects(panel.call('addTab', { chat: 'c1', tabId: 1, url: 'https://a.test/' }), /chat was closed/);
  await answer(w.natives[0], 'allow', {});
  await late;
  assert.equal(w.natives.length, 1, 'the host is not started again');
});

test('the window that a panel reports counts only if the browser does not know its window', async () => {
  const { chats } = await setUp();
  const [known, unknown] = [openPanel(chats), openPanel(chats, -1)];
  known.port.receive({ type: 'window', windowId: 2 });
  await settled();
  assert.equal(known.state().current.tabId, 1);
  assert.equal(unknown.state().current, null);
  await assert.rejects(unknown.call('new', { agent: 'x', title: 'T', tabId: 1, url: 'https://a.test/' }), /window of the panel is not known/);
  unknown.port.receive({ type: 'window', windowId: 2 });
  await settled();
  assert.equal(unknown.state().current.tabId, 3);
});

test('each panel receives the events of the chat that it shows', async () => {
  const w = await setUp();
  const one = await openChat(w, 'c1', 11, open[0]);
  const two = await openChat(w, 'c2', 12, open[2]);
  const list = openPanel(w.chats);
  for (const m of [
    { event: 'entry', chat: 'c1', entry: { seq: 1, at: 1, kind: 'agent', text: 'a' } }, { event: 'append', chat: 'c2', seq: 1, text: 'b' },
    { event: 'closed', chat: 'c1', message: '', hint: '' }, { event: 'chat', chat: chat('c2') },
  ]) w.natives[0].receive(m);
  const kinds = (/** @type {any} */ p) => p.events().map((/** @type {any} */ e) => [e.event, e.chat.id ?? e.chat]);
  assert.deepEqual(kinds(one.panel), [['entry', 'c1'], ['closed', 'c1'], ['chat', 'c2']]);
  assert.deepEqual(kinds(two.panel), [['append', 'c2'], ['chat', 'c2']]);
  assert.deepEqual(kinds(list), [['chat', 'c2']]);
  await two.panel.call('show', { chat: '' });
  w.natives[0].receive({ event: 'append', chat: 'c2', seq: 1, text: 'b' });
  assert.equal(two.panel.events().length, 2);
  assert.deepEqual([seen(w.broker, one.c), seen(w.broker, two.c)], [[], [3]]);
});

test('a panel counts the prompts of its chat, not those of another chat with the same agent', async (t) => {
  const w = await setUp();
  const { broker } = w;
  const [a, b] = [await openChat(w), await openChat(w, 'c2', 12, open[2])];
  const agent = { key: a.c.key, name: broker.servers.nameOf(a.c.key) };
  assert.equal(agent.name, broker.servers.nameOf(b.c.key));
  t.mock.timers.enable({ apis: ['setTimeout'] });
  /** @type {[string, () => unknown][]} */
  const prompts = [
    ['a script', () => broker.consent.ask('https://a.test', agent)],
    ['a permission', () => void broker.permissionPrompts.wait(agent, { kind: 'downloads', origin: 'https://a.test', tool: 'click', client: '', call: 'h1' }, 1000)],
    ['a handover', () => void broker.handovers.wait(agent, { id: 'q1', tabId: 1, origin: 'https://a.test', message: 'Enter the code.' }, 1000)],
  ];
  for (const [i, [what, prompt]] of prompts.entries()) {
    prompt();
    await settled();
    assert.deepEqual([a.panel.state().questions, b.panel.state().questions], [i + 1, 0], what);
  }
});

test('the host ends half a minute after the last panel, but not while a chat is open', async (t) => {
  const w = await setUp();
  const { panel } = await openChat(w);
  const other = openPanel(w.chats);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  panel.port.disconnected();
  other.port.disconnected();
  t.mock.timers.tick(60_000);
  assert.equal(w.natives[0].closed, false, 'a chat is open');
  w.natives[0].receive({ event: 'closed', chat: 'c1', message: '', hint: '' });
  t.mock.timers.tick(29_999);
  const again = openPanel(w.chats);
  t.mock.timers.tick(60_000);
  assert.equal(w.natives[0].closed, false, 'a panel is open');
  again.port.disconnected();
  t.mock.timers.tick(29_999);
  assert.equal(w.natives[0].closed, false);
  t.mock.timers.tick(1);
  assert.equal(w.natives[0].closed, true);
  t.mock.timers.reset();
});

test('only known methods and parameters reach the host', async () => {
  const { chats, natives } = await setUp();
  const panel = openPanel(chats);
  void panel.call('read', { chat: 'c1', limit: 100, before: 7, evil: 1 }).catch(() => {});
  assert.deepEqual(await answer(natives[0], 'read', { entries: [], more: false }), { chat: 'c1', before: 7, limit: 100 });
  for (const method of ['allow', 'toString', '__proto__', 'servers']) await assert.rejects(panel.call(method, {}), /unknown method/);
  await assert.rejects(panel.call('prompt', { chat: 'c1', text: 'ä'.repeat(33 << 10) }), /longer than 64 KiB/);
  assert.equal(natives[0].sent.length, 2);
});

test('"Ask about this" reaches the panel of its window only', async () => {
  const { chats } = await setUp();
  const [here, there] = [openPanel(chats, 1), openPanel(chats, 2)];
  /** @type {any[]} */
  const opened = [];
  chrome.sidePanel.open = /** @type {any} */ (async (/** @type {any} */ o) => opened.push(o));
  chats.ask(/** @type {any} */ ({ selectionText: 'words', pageUrl: 'https://a.test/' }), /** @type {any} */ (open[2]));
  assert.deepEqual(opened, [{ windowId: 2 }], 'opened before any await');
  await settled();
  const asks = (/** @type {any} */ p) => p.port.sent.filter((/** @type {any} */ m) => m.type === 'ask').map((/** @type {any} */ m) => m.ask);
  assert.deepEqual(asks(there), [{ text: 'words', url: 'https://a.test/', title: 'C' }]);
  assert.deepEqual(asks(here), []);
  chats.ask(/** @type {any} */ ({ pageUrl: 'https://x.test/' }), /** @type {any} */ ({ ...open[0], windowId: 3 }));
  const late = openPanel(chats, 3);
  await settled();
  assert.deepEqual(asks(late).length, 1);
  chats.ask(/** @type {any} */ ({ pageUrl: `https://a.test/?${'x'.repeat(1 << 21)}`, selectionText: 'y' }), /** @type {any} */ (open[0]));
  await settled();
  assert.equal(asks(here)[0].url.length, 4 << 10);
});
