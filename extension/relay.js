// @ts-check

import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { checkClient } from './client_methods.js';
import { redactResult, check, describe, needsSite } from './methods.js';
import { CommandError, protocolError } from './command_error.js';
import { decide, isBlank, originOf } from './policy.js';
import { flushDocuments, Screencast } from './screencast.js';
import { timing } from './timing.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./methods.js').World} World */
/** @typedef {import('./policy.js').Rules} Rules */

/** The version of CDP to request. */
const PROTOCOL = '1.3';

/** Events that are never sent: they contain the cookies of every site that the page loads
 * from. */
const SUPPRESSED_EVENTS = new Set([
  'Network.requestWillBeSentExtraInfo', 'Network.responseReceivedExtraInfo',
  'Network.webSocketWillSendHandshakeRequest', 'Network.webSocketHandshakeResponseReceived',
]);

/** Events with content or messages of a document. Those of denied documents are not sent. */
const DOCUMENT_EVENTS = /^(Accessibility|DOM|Log)\.|^Runtime\.(consoleAPICalled|exceptionThrown|inspectRequested)$/;

/** Events about a document that is loaded, or whose URL has changed. */
const DOCUMENT_CHANGES = new Set(['Page.frameNavigated', 'Page.navigatedWithinDocument', 'Page.documentOpened']);

/** Events that can contain what a document sends. */
const SENT_EVENTS = /^(Network|Fetch)\./;

/** Headers with cookies. The events of paused requests contain them for every site. */
const COOKIES = /^(cookie|set-cookie)$/i;

/** Commands whose results contain what a document shows. */
const READ_COMMANDS = /^(Accessibility|DOM|Runtime)\.|^Page\.(captureScreenshot|printToPDF)$/;

/** The error of a command that the browser rejects because of the pending URL of the tab, which is
 * that of another program. */
const PENDING_URL_ERROR = /^Cannot access contents of url "(?!https?:|file:)/;

/** The error of all commands while the browser shows a warning in the tab, such as one about a
 * certificate: Chrome does not let extensions attach to it. */
const WARNING_ERROR = /^Cannot attach to this target/;

/** The beginning of the errors of commands in such a tab. */
const WARNING = 'the tab shows a warning of the browser, such as one about a certificate, and Chrome lets no extension read or use it';

/** The error of all commands while a frame of the tab has the URL of an extension's page, which a page
 * can cause with any frame and other extensions do for their own. */
const EXTENSION_FRAME_ERROR = /^Cannot access a chrome-extension:/;

/** The beginning of the errors of commands in such a tab. */
const EXTENSION_FRAME = 'the page has a frame of a browser extension, and Chrome then lets no other extension read or use the page';

/** How long to wait before a rejected command is sent again, in ms. */
const RESEND_PAUSE = 20;

/** Events that a page can cause as often as it likes. See Budget. */
const LOG_EVENTS = new Set(['Runtime.consoleAPICalled', 'Runtime.exceptionThrown']);

/** How many events of a tab are stored until attach completes. The events of a dialog always are. */
const MAX_EARLY = 1000;

/** How many requests of a tab are recorded for CDP clients. */
const MAX_REQUESTS = 5000;

/** The event that reports dropped events, in their place. */
const DROPPED = 'ChromeMCP.eventsDropped';

/** How long dropped events are counted before they are reported, in ms. */
const DROPPED_PAUSE = 250;

/** The limits of one log event of one session, in characters: the burst, and the rate per
 * second. Each event counts as EXTRA more. internal/cdpconn has the same limits. */
const BURST = 8 << 20;
const RATE = 2 << 20;
const EXTRA = 200;

/** Limits the log events that are sent: a page can log faster than the WebSocket and
 * the server can process, and the responses to commands would be delayed. */
class Budget {
  constructor() {
    this.left = BURST;
    this.at = performance.now();
    this.dropped = 0;
  }

  /** Consumes a number of characters if they are available. @param {number} size */
  spend(size) {
    const now = performance.now();
    this.left = Math.min(BURST, this.left + (now - this.at) * RATE / 1000);
    this.at = now;
    if (this.left < size) return false;
    this.left -= size;
    return true;
  }
}

/**
 * A request of a page, which a CDP client may want to read.
 *
 * @typedef {object} PageRequest
 * @property {string} url
 * @property {boolean} [opaque] whether the response may be of any site; undefined before the response
 */

