// @ts-check

import { checkClient } from './cdp_client_methods.js';
import { CommandError } from './command_error.js';
import { CommandOrder, isPendingURLError } from './command_order.js';
import { sendEvent } from './connection.js';
import { commandError, inaccessibleDocumentOf, messageOf } from './debugger.js';
import { LogBudgets } from './log_budgets.js';
import { redactResult, check, checkResult, describe, isOwnBlank, needsSite } from './methods.js';
import { PageRequests } from './page_requests.js';
import { decide, originOf } from './policy.js';
import { flushDocuments, Screencast } from './screencast.js';
import { TabDocuments } from './tab_documents.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./policy.js').Rules} Rules */

/** Events that are never sent: they contain the cookies of every site that the page loads
 * from. */
const SUPPRESSED_EVENTS = new Set([
  'Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo',
  'Network.webSocketWillSendHandshakeRequest', 'Network.webSocketHandshakeResponseReceived',
]);

/** Events with content or console messages of a document. Those of denied documents are not sent. */
const DOCUMENT_EVENTS = /^(Accessibility|DOM|Log)\.|^Runtime\.(consoleAPICalled|exceptionThrown|inspectRequested)$/;

/** Headers with cookies. The events of paused requests contain them for every site. */
const COOKIES = /^(cookie|set-cookie)$/i;

/**
 * The callbacks of an attachment.
 *
 * @typedef {object} AttachmentDelegate
 * @property {(a: Attachment, what: string, url: string) => void} acting called before a command is
 *   sent, with what it does and the URL of the page that it concerns, "" if unknown
 * @property {(a: Attachment, origin: string, client: string) => void} askEval prompts the user about
 *   scripts on a site; client is the id of the CDP client, "" for tools
 * @property {(a: Attachment, origin: string) => boolean | undefined} evalAnswer the user's answer
 *   about scripts on a site
 * @property {(a: Attachment, origin: string) => string[]} scriptOrigins the origins on which the
 *   user allows the agent to run scripts, and not only once; origin is one of them if it is allowed
 * @property {(a: Attachment, url: string) => void} download
 * @property {(a: Attachment) => void} topDocumentChanged the top document or its URL changed
 */

/**
 * The debugger of one tab, for one connection of a server: it checks and sends commands, and sends the
 * events of the tab to the server.
 */
export class Attachment {
  /**
   * @param {number} tabId
   * @param {Connection} connection of its driver
   * @param {Rules} rules
   * @param {boolean} own whether the server opened the tab
   * @param {AttachmentDelegate} delegate
   */
  constructor(tabId, connection, rules, own, delegate) {
    this.tabId = tabId;
    this.connection = connection;
    /** The generation that the connection had at the attach. A reconnect changes that of the connection. */
    this.generation = connection.generation;
    this.rules = rules;
    this.own = own;
    this.delegate = delegate;
    /**
     * The tab that the page can navigate because its page opened this one, with its URL; null if there is
     * none.
     * @type {{tabId: number, url: string} | null}
     */
    this.opener = null;
    this.documents = new TabDocuments(tabId);
    this.requests = new PageRequests();
    this.order = new CommandOrder();
    this.logBudgets = new LogBudgets((sessionId, method, params) => {
      if (!this.released) this.sendEvent(sessionId, method, params);
    });
    /** Whether the debugger was attached, see start. It stays true after release. */
    this.started = false;
    /** Whether the tab was released: no event and no command is sent from then on. */
    this.released = false;
    /** Whether the tab is being closed: its dialogs are accepted, and the server gets no events. */
    this.closing = false;
    /** The open dialog. @type {'none' | 'beforeunload' | 'other'} */
    this.dialog = 'none';
    /** URL of the document that opened the last dialog, "" if there was none. */
    this.dialogURL = '';
    /** When the debugger was attached or the last command was sent, in ms since 1970. */
    this.lastUsed = Date.now();
    /**
     * The last activity, as the popup shows it. client is the id of the CDP client, "" for tools.
     * @type {{what: string, at: number, client: string} | null}
     */
    this.lastActivity = null;
    /** Parameters of the tools' last Network.enable, null while the domain is disabled. @type {Record<string, any> | null} */
    this.networkParams = null;
    /** The screencast of a CDP client. @type {Screencast | null} */
    this.screencast = null;
  }

  /** Whether the debugger was attached, and the connection has not been lost since. It stays true after release. */
  get isOfThisConnection() {
    return this.started && this.generation === this.connection.generation;
  }

