// @ts-check

// The CDP commands that CDP clients, such as Playwright, may send to a tab. A client can run any
// script, so commands that read or change a page need the user's consent to scripts on the site.
// Commands that are not in the table are not available.

import { CommandError, protocolError } from './command_error.js';
import {
  content, deleteCookies, getCookies, checkWorld, checkMainWorld, navigate, navigateToHistoryEntry, reload, setAutoAttach, setCookie, worldOfObject,
} from './methods.js';
import { decide, originOf } from './policy.js';
import { BINDING_NAME, WORLD_NAME } from './wire.js';

/** @typedef {import('./methods.js').Check} Check */
/** @typedef {import('./methods.js').CommandContext} CommandContext */
/** @typedef {import('./methods.js').Params} Params */
/** @typedef {import('./methods.js').World} World */

/** @type {Check} */
const allowAlways = () => {};

/** For commands that can concern any document of the tab. The user must allow scripts on the site,
 * and no document in the tab may be denied. @type {Check} */
const anyDocument = async (_, s) => {
  requireConsent(s);
  for (const url of await s.documents()) {
    const why = url.startsWith('data:') ? null : decide(s.rules, url); // a data: URL is part of the document that embeds it
    if (why) throw new CommandError('POLICY_DENIED', `a frame of the tab shows a page that is not allowed (${why}): reload the tab, or navigate it elsewhere`);
  }
};

/** For commands that show the scripts of all frames. @type {Check} */
const everySite = async (params, s) => {
  await anyDocument(params, s);
  for (const url of await s.documents()) {
    const origin = originOf(url);
    if (origin !== '') checkMainWorld(origin, s);
  }
};

/**
 * Checks that the user allows scripts in the document of a command's session.
 * @param {CommandContext} s
 */
function requireConsent(s) {
  content({}, s);
  checkMainWorld(originOf(s.child ? s.site : s.url), s);
}

/**
 * Checks a world that a script of a client will run in: the main world, or a world of a client.
 *
 * @param {World} world
 * @param {CommandContext} s
 */
function checkClientWorld(world, s) {
  if (!world.main && !world.client) throw new CommandError('POLICY_DENIED', 'the isolated world belongs to chrome-mcp or to another extension');
  checkWorld({ ...world, main: true }, s); // a client's world needs the same consent as the main world
}

/**
 * Returns the check for commands that name an execution context or an object of one. They run
 * without the command line API, which can reach beyond the page; chromedp always requests it.
 *
 * @param {('objectId' | 'promiseObjectId' | 'errorObjectId' | 'contextId' | 'executionContextId' | 'uniqueContextId')[]} keys the
 *   parameters of the command that do. Chromium ignores others, so they name nothing.
 * @returns {Check}
 */
const script = (...keys) => (params, s) => {
  let named = false;
  for (const key of keys) {
    if (params[key] === undefined) continue;
    checkNamedWorld(key, params[key], s);
    named = true;
  }
  if (!named) requireConsent(s); // the default context of the session
  const why = s.hasResult ? decide(s.rules, s.url) : null;
  if (why) throw new CommandError('POLICY_DENIED', why);
  if (params.includeCommandLineAPI) return { ...params, includeCommandLineAPI: false };
};

/**
 * Checks the world that a parameter names, by the id of the world or of an object of it. In a result, a
 * world that no longer exists is of the document before, which was checked.
 *
 * @param {string} key
 * @param {unknown} value
 * @param {CommandContext} s
 */
function checkNamedWorld(key, value, s) {
  const unique = key === 'uniqueContextId';
  const world = key.toLowerCase().endsWith('objectid') ? worldOfObject(value, s) : unique ? s.worldByUnique(String(value)) : s.worldById(Number(value));
  if (world) checkClientWorld(world, s);
  else if (!s.hasResult) throw protocolError(-32000, unique ? 'uniqueContextId not found' : 'Cannot find context with specified id');
}

const ofObject = script('objectId');

