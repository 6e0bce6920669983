// @ts-check

// The CDP commands that servers may send to a tab. Commands that are not in the table are
// denied.

import { EARLY } from './early.js';
import { CommandError, protocolError } from './command_error.js';
import { decide, originOf } from './policy.js';
import { INPUT_BLOCK_SCRIPTS, CONTENT_HIDING_SCRIPTS } from './wire.js';

/** @typedef {import('./policy.js').Rules} Rules */

/**
 * An execution context, as reported by Runtime.executionContextCreated.
 *
 * @typedef {object} World
 * @property {boolean} main whether it is the main world
 * @property {boolean} ours whether it is an isolated world that the tools of the server created, not its CDP
 *   clients and not another extension
 * @property {boolean} [client] whether it is an isolated world of a CDP client
 * @property {string} origin "" if it is opaque
 * @property {string} [frame] id of its frame
 */

/**
 * What a check can use.
 *
 * @typedef {object} CommandContext
 * @property {Rules} rules
 * @property {string} url of the tab's top document
 * @property {string} top id of the tab's top frame, "" if unknown
 * @property {boolean} own whether the server opened the tab
 * @property {boolean} child whether the command is for a frame or worker with a separate CDP
 *   session, whose site may differ
 * @property {string} site URL of the document of a child session, or its origin if the URL is
 *   blank; "" if unknown
 * @property {string} dialogURL URL of the document that has opened the dialog, "" if none is open
 * @property {(frame: string) => string | undefined} originOfFrame origin of a frame of the session,
 *   undefined if unknown
 * @property {(frame: string) => string | undefined} urlOfFrame undefined if unknown
 * @property {(unique: string) => World | undefined} worldByUnique
 * @property {(id: number) => World | undefined} worldById
 * @property {(origin: string) => boolean | undefined} evalAnswer the user's answer about scripts on
 *   a site
 * @property {(origin: string) => void} askEval prompts the user, without waiting
 * @property {() => Promise<{id: number, url: string}[]>} history entries of the tab's history
 * @property {() => Promise<string[]>} documents URLs of the documents of all frames of the tab
 * @property {(id: string) => import('./page_requests.js').PageRequest | undefined} request
 * @property {(source: string) => Promise<boolean>} compiles reports whether a script has no syntax
 *   error, without running it
 * @property {() => string[]} scriptOrigins the origins on which the user allows scripts until the
 *   browser closes or permanently
 * @property {(name: string) => boolean} isToolWorld whether tools use an isolated world with a name
 * @property {boolean} [hasResult] whether the command was sent already, and its result is checked
 */

/** @typedef {Record<string, any>} Params */

/**
 * A check throws a CommandError to deny a command. It may return changed parameters to send.
 * If it returns a promise, later commands to the tab wait for it.
 *
 * @typedef {(params: Params, s: CommandContext) => void | Params | Promise<void | Params>} Check
 */

/** @type {Check} */
const allowAlways = () => {};

/** For commands that read the page or act in it: the top document must be allowed,
 * and the document of the frame that the command is for. @type {Check} */
export const content = (params, s) => {
  let why = decide(s.rules, s.url) ?? (s.child ? decide(s.rules, s.site) : null); // an unknown site is denied
  const frame = params.frameId === undefined ? s.top : String(params.frameId);
  if (frame !== s.top) {
    const origin = s.originOfFrame(frame);
    if (!origin) throw new CommandError('POLICY_DENIED', 'the site of the frame is unknown');
    why ??= decide(s.rules, origin + '/') ?? decide(s.rules, s.urlOfFrame(frame) ?? origin + '/');
  }
  if (why) throw new CommandError('POLICY_DENIED', why);
};

/** For the frame element of a frame, which is in the parent document. @type {Check} */
const frameOwner = (_, s) => content({}, s);

/** For input. Only a person may act on an error page of the browser, such as a certificate warning: it
 * gets no input, except releases, which have no effect without an earlier press. @type {Check} */
