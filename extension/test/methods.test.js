// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { redactResult, check, describe, checkMainWorld, METHOD_NAMES, needsSite } from '../methods.js';
import { compile } from '../policy.js';
import { INPUT_BLOCK_SCRIPTS, CONTENT_HIDING_SCRIPTS } from '../wire.js';

const policy = { allow: ['example.com', '*.example.com'], block: ['evil.example.com', 'example.com/admin'], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] };

/** @type {Record<number, import('../methods.js').World>} */
const worlds = {
  1: { main: true, ours: false, origin: 'https://example.com', frame: 'top' },
  2: { main: false, ours: true, origin: 'https://example.com', frame: 'top' },
  3: { main: false, ours: true, origin: 'https://evil.example.com' },
  4: { main: false, ours: true, origin: '', frame: 'top' },
  5: { main: true, ours: false, origin: '' },
  6: { main: false, ours: true, origin: '', frame: 'sandboxed' },
  7: { main: false, ours: false, origin: '', frame: 'top' }, // another extension's
  8: { main: false, ours: false, origin: 'https://example.com', frame: 'top' },
  9: { main: false, ours: true, origin: 'https://example.com', frame: 'admin' },
};

/** @type {string[]} */
let prompted = [];

/** @param {Partial<import('../methods.js').CommandContext>} [over] @returns {import('../methods.js').CommandContext} */
const context = (over) => ({
  rules: compile(policy), url: 'https://example.com/x', top: 'top', own: false, child: false, site: '', originOfFrame: (frame) => ({ mine: 'https://example.com', theirs: 'https://evil.example.com', admin: 'https://example.com', sandboxed: '' })[frame],
  urlOfFrame: (frame) => ({ top: over?.url ?? 'https://example.com/x', admin: 'https://example.com/admin/1' })[frame],
  worldById: (id) => worlds[id], worldByUnique: (unique) => worlds[Number(unique.slice(1))],
  evalAnswer: () => undefined, askEval: (origin) => prompted.push(origin),
  history: async () => [{ id: 7, url: 'https://evil.example.com/' }, { id: 8, url: 'https://example.com/' }],
  ...over,
});

/** @param {string} method @param {any} params @param {Partial<import('../methods.js').CommandContext>} [over] */
async function outcome(method, params, over) {
  prompted = [];
  try {
    await check(method, params, context(over));
    return 'allowed';
  } catch (e) {
    return /** @type {any} */ (e).code;
  }
}