/**
 * The state of one attached tab.
 *
 * @typedef {object} Attachment
 * @property {number} tabId
 * @property {Connection} connection the connection of its driver
 * @property {string} session session id of the connection, which changes with a reconnect
 * @property {Rules} rules
 * @property {boolean} own
 * @property {string} url URL of the top document
 * @property {string} top id of the top frame, "" while unknown
 * @property {{tabId: number, url: string} | null} opener the tab that the page can navigate because its
 *   page opened this one, with its URL when the debugger was attached; null if there is none
 * @property {number} documents how often the top document was replaced
 * @property {number} steps how often the top document's URL changed without another document
 * @property {number} loads how often a document was loaded in any frame, or its URL changed; some count
 *   twice
 * @property {Screencast | null} screencast of a CDP client
 * @property {Map<string, string>} urls URLs of the documents of other frames, if known
 * @property {Set<string>} toolWorlds names of the isolated worlds that the server's tools created
 * @property {Set<string>} clientWorlds names of the isolated worlds that CDP clients created
 * @property {Record<string, any> | null} network parameters of the tools' last Network.enable, null
 *   while it is disabled
 * @property {boolean} followsRequests whether a CDP client has sent a command
 * @property {Map<string, PageRequest>} requests the last requests, by id
 * @property {boolean} live whether the debugger is attached
 * @property {number} used when it was last used, in ms since 1970
 * @property {{what: string, at: number, client: string} | null} doing the last activity; client is
 *   the id of the CDP client, "" for tools
 * @property {Map<string, {frame: string, url: string}>} children targets of the child sessions, by
 *   session id
 * @property {Map<string, Map<number, Omit<World, 'ours'> & {unique: string, name: string}>>} worlds
 *   by session ("" for the tab's own) and context id
 * @property {Promise<unknown> | null} gate the next command waits for it
 * @property {Promise<unknown> | null} resending the last of the commands that are sent again
 * @property {'none' | 'beforeunload' | 'other'} dialog the open dialog
 * @property {boolean} closing whether the tab is being closed: dialogs are answered here
 * @property {Map<string, Budget>} budgets by session and log event
 */

/**
 * The callbacks of the relay.
 *
 * @typedef {object} RelayDelegate
 * @property {(a?: Attachment) => Promise<void>} protect installs the network rules for all attached
 *   tabs and a new one
 * @property {(a: Attachment, reason: string) => void} detached not by us; the tab may still exist
 * @property {(tabId: number) => void} canceled by the user, in Chrome's debugging bar
 * @property {(a: Attachment, what: string, url: string) => void} doing what a command does, and the
 *   URL of the page that it concerns, "" if unknown
 * @property {(a: Attachment, origin: string, client: string) => void} askEval client is the id of the
 *   CDP client, "" for tools
 * @property {(a: Attachment, origin: string) => boolean | undefined} evalAnswer
 * @property {(a: Attachment, origin: string) => string[]} scriptOrigins the origins on which the
 *   user allows the agent to run scripts, and not only once; origin is one of them if it is allowed
 * @property {(a: Attachment, url: string) => void} download
 * @property {(a: Attachment) => void} frameNavigated its top document changed
 */

/** Relays commands and events between servers and the tabs that they drive. */
export class Relay {
  /** @param {RelayDelegate} delegate */
  constructor(delegate) {
    this.delegate = delegate;
    /** @type {Map<number, Attachment>} */
    this.attachments = new Map();
    /**
     * Attaching to and detaching from one tab run one after another.
     * @type {Map<number, Promise<unknown>>}
     */
    this.queues = new Map();
    /**
     * Tabs to which the debugger was attached early, see preattach.
     * @type {Map<number, Promise<boolean>>}
     */
    this.preattached = new Map();
    /**
     * Events of a tab before attach completed.
     * @type {Map<number, {source: chrome.debugger.DebuggerSession, method: string, params: any}[]>}
     */
    this.early = new Map();
  }

  /**
   * @template T
   * @param {number} tabId
   * @param {() => Promise<T>} work
   * @returns {Promise<T>}
   */
  enqueue(tabId, work) {
    const done = (this.queues.get(tabId) ?? Promise.resolve()).then(work);
    const settled = done.catch(() => {}).then(() => {
      if (this.queues.get(tabId) === settled) this.queues.delete(tabId);
    });
    this.queues.set(tabId, settled);
    return done;
  }