const act = (params, s) => {
  content(params, s);
  if (s.url.startsWith('chrome-error:') && params.type !== 'mouseReleased' && params.type !== 'touchCancel') {
    throw new CommandError('POLICY_DENIED', 'the tab shows an error page or a warning of the browser, and no call acts on it: if it is a warning, only a person can accept this');
  }
};

/** For a node and its descendants. With consent only, it may pierce frames deeper than the next
 * document, because further documents may be of denied sites. @type {Check} */
const describeNode = (params, s) => {
  if (params.pierce && !(params.depth >= 0 && params.depth <= 1)) requireEvalConsent(params, s);
  else content(params, s);
};

/** For commands that can do as much as a script in the main world. In a frame or worker,
 * the command must name an execution context, which identifies the site. @type {Check} */
const requireEvalConsent = (params, s) => {
  if (s.child) throw new CommandError('BAD_ARGS', 'in a frame or worker, name the execution context');
  content(params, s);
  checkMainWorld(originOf(s.url), s);
};

/**
 * @param {string} origin
 * @param {CommandContext} s
 */
export function checkMainWorld(origin, s) {
  if (origin === '' && isOwnBlank(s.own, s.url)) return;
  if (origin === '') throw new CommandError('POLICY_DENIED', 'the page has no site, so the user cannot allow scripts on it: open a page of a site');
  const answer = s.evalAnswer(origin);
  if (answer === true) return;
  if (answer === false) throw new CommandError('POLICY_DENIED', `the user denied scripts on ${origin}`);
  s.askEval(origin);
  throw new CommandError('CONSENT_REQUIRED', `running scripts on ${origin} requires the user's permission; the prompt is open in the extension popup`, { origin });
}

/**
 * Reports whether a tab shows a blank page that the server opened. It needs no consent.
 *
 * @param {boolean} own whether the server opened the tab
 * @param {string} url of the tab's top document
 */
export const isOwnBlank = (own, url) => own && (url === '' || url === 'about:blank');

/**
 * Checks the world that a script will run in. A world without an origin, such as that of a
 * sandboxed document, is denied, unless its document is a page of the browser.
 *
 * @param {World} world
 * @param {CommandContext} s
 */
export function checkWorld(world, s) {
  if (!world.main && !world.ours) throw new CommandError('POLICY_DENIED', 'chrome-mcp did not create the isolated world');
  const url = world.frame === undefined ? undefined : s.urlOfFrame(world.frame);
  const why = world.origin === '' ? null : decide(s.rules, world.origin + '/') ?? (url ? decide(s.rules, url) : null);
  if (why) throw new CommandError('POLICY_DENIED', why);
  if (world.main) checkMainWorld(world.origin, s);
  else if (world.origin === '' && (s.child || world.frame !== s.top || !noPage(s))) {
    // The tab's URL has an origin and the document has none: an error page that the browser is
    // about to replace.
    if (!s.child && (s.top === '' || world.frame === s.top) && /^https?:/.test(s.url)) throw protocolError(-32000, 'Cannot find context with specified id');
    throw new CommandError('POLICY_DENIED', 'the document has no origin');
  }
}

/**
 * Reports whether the tab shows a blank page that the server opened, or an error page.
 * @param {CommandContext} s
 */
function noPage({ own, url }) {
  return isOwnBlank(own, url) || url.startsWith('chrome-error:');
}

/**
 * Finds the world that a command names, in any way that CDP allows. For a world that no longer
 * exists, it throws the browser's error.
 *
 * @param {Params} params
 * @param {CommandContext} s
 * @param {string} numbered the parameter with the context id
 * @returns {World | null} null if none is named
 */
function namedWorld(params, s, numbered) {
  if (params.uniqueContextId !== undefined) {
    const world = s.worldByUnique(String(params.uniqueContextId));
    if (!world) throw protocolError(-32000, 'uniqueContextId not found');
    return world;
  }
  if (params[numbered] !== undefined) {
    const world = s.worldById(Number(params[numbered]));
    if (!world) throw protocolError(-32000, 'Cannot find context with specified id');
    return world;
  }
  return null;
}