  /**
   * Called when the debugger was attached.
   *
   * @param {string} top id of the top frame
   * @param {string} url of the top document
   */
  start(top, url) {
    this.documents.start(top, url);
    this.started = true;
  }

  /** Called when the tab was released. */
  markReleased() {
    this.released = true;
  }

  /** @param {Rules} rules */
  setRules(rules) {
    this.rules = rules;
  }

  /** Accepts the dialogs of the tab from here on, including beforeunload, and sends no events. */
  async prepareClose() {
    this.closing = true;
    const target = { tabId: this.tabId };
    void chrome.debugger.sendCommand(target, 'Page.enable').catch(() => {});
    if (this.dialog === 'none') return;
    // Other open dialogs are dismissed: accepting them may have any effect.
    await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand(target, 'Page.handleJavaScriptDialog', { accept: this.dialog === 'beforeunload' }), 'answering a dialog').catch(() => {});
  }

  // Commands.

  /**
   * Checks a command, and sends it to the tab. Commands reach the tab in the order of the calls:
   * asynchronous checks, and commands that are sent again, delay all later commands.
   *
   * @param {string} sessionId "" for the session of the tab itself
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   * @param {string} [client] id of the CDP client that sent the command, "" for tools
   * @returns {Promise<any>} the browser's result
   */
  command(sessionId, method, params, timeoutMs, client = '') {
    return this.order.inOrder(() => this.checkAndSend(sessionId, method, params, timeoutMs, client));
  }

  /**
   * @param {string} sessionId
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   * @param {string} client
   * @returns {Promise<any>}
   */
  checkAndSend(sessionId, method, params, timeoutMs, client) {
    const { documents, order } = this;
    this.requireAttached();
    const runCheck = () => (client === '' ? check : checkClient)(method, params, this.context(sessionId, client));
    const checked = documents.lacksURLOfChild(sessionId) && (client !== '' || needsSite(method))
      ? documents.queryURLOfChild(sessionId).then(runCheck)
      : runCheck();
    if (client !== '') this.requests.start();
    if (typeof params.worldName === 'string') documents.nameWorld(params.worldName, client);
    if (sessionId === '' && client === '') {
      if (method === 'Network.enable') this.networkParams = params;
      if (method === 'Network.disable') this.networkParams = null;
    }
    if (method === 'Runtime.disable') documents.clearWorlds(sessionId); // their destruction is not reported
    this.lastUsed = Date.now();
    if (!(checked instanceof Promise)) return this.send(sessionId, method, checked, timeoutMs, client);
    const ready = (async () => {
      let result = await checked;
      while (order.lastResend) { // of an earlier command, which the browser rejected during the check
        await order.lastResend;
        this.requireAttached();
        result = await runCheck();
      }
      return result;
    })();
    const sent = ready.then((result) => {
      this.requireAttached();
      return this.send(sessionId, method, result, timeoutMs, client);
    });
    order.waitFor(ready); // later commands follow after it was sent
    return sent;
  }

  requireAttached() {
    if (this.released) throw new CommandError('DETACHED', 'the debugger was detached from the tab');
  }

  /**
   * @param {string} sessionId
   * @param {string} method
   * @param {Record<string, any>} params checked
   * @param {number} timeoutMs
   * @param {string} client
   */
  async send(sessionId, method, params, timeoutMs, client) {
    const { documents, tabId } = this;
    const what = client !== '' && method === 'Page.startScreencast' ? 'recording the page' : describe(method, params, this.context(sessionId));
    if (what) {
      this.lastActivity = { what, at: this.lastUsed, client };
      this.delegate.acting(this, what, method === 'Page.navigate' ? String(params.url) : method === 'Page.navigateToHistoryEntry' ? '' : documents.url);
    }
    const { loads } = documents;
    if (method === 'Page.startScreencast' || method === 'Page.stopScreencast') this.setScreencast(method, params, client);
    try {
      const target = sessionId === '' ? { tabId } : { tabId, sessionId };
      const result = await withTimeout(timeoutMs, this.sendToBrowser(target, method, params, Date.now() + timeoutMs, client), method) ?? {};
      if (!this.closing) {
        // pushState, or a page from the back/forward cache, may have changed a document before it was read.
        if (documents.loads !== loads && Object.keys(result).length > 0) await this.checkResult(sessionId, method, params, client);
        if (method === 'Page.getFrameTree') documents.addFrames(/** @type {any} */ (result).frameTree);
        return redactResult(method, result, this.rules);
      }
    } catch (e) {
      throw e instanceof CommandError ? e : await commandError(tabId, messageOf(e));
    }
    throw new CommandError('TARGET_GONE', 'the tab was closed'); // the command was interrupted, whatever its result
  }

  /**
   * Checks whether a client or the tools may receive the result of a command, during which a document
   * was loaded or changed its URL.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {Record<string, any>} params checked
   * @param {string} client
   */
  async checkResult(sessionId, method, params, client) {
    const context = { ...this.context(sessionId, client), askEval: () => {}, hasResult: true };
    if (client === '') {
      checkResult(method, params, context);
      return;
    }
    try {
      await checkClient(method, params, context);
    } catch (e) {
      // The command is not repeated after the user's answer: it may have had an effect.
      if (/** @type {any} */ (e).code !== 'CONSENT_REQUIRED') throw e;
      throw new CommandError('POLICY_DENIED', 'during the command, the tab went to a site on which the user has not allowed scripts');
    }
  }

  /**
   * Sends a command to the browser. Chrome rejects all commands while a page opens the
   * URL of another program, for example "tel:1": it checks the pending URL of the tab. A rejected
   * command has had no effect, so it is sent again, in order, and later commands wait. It was checked
   * for the present document, so it fails if that changes.
   *
   * @param {chrome.debugger.DebuggerSession} target
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} deadline when the caller stops waiting, in ms since 1970
   * @param {string} client id of the CDP client, "" for tools
   */
  async sendToBrowser(target, method, params, deadline, client) {
    const { documents, rules } = this;
    const { replacements, urlChanges } = documents;
    const maySend = () => !this.released && !this.closing
      && documents.replacements === replacements && documents.urlChanges === urlChanges && this.rules === rules;
    try {
      return await chrome.debugger.sendCommand(target, method, params);
    } catch (e) {
      const inaccessible = inaccessibleDocumentOf(messageOf(e));
      if (inaccessible) return this.leaveDocument(method, params, client, inaccessible);
      if (!isPendingURLError(messageOf(e))) throw e;
    }
    return this.order.resend(target, method, params, deadline, maySend);
  }

  /**
   * Navigates a tab whose document Chrome lets no extension use. The result has no loaderId, like
   * that of a same-document navigation. Tools then wait for the event of the navigation. CDP clients
   * would not, so their commands are rejected.
   *
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {string} client id of the CDP client, "" for tools
   * @param {import('./debugger.js').InaccessibleDocument} document
   */
  async leaveDocument(method, params, client, { problem, whyAsk }) {
    if (method !== 'Page.navigate' || client !== '') {
      throw new CommandError('POLICY_DENIED', `${problem}: ${client === '' ? 'navigate to another URL' : 'close the tab'}, or ask the user${whyAsk}`);
    }
    await chrome.tabs.update(this.tabId, { url: String(params.url) });
    return { frameId: this.documents.top };
  }

  /**
   * Records the screencast that a command starts or ends. That of tools sends no frames.
   *
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {string} client id of the CDP client, "" for tools
   */
  setScreencast(method, params, client) {
    this.screencast = null;
    if (client === '' || method === 'Page.stopScreencast') return;
    const started = new Screencast({ tabId: this.tabId }, params, async () => {
      await flushDocuments(this.tabId, this.documents.children.keys());
      await checkClient(method, {}, { ...this.context(''), askEval: () => {} });
      return this.documents.loads;
    });
    this.screencast = started;
    started.send('Page.stopScreencast', {}); // that of tools
  }

  /**
   * Returns what the check of a command can use.
   *
   * @param {string} sessionId
   * @param {string} [client] id of the CDP client that sends the command, "" for tools
   * @returns {import('./methods.js').CommandContext}
   */
  context(sessionId, client = '') {
    const { tabId, documents } = this;
    /** @param {string} method @param {Record<string, any>} params @param {string} what @returns {Promise<any>} */
    const query = (method, params, what) => withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId }, method, params), what);
    return {
      rules: this.rules, url: documents.url, top: documents.top, own: this.own, child: sessionId !== '',
      site: documents.siteOfChild(sessionId), dialogURL: this.dialog === 'none' ? '' : this.dialogURL,
      originOfFrame: (frame) => documents.originOfFrame(sessionId, frame),
      urlOfFrame: (frame) => documents.urlOfFrame(frame),
      worldById: (id) => documents.worldById(sessionId, id),
      worldByUnique: (unique) => documents.worldByUnique(sessionId, unique),
      evalAnswer: (origin) => this.delegate.evalAnswer(this, origin),
      askEval: (origin) => this.delegate.askEval(this, origin, client),
      history: async () => (await query('Page.getNavigationHistory', {}, 'reading the history'))?.entries ?? [],
      documents: () => documents.allURLs(this.rules),
      request: (id) => this.requests.get(id),
      compiles: async (source) => {
        // A new frame has no document to compile in.
        const result = await query('Runtime.compileScript', { expression: source, sourceURL: '', persistScript: false }, 'compiling a script').catch(() => null);
        return result !== null && result !== undefined && !Object.hasOwn(result, 'exceptionDetails');
      },
      scriptOrigins: () => this.delegate.scriptOrigins(this, originOf(documents.urlOfSession(sessionId))),
      isToolWorld: (name) => documents.isToolWorld(name),
    };
  }

  // Events.

  /**
   * Records an event, and sends it to the server unless the server must not receive it.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  onEvent(sessionId, method, params) {
    this.record(sessionId, method, params);
    if (this.closing) return; // the tab sends no further events
    if (SUPPRESSED_EVENTS.has(method)) return;
    if (method === 'Page.screencastFrame') {
      const { screencast } = this;
      screencast?.frame(params, () => !this.released && this.screencast === screencast, () => this.sendEvent('', method, params));
      return;
    }
    if (DOCUMENT_EVENTS.test(method) && this.documents.isFromDenied(this.rules, sessionId, params)) return;
    if (!this.logBudgets.allows(sessionId, method, params)) return;
    this.sendEvent(sessionId, method, withoutCookies(method, params), this.requests.started ? this.withheld(sessionId, method, params) : {});
  }

  /**
   * Records the state that the checks use.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  record(sessionId, method, params) {
    if (this.documents.onEvent(sessionId, method, params)) this.delegate.topDocumentChanged(this);
    this.requests.onEvent(method, params);
    switch (method) {
      case 'Target.detachedFromTarget':
        this.logBudgets.forget(params.sessionId);
        break;
      case 'Page.downloadWillBegin':
        this.delegate.download(this, params.url);
        break;
      case 'Page.javascriptDialogOpening':
        this.dialog = params.type === 'beforeunload' ? 'beforeunload' : 'other';
        this.dialogURL = String(params.url);
        if (this.closing) void chrome.debugger.sendCommand({ tabId: this.tabId }, 'Page.handleJavaScriptDialog', { accept: true }).catch(() => {});
        break;
      case 'Page.javascriptDialogClosed':
        this.dialog = 'none';
        break;
    }
  }

  /**
   * Returns what CDP clients must not receive of an event.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   * @returns {{denied?: true, noConsent?: true}}
   */
  withheld(sessionId, method, params) {
    const { documents, rules } = this;
    const frame = method.startsWith('Page.javascriptDialog') ? this.dialogURL : params.frameId === documents.top ? undefined : documents.urlOfFrame(params.frameId);
    if (documents.isFromDenied(rules, sessionId, params) || (frame && decide(rules, frame) !== null)) return { denied: true };
    const origin = originOf(frame ?? '') || documents.originOfEvent(sessionId, params);
    const consent = origin === '' ? isOwnBlank(this.own, documents.url) : this.delegate.evalAnswer(this, origin) === true;
    return consent ? {} : { noConsent: true };
  }

  /**
   * Sends an event of the tab to its server.
   *
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   * @param {{denied?: true, noConsent?: true}} [withheld] from CDP clients
   */
  sendEvent(sessionId, method, params, withheld = {}) {
    if (!this.isOfThisConnection || this.connection.state !== 'connected') return;
    sendEvent(this.connection, 'cdp', { tabId: this.tabId, ...(sessionId === '' ? {} : { sessionId }), method, params, ...withheld });
  }
}

/**
 * Removes the cookies from an event about a paused request.
 *
 * @param {string} method
 * @param {any} params
 */
function withoutCookies(method, params) {
  if (method !== 'Fetch.requestPaused') return params;
  const { request, responseHeaders } = params;
  return {
    ...params,
    request: { ...request, headers: Object.fromEntries(Object.entries(request?.headers ?? {}).filter(([name]) => !COOKIES.test(name))) },
    ...(responseHeaders ? { responseHeaders: responseHeaders.filter((/** @type {any} */ h) => !COOKIES.test(h.name)) } : {}),
  };
}
