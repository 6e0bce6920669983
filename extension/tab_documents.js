// @ts-check

import { decide, isBlank, originOf } from './policy.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/** @typedef {import('./methods.js').World} World */
/** @typedef {import('./policy.js').Rules} Rules */

/** Events about a document that is loaded, or whose URL has changed. */
const DOCUMENT_CHANGES = new Set(['Page.frameNavigated', 'Page.navigatedWithinDocument', 'Page.documentOpened']);

/**
 * The documents of an attached tab: their URLs and script worlds, as events report them. A session id
 * of "" means the tab's own session; other sessions are children, of frames in other processes and of
 * workers.
 */
export class TabDocuments {
  /** @param {number} tabId */
  constructor(tabId) {
    this.tabId = tabId;
    /** URL of the top document, see start. */
    this.url = '';
    /** Id of the top frame, "" while unknown. */
    this.top = '';
    /** How often the top document was replaced. */
    this.replacements = 0;
    /** How often the URL of the top document changed while the document remained. */
    this.urlChanges = 0;
    /** Increases when any frame loads a document, or the URL of a document changes. */
    this.loads = 0;
    /** URLs of the documents of the other frames, by frame id, if known. @type {Map<string, string>} */
    this.frameURLs = new Map();
    /** Targets of the child sessions, by session id. @type {Map<string, {frame: string, url: string}>} */
    this.children = new Map();
    /**
     * The script worlds, by session id and context id.
     * @type {Map<string, Map<number, Omit<World, 'ours'> & {unique: string, name: string}>>}
     */
    this.worlds = new Map();
    /** Names of the isolated worlds that the server's tools created. @type {Set<string>} */
    this.toolWorlds = new Set();
    /** Names of the isolated worlds that CDP clients created. @type {Set<string>} */
    this.clientWorlds = new Set();
  }

  /**
   * Sets the top document when the tab is attached. Events report all later changes.
   *
   * @param {string} top
   * @param {string} url
   */
  start(top, url) {
    this.top = top;
    this.url = url;
  }

  /**
   * Records the documents and worlds that an event reports. It returns whether the top document or
   * its URL changed.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  onEvent(sessionId, method, params) {
    if (DOCUMENT_CHANGES.has(method)) this.loads++;
    switch (method) {
      case 'Runtime.executionContextCreated':
        this.addWorld(sessionId, params.context);
        return false;
      case 'Runtime.executionContextDestroyed':
        this.worlds.get(sessionId)?.delete(params.executionContextId);
        return false;
      case 'Runtime.executionContextsCleared':
        this.clearWorlds(sessionId);
        return false;
      case 'Target.attachedToTarget':
        this.children.set(params.sessionId, { frame: params.targetInfo.targetId, url: params.targetInfo.url });
        if (params.targetInfo.type === 'iframe') void chrome.debugger.sendCommand({ tabId: this.tabId, sessionId: params.sessionId }, 'Page.enable').catch(() => {});
        return false;
      case 'Target.detachedFromTarget':
        this.children.delete(params.sessionId);
        this.clearWorlds(params.sessionId);
        return false;
      case 'Page.frameNavigated':
        if (sessionId !== '' || params.frame.parentId) return this.setURL(sessionId, params.frame.id, params.frame.url);
        this.top = params.frame.id;
        this.replacements++;
        this.url = params.frame.url + (params.frame.urlFragment ?? '');
        return true;
      case 'Page.frameDetached':
        if (params.reason !== 'swap') this.frameURLs.delete(params.frameId);
        return false;
      case 'Page.navigatedWithinDocument':
        return this.setURL(sessionId, params.frameId, params.url);
      case 'Page.documentOpened':
        return this.setURL(sessionId, params.frame.id, params.frame.url);
      default:
        return false;
    }
  }

  /**
   * Sets the URL of a frame's document. It returns whether the frame is the top frame.
   *
   * @param {string} sessionId
   * @param {string} frame
   * @param {string} url
   */
  setURL(sessionId, frame, url) {
    if (sessionId === '' && frame === this.top) {
      this.url = url;
      this.urlChanges++;
      return true;
    }
    this.frameURLs.set(frame, url);
    const child = this.children.get(sessionId);
    if (child?.frame === frame) child.url = url;
    return false;
  }