/**
 * Checks the world of a remote object, which the object's id contains.
 *
 * @param {unknown} objectId
 * @param {CommandContext} s
 */
function objectWorld(objectId, s) {
  checkWorld(worldOf(objectId, s), s);
}

/**
 * Returns the world of a remote object, undefined if it is unknown.
 *
 * @param {unknown} objectId
 * @param {CommandContext} s
 */
export function worldOfObject(objectId, s) {
  const parts = String(objectId).split('.');
  return parts.length === 3 ? s.worldById(Number(parts[1])) : undefined;
}

/**
 * @param {unknown} objectId
 * @param {CommandContext} s
 */
function worldOf(objectId, s) {
  const world = worldOfObject(objectId, s);
  if (!world) throw protocolError(-32000, 'Cannot find context with specified id');
  return world;
}

/** Checks a query about the listeners of an element. The element belongs to the
 * page's world, as its listeners do, but no script runs there. @type {Check} */
function getEventListeners(params, s) {
  if (params.pierce) throw new CommandError('BAD_ARGS', 'query each document separately, without pierce');
  checkWorld({ ...worldOf(params.objectId, s), main: false, ours: true }, s);
}

/** A number runs no script. It only shows whether the page responds. */
const NUMERIC_EXPRESSION = /^[0-9]{1,9}$/;

/** @type {Check} */
function evaluate(params, s) {
  if (params.includeCommandLineAPI) throw new CommandError('BAD_ARGS', 'includeCommandLineAPI is not allowed');
  const world = namedWorld(params, s, 'contextId');
  if (world) checkWorld(world, s);
  else if (!NUMERIC_EXPRESSION.test(String(params.expression))) requireEvalConsent(params, s);
}

/**
 * The scripts that also run in denied documents: verbatim and without arguments.
 * @type {readonly unknown[]}
 */
const FOR_DENIED = [...Object.values(INPUT_BLOCK_SCRIPTS), ...CONTENT_HIDING_SCRIPTS];

/**
 * forDenied reports whether a call only blocks input or hides content of a document, or undoes
 * that.
 * @param {Params} params
 */
const forDenied = (params) => FOR_DENIED.includes(params.functionDeclaration) && params.arguments === undefined && params.objectId === undefined;

/** @type {Check} */
function callFunctionOn(params, s) {
  if (params.objectId !== undefined) {
    objectWorld(params.objectId, s);
    return;
  }
  const world = namedWorld(params, s, 'executionContextId');
  if (!world) throw new CommandError('BAD_ARGS', 'name the execution context for the function');
  if (!world.main && forDenied(params)) return; // denied documents included
  checkWorld(world, s);
}

/** For scripts that run in each new document, including denied ones. @type {Check} */
function isolatedScript(params) {
  if (typeof params.worldName !== 'string' || params.worldName === '') {
    throw new CommandError('POLICY_DENIED', 'scripts are installed in an isolated world only: set worldName');
  }
  if (params.includeCommandLineAPI) throw new CommandError('BAD_ARGS', 'includeCommandLineAPI is not allowed');
  if (params.source !== `(${INPUT_BLOCK_SCRIPTS.block})()` && params.source !== `(${INPUT_BLOCK_SCRIPTS.lockScrolling})()`) return earlyScript(String(params.source));
}

/**
 * Checks that a script is one of the document start scripts.
 *
 * @param {string} source
 */
async function earlyScript(source) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(source)));
  if (EARLY.includes(Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''))) return;
  throw new CommandError('POLICY_DENIED', 'unknown document start script: chrome-mcp and its extension may have different versions; update both');
}