/** For commands about a node, which the command names by an object, or otherwise may be in any
 * document. Chromium ignores the object if there is an id of a node. @type {Check} */
const node = (params, s) => (params.objectId === undefined || params.nodeId !== undefined || params.backendNodeId !== undefined
  ? anyDocument(params, s) : ofObject(params, s));

const inContext = script('executionContextId');

/** A context resolves only the nodes that its scripts can access. @type {Check} */
const resolveNode = (params, s) => (params.executionContextId === undefined ? anyDocument(params, s) : inContext(params, s));

/** @type {Check} */
function describeNode(params, s) {
  return params.pierce && !(params.depth >= 0 && params.depth <= 1) ? anyDocument(params, s) : node(params, s);
}

/** For commands about the document of the session only. @type {Check} */
function ownDocument(_, s) {
  requireConsent(s);
}

/** Clients create worlds when a frame appears. Commands that use one are checked. A world may have
 * access to the documents of other origins; clients get worlds without. @type {Check} */
const createIsolatedWorld = (params, s) => ({ frameId: params.frameId, worldName: clientName(params.worldName, s) });

/**
 * @param {unknown} name of an isolated world
 * @param {CommandContext} s
 */
function clientName(name, s) {
  if (typeof name !== 'string' || name === '') throw new CommandError('BAD_ARGS', 'worldName is missing');
  if (name === WORLD_NAME || s.isToolWorld(name)) throw new CommandError('POLICY_DENIED', 'chrome-mcp uses an isolated world with this name');
  return name;
}

/** A script runs in each new document, also on sites for which the user has not allowed scripts.
 * A script without code creates a world only. Other scripts run only on the sites that the user
 * allows now. @type {Check} */
function newDocumentScript(params, s) {
  if (s.hasResult) return undefined; // an identifier
  const source = String(params.source);
  const worldName = params.worldName ? clientName(params.worldName, s) : undefined;
  const checked = { worldName, runImmediately: params.runImmediately === true };
  if (/^\s*(\/\/[^\n\r\u2028\u2029]*)?$/.test(source)) return { ...checked, source };
  if (!s.child || s.site !== '') requireConsent(s); // a new frame has no site yet
  return s.compiles(source).then((compiles) => {
    // What compiles cannot end the block.
    if (!compiles) throw new CommandError('BAD_ARGS', 'the script has a syntax error, or Runtime is not enabled');
    return { ...checked, source: `if (${JSON.stringify(s.scriptOrigins())}.includes(self.origin)) {\n${source}\n}` };
  });
}

/** @type {Check} */
function addBinding(params, s) {
  if (params.name === BINDING_NAME) throw new CommandError('POLICY_DENIED', 'chrome-mcp uses a binding with this name');
  if (params.executionContextName !== undefined) clientName(params.executionContextName, s);
  if (params.executionContextId !== undefined) return inContext(params, s);
}

/** The types of requests whose responses become part of the document that sends them. Another
 * response can become a document of the site of its URL. */
const SUBRESOURCES = new Set(['CSPViolationReport', 'EventSource', 'Fetch', 'Font', 'Image', 'Manifest', 'Media', 'Ping', 'Preflight', 'Script', 'Stylesheet', 'TextTrack', 'WebSocket', 'XHR']);

/**
 * Checks that the user allows scripts where a request has an effect: on the site of the document
 * that it loads, or on that of the document that sends it. The tab still shows another document when
 * a request for a document is sent.
 *
 * @param {import('./page_requests.js').PageRequest} request
 * @param {CommandContext} s
 */
