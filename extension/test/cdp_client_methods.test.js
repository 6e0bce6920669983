// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkClient } from '../cdp_client_methods.js';
import { compile } from '../policy.js';

const policy = { allow: ['example.com', '*.example.com'], block: ['evil.example.com'], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] };

/** @type {Record<number, import('../methods.js').World>} */
const worlds = {
  1: { main: true, ours: false, origin: 'https://example.com', frame: 'top' },
  2: { main: false, ours: true, origin: 'https://example.com', frame: 'top' }, // of the tools
  3: { main: false, ours: false, client: true, origin: 'https://example.com', frame: 'top' },
  4: { main: true, ours: false, origin: 'https://evil.example.com', frame: 'theirs' },
  5: { main: false, ours: false, client: true, origin: 'https://evil.example.com', frame: 'theirs' },
  6: { main: true, ours: false, origin: 'https://other.example.com', frame: 'other' },
  7: { main: false, ours: false, origin: 'https://example.com', frame: 'top' }, // another extension's
};

/** @type {string[]} */
let prompted = [];

/** @param {Partial<import('../methods.js').CommandContext>} [over] @returns {import('../methods.js').CommandContext} */
const context = (over) => ({
  rules: compile(policy), url: 'https://example.com/x', top: 'top', own: false, child: false, site: '', dialogURL: '',
  originOfFrame: (frame) => ({ inline: 'https://example.com' })[frame],
  urlOfFrame: (frame) => ({ top: 'https://example.com/x', theirs: 'https://evil.example.com/', other: 'https://other.example.com/', inline: 'about:srcdoc' })[frame],
  worldById: (id) => worlds[id], worldByUnique: (unique) => worlds[Number(unique.slice(1))],
  evalAnswer: (origin) => (origin === 'https://example.com' ? true : undefined), askEval: (origin) => prompted.push(origin),
  history: async () => [], documents: async () => ['https://example.com/x', 'about:blank', 'data:text/html,x'],
  request: (id) => ({
    mine: { url: 'https://example.com/data', opaque: false, frame: 'top', type: 'XHR' }, theirs: { url: 'https://bank.test/', opaque: false, frame: 'top', type: 'XHR' },
    opaque: { url: 'https://example.com/data', opaque: true, frame: 'top', type: 'XHR' }, sent: { url: 'https://example.com/data', frame: 'top', type: 'XHR' },
    page: { url: 'https://other.example.com/inbox', opaque: false, frame: 'top', type: 'Document' }, ownPage: { url: 'https://example.com/inbox', opaque: false, frame: 'other', type: 'Document' },
    script: { url: 'https://example.com/app.js', opaque: false, frame: 'other', type: 'Script' }, shared: { url: 'https://other.example.com/app.js', opaque: false, frame: 'top', type: 'Script' },
    unknownFrame: { url: 'https://example.com/app.js', opaque: false, frame: 'new', type: 'Script' }, inline: { url: 'https://example.com/app.js', opaque: false, frame: 'inline', type: 'Script' },
    next: { url: 'https://example.com/inbox', opaque: false, frame: 'top', type: 'Document' },
    prefetch: { url: 'https://other.example.com/inbox', opaque: false, frame: 'top', type: 'Prefetch' }, worker: { url: 'https://example.com/data', opaque: false, type: 'Fetch' },
  })[id],
  compiles: async (source) => !source.startsWith('}'), scriptOrigins: () => ['https://example.com'], isToolWorld: (name) => name === 'tools',
  ...over,
});

/** @param {string} method @param {any} params @param {Partial<import('../methods.js').CommandContext>} [over] */
async function outcome(method, params, over) {
  prompted = [];
  try {
    return JSON.stringify(await checkClient(method, params, context(over))) === JSON.stringify(params) ? 'allowed' : 'changed';
  } catch (e) {
    const { code, data } = /** @type {any} */ (e);
    return code === 'CDP_ERROR' ? data.code : code;
  }
}

const withDenied = { documents: async () => ['https://example.com/x', 'https://evil.example.com/'] };
const unasked = { evalAnswer: () => undefined };