  /**
   * Attaches the debugger to a tab for a connection. It does nothing if it is already
   * attached. An attachment of an earlier connection is released first, because its enabled
   * domains would not send their initial events again.
   *
   * @param {Connection} connection
   * @param {number} tabId
   * @param {Rules} rules
   * @param {boolean} own
   * @returns {Promise<void>}
   */
  attach(connection, tabId, rules, own) {
    return this.enqueue(tabId, async () => {
      const old = this.attachments.get(tabId);
      if (old?.live && old.connection === connection && old.session === connection.session) return;
      if (old) await this.detachNow(old);
      /** @type {Attachment} */
      const a = {
        tabId, connection, session: connection.session, rules, own, url: '', top: '', opener: null, documents: 0, steps: 0, loads: 0, screencast: null, urls: new Map(), toolWorlds: new Set(), clientWorlds: new Set(), network: null, followsRequests: false, requests: new Map(), live: false,
        used: Date.now(), doing: null, children: new Map(), worlds: new Map(), gate: null, resending: null,
        dialog: 'none', closing: false, budgets: new Map(),
      };
      this.attachments.set(tabId, a);
      try {
        try {
          await this.delegate.protect(a);
        } catch (e) {
          throw new CommandError('POLICY_DENIED', `the network rules for the tab cannot be installed, so it is not attached: ${message(e)}`);
        }
        await this.attachDebugger(tabId);
        // From here on, events report the document of the tab. Not awaited: a hung page does not
        // respond.
        void chrome.debugger.sendCommand({ tabId }, 'Page.enable').catch(() => {});
        const targets = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
        a.top = targets.find((t) => t.tabId === tabId && t.type === 'page')?.id ?? ''; // also the id of the top frame
        a.opener = await openerOf(tabId, targets);
        if (a.opener) await this.delegate.protect(a);
        const tab = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab');
        a.url = tab.url || 'about:blank'; // a new tab has no URL yet
        if (this.attachments.get(tabId) !== a) { // unshared during the calls
          await detach(tabId);
          throw new CommandError('DETACHED', 'the tab was unshared');
        }
        a.live = true;
        for (const { source, method, params } of this.early.get(tabId) ?? []) this.onEvent(source, method, params);
      } catch (e) {
        if (this.attachments.get(tabId) === a) {
          this.attachments.delete(tabId);
          await this.delegate.protect().catch(() => {});
        }
        throw e;
      } finally {
        this.early.delete(tabId);
      }
    });
  }