function requireConsentForRequest(request, s) {
  const isDocument = request.type === 'Document';
  if (!isDocument || request.frame !== s.top) content({}, s); // otherwise it replaces the document that the tab shows
  if (!SUBRESOURCES.has(String(request.type))) requireConsentForURL(request.url, s);
  if (isDocument) return;
  const url = request.frame ? s.urlOfFrame(request.frame) : s.child ? s.site : s.url; // requests of a worker may have no frame
  const origin = originOf(url ?? '') || (request.frame && s.originOfFrame(request.frame)) || '';
  if (origin === '' && request.frame !== s.top) throw new CommandError('POLICY_DENIED', 'the site of the frame is unknown');
  const why = origin === '' ? null : decide(s.rules, url && originOf(url) !== '' ? url : `${origin}/`);
  if (why) throw new CommandError('POLICY_DENIED', why);
  checkMainWorld(origin, s);
}

/**
 * @param {string} url
 * @param {CommandContext} s
 */
function requireConsentForURL(url, s) {
  const why = decide(s.rules, url);
  if (why) throw new CommandError('POLICY_DENIED', why);
  checkMainWorld(originOf(url), s);
}

/** For commands that change a paused request or its response. @type {Check} */
function changeRequest(params, s) {
  const request = s.request(String(params.requestId));
  if (!request) throw protocolError(-32602, 'Invalid InterceptionId.');
  requireConsentForRequest(request, s);
  // A response sets cookies for the site of the request, whatever document sent it.
  const setsCookies = params.binaryResponseHeaders !== undefined
    || (Array.isArray(params.responseHeaders) && params.responseHeaders.some((h) => /^set-cookie$/i.test(String(h?.name))));
  if (setsCookies) requireConsentForURL(request.url, s);
}

/** Interception changes requests behind the network rules, so the URL must remain. @type {Check} */
function continueRequest(params, s) {
  if (params.url !== undefined) throw new CommandError('POLICY_DENIED', "a request's url cannot be changed");
  if (Object.keys(params).some((key) => key !== 'requestId' && key !== 'interceptResponse')) return changeRequest(params, s);
}

/** @type {Check} */
const continueResponse = (params, s) => (Object.keys(params).some((key) => key !== 'requestId') ? changeRequest(params, s) : undefined);

/** @type {Check} */
const continueWithAuth = (params, s) => (params.authChallengeResponse?.response === 'ProvideCredentials' ? changeRequest(params, s) : undefined);

/**
 * Checks a command that reads a request or its response.
 *
 * @param {import('./page_requests.js').PageRequest} request
 * @param {Params} params
 * @param {CommandContext} s
 */
function readRequest(request, params, s) {
  const why = request.url.startsWith('data:') ? null : decide(s.rules, request.url);
  if (why) throw new CommandError('POLICY_DENIED', why);
  requireConsentForRequest(request, s);
  return anyDocument(params, s);
}

/** For commands that read a paused request. @type {Check} */
function pausedBody(params, s) {
  const request = s.request(String(params.requestId));
  if (!request) throw protocolError(-32602, 'Invalid InterceptionId.');
  return readRequest(request, params, s);
}

/** For commands about a request that an event named. @type {Check} */
function ofRequest(params, s) {
  const request = s.request(String(params.requestId));
  if (!request) throw protocolError(-32000, 'No resource with given identifier found');
  return readRequest(request, params, s);
}

/** @type {Check} */
function responseBody(params, s) {
  const request = s.request(String(params.requestId));
  if (request?.opaque === undefined) throw protocolError(-32000, 'No resource with given identifier found');
  if (request.opaque) throw new CommandError('POLICY_DENIED', 'a service worker answered the request, possibly with a response of another site');
  return ofRequest(params, s);
}

/** The content of another site's resource is not readable by scripts. @type {Check} */
function resource(params, s) {
  const why = decide(s.rules, String(params.url));
  if (why) throw new CommandError('POLICY_DENIED', why);
  return anyDocument(params, s);
}

/** Without urls, the cookies of the tab's document. @type {Check} */
function ownCookies(params, s) {
  requireConsent(s);
  const urls = params.urls ?? [s.url];
  getCookies({ ...params, urls }, s);
  return { ...params, urls };
}

/** @type {Check} */
function setOwnCookie(params, s) {
  if (s.hasResult) return undefined; // whether the cookie is set
  requireConsent(s);
  return setCookie(params, s);
}