/** @type {Check} */
function addBinding(params) {
  if (typeof params.executionContextName !== 'string' || params.executionContextName === '' || params.executionContextId !== undefined) {
    throw new CommandError('POLICY_DENIED', 'bindings are installed in an isolated world only: set executionContextName');
  }
}

/** @type {Check} */
function createIsolatedWorld(params, s) {
  content(params, s);
  if (params.grantUniveralAccess || params.grantUniversalAccess) throw new CommandError('POLICY_DENIED', 'universal access is not granted');
  if (!params.worldName) throw new CommandError('BAD_ARGS', 'set worldName');
}

/** @type {Check} */
export function navigate(params, s) {
  const url = String(params.url);
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new CommandError('BAD_ARGS', 'the url is not an absolute URL');
  }
  if (url !== 'about:blank') {
    if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw new CommandError('POLICY_DENIED', 'only http and https pages can be opened');
    if (parsed.username || parsed.password) throw new CommandError('BAD_ARGS', 'the url has a user name or password');
  }
  // Check and send the serialized form of the browser.
  const why = decide(s.rules, parsed.href);
  if (why) throw new CommandError('POLICY_DENIED', why);
  return { ...params, url: parsed.href };
}

/** The back/forward cache restores pages without a request, so no network rule
 * applies. @type {Check} */
export async function navigateToHistoryEntry(params, s) {
  const entry = (await s.history()).find((e) => e.id === params.entryId);
  if (!entry) throw protocolError(-32602, 'No entry with passed id');
  const why = decide(s.rules, entry.url);
  if (why) throw new CommandError('POLICY_DENIED', why);
}

/** @type {Check} */
export function reload(params) {
  if (params.scriptToEvaluateOnLoad) throw new CommandError('POLICY_DENIED', 'scriptToEvaluateOnLoad is not allowed');
}

/** Without urls the browser would return the cookies of all frames, and with other sites' urls
 * the cookies of those sites. @type {Check} */
export function getCookies(params, s) {
  content(params, s);
  const origin = originOf(s.url);
  const { urls } = params;
  if (!Array.isArray(urls) || urls.length === 0) throw new CommandError('BAD_ARGS', 'set urls');
  if (origin === '' || !urls.every((url) => typeof url === 'string' && originOf(url) === origin)) {
    throw new CommandError('POLICY_DENIED', `only cookies of the tab's own site${origin && `, ${origin},`} can be read`);
  }
}

/** A cookie may be set for the tab's host, or for a parent domain if the rules allow that
 * domain also, because it shares the cookie with other hosts. @type {Check} */
export function setCookie(params, s) {
  content(params, s);
  const origin = originOf(s.url);
  if (origin === '' || typeof params.url !== 'string' || originOf(params.url) !== origin) {
    throw new CommandError('POLICY_DENIED', `only cookies of the tab's own site${origin && `, ${origin},`} can be set`);
  }
  if (params.domain !== undefined) cookieDomain(params.domain, s);
}

/** @type {Check} */
export function deleteCookies(params, s) {
  content(params, s);
  if (params.url !== undefined || params.domain === undefined) throw new CommandError('BAD_ARGS', 'set domain and not url');
  cookieDomain(params.domain, s);
}

/**
 * Checks a cookie's domain: the host of the tab's document, or an allowed parent domain.
 *
 * @param {unknown} domain
 * @param {CommandContext} s
 */
function cookieDomain(domain, s) {
  const origin = originOf(s.url);
  const own = origin === '' ? '' : new URL(origin).hostname;
  const name = String(domain).replace(/^\./, '');
  if (own === '' || name === '' || (name !== own && !own.endsWith(`.${name}`))) {
    throw new CommandError('POLICY_DENIED', "only cookies of the tab's own site can be changed");
  }
  if (name === own) return;
  const above = new URL(origin);
  above.hostname = name;
  const why = decide(s.rules, above.href);
  if (why) throw new CommandError('POLICY_DENIED', why);
}

/** @type {Check} */
export function setAutoAttach(params) {
  if (params.autoAttach && params.flatten !== true) throw new CommandError('BAD_ARGS', 'set flatten to true');
}