  /** Called when a frame has loaded a document, even if no session reports it. */
  loaded() {
    this.loads++;
  }

  /**
   * Stores the URLs of a frame tree for the frames whose URL no event has reported.
   * @param {any} tree
   */
  addFrames(tree) {
    const frame = tree?.frame;
    // For an error page, start was called with the URL that did not load: chrome.tabs reports that.
    if (frame?.id === this.top && this.replacements === 0 && this.urlChanges === 0 && String(frame.url).startsWith('chrome-error:')) this.url = String(frame.url);
    if (frame && frame.id !== this.top && !this.frameURLs.has(frame.id)) this.frameURLs.set(frame.id, String(frame.url));
    for (const child of tree?.childFrames ?? []) this.addFrames(child);
  }

  // Frames and child sessions.

  /** Returns the URL of the document of a frame or worker, undefined if unknown. @param {string} frame */
  urlOfFrame(frame) {
    if (frame === this.top) return this.url;
    for (const child of this.children.values()) if (child.frame === frame && child.url !== '') return child.url;
    return this.frameURLs.get(frame);
  }

  /** Returns the URL of the document of a session. @param {string} sessionId */
  urlOfSession(sessionId) {
    return this.children.get(sessionId)?.url ?? this.url;
  }

  /**
   * Returns the URL of the document of a child session, or its origin if the URL is blank; "" if
   * unknown.
   * @param {string} sessionId
   */
  siteOfChild(sessionId) {
    const child = this.children.get(sessionId);
    return child && isBlank(child.url) ? this.originOfFrame(sessionId, child.frame) || '' : child?.url ?? '';
  }

  /** Reports whether no event has reported the URL of a child session's document. @param {string} sessionId */
  lacksURLOfChild(sessionId) {
    return this.children.get(sessionId)?.url === '';
  }