  /**
   * Attaches the debugger to a tab that the page of a driven tab has just opened, before
   * it is decided whether the tab may be driven. Its events are stored, and no command acts on it,
   * until attach completes. Without this, a dialog that its page opened earlier could not be
   * answered, and its first requests would not be reported. The window is not paused: Chrome does that
   * only for a client that is attached to the browser, which it does not let extensions be.
   *
   * @param {number} tabId
   * @param {Attachment} opener
   */
  preattach(tabId, opener) {
    if (this.attachments.has(tabId) || this.preattached.has(tabId)) return;
    const attached = withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.attach({ tabId }, PROTOCOL), 'attaching the debugger').then(() => true, () => false);
    this.preattached.set(tabId, attached);
    // The page is loading, so nothing here waits for a response: the browser handles these after attach.
    // The response to Page.enable would come after the dialog.
    const send = (/** @type {string} */ method, /** @type {Record<string, any>} */ params) => void chrome.debugger.sendCommand({ tabId }, method, params).catch(() => {});
    if (opener.network) send('Network.enable', opener.network);
    send('Page.enable', {});
  }

  /**
   * Detaches from a tab that was preattached, unless attach was called since.
   * @param {number} tabId
   */
  async undoPreattach(tabId) {
    const preattached = this.preattached.get(tabId);
    if (!preattached) return;
    this.preattached.delete(tabId);
    this.early.delete(tabId);
    if (await preattached) await detach(tabId);
  }

  /** @param {number} tabId */
  async attachDebugger(tabId) {
    const preattached = this.preattached.get(tabId);
    this.preattached.delete(tabId);
    if (await preattached) return;
    const attach = () => withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.attach({ tabId }, PROTOCOL), 'attaching the debugger');
    try {
      await attach();
    } catch (e) {
      if (!/already attached/i.test(message(e))) throw attachError(message(e));
      // It may be our own: an attachment outlives the worker that created it.
      await detach(tabId);
      try {
        await attach();
      } catch (again) {
        if (/already attached/i.test(message(again))) {
          throw new CommandError('DEVTOOLS_OPEN', 'another debugger is attached to the tab: close the developer tools or disable the other extension');
        }
        throw attachError(message(again));
      }
    }
  }

  /**
   * Releases a tab immediately. Pending commands fail with DETACHED.
   *
   * @param {number} tabId
   * @returns {Promise<void>}
   */
  release(tabId) {
    const a = this.attachments.get(tabId);
    if (!a) return Promise.resolve();
    this.attachments.delete(tabId); // no event and no command is sent from here on
    const detached = a.live ? detach(tabId) : Promise.resolve();
    return this.enqueue(tabId, async () => {
      await detached;
      await this.delegate.protect().catch(() => {}); // fewer rules; the next attach tries again
    });
  }

  /**
   * Prepares an attached tab for being closed: from here on, its dialogs are accepted,
   * including beforeunload, and no events are sent.
   *
   * @param {number} tabId
   */
  async prepareClose(tabId) {
    const a = this.attachments.get(tabId);
    if (!a?.live) return;
    a.closing = true;
    const target = { tabId };
    void chrome.debugger.sendCommand(target, 'Page.enable').catch(() => {});
    if (a.dialog === 'none') return;
    // Other open dialogs are dismissed: accepting them may have any effect.
    await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand(target, 'Page.handleJavaScriptDialog', { accept: a.dialog === 'beforeunload' }), 'answering a dialog').catch(() => {});
  }

  /** @param {Attachment} a */
  async detachNow(a) {
    this.attachments.delete(a.tabId);
    if (a.live) await detach(a.tabId);
  }

  /** @param {Connection} connection @param {number} tabId @returns {Attachment | undefined} */
  attachmentOf(connection, tabId) {
    const a = this.attachments.get(tabId);
    return a?.live && a.connection === connection && a.session === connection.session ? a : undefined;
  }

  /**
   * Sends a command to a tab. Commands reach the tab in the order of the
   * calls: nothing here waits, except for asynchronous checks, and then later commands
   * wait also.
   *
   * @param {Attachment} a
   * @param {string} sessionId "" for the tab's own
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   * @param {string} [client] id of the CDP client that sent the command, "" for tools
   * @returns {Promise<any>} the browser's result
   */
  command(a, sessionId, method, params, timeoutMs, client = '') {
    if (a.gate) return a.gate.then(() => this.command(a, sessionId, method, params, timeoutMs, client));
    if (this.attachments.get(a.tabId) !== a) throw new CommandError('DETACHED', 'the debugger was detached from the tab');
    const child = a.children.get(sessionId);
    const verify = client === '' ? check : checkClient;
    const checked = child?.url === '' && (client !== '' || needsSite(method))
      ? this.findSite(a, sessionId).then(() => verify(method, params, this.commandContext(a, sessionId, client)))
      : verify(method, params, this.commandContext(a, sessionId, client));
    if (client !== '') a.followsRequests = true;
    if (typeof params.worldName === 'string') (client === '' ? a.toolWorlds : a.clientWorlds).add(params.worldName);
    if (sessionId === '' && client === '' && method.startsWith('Network.')) {
      if (method === 'Network.enable') a.network = params;
      if (method === 'Network.disable') a.network = null;
    }
    if (method === 'Runtime.disable') a.worlds.delete(sessionId); // their destruction is not reported
    a.used = Date.now();
    if (!(checked instanceof Promise)) return this.send(a, sessionId, method, checked, timeoutMs, client);
    const gate = checked.then(() => {}, () => {}).then(() => {
      if (a.gate === gate) a.gate = null;
    });
    a.gate = gate;
    return checked.then((ready) => {
      if (this.attachments.get(a.tabId) !== a) throw new CommandError('DETACHED', 'the debugger was detached from the tab');
      return this.send(a, sessionId, method, ready, timeoutMs, client);
    });
  }

  /**
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} timeoutMs
   * @param {string} client
   */
  async send(a, sessionId, method, params, timeoutMs, client) {
    const what = client !== '' && method === 'Page.startScreencast' ? 'recording the page' : describe(method, params, this.commandContext(a, sessionId));
    if (what) {
      a.doing = { what, at: a.used, client };
      this.delegate.doing(a, what, method === 'Page.navigate' ? String(params.url) : method === 'Page.navigateToHistoryEntry' ? '' : a.url);
    }
    const { steps } = a;
    if (method === 'Page.startScreencast' || method === 'Page.stopScreencast') this.setScreencast(a, method, params, client);
    try {
      const target = sessionId === '' ? { tabId: a.tabId } : { tabId: a.tabId, sessionId };
      const result = await withTimeout(timeoutMs, this.sendToBrowser(a, target, method, params, Date.now() + timeoutMs, client), method) ?? {};
      if (!a.closing) {
        // pushState may have changed the URL before the page was read.
        const why = a.steps !== steps && READ_COMMANDS.test(method) ? decide(a.rules, a.url) : null;
        if (why) throw new CommandError('POLICY_DENIED', why);
        if (method === 'Page.getFrameTree') this.recordFrames(a, /** @type {any} */ (result).frameTree);
        return redactResult(method, result, a.rules);
      }
    } catch (e) {
      throw e instanceof CommandError ? e : await commandError(a.tabId, message(e));
    }
    throw new CommandError('TARGET_GONE', 'the tab was closed'); // the command was interrupted, whatever its result
  }

  /**
   * Sends a command to the browser. Chrome rejects all commands while a page opens the
   * URL of another program, for example "tel:1": it checks the pending URL of the tab. A rejected
   * command has had no effect, so it is sent again, in order, and later commands wait. It was checked
   * for the present document, so it fails if that changes.
   *
   * @param {Attachment} a
   * @param {chrome.debugger.DebuggerSession} target
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {number} end when the caller stops waiting, in ms since 1970
   * @param {string} client id of the CDP client, "" for tools
   */
  async sendToBrowser(a, target, method, params, end, client) {
    const { documents, steps, rules } = a;
    const isUnchanged = () => this.attachments.get(a.tabId) === a && !a.closing
      && a.documents === documents && a.steps === steps && a.rules === rules;
    try {
      return await chrome.debugger.sendCommand(target, method, params);
    } catch (e) {
      if (WARNING_ERROR.test(message(e))) return leaveDocument(a, method, params, client, WARNING, ', as only a person can accept this');
      if (EXTENSION_FRAME_ERROR.test(message(e))) return leaveDocument(a, method, params, client, EXTENSION_FRAME);
      if (!PENDING_URL_ERROR.test(message(e))) throw e;
    }
    const last = Math.min(end, Date.now() + timing.patience.pendingURL) - RESEND_PAUSE;
    const sent = (a.resending ?? Promise.resolve()).then(() => resend(target, method, params, last, isUnchanged));
    const done = sent.then(() => {}, () => {}).then(() => {
      if (a.resending === done) a.resending = null;
      if (a.gate === done) a.gate = null;
    });
    a.resending = done;
    a.gate = done;
    return sent;
  }

  /**
   * Records the screencast that a command starts or ends. That of tools sends no frames.
   *
   * @param {Attachment} a
   * @param {string} method
   * @param {Record<string, any>} params
   * @param {string} client id of the CDP client, "" for tools
   */
  setScreencast(a, method, params, client) {
    a.screencast = null;
    if (client === '' || method === 'Page.stopScreencast') return;
    const started = new Screencast({ tabId: a.tabId }, params, async () => {
      await flushDocuments(a.tabId, a.children.keys());
      await checkClient(method, {}, { ...this.commandContext(a, ''), askEval: () => {} });
      return a.loads;
    });
    a.screencast = started;
    started.send('Page.stopScreencast', {}); // that of tools
  }

  /**
   * Called when a frame has loaded a document.
   * @param {number} tabId
   */
  committed(tabId) {
    const a = this.attachments.get(tabId);
    if (a) a.loads++;
  }

  /**
   * Stores the URLs of frames in a frame tree that no event reported.
   * @param {Attachment} a
   * @param {any} tree
   */
  recordFrames(a, tree) {
    const frame = tree?.frame;
    // Of an error page, chrome.tabs reports the URL that did not load.
    if (frame?.id === a.top && a.documents === 0 && a.steps === 0 && String(frame.url).startsWith('chrome-error:')) a.url = String(frame.url);
    if (frame && frame.id !== a.top && !a.urls.has(frame.id)) a.urls.set(frame.id, String(frame.url));
    for (const child of tree?.childFrames ?? []) this.recordFrames(a, child);
  }

  /**
   * Queries the document of an out-of-process frame whose session started before
   * the document existed.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   */
  async findSite(a, sessionId) {
    const tree = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId: a.tabId, sessionId }, 'Page.getFrameTree'), 'querying the document').catch(() => null);
    const child = a.children.get(sessionId);
    const frame = /** @type {any} */ (tree)?.frameTree?.frame;
    if (child?.url === '' && frame?.id === child.frame) child.url = String(frame.url);
  }

  /**
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} [client] id of the CDP client that sends the command, "" for tools
   * @returns {import('./methods.js').CommandContext}
   */
  commandContext(a, sessionId, client = '') {
    const worlds = a.worlds.get(sessionId);
    const child = a.children.get(sessionId);
    const originOfFrame = (/** @type {string} */ frame) => {
      for (const world of worlds?.values() ?? []) if (world.main && world.frame === frame) return world.origin;
      return undefined;
    };
    const withOurs = (/** @type {any} */ world) => world && { ...world, ours: a.toolWorlds.has(world.name), client: a.clientWorlds.has(world.name) };
    return {
      rules: a.rules, url: a.url, top: a.top, own: a.own, child: sessionId !== '',
      site: child && isBlank(child.url) ? originOfFrame(child.frame) || '' : child?.url ?? '',
      originOfFrame,
      urlOfFrame: (frame) => (frame === a.top ? a.url : a.urls.get(frame)),
      worldById: (id) => withOurs(worlds?.get(id)),
      worldByUnique: (unique) => withOurs([...(worlds?.values() ?? [])].find((world) => world.unique === unique)),
      evalAnswer: (origin) => this.delegate.evalAnswer(a, origin),
      askEval: (origin) => this.delegate.askEval(a, origin, client),
      history: async () => {
        const h = /** @type {any} */ (await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId: a.tabId }, 'Page.getNavigationHistory'), 'reading the history'));
        return h?.entries ?? [];
      },
      documents: () => this.documents(a),
      request: (id) => a.requests.get(id),
      compiles: async (source) => {
        // A new frame has no document to compile in.
        const result = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId: a.tabId }, 'Runtime.compileScript', { expression: source, sourceURL: '', persistScript: false }), 'compiling a script').catch(() => null);
        return result !== null && result !== undefined && !Object.hasOwn(result, 'exceptionDetails');
      },
      scriptOrigins: () => this.delegate.scriptOrigins(a, originOf(child ? child.url : a.url)),
      isToolWorld: (name) => a.toolWorlds.has(name),
    };
  }

  /**
   * Returns the URLs of the documents of all frames of a tab. For a frame whose last navigation
   * failed, the browser reports the URL of the navigation, and CDP that of the document, which is
   * the one before or an error page.
   *
   * @param {Attachment} a
   */
  async documents(a) {
    const all = await withTimeout(SHORT_TIMEOUT_MS, chrome.webNavigation.getAllFrames({ tabId: a.tabId }), 'listing frames') ?? [];
    const frames = all.filter(({ documentLifecycle }) => documentLifecycle === undefined || documentLifecycle === 'active');
    const urls = frames.map(({ frameId, url }) => (frameId === 0 ? a.url : url));
    if (!frames.some(({ errorOccurred, url }) => errorOccurred && decide(a.rules, url) !== null)) return urls;
    const sessions = [undefined, ...a.children.keys()];
    const trees = await Promise.all(sessions.map((sessionId) => withTimeout(SHORT_TIMEOUT_MS,
      chrome.debugger.sendCommand({ tabId: a.tabId, sessionId }, 'Page.getFrameTree'), 'querying the documents').catch(() => null)));
    const current = trees.flatMap((tree) => urlsOf(/** @type {any} */ (tree)?.frameTree));
    return current.length === frames.length ? current : urls; // CDP does not report frames of other processes that it is not attached to
  }

  /**
   * @param {chrome.debugger.DebuggerSession} source
   * @param {string} method
   * @param {any} params
   */
  onEvent(source, method, params) {
    if (source.tabId === undefined) return;
    const a = this.attachments.get(source.tabId);
    if (!a?.live) {
      if (!a && !this.preattached.has(source.tabId)) return;
      const early = this.early.get(source.tabId) ?? [];
      this.early.set(source.tabId, early);
      if (early.length < MAX_EARLY || method.startsWith('Page.javascriptDialog')) early.push({ source, method, params });
      return;
    }
    const sessionId = source.sessionId ?? '';
    this.trackEvent(a, sessionId, method, params ?? {});
    if (a.closing) return; // the tab sends no further events
    if (SUPPRESSED_EVENTS.has(method)) return;
    if (method === 'Page.screencastFrame') {
      const { screencast } = a;
      screencast?.frame(params, () => this.attachments.get(a.tabId) === a && a.screencast === screencast, () => sendEvent(a, '', method, params));
      return;
    }
    if (DOCUMENT_EVENTS.test(method) && this.isSuppressed(a, sessionId, params ?? {})) return;
    if (LOG_EVENTS.has(method) && !this.withinLogBudget(a, sessionId, method, params ?? {})) return;
    sendEvent(a, sessionId, method, withoutCookies(method, params ?? {}), a.followsRequests ? this.withheld(a, sessionId, method, params ?? {}) : {});
  }

  /**
   * Returns what CDP clients must not receive of an event.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   * @returns {{denied?: true, noConsent?: true}}
   */
  withheld(a, sessionId, method, params) {
    const frame = params.frameId === undefined || params.frameId === a.top ? undefined : a.urls.get(params.frameId);
    if (this.isSuppressed(a, sessionId, params) || (frame && decide(a.rules, frame) !== null)) return { denied: true };
    if (!SENT_EVENTS.test(method)) return {};
    const { site, child, url } = this.commandContext(a, sessionId);
    const origin = originOf(frame ?? (child ? site : url));
    return origin !== '' && this.delegate.evalAnswer(a, origin) === true ? {} : { noConsent: true };
  }

  /**
   * Reports whether a log event is within its limit. If not, it is counted, and the
   * count is reported after DROPPED_PAUSE.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  withinLogBudget(a, sessionId, method, params) {
    const key = `${sessionId} ${method}`;
    let budget = a.budgets.get(key);
    if (!budget) a.budgets.set(key, budget = new Budget());
    if (budget.spend(sizeOf(params) + EXTRA)) return true;
    const spent = budget;
    if (spent.dropped++ === 0) {
      setTimeout(() => {
        if (this.attachments.get(a.tabId) === a) sendEvent(a, sessionId, DROPPED, { method, count: spent.dropped });
        spent.dropped = 0;
      }, DROPPED_PAUSE);
    }
    return false;
  }

  /**
   * Reports whether an event is from a denied document: the tab's, or that of
   * the frame that sent it, if these are known.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {any} params
   */
  isSuppressed(a, sessionId, params) {
    const world = a.worlds.get(sessionId)?.get(params.executionContextId ?? params.exceptionDetails?.executionContextId);
    const urls = [a.url, a.children.get(sessionId)?.url, world?.frame === a.top ? '' : a.urls.get(world?.frame ?? '')];
    return urls.some((url) => url && decide(a.rules, url) !== null);
  }

  /**
   * Records the state that the checks use.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} method
   * @param {any} params
   */
  trackEvent(a, sessionId, method, params) {
    if (DOCUMENT_CHANGES.has(method)) a.loads++;
    switch (method) {
      case 'Runtime.executionContextCreated': {
        const { id, uniqueId, origin, name, auxData } = params.context;
        let worlds = a.worlds.get(sessionId);
        if (!worlds) a.worlds.set(sessionId, worlds = new Map());
        worlds.set(id, { unique: uniqueId, frame: auxData?.frameId, main: auxData?.isDefault !== false,
          name: /extension:/.test(origin) ? '' : String(name), // a content script's world has its extension's origin
          origin: /^https?:/.test(origin) ? originOf(origin) : '' });
        break;
      }
      case 'Runtime.executionContextDestroyed':
        a.worlds.get(sessionId)?.delete(params.executionContextId);
        break;
      case 'Runtime.executionContextsCleared':
        a.worlds.delete(sessionId);
        break;
      case 'Target.attachedToTarget':
        a.children.set(params.sessionId, { frame: params.targetInfo.targetId, url: params.targetInfo.url });
        if (params.targetInfo.type === 'iframe') void chrome.debugger.sendCommand({ tabId: a.tabId, sessionId: params.sessionId }, 'Page.enable').catch(() => {});
        break;
      case 'Target.detachedFromTarget':
        a.children.delete(params.sessionId);
        a.worlds.delete(params.sessionId);
        for (const method of LOG_EVENTS) a.budgets.delete(`${params.sessionId} ${method}`);
        break;
      case 'Page.frameNavigated':
        if (sessionId === '' && !params.frame.parentId) {
          a.top = params.frame.id;
          a.documents++;
          a.url = params.frame.url + (params.frame.urlFragment ?? '');
          this.delegate.frameNavigated(a);
        } else {
          this.frameNavigated(a, sessionId, params.frame.id, params.frame.url);
        }
        break;
      case 'Page.frameDetached':
        if (params.reason !== 'swap') a.urls.delete(params.frameId);
        break;
      case 'Page.navigatedWithinDocument':
        this.frameNavigated(a, sessionId, params.frameId, params.url);
        break;
      case 'Page.documentOpened':
        this.frameNavigated(a, sessionId, params.frame.id, params.frame.url);
        break;
      case 'Network.requestWillBeSent':
      case 'Fetch.requestPaused':
        if (a.followsRequests) followRequest(a, params);
        break;
      case 'Network.responseReceived': {
        const request = a.requests.get(params.requestId);
        // A service worker can answer a request with an opaque response: one of another site that the
        // page cannot read, at any URL. Requests for documents and by XMLHttpRequest fail with it.
        if (request) request.opaque = Boolean(params.response?.fromServiceWorker) && params.type !== 'Document' && params.type !== 'XHR';
        break;
      }
      case 'Page.downloadWillBegin':
        this.delegate.download(a, params.url);
        break;
      case 'Page.javascriptDialogOpening':
        a.dialog = params.type === 'beforeunload' ? 'beforeunload' : 'other';
        if (a.closing) void chrome.debugger.sendCommand({ tabId: a.tabId }, 'Page.handleJavaScriptDialog', { accept: true }).catch(() => {});
        break;
      case 'Page.javascriptDialogClosed':
        a.dialog = 'none';
        break;
    }
  }

  /**
   * Called when the URL of a frame's document changed.
   *
   * @param {Attachment} a
   * @param {string} sessionId
   * @param {string} frame
   * @param {string} url
   */
  frameNavigated(a, sessionId, frame, url) {
    const child = a.children.get(sessionId);
    if (sessionId === '' && frame === a.top) {
      a.url = url;
      a.steps++;
      this.delegate.frameNavigated(a);
      return;
    }
    a.urls.set(frame, url);
    if (child?.frame === frame) child.url = url;
  }

  /**
   * @param {chrome.debugger.Debuggee} source
   * @param {string} reason
   */
  onDetach(source, reason) {
    const { tabId } = source;
    if (tabId === undefined) return;
    const a = this.attachments.get(tabId);
    if (reason === 'canceled_by_user') {
      if (a) this.attachments.delete(tabId);
      this.delegate.canceled(tabId);
      return;
    }
    if (!a?.live) return; // we detached
    this.attachments.delete(tabId);
    this.delegate.protect().catch(() => {});
    this.delegate.detached(a, reason);
  }
}