/** @type {Check} */
function setCookies(params, s) {
  requireConsent(s);
  if (!Array.isArray(params.cookies)) throw new CommandError('BAD_ARGS', 'cookies is not a list');
  for (const cookie of params.cookies) setCookie({ ...cookie, url: cookie.url ?? s.url }, s);
}

/** Accepting a dialog does what the page has asked for. Dismissing it only releases the page. @type {Check} */
function handleDialog(params, s) {
  if (params.accept === false) return;
  requireConsent(s);
  if (originOf(s.dialogURL) !== '') requireConsentForURL(s.dialogURL, s); // of a frame
}

/** Each frame is checked before the client receives it. See screencast.js. @type {Check} */
function startScreencast(params, s) {
  if (s.child) throw protocolError(-32000, 'Command can only be executed on top-level targets');
  return anyDocument(params, s);
}

/** @type {Check} */
function dispatchDragEvent(params, s) {
  if (params.data?.files?.length > 0) throw new CommandError('POLICY_DENIED', 'files are chosen by the user');
  return anyDocument(params, s);
}

/**
 * @param {string} domain
 * @param {string[]} names
 * @param {Check} rule
 */
const all = (domain, names, rule) => Object.fromEntries(names.map((name) => [`${domain}.${name}`, rule]));

/** The available commands, with their checks. @type {Record<string, Check>} */
const TABLE = {
  ...all('Accessibility', ['enable', 'disable'], allowAlways),
  ...all('Accessibility', ['getAXNodeAndAncestors', 'getChildAXNodes', 'getFullAXTree', 'getPartialAXTree', 'getRootAXNode', 'queryAXTree'], anyDocument),
  ...all('Animation', ['disable', 'enable', 'getCurrentTime', 'getPlaybackRate', 'releaseAnimations', 'resolveAnimation', 'seekAnimations', 'setPaused', 'setPlaybackRate', 'setTiming'], anyDocument),
  ...all('CSS', ['disable', 'enable'], allowAlways),
  ...all('CSS', ['addRule', 'collectClassNames', 'createStyleSheet', 'forcePseudoState', 'getBackgroundColors', 'getComputedStyleForNode', 'getInlineStylesForNode',
    'getMatchedStylesForNode', 'getMediaQueries', 'getPlatformFontsForNode', 'getStyleSheetText', 'setRuleSelector', 'setStyleSheetText', 'setStyleTexts',
    'startRuleUsageTracking', 'stopRuleUsageTracking', 'takeCoverageDelta', 'trackComputedStyleUpdates', 'takeComputedStyleUpdates'], anyDocument),
  ...all('DOM', ['disable', 'enable', 'discardSearchResults'], allowAlways),
  ...all('DOM', ['describeNode', 'getContentQuads', 'getBoxModel', 'focus', 'requestNode', 'scrollIntoViewIfNeeded', 'getOuterHTML'], node),
  ...all('DOM', ['copyTo', 'getAttributes', 'getDocument', 'getFlattenedDocument', 'getFrameOwner', 'getNodeForLocation', 'getNodesForSubtreeByStyle', 'getRelayoutBoundary',
    'getSearchResults', 'getTopLayerElements', 'hideHighlight', 'highlightNode', 'highlightRect', 'markUndoableState', 'moveTo', 'performSearch', 'pushNodeByPathToFrontend',
    'pushNodesByBackendIdsToFrontend', 'querySelector', 'querySelectorAll', 'redo', 'removeAttribute', 'removeNode', 'requestChildNodes', 'setAttributeValue',
    'setAttributesAsText', 'setInspectedNode', 'setNodeName', 'setNodeStackTracesEnabled', 'setNodeValue', 'setOuterHTML', 'undo'], anyDocument),
  'DOM.describeNode': describeNode,
  'DOM.resolveNode': resolveNode,
  'DOMDebugger.getEventListeners': ofObject,
  ...all('DOMSnapshot', ['captureSnapshot', 'disable', 'enable', 'getSnapshot'], anyDocument),
  ...all('Debugger', ['disable', 'resume', 'setSkipAllPauses'], allowAlways),
  ...all('Debugger', ['continueToLocation', 'enable', 'evaluateOnCallFrame', 'getPossibleBreakpoints', 'getScriptSource', 'getStackTrace', 'pause', 'removeBreakpoint', 'restartFrame',
    'searchInContent', 'setAsyncCallStackDepth', 'setBlackboxPatterns', 'setBlackboxedRanges', 'setBreakpoint', 'setBreakpointByUrl',
    'setBreakpointOnFunctionCall', 'setBreakpointsActive', 'setInstrumentationBreakpoint', 'setPauseOnExceptions', 'setScriptSource', 'setVariableValue',
    'stepInto', 'stepOut', 'stepOver'], everySite),
  ...all('Emulation', ['clearDeviceMetricsOverride', 'clearGeolocationOverride', 'clearIdleOverride', 'resetPageScaleFactor', 'setAutoDarkModeOverride',
    'setDefaultBackgroundColorOverride', 'setDeviceMetricsOverride', 'setEmitTouchEventsForMouse', 'setEmulatedMedia', 'setEmulatedVisionDeficiency',
    'setFocusEmulationEnabled', 'setGeolocationOverride', 'setIdleOverride', 'setPageScaleFactor', 'setScrollbarsHidden', 'setTouchEmulationEnabled',
    'setUserAgentOverride'], allowAlways), // the others affect the whole renderer process
  ...all('Fetch', ['disable', 'failRequest'], allowAlways),
  'Fetch.continueRequest': continueRequest,
  'Fetch.continueResponse': continueResponse,
  'Fetch.continueWithAuth': continueWithAuth,
  'Fetch.enable': ownDocument,
  'Fetch.fulfillRequest': changeRequest,
  ...all('Fetch', ['getResponseBody', 'takeResponseBodyAsStream'], pausedBody),
  ...all('IO', ['close'], allowAlways),
  ...all('IO', ['read'], anyDocument),
  ...all('Input', ['cancelDragging', 'dispatchKeyEvent', 'dispatchMouseEvent', 'dispatchTouchEvent', 'imeSetComposition', 'insertText',
    'synthesizePinchGesture', 'synthesizeScrollGesture', 'synthesizeTapGesture'], anyDocument),
  'Input.dispatchDragEvent': dispatchDragEvent,
  'Input.setIgnoreInputEvents': (params, s) => (params.ignore === false ? undefined : anyDocument(params, s)),
  'Input.setInterceptDrags': (params, s) => (params.enabled === false ? undefined : anyDocument(params, s)),
  ...all('Inspector', ['disable', 'enable'], allowAlways),
  ...all('Log', ['clear', 'disable', 'enable', 'startViolationsReport', 'stopViolationsReport'], allowAlways),
  ...all('Network', ['disable', 'emulateNetworkConditions', 'enable', 'setBlockedURLs', 'setBypassServiceWorker', 'setCacheDisabled', 'setExtraHTTPHeaders',
    'setUserAgentOverride'], allowAlways),
  'Network.deleteCookies': (params, s) => { requireConsent(s); return deleteCookies(params, s); },
  'Network.getCookies': ownCookies,
  'Network.getRequestPostData': ofRequest,
  'Network.getResponseBody': responseBody,
  'Network.setCookie': setOwnCookie,
  'Network.setCookies': setCookies,
  ...all('Overlay', ['disable', 'enable', 'hideHighlight'], allowAlways),
  ...all('Overlay', ['highlightNode', 'highlightQuad', 'highlightRect'], anyDocument),
  'Overlay.setInspectMode': (params, s) => (params.mode === 'none' ? undefined : anyDocument(params, s)),
  'Page.addScriptToEvaluateOnNewDocument': newDocumentScript,
  ...all('Page', ['enable', 'getFrameTree', 'getLayoutMetrics', 'getNavigationHistory', 'removeScriptToEvaluateOnNewDocument', 'setFontFamilies',
    'setFontSizes', 'setInterceptFileChooserDialog', 'setLifecycleEventsEnabled', 'setWebLifecycleState', 'stopLoading'], allowAlways),
  ...all('Page', ['captureScreenshot', 'captureSnapshot', 'getAppManifest', 'getResourceTree', 'printToPDF', 'setDocumentContent'], anyDocument),
  ...all('Page', ['getResourceContent', 'searchInResource'], resource),
  'Page.createIsolatedWorld': createIsolatedWorld,
  'Page.handleJavaScriptDialog': handleDialog,
  'Page.navigate': navigate,
  'Page.navigateToHistoryEntry': navigateToHistoryEntry,
  'Page.reload': reload,
  'Page.setBypassCSP': (params, s) => (params.enabled === false ? undefined : anyDocument(params, s)),
  'Page.startScreencast': startScreencast,
  ...all('Page', ['screencastFrameAck', 'stopScreencast'], allowAlways),
  ...all('Performance', ['disable', 'enable'], allowAlways),
  'Performance.getMetrics': anyDocument,
  'Runtime.addBinding': addBinding,
  ...all('Runtime', ['disable', 'discardConsoleEntries', 'enable', 'releaseObject', 'releaseObjectGroup', 'removeBinding', 'runIfWaitingForDebugger', 'setAsyncCallStackDepth',
    'setMaxCallStackSizeToCapture', 'terminateExecution'], allowAlways),
  ...all('Runtime', ['compileScript', 'globalLexicalScopeNames', 'runScript'], inContext),
  ...all('Runtime', ['getHeapUsage', 'getIsolateId'], ownDocument),
  'Runtime.awaitPromise': script('promiseObjectId'),
  'Runtime.callFunctionOn': script('objectId', 'executionContextId', 'uniqueContextId'),
  'Runtime.evaluate': script('contextId', 'uniqueContextId'),
  'Runtime.getExceptionDetails': script('errorObjectId'),
  'Runtime.getProperties': ofObject,
  'Target.setAutoAttach': setAutoAttach,
};