test('commands are allowed or denied', async () => {
  for (const [want, method, params, over] of /** @type {[string, string, any, any?][]} */ ([
    ['POLICY_DENIED', 'No.suchMethod', {}],
    ['POLICY_DENIED', 'constructor', {}],
    ['POLICY_DENIED', '__proto__', {}],
    ['POLICY_DENIED', 'Network.getAllCookies', {}],
    ['POLICY_DENIED', 'Target.createTarget', {}],
    ['allowed', 'Page.enable', {}],
    ['allowed', 'Page.enable', {}, { url: 'https://evil.example.com/' }],
    ['allowed', 'Page.captureScreenshot', {}],
    ['POLICY_DENIED', 'Page.captureScreenshot', {}, { url: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Input.dispatchMouseEvent', {}, { url: 'chrome://settings/' }],
    ['allowed', 'Input.dispatchMouseEvent', {}, { child: true, site: 'https://www.example.com/' }],
    ['POLICY_DENIED', 'Input.dispatchMouseEvent', {}, { child: true, site: 'https://evil.example.com/' }],
    ['allowed', 'Page.captureScreenshot', {}, { url: 'chrome-error://chromewebdata/' }], // a certificate warning
    ['POLICY_DENIED', 'Input.dispatchMouseEvent', { type: 'mousePressed' }, { url: 'chrome-error://chromewebdata/' }],
    ['allowed', 'Input.dispatchMouseEvent', { type: 'mouseReleased' }, { url: 'chrome-error://chromewebdata/' }],
    ['POLICY_DENIED', 'Input.dispatchKeyEvent', { type: 'char', text: 'thisisunsafe' }, { url: 'chrome-error://chromewebdata/' }],
    ['POLICY_DENIED', 'Input.insertText', { text: 'thisisunsafe' }, { url: 'chrome-error://chromewebdata/' }],
    ['POLICY_DENIED', 'Input.imeSetComposition', { text: 't' }, { url: 'chrome-error://chromewebdata/' }],
    ['POLICY_DENIED', 'Input.dispatchTouchEvent', { type: 'touchStart' }, { url: 'chrome-error://chromewebdata/' }],

    ['allowed', 'Emulation.setUserAgentOverride', { userAgent: '' }, { url: 'https://evil.example.com/' }], // to undo it
    ['allowed', 'Network.emulateNetworkConditions', { offline: false }, { url: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' }], // affects the complete process
    ['POLICY_DENIED', 'Emulation.setLocaleOverride', { locale: 'nb-NO' }],
    ['POLICY_DENIED', 'Emulation.setCPUThrottlingRate', { rate: 20 }],
    ['POLICY_DENIED', 'Emulation.setScriptExecutionDisabled', { value: true }],
    ['POLICY_DENIED', 'Network.getResponseBody', { requestId: '1' }],

    ['allowed', 'Accessibility.getFullAXTree', { frameId: 'mine' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', { frameId: 'theirs' }],
    ['allowed', 'Accessibility.getFullAXTree', {}, { child: true, site: 'https://www.example.com/' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', {}, { child: true, site: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', {}, { child: true }], // unknown document
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', { frameId: 'admin' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', { frameId: 'sandboxed' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', { frameId: 'unknown' }],
    ['allowed', 'Accessibility.getFullAXTree', { frameId: 'top' }],
    ['POLICY_DENIED', 'Accessibility.getFullAXTree', {}, { url: 'https://example.com/admin' }],
    ['POLICY_DENIED', 'Page.disable', {}], // the extension needs these events
    ['allowed', 'DOM.getFrameOwner', { frameId: 'theirs' }],
    ['allowed', 'DOMDebugger.getEventListeners', { objectId: '-12.1.5', depth: -1 }],
    ['BAD_ARGS', 'DOMDebugger.getEventListeners', { objectId: '-12.1.5', depth: -1, pierce: true }],
    ['POLICY_DENIED', 'DOMDebugger.getEventListeners', { objectId: '-12.3.5', depth: -1 }],
    ['POLICY_DENIED', 'DOMDebugger.getEventListeners', { objectId: '-12.9.5', depth: -1 }],
    ['CDP_ERROR', 'DOMDebugger.getEventListeners', { objectId: 'junk' }],
    ['allowed', 'DOM.describeNode', { pierce: true, depth: 1 }],
    ['allowed', 'DOM.describeNode', { depth: -1 }],
    ['CONSENT_REQUIRED', 'DOM.describeNode', { pierce: true, depth: -1 }],

    ['allowed', 'Page.navigate', { url: 'https://www.example.com/a b' }],
    ['allowed', 'Page.navigate', { url: 'about:blank' }],
    ['BAD_ARGS', 'Page.navigate', { url: '/x' }],
    ['BAD_ARGS', 'Page.navigate', {}],
    ['BAD_ARGS', 'Page.navigate', { url: 'https://user:pw@example.com/' }],
    ['POLICY_DENIED', 'Page.navigate', { url: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Page.navigate', { url: 'javascript:alert(1)' }],
    ['POLICY_DENIED', 'Page.navigate', { url: 'data:text/html,x' }],
    ['POLICY_DENIED', 'Page.navigate', { url: 'http://0xA9FEA9FE/' }],
    ['POLICY_DENIED', 'Page.navigateToHistoryEntry', { entryId: 7 }],
    ['allowed', 'Page.navigateToHistoryEntry', { entryId: 8 }],
    ['CDP_ERROR', 'Page.navigateToHistoryEntry', { entryId: 9 }],
    ['POLICY_DENIED', 'Page.reload', { scriptToEvaluateOnLoad: 'x' }],

    ['allowed', 'Runtime.evaluate', { expression: '0' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: '0+alert(1)' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 7e20 }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 'x', contextId: 1 }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }, { evalAnswer: () => true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }, { evalAnswer: () => false }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u2' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u3' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u2' }, { url: 'https://example.com/admin' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }, { url: 'https://example.com/admin', evalAnswer: () => true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u9' }],
    ['CDP_ERROR', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u4' }], // an error page that is about to be replaced
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u4' }, { url: 'chrome-error://chromewebdata/' }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u4' }, { url: 'about:blank', own: true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u4' }, { url: 'about:blank' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u4' }, { url: 'about:blank', own: true, child: true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u6' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u6' }, { url: 'about:blank', own: true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u7' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u7' }, { url: 'about:blank', own: true }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u8' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u5' }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u5' }, { own: true, url: 'about:blank' }],
    ['CDP_ERROR', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u99' }],
    ['allowed', 'Runtime.evaluate', { expression: 'x' }, { evalAnswer: () => true }],
    ['BAD_ARGS', 'Runtime.evaluate', { expression: 'x' }, { child: true, evalAnswer: () => true }],
    ['BAD_ARGS', 'DOM.getDocument', {}, { child: true, evalAnswer: () => true }],
    ['allowed', 'Runtime.evaluate', { expression: '0' }, { child: true }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }, { child: true, evalAnswer: () => true }],
    ['BAD_ARGS', 'Runtime.evaluate', { expression: '0', includeCommandLineAPI: true }],
    ['BAD_ARGS', 'Runtime.callFunctionOn', { functionDeclaration: 'f' }],
    ['allowed', 'Runtime.callFunctionOn', { objectId: '-12.2.5' }],
    ['CONSENT_REQUIRED', 'Runtime.callFunctionOn', { objectId: '-12.1.5' }],
    ['CONSENT_REQUIRED', 'Runtime.callFunctionOn', { objectId: '-12.1.5', executionContextId: 2 }],
    ['CDP_ERROR', 'Runtime.callFunctionOn', { objectId: 'junk' }],
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { functionDeclaration: 'f', uniqueContextId: 'u3' }],
    ['allowed', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block, uniqueContextId: 'u3' }],
    ['allowed', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.unblock, uniqueContextId: 'u3' }],
    ['allowed', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.lockScrolling, uniqueContextId: 'u3' }],
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block + ' ', uniqueContextId: 'u3' }],
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block, uniqueContextId: 'u3', arguments: [] }],
    ['CONSENT_REQUIRED', 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block, uniqueContextId: 'u1' }], // the main world
    ...CONTENT_HIDING_SCRIPTS.map((script) => /** @type {any} */ (['allowed', 'Runtime.callFunctionOn', { functionDeclaration: script, uniqueContextId: 'u3' }])),
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { functionDeclaration: CONTENT_HIDING_SCRIPTS[0] + ' ', uniqueContextId: 'u3' }],
    ['CONSENT_REQUIRED', 'Runtime.callFunctionOn', { functionDeclaration: CONTENT_HIDING_SCRIPTS[0], uniqueContextId: 'u1' }], // the main world
    ['CONSENT_REQUIRED', 'Runtime.awaitPromise', { promiseObjectId: '1.1.1' }],
    ['CONSENT_REQUIRED', 'Runtime.getProperties', { objectId: '1.1.1' }],
    ['allowed', 'Runtime.addBinding', { name: 'b', executionContextName: 'w' }],
    ['POLICY_DENIED', 'Runtime.addBinding', { name: 'b' }],
    ['POLICY_DENIED', 'Runtime.addBinding', { name: 'b', executionContextName: 'w', executionContextId: 1 }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: 'x' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: 'x', worldName: 'w' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { worldName: 'w' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.block})();x`, worldName: 'w' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.block})()` }],
    ['BAD_ARGS', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.block})()`, worldName: 'w', includeCommandLineAPI: true }],
    ['allowed', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.block})()`, worldName: 'w' }],
    ['allowed', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.lockScrolling})()`, worldName: 'w' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: `(${INPUT_BLOCK_SCRIPTS.unblock})()`, worldName: 'w' }],
    ['POLICY_DENIED', 'Page.createIsolatedWorld', { frameId: 'f', worldName: 'w', grantUniveralAccess: true }],

    ['BAD_ARGS', 'Network.getCookies', {}],
    ['allowed', 'Network.getCookies', { urls: ['https://example.com/y'] }],
    ['POLICY_DENIED', 'Network.getCookies', { urls: ['https://example.com/', 'https://www.example.com/'] }],
    ['POLICY_DENIED', 'Network.getCookies', { urls: ['http://example.com/'] }],
    ['allowed', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://example.com/y' }],
    ['allowed', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://example.com/y', domain: '.example.com' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', domain: 'example.com' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://www.example.com/' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://example.com/', domain: 'evil.example.com' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://example.com/', domain: 'evil.com' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://evil.example.com/' }, { url: 'https://evil.example.com/' }],
    ['allowed', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://a.b.example.com/', domain: 'b.example.com' }, { url: 'https://a.b.example.com/' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://a.b.example.com/', domain: 'com' }, { url: 'https://a.b.example.com/' }],
    ['POLICY_DENIED', 'Network.setCookie', { name: 'a', value: 'b', url: 'https://a.b.example.com/', domain: '' }, { url: 'https://a.b.example.com/' }],
    ['allowed', 'Network.deleteCookies', { name: 'a', domain: '.example.com', path: '/' }],
    ['BAD_ARGS', 'Network.deleteCookies', { name: 'a', url: 'https://example.com/' }],
    ['BAD_ARGS', 'Network.deleteCookies', { name: 'a' }],
    ['POLICY_DENIED', 'Network.deleteCookies', { name: 'a', domain: 'www.example.com' }],
    ['POLICY_DENIED', 'Network.deleteCookies', { name: 'a', domain: 'example.com' }, { url: 'https://evil.example.com/' }],
    ['BAD_ARGS', 'Target.setAutoAttach', { autoAttach: true }],
    ['allowed', 'Target.setAutoAttach', { autoAttach: true, flatten: true, waitForDebuggerOnStart: false }],
    ['POLICY_DENIED', 'Fetch.continueRequest', { requestId: 'r', url: 'https://x/' }],
    ['allowed', 'Fetch.fulfillRequest', { requestId: 'r', responseCode: 200 }],
    ['POLICY_DENIED', 'Fetch.fulfillRequest', { requestId: 'r', responseCode: 200, body: 'PGgxPg==' }],
    ['POLICY_DENIED', 'Fetch.fulfillRequest', { requestId: 'r', responseCode: 200, responseHeaders: [] }],
    ['CONSENT_REQUIRED', 'DOM.getDocument', { pierce: true }],
  ])) {
    assert.equal(await outcome(method, params, over), want, `${method} ${JSON.stringify(params)} ${JSON.stringify(over ?? {})}`);
    assert.equal(prompted.length, want === 'CONSENT_REQUIRED' ? 1 : 0, method);
  }
});

test('a command that depends on the site of a frame needs it', async () => {
  const params = { name: 'a', domain: 'example.com', frameId: 'mine', urls: ['https://example.com/'], url: 'https://example.com/', worldName: 'w' };
  for (const method of METHOD_NAMES) {
    const [known, unknown] = [await outcome(method, params, { child: true, site: 'https://www.example.com/' }), await outcome(method, params, { child: true, site: '' })];
    assert.equal(needsSite(method), known !== unknown, `${method}: ${known} on a known site, ${unknown} on an unknown one`);
  }
});

test('a URL is sent in the form that was checked', async () => {
  assert.deepEqual(await check('Page.navigate', { url: 'HTTPS://EXAMPLE.com/a b', frameId: 'f' }, context()), { url: 'https://example.com/a%20b', frameId: 'f' });
});

test('the commands of package page are in the table', () => {
  for (const method of ['Accessibility.getFullAXTree', 'DOM.describeNode', 'DOM.focus', 'DOM.getFrameOwner', 'DOM.resolveNode', 'Emulation.setFocusEmulationEnabled',
    'Input.dispatchKeyEvent', 'Input.insertText', 'Inspector.enable', 'Network.enable', 'Page.stopScreencast', 'Runtime.releaseObjectGroup', 'Target.detachFromTarget']) {
    assert.ok(METHOD_NAMES.includes(method), method);
  }
});

test('only scripts in the main world are described as scripts', () => {
  for (const [want, method, params] of /** @type {[string | null, string, any][]} */ ([
    ['running a script', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u1' }],
    ['running a script', 'Runtime.evaluate', { expression: '1', uniqueContextId: 'u1' }],
    ['running a script', 'Runtime.evaluate', { expression: 'x', contextId: 1 }],
    ['running a script', 'Runtime.evaluate', { expression: 'x' }],
    ['running a script', 'Runtime.callFunctionOn', { objectId: '-1.1.7' }],
    ['reading the page', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u2' }],
    ['reading the page', 'Runtime.callFunctionOn', { executionContextId: 2 }],
    ['reading the page', 'Runtime.callFunctionOn', { objectId: '-1.2.7' }],
    [null, 'Runtime.evaluate', { expression: '1' }],
    [null, 'Runtime.callFunctionOn', { functionDeclaration: INPUT_BLOCK_SCRIPTS.block, uniqueContextId: 'u3' }],
    ['clicking', 'Input.dispatchMouseEvent', { type: 'mousePressed' }],
  ])) {
    assert.equal(describe(method, params, context()), want, `${method} ${JSON.stringify(params)}`);
  }
});

test('history entries of denied sites show only the origin', () => {
  const entry = (/** @type {string} */ url) => ({ id: 1, url, userTypedURL: url, title: 'Secret', transitionType: 'link' });
  const urls = ['https://example.com/a?b', 'https://bank.test/account/7?token=1#x', 'chrome://settings/'];
  const { currentIndex, entries } = redactResult('Page.getNavigationHistory', { currentIndex: 1, entries: urls.map(entry) }, compile(policy));
  assert.equal(currentIndex, 1);
  assert.deepEqual(entries.map((/** @type {any} */ e) => [e.id, e.url, e.userTypedURL, e.title]), [
    [1, urls[0], urls[0], 'Secret'], [1, 'https://bank.test/', 'https://bank.test/', ''], [1, 'about:invalid', 'about:invalid', ''],
  ]);
});

test('only a script that the user denied is reported as denied by the user', () => {
  assert.throws(() => checkMainWorld('https://example.com', context({ evalAnswer: () => false })), { code: 'POLICY_DENIED', message: 'the user denied scripts on https://example.com' });
  assert.throws(() => checkMainWorld('', context({ evalAnswer: () => false })), (e) => {
    const { code, message } = /** @type {any} */ (e);
    return code === 'POLICY_DENIED' && !message.includes('the user denied');
  });
});
