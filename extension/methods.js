// @ts-check

// Which commands of the browser's protocol go through to a tab. One that is
// not in the table is refused.

import { EARLY } from './early.js';
import { Refusal, protocolError } from './refusal.js';
import { decide, originOf } from './rules.js';
import { BARS, HIDING } from './wire.js';

/** @typedef {import('./rules.js').Rules} Rules */

/**
 * A world that scripts run in, as Runtime.executionContextCreated told of it.
 *
 * @typedef {object} World
 * @property {boolean} main the page's own, not an isolated one
 * @property {boolean} ours an isolated world that the server named, not another extension's
 * @property {string} origin "" when it is opaque
 * @property {string} [frame] id of the frame that it is in
 */

/**
 * What a check may look at.
 *
 * @typedef {object} Situation
 * @property {Rules} rules
 * @property {string} url of the tab's top document
 * @property {string} top id of the tab's top frame, "" while unknown
 * @property {boolean} own the tab was opened by the server
 * @property {boolean} child the command is for a frame or a worker with a session of its own, whose site may be another
 * @property {string} site URL of the document of a child session, or its origin if the URL is blank; "" if unknown
 * @property {(frame: string) => string | undefined} originOfFrame of the session, as far as it is known
 * @property {(frame: string) => string | undefined} urlOfFrame undefined if unknown
 * @property {(unique: string) => World | undefined} worldByUnique
 * @property {(id: number) => World | undefined} worldById
 * @property {(origin: string) => boolean | undefined} evalAnswer what the user said of scripts in the pages of a site
 * @property {(origin: string) => void} askEval asks the user, without waiting
 * @property {() => Promise<{id: number, url: string}[]>} history entries of the tab's history
 */

/** @typedef {Record<string, any>} Params */

/**
 * A check throws a Refusal, and returns the parameters to send when they are
 * not those that came. A promise holds up what comes after it in the tab.
 *
 * @typedef {(params: Params, s: Situation) => void | Params | Promise<void>} Check
 */

/** @type {Check} */
const free = () => {};

/** For what reads the page or acts in it: its top document must be allowed,
 * and that of the frame which the command is for. @type {Check} */
const content = (params, s) => {
  let why = decide(s.rules, s.url) ?? (s.child ? decide(s.rules, s.site) : null); // an unknown site is denied
  const frame = params.frameId === undefined ? s.top : String(params.frameId);
  if (frame !== s.top) {
    const origin = s.originOfFrame(frame);
    if (!origin) throw new Refusal('POLICY_DENIED', 'the site of the frame is unknown');
    why ??= decide(s.rules, origin + '/') ?? decide(s.rules, s.urlOfFrame(frame) ?? origin + '/');
  }
  if (why) throw new Refusal('POLICY_DENIED', why);
};

/** Of a node and what is in it: through frames only as far as the next one's
 * document, which may be of a site that the policy denies. @type {Check} */
const describeNode = (params, s) => {
  if (params.pierce && !(params.depth >= 0 && params.depth <= 1)) granted(params, s);
  else content(params, s);
};

/** For raw commands that do as much as a script of the page's. What is not the
 * tab's own document has to be named by a world, which tells its site. @type {Check} */
const granted = (params, s) => {
  if (s.child) throw new Refusal('BAD_ARGS', 'in a frame or a worker, name the context');
  content(params, s);
  mainWorld(originOf(s.url), s);
};

/**
 * @param {string} origin
 * @param {Situation} s
 */
function mainWorld(origin, s) {
  if (origin === '' && s.own && (s.url === '' || s.url === 'about:blank')) return; // nobody's page
  const answer = origin === '' ? false : s.evalAnswer(origin);
  if (answer === true) return;
  if (answer === false) throw new Refusal('POLICY_DENIED', `the user of this browser does not allow scripts in ${origin || 'this page'}`);
  s.askEval(origin);
  throw new Refusal('CONSENT_REQUIRED', `running scripts in ${origin} needs the leave of the browser's user, who is being asked in the popup of the chrome-mcp extension`);
}

/**
 * Checks the world that a script is to run in. A world without an origin is
 * denied, such as that of a sandboxed document, unless its document is a page of
 * the browser.
 *
 * @param {World} world
 * @param {Situation} s
 */