/** The error code of CDP for a command that does not exist, or that no client can use. */
const UNKNOWN_METHOD = -32601;

/** Why commands are not available. @type {Record<string, string>} */
const DENIAL_REASONS = {
  'Emulation.setLocaleOverride': 'it would affect other tabs of the user',
  'Emulation.setTimezoneOverride': 'it would affect other tabs of the user',
  'DOM.setFileInputFiles': 'files are chosen by the user',
  'Network.getAllCookies': "only cookies of the tab's own site can be read, by Network.getCookies",
  'Profiler.enable': 'Chrome does not give extensions the Profiler',
  'Security.setIgnoreCertificateErrors': "certificates are checked in the user's Chrome",
};

/**
 * Checks whether a command of a CDP client may be sent. It throws a CommandError if not. Otherwise
 * it returns the parameters to send, or a promise of them if the check is asynchronous.
 *
 * @param {string} method
 * @param {Params} params
 * @param {CommandContext} s
 * @returns {Params | Promise<Params>}
 */
export function checkClient(method, params, s) {
  const rule = Object.hasOwn(TABLE, method) ? TABLE[method] : undefined;
  if (!rule) {
    const reason = Object.hasOwn(DENIAL_REASONS, method) ? `: ${DENIAL_REASONS[method]}` : '';
    throw protocolError(UNKNOWN_METHOD, `'${method}' is not available in the user's Chrome${reason}`);
  }
  const changed = rule(params, s);
  return changed instanceof Promise ? changed.then((p) => p ?? params) : changed ?? params;
}

/** The allowed methods, for tests and documents. */
export const CLIENT_METHOD_NAMES = Object.keys(TABLE);