/** @type {Check} */
function continueRequest(params) {
  for (const key of ['url', 'method', 'postData', 'headers']) {
    if (params[key] !== undefined) throw new CommandError('POLICY_DENIED', `a request's ${key} cannot be changed`);
  }
}

/**
 * A request can only be answered by an empty page: with one of the history, which the server reloads.
 *
 * @type {Check}
 */
function fulfillRequest(params) {
  for (const key of Object.keys(params)) {
    if (key !== 'requestId' && key !== 'responseCode') throw new CommandError('POLICY_DENIED', `the ${key} of a response cannot be set`);
  }
}

/** @type {Record<string, Check>} */
const TABLE = {
  'Accessibility.enable': allowAlways,
  'Accessibility.disable': allowAlways,
  'Accessibility.getFullAXTree': content,
  'Accessibility.getPartialAXTree': content,
  'Accessibility.queryAXTree': content,

  'DOMDebugger.getEventListeners': getEventListeners,

  'DOM.enable': allowAlways,
  'DOM.disable': allowAlways,
  'DOM.describeNode': describeNode,
  'DOM.focus': content,
  'DOM.getBoxModel': content,
  'DOM.getContentQuads': content,
  'DOM.getDocument': requireEvalConsent, // with pierce it returns denied frames
  'DOM.getFrameOwner': frameOwner,
  'DOM.getNodeForLocation': content,
  'DOM.requestNode': content,
  'DOM.resolveNode': content,
  'DOM.scrollIntoViewIfNeeded': content,

  'Emulation.clearDeviceMetricsOverride': allowAlways,
  'Emulation.clearGeolocationOverride': allowAlways,
  'Emulation.setDeviceMetricsOverride': allowAlways,
  'Emulation.setEmulatedMedia': allowAlways,
  'Emulation.setFocusEmulationEnabled': allowAlways,
  'Emulation.setGeolocationOverride': allowAlways,
  'Emulation.setPageScaleFactor': allowAlways,
  'Emulation.setTouchEmulationEnabled': allowAlways,
  'Emulation.setUserAgentOverride': allowAlways,

  'Fetch.enable': allowAlways,
  'Fetch.disable': allowAlways,
  'Fetch.continueRequest': continueRequest,
  'Fetch.failRequest': allowAlways,
  'Fetch.fulfillRequest': fulfillRequest,

  'Input.cancelDragging': allowAlways,
  'Input.dispatchKeyEvent': act,
  'Input.dispatchMouseEvent': act,
  'Input.dispatchTouchEvent': act,
  'Input.imeSetComposition': act,
  'Input.insertText': act,

  'Inspector.enable': allowAlways,
  'Inspector.disable': allowAlways,

  'Log.clear': allowAlways,

  'Network.enable': allowAlways,
  'Network.deleteCookies': deleteCookies,
  'Network.disable': allowAlways,
  'Network.emulateNetworkConditions': allowAlways,
  'Network.getCookies': getCookies,
  'Network.setCookie': setCookie,

  'Page.addScriptToEvaluateOnNewDocument': isolatedScript,
  'Page.captureScreenshot': content,
  'Page.crash': allowAlways, // the only way to stop a hung page
  'Page.createIsolatedWorld': createIsolatedWorld,
  'Page.enable': allowAlways,
  'Page.getFrameTree': allowAlways,
  'Page.getLayoutMetrics': allowAlways,
  'Page.getNavigationHistory': allowAlways,
  'Page.handleJavaScriptDialog': allowAlways,
  'Page.navigate': navigate,
  'Page.navigateToHistoryEntry': navigateToHistoryEntry,
  'Page.printToPDF': content,
  'Page.reload': reload,
  'Page.removeScriptToEvaluateOnNewDocument': allowAlways,
  'Page.screencastFrameAck': allowAlways,
  'Page.setInterceptFileChooserDialog': allowAlways,
  'Page.setLifecycleEventsEnabled': allowAlways,
  'Page.startScreencast': content,
  'Page.stopLoading': allowAlways,
  'Page.stopScreencast': allowAlways,

  'Runtime.addBinding': addBinding,
  'Runtime.awaitPromise': (params, s) => objectWorld(params.promiseObjectId, s),
  'Runtime.callFunctionOn': callFunctionOn,
  'Runtime.disable': allowAlways,
  'Runtime.discardConsoleEntries': allowAlways,
  'Runtime.enable': allowAlways,
  'Runtime.evaluate': evaluate,
  'Runtime.getProperties': (params, s) => objectWorld(params.objectId, s),
  'Runtime.releaseObject': allowAlways,
  'Runtime.releaseObjectGroup': allowAlways,
  'Runtime.removeBinding': allowAlways,
  'Runtime.runIfWaitingForDebugger': allowAlways,
  'Runtime.terminateExecution': allowAlways, // the browser rejects it itself

  'Target.detachFromTarget': allowAlways,
  'Target.getTargetInfo': (params) => {
    if (params.targetId !== undefined) throw new CommandError('POLICY_DENIED', "only the tab's own target can be queried");
  },
  'Target.setAutoAttach': setAutoAttach,
};