/**
 * Records a request.
 *
 * @param {Attachment} a
 * @param {any} params of an event
 */
function followRequest(a, { requestId, request }) {
  a.requests.delete(requestId);
  a.requests.set(requestId, { url: String(request?.url) });
  if (a.requests.size > MAX_REQUESTS) a.requests.delete(/** @type {string} */ (a.requests.keys().next().value));
}

/**
 * Returns the URLs of the documents in a frame tree.
 * @param {any} tree
 * @returns {string[]}
 */
function urlsOf(tree) {
  return tree ? [String(tree.frame.url), ...(tree.childFrames ?? []).flatMap(urlsOf)] : [];
}

/**
 * Sends an event of a tab to its server.
 *
 * @param {Attachment} a
 * @param {string} sessionId
 * @param {string} method
 * @param {any} params
 * @param {{denied?: true, noConsent?: true}} [withheld] from CDP clients
 */
function sendEvent(a, sessionId, method, params, withheld = {}) {
  if (a.connection.session !== a.session || a.connection.state !== 'connected') return;
  a.connection.send({ type: 'event', event: 'cdp', data: { tabId: a.tabId, ...(sessionId === '' ? {} : { sessionId }), method, params, ...withheld } });
}

/**
 * Counts the characters of the strings in the parameters of an event.
 *
 * @param {unknown} value
 * @returns {number}
 */