function inWorld(world, s) {
  if (!world.main && !world.ours) throw new Refusal('POLICY_DENIED', 'chrome-mcp did not create the isolated world');
  const url = world.frame === undefined ? undefined : s.urlOfFrame(world.frame);
  const why = world.origin === '' ? null : decide(s.rules, world.origin + '/') ?? (url ? decide(s.rules, url) : null);
  if (why) throw new Refusal('POLICY_DENIED', why);
  if (world.main) mainWorld(world.origin, s);
  else if (world.origin === '' && (s.child || world.frame !== s.top || !noPage(s))) {
    // The tab's URL has an origin and the document has none: an error page that the browser is about to replace.
    if (!s.child && (s.top === '' || world.frame === s.top) && /^https?:/.test(s.url)) throw protocolError(-32000, 'Cannot find context with specified id');
    throw new Refusal('POLICY_DENIED', 'the document has no origin');
  }
}

/** Reports whether the tab shows a blank page that the server opened, or an error page. @param {Situation} s */
function noPage({ own, url }) {
  return (own && (url === '' || url === 'about:blank')) || url.startsWith('chrome-error:');
}

/**
 * Finds the world that a command names by any of the protocol's ways, and
 * answers as the browser does for one that is gone.
 *
 * @param {Params} params
 * @param {Situation} s
 * @param {string} numbered the parameter with the number of the context
 * @returns {World | null} null when none is named
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
 * Checks the world that a remote object lives in: its id names it.
 *
 * @param {unknown} objectId
 * @param {Situation} s
 */
function objectWorld(objectId, s) {
  inWorld(worldOf(objectId, s), s);
}

/**
 * @param {unknown} objectId
 * @param {Situation} s
 */
function worldOf(objectId, s) {
  const parts = String(objectId).split('.');
  const world = parts.length === 3 ? s.worldById(Number(parts[1])) : undefined;
  if (!world) throw protocolError(-32000, 'Cannot find context with specified id');
  return world;
}

/** Checks a query about the listeners of an element. The element belongs to the
 * page's world, as its listeners do, but no script runs there. @type {Check} */
function getEventListeners(params, s) {
  if (params.pierce) throw new Refusal('BAD_ARGS', 'query each document by itself, without pierce');
  inWorld({ ...worldOf(params.objectId, s), main: false, ours: true }, s);
}

/** A number runs nothing: it only shows whether the page answers. */
const HARMLESS = /^[0-9]{1,9}$/;

/** @type {Check} */
function evaluate(params, s) {
  if (params.includeCommandLineAPI) throw new Refusal('BAD_ARGS', 'includeCommandLineAPI is not allowed');
  const world = namedWorld(params, s, 'contextId');
  if (world) inWorld(world, s);
  else if (!HARMLESS.test(String(params.expression))) granted(params, s);
}

/** The scripts that also run in denied documents: verbatim and without arguments. @type {readonly unknown[]} */
const FOR_DENIED = [...BARS, ...HIDING];

/**
 * forDenied reports whether a call only blocks input or hides content of a document, or ends that.
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
  if (!world) throw new Refusal('BAD_ARGS', 'name the context to call the function in');
  if (!world.main && forDenied(params)) return; // also in a denied document
  inWorld(world, s);
}

/** What runs in each new document runs in denied ones too. @type {Check} */
function isolatedScript(params) {
  if (typeof params.worldName !== 'string' || params.worldName === '') {
    throw new Refusal('POLICY_DENIED', "scripts are installed in a world of their own, not in the page's: give a worldName");
  }
  if (params.includeCommandLineAPI) throw new Refusal('BAD_ARGS', 'includeCommandLineAPI is not allowed');
  if (params.source !== `(${BARS[0]})()` && params.source !== `(${BARS[2]})()`) return earlyScript(String(params.source));
}

/**
 * Checks that a script is one of those that run before a document's own.
 *
 * @param {string} source
 */
async function earlyScript(source) {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(source)));
  if (EARLY.includes(Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join(''))) return;
  throw new Refusal('POLICY_DENIED', "the script is not one that this version of the extension runs in each document: update chrome-mcp and its extension, which may be of different versions");
}

