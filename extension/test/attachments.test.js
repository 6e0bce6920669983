// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compile } from '../policy.js';
import { Attachments } from '../attachments.js';
import { SHORT_TIMEOUT_MS } from '../timeout.js';

/**
 * Sets up a browser whose debugger responds to attach with the given answers: an error,
 * or null for success.
 *
 * @param {(string | null)[]} answers
 */
function setUp(answers) {
  /** @type {string[]} */
  const calls = [];
  Object.assign(globalThis, { chrome: {
    debugger: {
      attach: async () => {
        calls.push('attach');
        const error = answers.shift();
        if (error) throw new Error(error);
      },
      detach: async () => {
        calls.push('detach');
      },
      sendCommand: async () => ({}),
      getTargets: async () => [{ id: 'T7', tabId: 7, type: 'page' }],
    },
    tabs: { get: async () => ({ id: 7, url: 'https://example.com/' }) },
  } });
  let rules = 0;
  const attachments = new Attachments(/** @type {any} */ ({ installRules: async () => { rules++; } }));
  const connection = /** @type {any} */ ({ state: 'connected', generation: 1 });
  return { attachments, connection, calls, rules: () => rules, attach: () => attachments.attach(connection, 7, () => /** @type {any} */ ({}), false) };
}

const ALREADY_ATTACHED = 'Another debugger is already attached to the tab with id: 7.';

test('the attachment of a previous worker is taken over', async () => {
  const { attach, calls, attachments, connection } = setUp([ALREADY_ATTACHED, null]);
  await attach();
  assert.deepEqual(calls, ['attach', 'detach', 'attach']);
  assert.ok(attachments.currentOf(connection, 7));
});

test("another debugger is reported, and the tab is not attached", async () => {
  const { attach, attachments, connection, rules } = setUp([ALREADY_ATTACHED, ALREADY_ATTACHED]);
  await assert.rejects(attach(), (/** @type {any} */ e) => e.code === 'DEVTOOLS_OPEN' && /close the developer tools/.test(e.message));
  assert.equal(attachments.currentOf(connection, 7), undefined);
  assert.equal(attachments.byTab.size, 0);
  assert.equal(rules(), 2, 'the network rules are removed');
});

test('targets that cannot be debugged give a readable error', async () => {
  for (const why of ['Cannot access a chrome:// URL', 'The extensions gallery cannot be scripted.', 'Cannot attach to this target.']) {
    const { attach, attachments } = setUp([why]);
    await assert.rejects(attach(), (/** @type {any} */ e) => typeof e.code === 'string' && e.code !== 'INTERNAL' && e.message.length > 20);
    assert.equal(attachments.byTab.size, 0);
  }
});

test('a browser that does not respond does not block attach', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { attach } = setUp([]);
  chrome.debugger.attach = /** @type {any} */ (() => new Promise(() => {}));
  let ended = false;
  const rejected = assert.rejects(attach(), /in time/).finally(() => {
    ended = true;
  });
  while (!ended) {
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(SHORT_TIMEOUT_MS);
  }
  await rejected;
});