test('commands of clients are allowed or denied', async () => {
  for (const [want, method, params, over] of /** @type {[string | number, string, any, any?][]} */ ([
    [-32601, 'constructor', {}],
    [-32601, 'Network.getAllCookies', {}],
    [-32601, 'DOM.setFileInputFiles', { files: [] }],
    [-32601, 'Emulation.setTimezoneOverride', { timezoneId: 'Asia/Tokyo' }],
    [-32601, 'Target.attachToTarget', { targetId: 'x' }],
    [-32601, 'HeapProfiler.takeHeapSnapshot', {}],
    [-32601, 'Profiler.enable', {}],

    ['allowed', 'Page.enable', {}, { ...unasked, ...withDenied }],
    ['allowed', 'Runtime.enable', {}, { url: 'https://evil.example.com/' }],

    ['allowed', 'Runtime.evaluate', { expression: 'x' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 'x' }, unasked],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: '1' }, unasked], // unlike a tool's
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x' }, { evalAnswer: () => false }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x' }, { url: 'https://evil.example.com/' }],
    ['changed', 'Runtime.evaluate', { expression: 'x', includeCommandLineAPI: true }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', contextId: 1 }, withDenied],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: 2 }],
    ['allowed', 'Runtime.evaluate', { expression: 'x', uniqueContextId: 'u3' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 'x', contextId: 3 }, unasked],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: 4 }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: 5 }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: 'x', contextId: 6 }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: 7 }],
    [-32000, 'Runtime.evaluate', { expression: 'x', contextId: 99 }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: 1, uniqueContextId: 'u2' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x', contextId: null }, { worldById: () => worlds[2] }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x' }, { child: true, site: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Runtime.evaluate', { expression: 'x' }, { child: true, site: '' }],
    ['allowed', 'Runtime.callFunctionOn', { objectId: '1.3.1' }],
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { objectId: '1.5.1' }],
    ['POLICY_DENIED', 'Runtime.callFunctionOn', { objectId: '1.2.1', executionContextId: 1 }],
    ['allowed', 'Runtime.getProperties', { objectId: '1.1.1' }, withDenied],
    [-32000, 'Page.startScreencast', {}, { child: true, site: 'https://example.com/' }],

    ...['Page.captureScreenshot', 'Page.printToPDF', 'Page.captureSnapshot', 'DOMSnapshot.captureSnapshot', 'Accessibility.getFullAXTree', 'DOM.getDocument',
      'Input.dispatchMouseEvent', 'Input.insertText', 'CSS.getMediaQueries', 'Debugger.enable', 'Page.startScreencast'].flatMap((name) => [
      ['allowed', name, {}], ['POLICY_DENIED', name, {}, withDenied], ['CONSENT_REQUIRED', name, {}, unasked], ['POLICY_DENIED', name, {}, { url: 'https://evil.example.com/' }],
    ]),
    // A page that is handed over to the user is released from what a client has set, on any site.
    ...['Debugger.resume', 'Fetch.disable', 'Page.stopScreencast'].map((name) => ['allowed', name, {}, unasked]),
    ['allowed', 'Debugger.setSkipAllPauses', { skip: true }, unasked],
    ['allowed', 'Input.setIgnoreInputEvents', { ignore: false }, unasked],
    ['CONSENT_REQUIRED', 'Input.setIgnoreInputEvents', { ignore: true }, unasked],
    ['allowed', 'Input.setInterceptDrags', { enabled: false }, unasked],
    ['CONSENT_REQUIRED', 'Input.setInterceptDrags', { enabled: true }, unasked],
    ['allowed', 'Page.setBypassCSP', { enabled: false }, unasked],
    ['CONSENT_REQUIRED', 'Page.setBypassCSP', { enabled: true }, unasked],
    ['allowed', 'Overlay.setInspectMode', { mode: 'none', highlightConfig: {} }, unasked],
    ['CONSENT_REQUIRED', 'Overlay.setInspectMode', { mode: 'searchForNode', highlightConfig: {} }, unasked],
    ['CONSENT_REQUIRED', 'Debugger.enable', {}, { documents: async () => ['https://example.com/', 'https://other.example.com/'] }],
    ['allowed', 'DOM.describeNode', { objectId: '1.1.1' }, withDenied],
    ['POLICY_DENIED', 'DOM.describeNode', { objectId: '1.1.1', pierce: true, depth: -1 }, withDenied],
    ['POLICY_DENIED', 'DOM.describeNode', { backendNodeId: 4 }, withDenied],
    ['POLICY_DENIED', 'DOM.resolveNode', { backendNodeId: 4, executionContextId: 5 }],
    // A member that the command does not have, or that Chromium ignores, names nothing.
    ['POLICY_DENIED', 'DOM.getOuterHTML', { nodeId: 4, objectId: '1.1.1' }, withDenied],
    ['POLICY_DENIED', 'DOM.getOuterHTML', { backendNodeId: 4, executionContextId: 1 }, withDenied],
    ['POLICY_DENIED', 'DOM.describeNode', { backendNodeId: 4, objectId: '1.1.1' }, withDenied],
    ['POLICY_DENIED', 'DOM.resolveNode', { backendNodeId: 4, objectId: '1.1.1' }, withDenied],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: '1', objectId: '1.1.1' }, { url: 'https://other.example.com/' }],
    ['CONSENT_REQUIRED', 'Runtime.evaluate', { expression: '1', executionContextId: 1 }, { url: 'https://other.example.com/' }],
    ['CONSENT_REQUIRED', 'Runtime.compileScript', { expression: '1', contextId: 1 }, { url: 'https://other.example.com/' }],
    ['CONSENT_REQUIRED', 'Runtime.runScript', { scriptId: '1', uniqueContextId: 'u1' }, { url: 'https://other.example.com/' }],
    ['CONSENT_REQUIRED', 'Runtime.globalLexicalScopeNames', { promiseObjectId: '1.1.1' }, { url: 'https://other.example.com/' }],
    ['POLICY_DENIED', 'Input.dispatchDragEvent', { data: { files: ['/etc/passwd'] } }],

    ['allowed', 'Network.getResponseBody', { requestId: 'mine' }],
    ['POLICY_DENIED', 'Network.getResponseBody', { requestId: 'theirs' }],
    ['POLICY_DENIED', 'Network.getResponseBody', { requestId: 'opaque' }],
    [-32000, 'Network.getResponseBody', { requestId: 'sent' }],
    [-32000, 'Network.getResponseBody', { requestId: 'unknown' }],
    ['allowed', 'Network.getRequestPostData', { requestId: 'opaque' }],
    ['allowed', 'Network.getRequestPostData', { requestId: 'sent' }],
    ['POLICY_DENIED', 'Network.getRequestPostData', { requestId: 'theirs' }],
    [-32000, 'Network.getRequestPostData', { requestId: 'unknown' }],
    ['allowed', 'Fetch.getResponseBody', { requestId: 'sent' }],
    ['POLICY_DENIED', 'Fetch.getResponseBody', { requestId: 'theirs' }],
    ['POLICY_DENIED', 'Page.getResourceContent', { frameId: 'top', url: 'https://bank.test/' }],
    ['POLICY_DENIED', 'Fetch.continueRequest', { requestId: 'mine', url: 'https://example.com/' }],
    ['allowed', 'Fetch.continueRequest', { requestId: 'mine', headers: [] }],
    ['CONSENT_REQUIRED', 'Fetch.fulfillRequest', { requestId: 'mine' }, unasked],
    ['allowed', 'Fetch.continueRequest', { requestId: 'page', interceptResponse: true }, unasked],
    ['allowed', 'Fetch.continueResponse', { requestId: 'page' }, unasked],
    ['allowed', 'Fetch.continueWithAuth', { requestId: 'page', authChallengeResponse: { response: 'Default' } }, unasked],
    ...[
      ['Fetch.fulfillRequest', { responseCode: 200, body: '' }], ['Fetch.continueRequest', { method: 'POST' }], ['Fetch.continueRequest', { headers: [] }], ['Fetch.continueRequest', { postData: '' }],
      ['Fetch.continueResponse', { responseCode: 200 }], ['Fetch.continueWithAuth', { authChallengeResponse: { response: 'ProvideCredentials', username: 'a', password: 'b' } }],
      ['Fetch.getResponseBody', {}], ['Fetch.takeResponseBodyAsStream', {}], ['Network.getResponseBody', {}], ['Network.getRequestPostData', {}],
    ].flatMap(([name, params]) => [
      ['page', 'CONSENT_REQUIRED'], ['ownPage', 'allowed'], ['script', 'CONSENT_REQUIRED'], ['shared', 'allowed'], ['prefetch', 'CONSENT_REQUIRED'],
      ['unknownFrame', 'POLICY_DENIED'], ['inline', 'allowed'], ['worker', 'allowed'], ['unknown', String(name).startsWith('Network') ? -32000 : -32602],
    ].map(([requestId, want]) => [want, name, { requestId, ...Object(params) }])),
    ['allowed', 'Fetch.fulfillRequest', { requestId: 'next' }, { url: 'https://evil.example.com/' }], // the tab leaves a denied document
    ['POLICY_DENIED', 'Fetch.fulfillRequest', { requestId: 'ownPage' }, { url: 'https://evil.example.com/' }],
    ['POLICY_DENIED', 'Fetch.fulfillRequest', { requestId: 'ownPage' }, { rules: compile({ ...policy, block: ['example.com'] }) }],
    ['allowed', 'Fetch.fulfillRequest', { requestId: 'mine', responseHeaders: [{ name: 'Set-Cookie', value: 'a=b' }] }],
    ['CONSENT_REQUIRED', 'Fetch.fulfillRequest', { requestId: 'shared', responseHeaders: [{ name: 'set-cookie', value: 'a=b' }] }],
    ['CONSENT_REQUIRED', 'Fetch.continueResponse', { requestId: 'shared', responseCode: 200, binaryResponseHeaders: '' }],
    ['changed', 'Network.getCookies', {}],
    ['POLICY_DENIED', 'Network.getCookies', { urls: ['https://other.example.com/'] }],
    ['POLICY_DENIED', 'Network.setCookies', { cookies: [{ name: 'a', value: 'b', url: 'https://bank.test/' }] }],

    ['allowed', 'Page.handleJavaScriptDialog', { accept: false }, unasked],
    ['allowed', 'Page.handleJavaScriptDialog', { accept: true }],
    ['CONSENT_REQUIRED', 'Page.handleJavaScriptDialog', { accept: true }, unasked],
    ['CONSENT_REQUIRED', 'Page.handleJavaScriptDialog', {}, unasked],
    ['CONSENT_REQUIRED', 'Page.handleJavaScriptDialog', { accept: true }, { dialogURL: 'https://other.example.com/' }],
    ['POLICY_DENIED', 'Page.handleJavaScriptDialog', { accept: true }, { dialogURL: 'https://evil.example.com/' }],

    ['allowed', 'Page.navigate', { url: 'https://example.com/' }, unasked],
    ['POLICY_DENIED', 'Page.navigate', { url: 'https://bank.test/' }],
    ['POLICY_DENIED', 'Page.navigate', { url: 'javascript:1' }],
    ['POLICY_DENIED', 'Page.createIsolatedWorld', { frameId: 'top', worldName: 'tools' }],
    ['POLICY_DENIED', 'Page.createIsolatedWorld', { frameId: 'top', worldName: 'chrome-mcp' }],
    ['POLICY_DENIED', 'Runtime.addBinding', { name: '__cmReport' }],
    ['BAD_ARGS', 'Page.addScriptToEvaluateOnNewDocument', { source: '} evil(); {' }],
    ['CONSENT_REQUIRED', 'Page.addScriptToEvaluateOnNewDocument', { source: 'x' }, unasked],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: '', worldName: 'tools' }],
    ['CONSENT_REQUIRED', 'Page.addScriptToEvaluateOnNewDocument', { source: 'x' }, { child: true, site: 'https://other.example.com/' }],
    ['POLICY_DENIED', 'Page.addScriptToEvaluateOnNewDocument', { source: 'x' }, { child: true, site: 'https://evil.example.com/' }],
    ['BAD_ARGS', 'Page.addScriptToEvaluateOnNewDocument', { source: '} evil(); {' }, { child: true }],
  ])) {
    assert.equal(await outcome(method, params, over), want, `${method} ${JSON.stringify(params)} ${JSON.stringify(over)}`);
  }
});

test('parameters are changed', async () => {
  assert.deepEqual(await checkClient('Page.createIsolatedWorld', { frameId: 'top', worldName: 'w', grantUniveralAccess: true, grantUniversalAccess: true }, context()), { frameId: 'top', worldName: 'w' });
  const script = await checkClient('Page.addScriptToEvaluateOnNewDocument', { source: 'x()', includeCommandLineAPI: true }, context());
  assert.deepEqual(script, { worldName: undefined, runImmediately: false, source: 'if (["https://example.com"].includes(self.origin)) {\nx()\n}' });
  assert.deepEqual(await checkClient('Page.addScriptToEvaluateOnNewDocument', { source: 'x()' }, context({ child: true })), script, 'a new frame');
  assert.deepEqual(await checkClient('Page.addScriptToEvaluateOnNewDocument', { source: '//# sourceURL=x', worldName: 'w' }, context(unasked)), { worldName: 'w', runImmediately: false, source: '//# sourceURL=x' });
});