/** @type {Check} */
function addBinding(params) {
  if (typeof params.executionContextName !== 'string' || params.executionContextName === '' || params.executionContextId !== undefined) {
    throw new Refusal('POLICY_DENIED', "bindings are installed in a world of their own, not in the page's: give an executionContextName");
  }
}

/** @type {Check} */
function createIsolatedWorld(params, s) {
  content(params, s);
  if (params.grantUniveralAccess || params.grantUniversalAccess) throw new Refusal('POLICY_DENIED', 'universal access is not granted');
  if (!params.worldName) throw new Refusal('BAD_ARGS', 'give a worldName');
}

/** @type {Check} */
function navigate(params, s) {
  const url = String(params.url);
  let parsed;
  try {
    parsed = new URL(url);
  } catch {
    throw new Refusal('BAD_ARGS', 'the url is not an absolute URL');
  }
  if (url !== 'about:blank') {
    if (parsed.protocol !== 'http:' && parsed.protocol !== 'https:') throw new Refusal('POLICY_DENIED', 'only http and https pages can be opened');
    if (parsed.username || parsed.password) throw new Refusal('BAD_ARGS', 'the url has a user name or password');
  }
  // Decided on, and sent, in the form in which the browser writes it.
  const why = decide(s.rules, parsed.href);
  if (why) throw new Refusal('POLICY_DENIED', why);
  return { ...params, url: parsed.href };
}

/** The back/forward cache brings pages back without a request, so that no
 * rule of the network sees them. @type {Check} */
async function navigateToHistoryEntry(params, s) {
  const entry = (await s.history()).find((e) => e.id === params.entryId);
  if (!entry) throw protocolError(-32602, 'No entry with passed id');
  const why = decide(s.rules, entry.url);
  if (why) throw new Refusal('POLICY_DENIED', why);
}

/** @type {Check} */
function reload(params) {
  if (params.scriptToEvaluateOnLoad) throw new Refusal('POLICY_DENIED', 'scriptToEvaluateOnLoad is not allowed');
}

/** Without urls the browser would tell the cookies of all frames, with others'
 * urls those of any site. @type {Check} */
function getCookies(params, s) {
  content(params, s);
  const origin = originOf(s.url);
  const { urls } = params;
  if (!Array.isArray(urls) || urls.length === 0) throw new Refusal('BAD_ARGS', 'give the urls whose cookies are wanted');
  if (origin === '' || !urls.every((url) => typeof url === 'string' && originOf(url) === origin)) {
    throw new Refusal('POLICY_DENIED', `only cookies of the tab's own site, ${origin || 'which it has none of'}, can be read`);
  }
}

/** A cookie is set for the tab's own host, or for a domain above it where the
 * rules allow that one too: it is of other hosts then. @type {Check} */
function setCookie(params, s) {
  content(params, s);
  const origin = originOf(s.url);
  if (origin === '' || typeof params.url !== 'string' || originOf(params.url) !== origin) {
    throw new Refusal('POLICY_DENIED', `only cookies of the tab's own site, ${origin || 'which it has none of'}, can be set`);
  }
  if (params.domain !== undefined) cookieDomain(params.domain, s);
}

/** @type {Check} */
function deleteCookies(params, s) {
  content(params, s);
  if (params.url !== undefined || params.domain === undefined) throw new Refusal('BAD_ARGS', 'give the domain of the cookies, and no url');
  cookieDomain(params.domain, s);
}

/**
 * Checks a cookie's domain: the host of the tab's document, or above it and allowed.
 *
 * @param {unknown} domain
 * @param {Situation} s
 */
function cookieDomain(domain, s) {
  const origin = originOf(s.url);
  const own = origin === '' ? '' : new URL(origin).hostname;
  const name = String(domain).replace(/^\./, '');
  if (own === '' || name === '' || (name !== own && !own.endsWith(`.${name}`))) {
    throw new Refusal('POLICY_DENIED', "only cookies of the tab's own site can be changed");
  }
  if (name === own) return;
  const above = new URL(origin);
  above.hostname = name;
  const why = decide(s.rules, above.href);
  if (why) throw new Refusal('POLICY_DENIED', why);
}