test('a tab that shows an error page when it is attached gets no input', async () => {
  const { attach, attachments, connection } = setUp([null]);
  await attach();
  chrome.debugger.sendCommand = /** @type {any} */ (async (/** @type {any} */ _, /** @type {string} */ method) => (
    method === 'Page.getFrameTree' ? { frameTree: { frame: { id: 'T7', url: 'chrome-error://chromewebdata/' } } } : {}));
  const attachment = /** @type {any} */ (attachments.currentOf(connection, 7));
  attachment.rules = compile({ allow: ['example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] });
  await attachment.command('', 'Page.getFrameTree', {}, SHORT_TIMEOUT_MS);
  assert.throws(() => attachment.command('', 'Input.insertText', { text: 'thisisunsafe' }, SHORT_TIMEOUT_MS), (/** @type {any} */ e) => e.code === 'POLICY_DENIED');
});

/**
 * Checks that a page because of which all commands fail is left by a navigation, and nothing else.
 *
 * @param {string} error of the commands
 * @param {string} what our error names
 */
async function isLeftByNavigation(error, what) {
  const { attach, attachments, connection } = setUp([null]);
  await attach();
  chrome.debugger.sendCommand = /** @type {any} */ (async () => {
    throw new Error(error);
  });
  /** @type {any[]} */
  const opened = [];
  chrome.tabs.update = /** @type {any} */ (async (/** @type {number} */ id, /** @type {any} */ change) => {
    opened.push([id, change]);
  });
  const attachment = /** @type {any} */ (attachments.currentOf(connection, 7));
  attachment.rules = compile({ allow: ['example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] });
  attachments.delegate.acting = () => {};
  const command = (/** @type {string} */ method, params = {}, client = '') => (async () => attachment.command('', method, params, SHORT_TIMEOUT_MS, client))();
  for (const [client, advice] of [['', `${what}.*: navigate to another URL`], ['c1', `${what}.*: close the tab`]]) {
    await assert.rejects(command('Page.reload', {}, client), (/** @type {any} */ e) => e.code === 'POLICY_DENIED' && new RegExp(advice).test(e.message));
  }
  await assert.rejects(command('Page.navigate', { url: 'https://other.test/' }), /other\.test/);
  assert.deepEqual(opened, []);
  assert.deepEqual(await command('Page.navigate', { url: 'https://example.com/next' }), { frameId: 'T7' });
  assert.deepEqual(opened, [[7, { url: 'https://example.com/next' }]]);
}

test('a warning of the browser is left by a navigation, and nothing else',
  () => isLeftByNavigation('Cannot attach to this target.', 'warning of the browser'));

test('a page with a frame of a browser extension is left by a navigation, and nothing else',
  () => isLeftByNavigation('Cannot access a chrome-extension:// URL of different extension', 'frame of a browser extension'));

test('attaching to a warning of the browser fails with its reason', async () => {
  const { attach } = setUp(['Cannot attach to this target.']);
  await assert.rejects(attach(), /warning of the browser.*: ask the user to leave it, or open another tab/);
});

test('a popup window is attached with the network settings of its opener, and its events are stored', async () => {
  const { attach, attachments, connection, calls } = setUp([null]);
  chrome.debugger.sendCommand = /** @type {any} */ (async (/** @type {any} */ target, /** @type {string} */ method) => {
    calls.push(`${target.tabId} ${method}`);
    return {};
  });
  /** @type {string[]} */
  const events = [];
  Object.assign(connection, { send: (/** @type {any} */ frame) => events.push(frame.data.method) });
  const event = (/** @type {string} */ method) => attachments.onEvent({ tabId: 7 }, method, { frame: { id: 'T7', url: 'https://example.com/' } });
  Object.assign(attachments.delegate, { topDocumentChanged: () => {} });
  event('Network.requestWillBeSent'); // of a tab that is not driven
  attachments.preattach(7, /** @type {any} */ ({ networkParams: { maxTotalBufferSize: 0 } }));
  assert.deepEqual(calls, ['attach', '7 Network.enable', '7 Page.enable'], 'without waiting for a response');
  for (const method of ['Network.responseReceived', 'Page.frameNavigated']) event(method);
  assert.deepEqual(events, []);
  await attach();
  event('Network.loadingFinished');
  assert.deepEqual(events, ['Network.responseReceived', 'Page.frameNavigated', 'Network.loadingFinished']);
});

/**
 * Sets up a browser that sends events of tab 7 during the first attach.
 *
 * @param {[method: string, params: any][]} early
 */
function eventful(early) {
  const { attach, attachments, connection, calls } = setUp([]);
  /** @type {[string, any][]} */
  const sent = [];
  Object.assign(connection, { send: (/** @type {any} */ message) => sent.push([message.data.method, message.data.params]) });
  Object.assign(attachments.delegate, { topDocumentChanged: () => {} });
  const { getTargets } = chrome.debugger;
  chrome.debugger.getTargets = async () => {
    for (const [method, params] of early.splice(0)) attachments.onEvent({ tabId: 7 }, method, params);
    return getTargets();
  };
  return { attach, attachments, connection, calls, sent };
}

/** @param {number} n @param {string} method @param {any} params @returns {[string, any][]} */
const repeat = (n, method, params) => Array.from({ length: n }, () => [method, params]);

test('a page cannot displace the events of frames, documents and dialogs while it is attached', async () => {
  /** @type {[string, any][]} */
  const state = [
    ['Page.frameAttached', { frameId: 'F', parentFrameId: 'T7' }],
    ['Page.frameNavigated', { frame: { id: 'F', parentId: 'T7', url: 'https://frame.test/' } }],
    ['Page.frameNavigated', { frame: { id: 'T7', url: 'https://example.com/before' } }],
    ['Page.navigatedWithinDocument', { frameId: 'T7', url: 'https://example.com/now' }],
    ['Page.javascriptDialogOpening', { type: 'alert' }],
    ['Page.frameDetached', { frameId: 'F', reason: 'remove' }],
    ['Runtime.executionContextCreated', { context: { id: 1, uniqueId: 'u1', origin: 'https://example.com', name: '', auxData: { frameId: 'T7', isDefault: true } } }],
    ['Target.attachedToTarget', { sessionId: 's', targetInfo: { targetId: 'G', type: 'iframe', url: 'https://frame.test/' } }],
    ['Target.detachedFromTarget', { sessionId: 's' }],
    ['Page.downloadWillBegin', { url: 'https://example.com/file' }],
  ];
  const flood = ['Network.dataReceived', 'Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'Log.entryAdded'].flatMap((method) => repeat(2000, method, {}));
  const { attach, attachments, connection, sent } = eventful([...flood, ...state.flatMap((event) => [event, ...flood])]);
  Object.assign(attachments.delegate, { download: () => {} });
  await attach();
  assert.deepEqual(sent.filter(([method]) => !flood.some(([other]) => other === method)), state);
  assert.equal(sent.length - state.length, 1000, 'the others are dropped');
  const { documents, dialog } = /** @type {any} */ (attachments.currentOf(connection, 7));
  assert.equal(documents.url, 'https://example.com/now');
  assert.equal(documents.urlOfFrame('F'), undefined);
  assert.equal(dialog, 'other');
});

test('a tab of which not all changes can be stored is not attached', async () => {
  const { attach, attachments, connection, calls, sent } = eventful([
    ...repeat(10_000, 'Page.frameAttached', { frameId: 'F', parentFrameId: 'T7' }), ['Page.frameNavigated', { frame: { id: 'T7', url: 'https://other.test/' } }],
  ]);
  await assert.rejects(attach(), (/** @type {any} */ e) => e.code === 'BACKPRESSURE' && /more than 10000 events/.test(e.message));
  assert.equal(attachments.byTab.size, 0);
  assert.deepEqual([calls, sent], [['attach', 'detach'], []]);
  await attach();
  assert.ok(attachments.currentOf(connection, 7), 'the next attempt starts without them');
  assert.deepEqual(sent, []);
});

/** Sets up a tab that tab 5 opened, whose commands fail with the given errors, and then succeed. @param {string[]} errors */
function opened(errors) {
  const result = setUp([null]);
  Object.assign(chrome.debugger, {
    getTargets: async () => [{ id: 'T7', tabId: 7, type: 'page' }, { id: 'T5', tabId: 5, type: 'page', url: 'https://user.test/' }],
    sendCommand: async (/** @type {any} */ _, /** @type {string} */ method) => {
      if (method !== 'Target.getTargetInfo') return {};
      const error = errors.shift();
      if (error) throw new Error(error);
      return { targetInfo: { canAccessOpener: true, openerId: 'T5' } };
    },
  });
  chrome.tabs.get = /** @type {any} */ (async () => ({ id: 7, url: 'https://example.com/', openerTabId: 5 }));
  const opener = () => /** @type {any} */ (result.attachments.currentOf(result.connection, 7))?.opener;
  return { ...result, opener };
}

test('the tab that opened a tab is known, also if its page rejects commands', async () => {
  for (const error of ['', 'Cannot access contents of url "tel:1"', 'Cannot access a chrome-extension:// URL of different extension']) {
    const { attach, opener, rules } = opened([error]);
    await attach();
    assert.deepEqual(opener(), { tabId: 5, url: 'https://user.test/' }, error);
    assert.equal(rules(), 2, 'the network rules follow');
  }
});

test('a tab of which it is unknown what opened it is not attached', async () => {
  const { attach, opener, calls, attachments } = opened(['no response']);
  await assert.rejects(attach(), /no response/);
  assert.equal(opener(), undefined);
  assert.equal(attachments.byTab.size, 0);
  assert.deepEqual(calls, ['attach', 'detach']);
});

/** Sets up a browser that responds to attach only when respond is called. */
function slow() {
  const result = setUp([null, null, null]);
  const { attach } = chrome.debugger;
  /** @type {(() => void)[]} */
  const waiting = [];
  chrome.debugger.attach = /** @type {any} */ ((/** @type {any} */ target) => new Promise((resolve) => waiting.push(() => resolve(attach(target, '1.3')))));
  const respond = async () => {
    waiting.shift()?.();
    await new Promise((resolve) => setImmediate(resolve));
  };
  return { ...result, respond };
}

test('a debugger that is attached after the timeout is detached', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  for (const begin of [
    (/** @type {ReturnType<typeof slow>} */ { attach }) => assert.rejects(attach(), /in time/),
    async (/** @type {ReturnType<typeof slow>} */ { attachments }) => {
      attachments.preattach(7, /** @type {any} */ ({ networkParams: null }));
      await attachments.undoPreattach(7);
    },
  ]) {
    const browser = slow();
    const ended = begin(browser);
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(SHORT_TIMEOUT_MS);
    await ended;
    assert.deepEqual(browser.calls, []);
    await browser.respond();
    assert.deepEqual(browser.calls, ['attach', 'detach']);
  }
});

test('a late attach does not detach the debugger of a later one', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { attach, attachments, connection, calls, respond } = slow();
  const first = assert.rejects(attach(), /in time/);
  await new Promise((resolve) => setImmediate(resolve));
  t.mock.timers.tick(SHORT_TIMEOUT_MS);
  await first;
  const second = attach();
  await new Promise((resolve) => setImmediate(resolve));
  await respond();
  await respond();
  await second;
  assert.deepEqual(calls, ['attach', 'attach']);
  assert.ok(attachments.currentOf(connection, 7));
});