  /**
   * Queries the URL of the document of a child session that started before the document existed.
   *
   * @param {string} sessionId
   */
  async queryURLOfChild(sessionId) {
    const tree = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId: this.tabId, sessionId }, 'Page.getFrameTree'), 'querying the document').catch(() => null);
    const child = this.children.get(sessionId);
    const frame = /** @type {any} */ (tree)?.frameTree?.frame;
    if (child?.url === '' && frame?.id === child.frame) child.url = String(frame.url);
  }

  /**
   * Reports whether an event is from a denied document: the top document, or that of the frame that
   * sent it, if that is known.
   *
   * @param {Rules} rules
   * @param {string} sessionId
   * @param {any} params
   */
  isFromDenied(rules, sessionId, params) {
    const world = this.worldOfEvent(sessionId, params);
    const urls = [this.url, this.children.get(sessionId)?.url, world?.frame === this.top ? '' : this.frameURLs.get(world?.frame ?? '')];
    return urls.some((url) => url && decide(rules, url) !== null);
  }

  /**
   * Returns the origin of the document that an event is about: that of a world or frame which the event
   * names, and otherwise that of the session. It returns "" if the origin is opaque or unknown.
   *
   * @param {string} sessionId
   * @param {any} params
   */
  originOfEvent(sessionId, params) {
    const world = this.worldOfEvent(sessionId, params);
    if (world) return world.origin;
    const frame = this.urlOfFrame(params.frameId) === undefined ? this.top : params.frameId;
    if (sessionId !== '' && frame === this.top) return originOf(this.siteOfChild(sessionId));
    return originOf(this.urlOfFrame(frame) ?? '') || this.originOfFrame(sessionId, frame) || '';
  }

  /** @param {string} sessionId @param {any} params of an event */
  worldOfEvent(sessionId, params) {
    return this.worlds.get(sessionId)?.get(params.executionContextId ?? params.exceptionDetails?.executionContextId);
  }

  /**
   * Returns the URLs of the documents of all frames of a tab. For a frame whose last navigation
   * failed, the browser reports the URL of the navigation, and CDP that of the document, which is
   * the one before or an error page.
   *
   * @param {Rules} rules
   */
  async allURLs(rules) {
    const { tabId } = this;
    const all = await withTimeout(SHORT_TIMEOUT_MS, chrome.webNavigation.getAllFrames({ tabId }), 'listing frames') ?? [];
    const frames = all.filter(({ documentLifecycle }) => documentLifecycle === undefined || documentLifecycle === 'active');
    const urls = frames.map(({ frameId, url }) => (frameId === 0 ? this.url : url));
    if (!frames.some(({ errorOccurred, url }) => errorOccurred && decide(rules, url) !== null)) return urls;
    const sessions = [undefined, ...this.children.keys()];
    const trees = await Promise.all(sessions.map((sessionId) => withTimeout(SHORT_TIMEOUT_MS,
      chrome.debugger.sendCommand({ tabId, sessionId }, 'Page.getFrameTree'), 'querying the documents').catch(() => null)));
    const current = trees.flatMap((tree) => urlsOf(/** @type {any} */ (tree)?.frameTree));
    return current.length === frames.length ? current : urls; // CDP does not report frames of other processes that it is not attached to
  }

  // Worlds.

  /** @param {string} sessionId @param {any} context of Runtime.executionContextCreated */
  addWorld(sessionId, { id, uniqueId, origin, name, auxData }) {
    let worlds = this.worlds.get(sessionId);
    if (!worlds) this.worlds.set(sessionId, worlds = new Map());
    worlds.set(id, { unique: uniqueId, frame: auxData?.frameId, main: auxData?.isDefault !== false,
      name: /extension:/.test(origin) ? '' : String(name), // a content script's world has its extension's origin
      origin: /^https?:/.test(origin) ? originOf(origin) : '' });
  }

  /** Removes the worlds of a session. @param {string} sessionId */
  clearWorlds(sessionId) {
    this.worlds.delete(sessionId);
  }

  /**
   * Records the name of an isolated world that a command creates.
   *
   * @param {string} name
   * @param {string} client id of the CDP client, "" for tools
   */
  nameWorld(name, client) {
    (client === '' ? this.toolWorlds : this.clientWorlds).add(name);
  }

  /** Reports whether tools use an isolated world with a name. @param {string} name */
  isToolWorld(name) {
    return this.toolWorlds.has(name);
  }

  /** @param {string} sessionId @param {number} id of its execution context */
  worldById(sessionId, id) {
    return this.describeWorld(this.worlds.get(sessionId)?.get(id));
  }

  /** @param {string} sessionId @param {string} unique id of its execution context */
  worldByUnique(sessionId, unique) {
    for (const world of this.worlds.get(sessionId)?.values() ?? []) if (world.unique === unique) return this.describeWorld(world);
    return undefined;
  }

  /** @param {any} world @returns {World | undefined} */
  describeWorld(world) {
    return world && { ...world, ours: this.toolWorlds.has(world.name), client: this.clientWorlds.has(world.name) };
  }

  /**
   * Returns the origin of a frame of a session, undefined if unknown.
   *
   * @param {string} sessionId
   * @param {string} frame
   */
  originOfFrame(sessionId, frame) {
    for (const world of this.worlds.get(sessionId)?.values() ?? []) if (world.main && world.frame === frame) return world.origin;
    return undefined;
  }
}

/**
 * Returns the URLs of the documents in a frame tree.
 * @param {any} tree
 * @returns {string[]}
 */
function urlsOf(tree) {
  return tree ? [String(tree.frame.url), ...(tree.childFrames ?? []).flatMap(urlsOf)] : [];
}