/** @type {Check} */
function setAutoAttach(params) {
  if (params.autoAttach && params.flatten !== true) throw new Refusal('BAD_ARGS', 'attach with flatten: true');
}

/** @type {Check} */
function continueRequest(params) {
  for (const key of ['url', 'method', 'postData', 'headers']) {
    if (params[key] !== undefined) throw new Refusal('POLICY_DENIED', `a request's ${key} cannot be changed`);
  }
}

/** @type {Record<string, Check>} */
const TABLE = {
  'Accessibility.enable': free,
  'Accessibility.disable': free,
  'Accessibility.getFullAXTree': content,
  'Accessibility.getPartialAXTree': content,
  'Accessibility.queryAXTree': content,

  'DOMDebugger.getEventListeners': getEventListeners,

  'DOM.enable': free,
  'DOM.disable': free,
  'DOM.describeNode': describeNode,
  'DOM.focus': content,
  'DOM.getBoxModel': content,
  'DOM.getContentQuads': content,
  'DOM.getDocument': granted, // with pierce it tells of frames that the policy denies
  'DOM.getFrameOwner': (_, s) => content({}, s), // the element around a frame, in the document that it is in
  'DOM.getNodeForLocation': content,
  'DOM.requestNode': content,
  'DOM.resolveNode': content,
  'DOM.scrollIntoViewIfNeeded': content,

  'Emulation.clearDeviceMetricsOverride': free,
  'Emulation.setDeviceMetricsOverride': free,
  'Emulation.setEmulatedMedia': free,
  'Emulation.setFocusEmulationEnabled': free,
  'Emulation.setPageScaleFactor': free,
  'Emulation.setTouchEmulationEnabled': free,
  'Emulation.setUserAgentOverride': free,

  'Fetch.enable': free,
  'Fetch.disable': free,
  'Fetch.continueRequest': continueRequest,
  'Fetch.failRequest': free,

  'Input.cancelDragging': free,
  'Input.dispatchKeyEvent': content,
  'Input.dispatchMouseEvent': content,
  'Input.dispatchTouchEvent': content,
  'Input.imeSetComposition': content,
  'Input.insertText': content,

  'Inspector.enable': free,
  'Inspector.disable': free,

  'Network.enable': free,
  'Network.deleteCookies': deleteCookies,
  'Network.disable': free,
  'Network.emulateNetworkConditions': free,
  'Network.getCookies': getCookies,
  'Network.setCookie': setCookie,

  'Page.addScriptToEvaluateOnNewDocument': isolatedScript,
  'Page.captureScreenshot': content,
  'Page.crash': free, // the way out of a page that hangs and hears nothing else
  'Page.createIsolatedWorld': createIsolatedWorld,
  'Page.enable': free,
  'Page.getFrameTree': free,
  'Page.getLayoutMetrics': free,
  'Page.getNavigationHistory': free,
  'Page.handleJavaScriptDialog': free,
  'Page.navigate': navigate,
  'Page.navigateToHistoryEntry': navigateToHistoryEntry,
  'Page.printToPDF': content,
  'Page.reload': reload,
  'Page.removeScriptToEvaluateOnNewDocument': free,
  'Page.screencastFrameAck': free,
  'Page.setInterceptFileChooserDialog': free,
  'Page.setLifecycleEventsEnabled': free,
  'Page.startScreencast': content,
  'Page.stopLoading': free,
  'Page.stopScreencast': free,

  'Runtime.addBinding': addBinding,
  'Runtime.awaitPromise': (params, s) => objectWorld(params.promiseObjectId, s),
  'Runtime.callFunctionOn': callFunctionOn,
  'Runtime.disable': free,
  'Runtime.enable': free,
  'Runtime.evaluate': evaluate,
  'Runtime.getProperties': (params, s) => objectWorld(params.objectId, s),
  'Runtime.releaseObject': free,
  'Runtime.releaseObjectGroup': free,
  'Runtime.removeBinding': free,
  'Runtime.runIfWaitingForDebugger': free,
  'Runtime.terminateExecution': free, // the browser refuses it, in its own words

  'Target.detachFromTarget': free,
  'Target.getTargetInfo': (params) => {
    if (params.targetId !== undefined) throw new Refusal('POLICY_DENIED', "only the tab's own target can be asked about");
  },
  'Target.setAutoAttach': setAutoAttach,
};

