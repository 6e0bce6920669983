// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Attachments } from '../attachments.js';
import { compile } from '../policy.js';
import { INPUT_BLOCK_SCRIPTS } from '../wire.js';

/** Commands sent to the browser. @type {string[]} */
let sent = [];

/** Results of the browser, by method. @type {Record<string, any>} */
let answers = {};

/** Called before the browser responds. */
let during = () => {};

/** @type {any} */ (globalThis).chrome = {
  debugger: {
    attach: async () => {},
    detach: async () => {},
    sendCommand: async (/** @type {any} */ _, /** @type {string} */ method) => {
      sent.push(method);
      during();
      return answers[method] ?? {};
    },
    getTargets: async () => [{ id: 'T', tabId: 1, type: 'page' }],
  },
  tabs: { get: async () => ({ id: 1, url: 'https://example.com/' }) },
};

/** Waits until no promise is pending. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

/** Advances the mocked time. @param {import('node:test').TestContext} t @param {number} ms */
async function advance(t, ms) {
  for (let passed = 0; passed < ms; passed += 10) {
    await settled();
    t.mock.timers.tick(10);
  }
  await settled();
}

/** Attaches the debugger to a tab. */
async function attached() {
  answers = {};
  during = () => {};
  /** @type {any[]} */
  const events = [];
  /** @type {any} */
  const connection = { generation: 1, state: 'connected', send: (/** @type {any} */ frame) => events.push(frame) };
  const attachments = new Attachments(/** @type {any} */ ({
    installRules: async () => {}, detached: () => {}, canceled: () => {}, acting: () => {}, askEval: () => {}, evalAnswer: () => undefined,
    download: () => {}, topDocumentChanged: () => {},
  }));
  await attachments.attach(connection, 1, () => compile({ allow: ['example.com', 'sub.example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] }, ['example.com/account']), false);
  const a = attachments.currentOf(connection, 1);
  assert.ok(a);
  sent = [];
  /** @param {string} sessionId @param {string} method @param {any} params */
  const outcome = async (sessionId, method, params) => {
    try {
      await a.command(sessionId, method, params, 1000);
      return 'sent';
    } catch (e) {
      return /** @type {any} */ (e).code;
    }
  };
  /** @param {string} method @param {any} params @param {string} [sessionId] */
  const event = (method, params, sessionId) => attachments.onEvent({ tabId: 1, sessionId }, method, params);
  /** @param {number} id @param {string} frame @param {string} [sessionId] @param {string} [origin] @param {string} [name] */
  const world = (id, frame, sessionId, origin = 'https://example.com', name = 'w') => event('Runtime.executionContextCreated', {
    context: { id, uniqueId: `u${id}`, origin, name, auxData: { isDefault: name === '', frameId: frame } },
  }, sessionId);
  await a.command('', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.block})()`, worldName: 'w' }, 1000);
  sent = [];
  return { attachments, a, events, outcome, event, world };
}

const ACCOUNT = 'https://example.com/account';

test('a document at a blocked path by pushState is not readable', async () => {
  const { outcome, event, world } = await attached();
  world(1, 'T');
  world(2, 'F');
  world(3, 'F', '', 'https://example.com', '');
  const read = async () => [
    await outcome('', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }), await outcome('', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u2' }),
    await outcome('', 'Accessibility.getFullAXTree', {}), await outcome('', 'Accessibility.getFullAXTree', { frameId: 'F' }), await outcome('', 'Page.captureScreenshot', {}),
  ];
  const none = ['POLICY_DENIED', 'POLICY_DENIED', 'POLICY_DENIED', 'POLICY_DENIED', 'POLICY_DENIED'];
  assert.deepEqual(await read(), ['sent', 'sent', 'sent', 'sent', 'sent']);
  for (const [method, params] of /** @type {[string, any][]} */ ([
    ['Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT }], ['Page.documentOpened', { frame: { id: 'T', url: ACCOUNT } }],
  ])) {
    event(method, params);
    const [top, frame, ...rest] = await read();
    assert.deepEqual([top, 'POLICY_DENIED', ...rest], none, method);
    assert.equal(frame, 'sent', 'it is another document');
    event('Page.navigatedWithinDocument', { frameId: 'T', url: 'https://example.com/' });
    assert.deepEqual(await read(), ['sent', 'sent', 'sent', 'sent', 'sent']);
  }
  event('Page.navigatedWithinDocument', { frameId: 'F', url: ACCOUNT });
  assert.deepEqual(await read(), ['sent', 'POLICY_DENIED', 'sent', 'POLICY_DENIED', 'sent']);
});

test('commands that the browser rejects because of the pending URL are sent again, in order', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { outcome, a } = await attached();
  const rejected = 'Cannot access contents of url "tel:+1". Extension manifest must request permission to access this host.';
  let times = 4;
  during = () => {
    if (times-- > 0) throw new Error(rejected);
  };
  const first = [outcome('', 'Input.dispatchMouseEvent', { type: 'mousePressed', x: 1, y: 1, button: 'left' }), outcome('', 'Input.dispatchKeyEvent', { type: 'keyDown' })];
  const [press, key] = ['Input.dispatchMouseEvent', 'Input.dispatchKeyEvent'];
  await settled();
  assert.deepEqual(sent, [press, key], 'both are rejected once');
  const last = outcome('', 'Page.getLayoutMetrics', {});
  await advance(t, 500);
  assert.deepEqual(await Promise.all([...first, last]), ['sent', 'sent', 'sent']);
  assert.deepEqual(sent, [press, key, press, press, press, key, 'Page.getLayoutMetrics']);
  assert.equal(a.order.pending, 0);
});

test('commands whose check is asynchronous, and those after them, follow a command that is sent again', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { outcome } = await attached();
  const [press, history, go, key] = ['Input.dispatchMouseEvent', 'Page.getNavigationHistory', 'Page.navigateToHistoryEntry', 'Input.dispatchKeyEvent'];
  let rejects = true;
  during = () => {
    if (!rejects || sent.at(-1) !== press) return;
    throw new Error('Cannot access contents of url "tel:+1". Extension manifest must request permission to access this host.');
  };
  /** @type {(history: any) => void} */
  let answer = () => {};
  answers[history] = new Promise((resolve) => { answer = resolve; });
  const all = [
    outcome('', press, { type: 'mousePressed', x: 1, y: 1, button: 'left' }), outcome('', go, { entryId: 1 }), outcome('', key, { type: 'keyDown' }),
  ];
  await advance(t, 100);
  all.push(outcome('', 'Page.getLayoutMetrics', {}));
  answer({ entries: [{ id: 1, url: 'https://example.com/' }] });
  await advance(t, 100);
  assert.ok(!sent.includes(go) && !sent.includes(key), sent.join(' '));
  rejects = false;
  sent = [];
  await advance(t, 500);
  assert.deepEqual(await Promise.all(all), ['sent', 'sent', 'sent', 'sent']);
  assert.deepEqual(sent, [press, history, go, key, 'Page.getLayoutMetrics']);
});

test('a rejected command is not sent after its timeout, to another document, or after the tab was released', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout', 'Date'] });
  const { attachments, a, outcome, event } = await attached();
  let rejects = true;
  during = () => {
    if (rejects) throw new Error('Cannot access contents of url "tel:+1". Extension manifest must request permission to access this host.');
  };
  const click = () => outcome('', 'Input.dispatchMouseEvent', { type: 'mousePressed', x: 1, y: 1, button: 'left' });

  const late = a.command('', 'Page.getLayoutMetrics', {}, 100).then(() => 'sent', (e) => e.message);
  await advance(t, 120);
  rejects = false;
  sent = [];
  assert.match(await late, /did not finish in time|opens the URL/);
  await advance(t, 100);
  assert.deepEqual(sent, []);

  rejects = true;
  const both = [click(), click()];
  await settled();
  event('Page.frameNavigated', { frame: { id: 'T', url: 'https://example.com/' } }); // a reload
  rejects = false;
  sent = [];
  await advance(t, 500);
  assert.deepEqual(await Promise.all(both), ['CDP_ERROR', 'CDP_ERROR']);
  assert.deepEqual(sent, []);

  rejects = true;
  const released = click();
  await settled();
  void attachments.release(1);
  rejects = false;
  sent = [];
  await advance(t, 500);
  assert.equal(await released, 'CDP_ERROR');
  assert.ok(!sent.includes('Input.dispatchMouseEvent'));
});

test('console events at a blocked path are not sent', async () => {
  const { event, events } = await attached();
  const report = () => {
    events.length = 0;
    for (const method of ['Runtime.consoleAPICalled', 'Runtime.exceptionThrown', 'DOM.characterDataModified', 'Accessibility.nodesUpdated']) event(method, {});
    return events.length;
  };
  assert.equal(report(), 4);
  event('Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT });
  assert.equal(report(), 0);
});

test('what a frame reports at a blocked path is not sent', async () => {
  const { event, events, world } = await attached();
  world(1, 'T', '', 'https://example.com', '');
  world(2, 'F', '', 'https://example.com', '');
  event('Target.attachedToTarget', { sessionId: 's', targetInfo: { targetId: 'G', type: 'iframe', url: 'https://example.com/frame' } });
  const report = () => {
    events.length = 0;
    for (const id of [1, 2]) event('Runtime.consoleAPICalled', { executionContextId: id });
    event('Runtime.exceptionThrown', { exceptionDetails: { executionContextId: 2 } });
    event('Runtime.consoleAPICalled', { executionContextId: 9 }, 's');
    return events.map(({ data: { params, sessionId } }) => sessionId ?? params.executionContextId ?? params.exceptionDetails.executionContextId);
  };
  assert.deepEqual(report(), [1, 2, 2, 's']);
  event('Page.navigatedWithinDocument', { frameId: 'F', url: ACCOUNT });
  assert.deepEqual(report(), [1, 's']);
  event('Page.navigatedWithinDocument', { frameId: 'G', url: ACCOUNT }, 's');
  assert.deepEqual(report(), [1]);
});

test('a read is denied if the document moves to a blocked path during it', async () => {
  const { outcome, event, world } = await attached();
  world(1, 'T');
  answers = { 'Runtime.evaluate': { result: {} }, 'Page.captureScreenshot': { data: '' } };
  during = () => event('Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT });
  assert.equal(await outcome('', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }), 'POLICY_DENIED');
  event('Page.navigatedWithinDocument', { frameId: 'T', url: 'https://example.com/' });
  assert.equal(await outcome('', 'Page.captureScreenshot', {}), 'POLICY_DENIED');
  assert.deepEqual(sent, ['Runtime.evaluate', 'Page.captureScreenshot']);
});

test('the result of a client is denied if it may contain a document that appeared after the check', async (t) => {
  const { attachments, a, event, world } = await attached();
  t.mock.method(attachments.delegate, 'evalAnswer', (/** @type {any} */ _, /** @type {string} */ origin) => origin === 'https://example.com' || undefined);
  const asked = t.mock.method(attachments.delegate, 'askEval');
  let frame = 'about:blank';
  chrome.webNavigation = /** @type {any} */ ({ getAllFrames: async () => [{ frameId: 0, url: a.documents.url }, { frameId: 1, url: frame }] });
  const reset = () => {
    during = () => {};
    frame = 'about:blank';
    event('Page.frameNavigated', { frame: { id: 'T', url: 'https://example.com/' } });
  };
  const moves = {
    path: () => event('Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT }),
    site: () => event('Page.frameNavigated', { frame: { id: 'T', url: 'https://sub.example.com/' } }),
    frame: () => {
      frame = ACCOUNT;
      event('Page.navigatedWithinDocument', { frameId: 'F', url: ACCOUNT });
    },
    reload: () => event('Page.frameNavigated', { frame: { id: 'T', url: 'https://example.com/' } }),
  };
  const run = async (/** @type {string} */ method, /** @type {any} */ params, /** @type {() => void} */ move) => {
    reset();
    world(1, 'T', '', 'https://example.com', '');
    answers[method] = { data: 'content' };
    let moved = false;
    during = () => {
      if (moved || sent.at(-1) !== method) return;
      moved = true;
      move();
    };
    sent = [];
    try {
      await a.command('', method, params, 1000, 'client');
      return 'sent';
    } catch (e) {
      assert.ok(sent.includes(method), `${method} was sent`);
      return /** @type {any} */ (e).code;
    } finally {
      delete answers[method];
    }
  };
  for (const method of ['Page.captureSnapshot', 'DOMSnapshot.captureSnapshot', 'DOMSnapshot.getSnapshot', 'Page.getResourceTree', 'Page.getAppManifest', 'CSS.getStyleSheetText',
    'Debugger.getScriptSource', 'DOM.getDocument', 'DOM.getOuterHTML', 'Accessibility.getFullAXTree', 'Page.captureScreenshot', 'Page.printToPDF', 'IO.read']) {
    const got = [await run(method, {}, moves.path), await run(method, {}, moves.site), await run(method, {}, moves.frame), await run(method, {}, moves.reload)];
    assert.deepEqual(got, ['POLICY_DENIED', 'POLICY_DENIED', 'POLICY_DENIED', 'sent'], method);
  }
  assert.equal(await run('Page.getResourceContent', { frameId: 'T', url: 'https://example.com/' }, moves.path), 'POLICY_DENIED');
  assert.equal(await run('Runtime.evaluate', { expression: 'x', contextId: 1 }, moves.path), 'POLICY_DENIED');
  assert.equal(await run('Runtime.evaluate', { expression: 'x', contextId: 1 }, () => {
    event('Runtime.executionContextsCleared', {});
    moves.site();
  }), 'sent', 'it is of the document before');
  for (const [method, params] of /** @type {[string, any][]} */ ([
    ['Page.navigate', { url: 'https://example.com/' }], ['Page.addScriptToEvaluateOnNewDocument', { source: '', worldName: 'mine' }], ['Page.getLayoutMetrics', {}],
    ['Network.setCookie', { name: 'a', value: 'b', url: 'https://example.com/' }],
  ])) assert.equal(await run(method, params, moves.site), 'sent', method);
  assert.equal(asked.mock.callCount(), 0, 'the user is not asked about a result');
});

test('the result of an action is not denied because of the document that it opens', async () => {
  const { outcome, event } = await attached();
  during = () => event('Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT });
  assert.equal(await outcome('', 'Input.dispatchMouseEvent', { type: 'mousePressed', x: 1, y: 1, button: 'left' }), 'sent');
});

test('the result of a tool is denied if its frame moves to a blocked path', async () => {
  const { outcome, event, world } = await attached();
  world(1, 'F');
  world(2, 'F', '', 'https://example.com', '');
  answers['Accessibility.getFullAXTree'] = { nodes: [] };
  answers['Runtime.evaluate'] = { result: {} };
  answers['Runtime.callFunctionOn'] = { result: {} };
  for (const [method, params] of /** @type {[string, any][]} */ ([['Accessibility.getFullAXTree', { frameId: 'F' }], ['Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }]])) {
    event('Page.navigatedWithinDocument', { frameId: 'F', url: 'https://example.com/' });
    during = () => event('Page.navigatedWithinDocument', { frameId: 'F', url: ACCOUNT });
    assert.equal(await outcome('', method, params), 'POLICY_DENIED', method);
  }
  for (const [method, params] of /** @type {[string, any][]} */ ([
    ['Runtime.evaluate', { expression: '1' }], ['Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block, uniqueContextId: 'u1' }],
  ])) {
    during = () => event('Page.navigatedWithinDocument', { frameId: 'T', url: ACCOUNT });
    assert.equal(await outcome('', method, params), 'sent', `${method} is allowed in denied documents`);
  }
});

test('an out-of-process frame is readable only if its document is known', async () => {
  const { outcome, event, world } = await attached();
  const session = (/** @type {string} */ id, /** @type {string} */ url) => event('Target.attachedToTarget', { sessionId: id, targetInfo: { targetId: `F${id}`, type: 'iframe', url } });
  const read = (/** @type {string} */ id) => outcome(id, 'Accessibility.getFullAXTree', {});
  session('1', 'https://example.com/frame');
  session('2', '');
  assert.deepEqual(sent, ['Page.enable', 'Page.enable']); // to receive its events
  assert.equal(await read('1'), 'sent');
  event('Page.navigatedWithinDocument', { frameId: 'F1', url: ACCOUNT }, '1');
  assert.equal(await read('1'), 'POLICY_DENIED');
  assert.equal(await read('2'), 'POLICY_DENIED');
  answers['Page.getFrameTree'] = { frameTree: { frame: { id: 'F2', url: 'https://evil.test/' } } };
  assert.equal(await read('2'), 'POLICY_DENIED');
  session('2', '');
  answers['Page.getFrameTree'] = { frameTree: { frame: { id: 'F2', url: 'https://example.com/x' } } };
  assert.equal(await read('2'), 'sent');
  assert.equal(await read('3'), 'POLICY_DENIED');
  session('4', 'about:srcdoc'); // an inline document
  assert.equal(await read('4'), 'POLICY_DENIED');
  world(1, 'F4', '4', '://', '');
  assert.equal(await read('4'), 'POLICY_DENIED');
  world(2, 'F5', '5', 'https://example.com', '');
  session('5', 'about:srcdoc');
  assert.equal(await read('5'), 'sent');
});

test('scripts run only in worlds of the server in documents with an origin', async () => {
  const { outcome, world } = await attached();
  world(1, 'F', '', '://'); // in a sandbox
  world(2, 'T', '', 'chrome-extension://abcdefgh', 'w'); // another extension's, with the same name
  world(3, 'T', '', 'chrome-extension://abcdefgh', 'Other');
  world(4, 'T', '', 'https://example.com', 'Other');
  for (const id of [1, 2, 3, 4]) assert.equal(await outcome('', 'Runtime.evaluate', { expression: 'x', uniqueContextId: `u${id}` }), 'POLICY_DENIED', `world ${id}`);
  world(5, 'T');
  assert.equal(await outcome('', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u5' }), 'sent');
});

test('events that carry the cookies of all sites are not sent', async () => {
  const { attachments, events } = await attached();
  for (const method of ['Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo', 'Network.webSocketWillSendHandshakeRequest', 'Network.loadingFinished']) {
    attachments.onEvent({ tabId: 1 }, method, { requestId: 'r' });
  }
  assert.deepEqual(events.map((frame) => frame.data.method), ['Network.loadingFinished']);
  events.length = 0;
  attachments.onEvent({ tabId: 1 }, 'Fetch.requestPaused', {
    requestId: 'r', request: { url: 'https://x.test/', headers: { Accept: '*/*', Cookie: 'secret' } },
    responseHeaders: [{ name: 'Content-Type', value: 'text/html' }, { name: 'set-cookie', value: 'secret' }],
  });
  assert.deepEqual(events[0].data.params, {
    requestId: 'r', request: { url: 'https://x.test/', headers: { Accept: '*/*' } }, responseHeaders: [{ name: 'Content-Type', value: 'text/html' }],
  });
});

test('events of a document on whose site the user has not allowed scripts are marked', async (t) => {
  const { attachments, a, event, events, world } = await attached();
  t.mock.method(attachments.delegate, 'evalAnswer', (/** @type {any} */ _, /** @type {string} */ origin) => (origin === 'https://example.com' ? true : undefined));
  await a.command('', 'Page.enable', {}, 1000, 'client');
  const other = 'https://sub.example.com';
  world(1, 'T', '', 'https://example.com', '');
  world(2, 'F', '', other, '');
  world(3, 'T', '', 'chrome-extension://abcdefgh', 'Other');
  event('Page.frameNavigated', { frame: { id: 'F', parentId: 'T', url: `${other}/frame` } });
  event('Target.attachedToTarget', { sessionId: 's', targetInfo: { targetId: 'G', type: 'iframe', url: `${other}/other` } });
  event('Target.attachedToTarget', { sessionId: 'w', targetInfo: { targetId: 'W', type: 'worker', url: 'https://example.com/worker.js' } });
  /** @param {string} method @param {any} params @param {string} [sessionId] */
  const marked = (method, params, sessionId) => {
    events.length = 0;
    event(method, params, sessionId);
    const [{ data: { denied, noConsent } }] = events;
    return denied ? 'denied' : noConsent ? 'no consent' : 'sent';
  };
  for (const [want, method, params, sessionId] of /** @type {[string, string, any, string?][]} */ ([
    ['sent', 'Runtime.consoleAPICalled', { executionContextId: 1 }],
    ['no consent', 'Runtime.consoleAPICalled', { executionContextId: 2 }],
    ['no consent', 'Runtime.consoleAPICalled', { executionContextId: 3 }],
    ['no consent', 'Runtime.exceptionThrown', { exceptionDetails: { executionContextId: 2 } }],
    ['sent', 'Log.entryAdded', { entry: {} }],
    ['no consent', 'Log.entryAdded', { entry: {} }, 's'],
    ['sent', 'Log.entryAdded', { entry: {} }, 'w'],
    ['no consent', 'Accessibility.loadComplete', { root: {} }, 's'],
    ['no consent', 'Network.requestWillBeSent', { frameId: 'F', request: {} }],
    ['sent', 'Network.requestWillBeSent', { frameId: 'T', request: {} }],
    ['sent', 'Page.javascriptDialogOpening', { url: 'https://example.com/', type: 'alert' }],
    ['no consent', 'Page.javascriptDialogOpening', { url: `${other}/frame`, type: 'prompt' }],
    ['no consent', 'Page.javascriptDialogClosed', { userInput: 'x' }],
    ['denied', 'Page.javascriptDialogOpening', { url: ACCOUNT, type: 'prompt' }],
    ['sent', 'Page.javascriptDialogOpening', { url: 'about:blank', type: 'alert' }],
  ])) assert.equal(marked(method, params, sessionId), want, `${method} ${JSON.stringify(params)} ${sessionId}`);
  event('Page.frameNavigated', { frame: { id: 'T', url: `${other}/` } });
  assert.equal(marked('Log.entryAdded', { entry: {} }), 'no consent');
  event('Runtime.executionContextsCleared', {});
  event('Page.frameNavigated', { frame: { id: 'T', url: 'about:blank' } });
  assert.equal(marked('Runtime.consoleAPICalled', { executionContextId: 9 }), 'no consent');
  a.own = true;
  assert.equal(marked('Runtime.consoleAPICalled', { executionContextId: 9 }), 'sent', 'a blank page that the server opened');
});

test('a client accepts a dialog only with consent to the site of its document', async (t) => {
  const { attachments, a, event } = await attached();
  t.mock.method(attachments.delegate, 'evalAnswer', (/** @type {any} */ _, /** @type {string} */ origin) => origin === 'https://example.com' || undefined);
  const handle = async (/** @type {any} */ params) => {
    try {
      await a.command('', 'Page.handleJavaScriptDialog', params, 1000, 'client');
      return 'sent';
    } catch (e) {
      return /** @type {any} */ (e).code;
    }
  };
  event('Page.javascriptDialogOpening', { url: 'https://sub.example.com/', type: 'confirm' });
  assert.deepEqual([await handle({ accept: true }), await handle({}), await handle({ accept: false })], ['CONSENT_REQUIRED', 'CONSENT_REQUIRED', 'sent']);
  event('Page.javascriptDialogOpening', { url: 'https://example.com/', type: 'confirm' });
  assert.equal(await handle({ accept: true }), 'sent');
});

test('a client reads the response to a request after its event, unless a service worker may have it from another site', async (t) => {
  const { attachments, a, event } = await attached();
  t.mock.method(attachments.delegate, 'evalAnswer', () => true);
  chrome.webNavigation = /** @type {any} */ ({ getAllFrames: async () => [{ frameId: 0, url: a.documents.url }] });
  const read = async (/** @type {string} */ requestId) => {
    try {
      await a.command('', 'Network.getResponseBody', { requestId }, 1000, 'client');
      return 'sent';
    } catch (e) {
      return /** @type {any} */ (e).code;
    }
  };
  await a.command('', 'Network.enable', {}, 1000, 'client');
  for (const [type, fromServiceWorker, want] of /** @type {[string, boolean | undefined, string][]} */ ([
    ['Document', true, 'sent'], ['XHR', true, 'sent'], ['Fetch', true, 'POLICY_DENIED'], ['Script', true, 'POLICY_DENIED'], ['Image', true, 'POLICY_DENIED'],
    ['Fetch', false, 'sent'], ['Script', undefined, 'sent'],
  ])) {
    const requestId = `${type} ${fromServiceWorker}`;
    event('Network.requestWillBeSent', { requestId, request: { url: 'https://example.com/data' } });
    assert.equal(await read(requestId), 'CDP_ERROR', `${requestId} before the response`);
    event('Network.responseReceived', { requestId, type, response: { url: 'https://example.com/data', fromServiceWorker } });
    assert.equal(await read(requestId), want, requestId);
  }
});

test('a client receives a frame of its screencast only if the documents were checked and have not changed', async (t) => {
  const { attachments, a, events } = await attached();
  t.mock.method(attachments.delegate, 'evalAnswer', () => true);
  chrome.webNavigation = /** @type {any} */ ({ getAllFrames: async () => [{ frameId: 0, url: a.documents.url }] });
  const frame = async (/** @type {number} */ sessionId) => {
    events.length = 0;
    sent = [];
    attachments.onEvent({ tabId: 1 }, 'Page.screencastFrame', { data: '', sessionId });
    await settled();
    return [events.map((e) => e.data.method), sent.filter((method) => method.includes('creencast'))];
  };
  const navigate = (/** @type {string} */ url) => attachments.onEvent({ tabId: 1 }, 'Page.navigatedWithinDocument', { frameId: 'T', url });
  const again = [[], ['Page.stopScreencast', 'Page.startScreencast']];
  const delivered = [['Page.screencastFrame'], []];
  const dropped = [[], ['Page.screencastFrameAck']];

  await a.command('', 'Page.startScreencast', {}, 1000);
  assert.deepEqual(await frame(1), [[], []], 'the screencast of tools');
  await a.command('', 'Page.startScreencast', {}, 1000, 'client');
  assert.deepEqual(await frame(2), again, 'the first frame');
  assert.deepEqual(await frame(2), [[], []], 'a frame from before the restart');
  assert.deepEqual(await frame(3), delivered, 'a frame after it');
  navigate('https://example.com/account');
  assert.deepEqual(await frame(3), dropped, 'a denied document');
  navigate('https://example.com/');
  assert.deepEqual(await frame(3), again, 'the first frame after a denied document');
  assert.deepEqual(await frame(4), delivered);
  navigate('https://example.com/account');
  navigate('https://example.com/');
  assert.deepEqual(await frame(4), again, 'a denied document that was shown between two frames');
  attachments.committed(1);
  assert.deepEqual(await frame(5), again, 'a document of a frame without a session');
  assert.deepEqual(await frame(6), delivered);
  t.mock.method(attachments.delegate, 'evalAnswer', () => undefined);
  assert.deepEqual(await frame(6), dropped, 'without consent');
  await a.command('', 'Page.stopScreencast', {}, 1000, 'client');
  assert.deepEqual(await frame(6), [[], []], 'after the end');
});

test('excess console messages are dropped and counted', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let now = 1000;
  t.mock.method(performance, 'now', () => now);
  const { event, events } = await attached();
  const log = (/** @type {string} */ method, /** @type {string} */ session) => event(method, { args: [{ type: 'string', value: 'x'.repeat(1e5) }] }, session);
  const seen = () => events.splice(0).map(({ data: { method, sessionId, params } }) => (params.count === undefined ? method : [sessionId, params]));
  for (let i = 0; i < 1000; i++) log('Runtime.consoleAPICalled', '');
  const sent = seen();
  assert.ok(sent.length > 50 && sent.length < 100, `${sent.length} were sent`);
  log('Runtime.exceptionThrown', '');
  log('Runtime.consoleAPICalled', 's');
  event('Page.lifecycleEvent', {});
  assert.deepEqual(seen(), ['Runtime.exceptionThrown', 'Runtime.consoleAPICalled', 'Page.lifecycleEvent']);
  t.mock.timers.tick(300);
  assert.deepEqual(seen(), [[undefined, { method: 'Runtime.consoleAPICalled', count: 1000 - sent.length }]]);
  t.mock.timers.tick(300);
  assert.deepEqual(seen(), []);
  now += 1000;
  log('Runtime.consoleAPICalled', '');
  assert.deepEqual(seen(), ['Runtime.consoleAPICalled']);
});

test('context ids are dropped with Runtime.disable', async () => {
  const { attachments, a, outcome, world } = await attached();
  world(7, 'T');
  const evaluate = () => outcome('', 'Runtime.evaluate', { expression: 'x', contextId: 7 });
  assert.equal(await evaluate(), 'sent');
  // The next document may be in another process, which counts from 1, and its
  // worlds are not reported.
  await a.command('', 'Runtime.disable', {}, 1000);
  assert.equal(await evaluate(), 'CDP_ERROR');
  assert.deepEqual(sent, ['Runtime.evaluate', 'Runtime.disable']);
});