/** What to do in place of a denied command. @type {Record<string, string>} */
const DENIED_HINTS = {
  'Browser.close': "the browser is the user's",
  'DOM.setFileInputFiles': 'files are chosen by the user',
  'Network.getAllCookies': "only cookies of the tab's own site can be read, by Network.getCookies",
  'Page.disable': 'chrome-mcp needs page events',
  'Page.bringToFront': 'tabs are driven in the background',
  'Page.close': 'close the tab instead',
  'Storage.getCookies': "only cookies of the tab's own site can be read, by Network.getCookies",
  'Target.closeTarget': 'close the tab instead',
  'Target.createTarget': 'open a tab instead',
};

/**
 * Checks whether a command may be sent. It throws a CommandError if not. Otherwise it
 * returns the parameters to send, or a promise of them if the check is
 * asynchronous.
 *
 * @param {string} method
 * @param {Params} params
 * @param {CommandContext} context
 * @returns {Params | Promise<Params>}
 */
export function check(method, params, context) {
  const rule = Object.hasOwn(TABLE, method) ? TABLE[method] : undefined;
  if (!rule) {
    const instead = Object.hasOwn(DENIED_HINTS, method) ? `: ${DENIED_HINTS[method]}` : '';
    throw new CommandError('POLICY_DENIED', `the extension does not allow ${method}${instead}`);
  }
  const changed = rule(params, context);
  return changed instanceof Promise ? changed.then((p) => p ?? params) : changed ?? params;
}

/** The checks of commands whose results contain nothing of a document. @type {Set<Check>} */
const WITHOUT_CONTENT = new Set([
  allowAlways, addBinding, createIsolatedWorld, deleteCookies, isolatedScript, navigate, navigateToHistoryEntry, reload, setAutoAttach, setCookie,
]);

/**
 * Checks the result of a command, which was allowed for the documents before. It throws a CommandError
 * if a document that is denied now may be in the result.
 *
 * @param {string} method
 * @param {Params} params the checked parameters
 * @param {CommandContext} s
 */
export function checkResult(method, params, s) {
  const rule = TABLE[method];
  if (WITHOUT_CONTENT.has(rule) || (rule === callFunctionOn && forDenied(params)) || (rule === evaluate && NUMERIC_EXPRESSION.test(String(params.expression)))) return;
  const frame = params.frameId ?? worldOfParams(params, s)?.frame;
  for (const url of [s.url, s.child ? s.site : '', frame === undefined ? '' : s.urlOfFrame(String(frame))]) {
    const why = url ? decide(s.rules, url) : null;
    if (why) throw new CommandError('POLICY_DENIED', why);
  }
}