function sizeOf(value) {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let size = 0;
  for (const part of Object.values(value)) size += sizeOf(part);
  return size;
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

/** @param {number} tabId */
async function detach(tabId) {
  try {
    await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.detach({ tabId }), 'detaching the debugger');
  } catch {
    // it was not attached, or the tab no longer exists
  }
}

/**
 * Sends a command again until the browser no longer rejects it because of the pending URL.
 *
 * @param {chrome.debugger.DebuggerSession} target
 * @param {string} method
 * @param {Record<string, any>} params
 * @param {number} last the time of the last attempt, in ms since 1970
 * @param {() => boolean} isUnchanged reports whether the command may still be sent
 */
async function resend(target, method, params, last, isUnchanged) {
  for (;;) {
    await new Promise((done) => setTimeout(done, RESEND_PAUSE));
    if (!isUnchanged()) throw protocolError(-32000, `${method}: the document of the tab has changed`);
    if (Date.now() > last) throw protocolError(-32000, `${method}: the tab opens the URL of another program`);
    try {
      return await chrome.debugger.sendCommand(target, method, params);
    } catch (e) {
      if (!PENDING_URL_ERROR.test(message(e))) throw e;
    }
  }
}

/**
 * Navigates a tab that Chrome lets no extension use. The result names no document, as that of a
 * navigation within a document: tools wait for the event, and CDP clients would not.
 *
 * @param {Attachment} a
 * @param {string} method
 * @param {Record<string, any>} params
 * @param {string} client id of the CDP client, "" for tools
 * @param {string} why the beginning of the error of other commands
 * @param {string} [end] the end of the error
 */