/** Refused by name, to say what to do instead. @type {Record<string, string>} */
const INSTEAD = {
  'Browser.close': "the browser is the user's",
  'DOM.setFileInputFiles': 'files are chosen by the user',
  'Network.getAllCookies': "only cookies of the tab's own site can be read, by Network.getCookies",
  'Page.disable': 'chrome-mcp needs the events of the page',
  'Page.bringToFront': 'tabs are driven where they are',
  'Page.close': 'use tab_close',
  'Storage.getCookies': "only cookies of the tab's own site can be read, by Network.getCookies",
  'Target.closeTarget': 'use tab_close',
  'Target.createTarget': 'use tab_new',
};

/**
 * Decides whether a command goes through. It throws a Refusal when not, and
 * returns the parameters to send otherwise; a promise of them where something
 * has to be asked first.
 *
 * @param {string} method
 * @param {Params} params
 * @param {Situation} situation
 * @returns {Params | Promise<Params>}
 */
export function check(method, params, situation) {
  const rule = Object.hasOwn(TABLE, method) ? TABLE[method] : undefined;
  if (!rule) {
    const instead = Object.hasOwn(INSTEAD, method) ? `: ${INSTEAD[method]}` : '';
    throw new Refusal('POLICY_DENIED', `${method} does not pass the extension${instead}`);
  }
  const changed = rule(params, situation);
  if (changed instanceof Promise) return changed.then(() => params);
  return changed ?? params;
}

/**
 * Takes out of an answer what is not the server's to know: where the tab has
 * been, on sites where it may not go. Of those only the site is left.
 *
 * @param {string} method
 * @param {any} result the browser's
 * @param {Rules} rules
 */
export function censored(method, result, rules) {
  if (method !== 'Page.getNavigationHistory' || !Array.isArray(result?.entries)) return result;
  return { ...result, entries: result.entries.map((/** @type {any} */ e) => {
    if (decide(rules, String(e.url)) === null) return e;
    const origin = originOf(String(e.url));
    const url = origin === '' ? 'about:invalid' : `${origin}/`;
    return { id: e.id, url, userTypedURL: url, title: '', transitionType: e.transitionType };
  }) };
}

/** Reports whether a method needs the document of an out-of-process frame. @param {string} method */
export const needsSite = (method) => Object.hasOwn(TABLE, method) && [content, describeNode, createIsolatedWorld].includes(TABLE[method]);

/** The methods that pass, for tests and documents. */
export const METHOD_NAMES = Object.keys(TABLE);

/**
 * Whether a script runs in a world of its own, as those with which chrome-mcp
 * reads pages do. Scripts of an agent's run in the page's.
 *
 * @param {Params} params
 * @param {Pick<Situation, 'worldById' | 'worldByUnique'>} s
 */
function ofOurs(params, s) {
  const { uniqueContextId, contextId, executionContextId, objectId } = params;
  const world = uniqueContextId !== undefined ? s.worldByUnique(String(uniqueContextId))
    : s.worldById(Number(objectId !== undefined ? String(objectId).split('.')[1] : contextId ?? executionContextId));
  return world?.main === false;
}

/**
 * Names what a command does, for the user: what the popup shows and the log
 * keeps. Null for what is not worth a word.
 *
 * @param {string} method
 * @param {Params} params that passed
 * @param {Pick<Situation, 'worldById' | 'worldByUnique'>} s
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
      if (HARMLESS.test(String(params.expression)) && params.uniqueContextId === undefined && params.contextId === undefined) return null;
      return ofOurs(params, s) ? 'reading the page' : 'running a script';
    case 'Runtime.callFunctionOn':
      if (forDenied(params)) return null;
      return ofOurs(params, s) ? 'reading the page' : 'running a script';
    case 'Accessibility.getFullAXTree':
    case 'DOM.getDocument':
      return 'reading the page';
  }
  return null;
}