/**
 * Redacts a result: history entries of denied sites are reduced to their origin.
 *
 * @param {string} method
 * @param {any} result the browser's result
 * @param {Rules} rules
 */
export function redactResult(method, result, rules) {
  if (method !== 'Page.getNavigationHistory' || !Array.isArray(result?.entries)) return result;
  return { ...result, entries: result.entries.map((/** @type {any} */ e) => {
    if (decide(rules, String(e.url)) === null) return e;
    const origin = originOf(String(e.url));
    const url = origin === '' ? 'about:invalid' : `${origin}/`;
    return { id: e.id, url, userTypedURL: url, title: '', transitionType: e.transitionType };
  }) };
}

/** The checks that use the site of a child session. */
const SITE_CHECKS = new Set([act, content, createIsolatedWorld, deleteCookies, describeNode, frameOwner, getCookies, setCookie]);

/**
 * Reports whether a method needs the document of an out-of-process frame.
 * @param {string} method
 */
export const needsSite = (method) => Object.hasOwn(TABLE, method) && SITE_CHECKS.has(TABLE[method]);

/** The allowed methods, for tests and documents. */
export const METHOD_NAMES = Object.keys(TABLE);

/**
 * Returns the world that the parameters of a command name, if it is known.
 *
 * @param {Params} params
 * @param {Pick<CommandContext, 'worldById' | 'worldByUnique'>} s
 */
function worldOfParams({ uniqueContextId, contextId, executionContextId, objectId, promiseObjectId }, s) {
  if (uniqueContextId !== undefined) return s.worldByUnique(String(uniqueContextId));
  const object = objectId ?? promiseObjectId;
  return s.worldById(Number(object !== undefined ? String(object).split('.')[1] : contextId ?? executionContextId));
}

/**
 * Reports whether a script runs in an isolated world, as chrome-mcp's page scripts
 * do. Agents' scripts run in the main world.
 *
 * @param {Params} params
 * @param {Pick<CommandContext, 'worldById' | 'worldByUnique'>} s
 */
const isIsolatedWorld = (params, s) => worldOfParams(params, s)?.main === false;

/**
 * Describes a command for the user, in the popup and the log. It returns null for commands that
 * are not shown.
 *
 * @param {string} method
 * @param {Params} params the checked parameters
 * @param {Pick<CommandContext, 'worldById' | 'worldByUnique'>} s
 * @returns {string | null}
 */
export function describe(method, params, s) {
  switch (method) {
    case 'Page.navigate':
    case 'Page.navigateToHistoryEntry':
      return 'opening a page';
    case 'Page.reload':
      return 'reloading';
    case 'Input.dispatchMouseEvent':
      return params.type === 'mouseMoved' ? null : params.type === 'mouseWheel' ? 'scrolling' : 'clicking';
    case 'Input.dispatchTouchEvent':
      return 'clicking';
    case 'Input.dispatchKeyEvent':
    case 'Input.insertText':
    case 'Input.imeSetComposition':
      return 'typing';
    case 'Page.captureScreenshot':
      return 'taking a screenshot';
    case 'Page.printToPDF':
      return 'printing to PDF';
    case 'Network.getCookies':
      return "reading the site's cookies";
    case 'Network.setCookie':
    case 'Network.deleteCookies':
      return "changing the site's cookies";
    case 'Page.handleJavaScriptDialog':
      return 'answering a dialog';
    case 'Runtime.evaluate':
      if (NUMERIC_EXPRESSION.test(String(params.expression)) && params.uniqueContextId === undefined && params.contextId === undefined) return null;
      return isIsolatedWorld(params, s) ? 'reading the page' : 'running a script';
    case 'Runtime.callFunctionOn':
      if (forDenied(params)) return null;
      return isIsolatedWorld(params, s) ? 'reading the page' : 'running a script';
    case 'Accessibility.getFullAXTree':
    case 'DOM.getDocument':
      return 'reading the page';
  }
  return null;
}