async function leaveDocument(a, method, params, client, why, end = '') {
  if (method !== 'Page.navigate' || client !== '') {
    throw new CommandError('POLICY_DENIED', `${why}: ${client === '' ? 'navigate to another URL' : 'close the tab'}, or ask the user${end}`);
  }
  await chrome.tabs.update(a.tabId, { url: String(params.url) });
  return { frameId: a.top };
}

/**
 * Returns the tab that the page of a tab can navigate because its page opened it, or null.
 *
 * @param {number} tabId
 * @param {chrome.debugger.TargetInfo[]} targets
 */
async function openerOf(tabId, targets) {
  const result = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.sendCommand({ tabId }, 'Target.getTargetInfo'), 'finding the opener').catch(() => null);
  const { canAccessOpener, openerId } = /** @type {any} */ (result)?.targetInfo ?? {};
  const opener = canAccessOpener ? targets.find((t) => t.id === openerId) : undefined;
  return opener?.tabId === undefined ? null : { tabId: opener.tabId, url: opener.url };
}

/** @param {string} text */
function attachError(text) {
  if (/no tab with given id/i.test(text)) return new CommandError('TAB_NOT_FOUND', 'the tab was not found');
  if (/gallery/i.test(text)) return new CommandError('POLICY_DENIED', "the browser's web store cannot be driven: open another page in the tab");
  if (/file/i.test(text)) return new CommandError('POLICY_DENIED', 'local files cannot be driven: open a web page in the tab');
  if (WARNING_ERROR.test(text)) return new CommandError('POLICY_DENIED', `${WARNING}: ask the user to leave it, or open another tab`);
  if (EXTENSION_FRAME_ERROR.test(text)) return new CommandError('POLICY_DENIED', `${EXTENSION_FRAME}: open another page in the tab`);
  if (/cannot (access|attach)/i.test(text)) return new CommandError('POLICY_DENIED', 'the tab shows an internal page of the browser, which cannot be driven: open a web page in it');
  return new CommandError('INTERNAL', `attaching the debugger: ${text}`);
}

/** @param {number} tabId @param {string} text */
async function commandError(tabId, text) {
  if (text.startsWith('{')) {
    try {
      const { code, message: reason } = JSON.parse(text);
      return new CommandError('CDP_ERROR', String(reason), { code: Number(code) || 0, message: String(reason) });
    } catch {
      // not an error of CDP
    }
  }
  if (/did not finish in time/.test(text)) return new CommandError('TIMEOUT', text);
  if (/detached|not attached/i.test(text)) {
    const exists = await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.get(tabId), 'finding the tab').then(() => true, () => false);
    return exists ? new CommandError('DETACHED', 'the debugger was detached from the tab') : new CommandError('TARGET_GONE', 'the tab was closed');
  }
  if (/no tab with given id/i.test(text)) return new CommandError('TARGET_GONE', 'the tab was closed');
  return new CommandError('CDP_ERROR', text, { code: -32000, message: text });
}

/** @param {unknown} e */
function message(e) {
  return e instanceof Error ? e.message : String(e);
}
