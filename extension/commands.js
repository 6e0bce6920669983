// @ts-check

import { PROMPT_KINDS } from './permission_prompts.js';
import { CommandError } from './command_error.js';
import { sendEvent } from './connection.js';
import { cutStrings } from './cut_strings.js';
import { allowsNoSite, compile, decide, siteOf } from './policy.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';
import { getTab, showTab } from './tabs.js';
import { MAX_HANDOVER_MESSAGE, METHODS } from './wire.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./connection.js').Command} Command */
/** @typedef {import('./broker.js').Broker} Broker */
/** @typedef {import('./tabs.js').Shared} Shared */

/** The maximum length of the id of a handover. */
const MAX_ID = 64;

/**
 * @type {{[K in keyof typeof METHODS]: (b: Broker, c: Connection, params: any, timeoutMs: number) => any}}
 */
const HANDLERS = {
  ping_probe: () => ({}),
  tabs_list: async (b, c) => {
    const elsewhere = b.drivers.tabsOfOtherServers(c);
    const ended = Object.entries(b.tabs.state.ended).map(([tabId, reason]) => ({ tabId: Number(tabId), reason }));
    return { tabs: await listTabs(b, c), ...(elsewhere > 0 ? { elsewhere } : {}), ...(ended.length > 0 ? { ended } : {}) };
  },
  tab_new: newTab,
  tab_close: closeTab,
  tab_attach: attachTab,
  tab_release: async (b, c, { tabId }) => {
    if (b.attachments.get(tabId)?.connection === c) {
      await b.attachments.release(tabId);
      b.drivers.clearDriver(tabId);
    }
    return {};
  },
  tab_used: (b, c, { tabId }) => {
    b.tabs.renew(requireDrivableTab(b, c, tabId));
    return {};
  },
  tabs_opened: async (b) => ({ pending: await b.openedTabs.countPending() }),
  open_targets: async (_b, _c, { targets }) => {
    const open = await withTimeout(SHORT_TIMEOUT_MS, chrome.debugger.getTargets(), 'listing targets');
    return { targets: targets.filter((/** @type {string} */ id) => open.some((t) => t.id === id)) };
  },
  cdp,
  consent,
  cdp_clients: (b, c, { clients }) => b.clientsChanged(c, clients),
  handover,
  handover_end: (b, c, { id }) => {
    b.handovers.endQuestion(c.key, id);
    return {};
  },
  download_cancel: async (b, c, { id }) => {
    if (b.downloads.serverOf(id) !== c.key) throw new CommandError('BAD_ARGS', `download ${id} was not started in a tab that this agent drove`);
    await b.downloads.cancel(id);
    return {};
  },
};

/**
 * Runs a command and sends exactly one result or error.
 *
 * @param {Broker} b
 * @param {Connection} c
 * @param {Command} command
 */
export function handle(b, c, command) {
  const { generation } = c;
  /** @param {Record<string, any>} message */
  const answer = (message) => {
    if (c.generation !== generation || c.state !== 'connected') return; // the connection that sent it is closed
    if (!c.send({ ...message, id: command.id }) && message.type === 'result') {
      c.send({ type: 'error', id: command.id, error: { code: 'INTERNAL', message: 'the result is too large' } });
    }
  };
  /** @param {unknown} e */
  const fail = (e) => {
    const refusal = e instanceof CommandError ? e : new CommandError('INTERNAL', e instanceof Error ? e.message : String(e));
    answer({ type: 'error', error: { code: refusal.code, message: refusal.message, ...(refusal.data === undefined ? {} : { data: refusal.data }) } });
  };
  try {
    if (!Object.hasOwn(HANDLERS, command.method)) throw new CommandError('UNKNOWN_METHOD', `unknown method ${command.method.slice(0, 40)}`);
    const method = /** @type {keyof typeof METHODS} */ (command.method);
    checkParams(command.params, METHODS[method].params);
    // Call it synchronously: commands to a tab run in the order of their messages.
    const result = HANDLERS[method](b, c, command.params, command.timeoutMs);
    Promise.resolve(result).then((data) => answer({ type: 'result', data: data ?? {} }), fail);
  } catch (e) {
    fail(e);
  }
}

/**
 * Returns why a value does not have a type of wire.js, or "".
 *
 * @param {any} value
 * @param {string} type
 */
function mismatch(value, type) {
  if (type === 'any') return value === undefined ? 'missing' : '';
  if (type === 'integer') return Number.isSafeInteger(value) ? '' : 'not an integer';
  if (type.endsWith('[]')) return Array.isArray(value) ? '' : 'not a list';
  return typeof value === type ? '' : `not a ${type}`;
}

/**
 * @param {Record<string, any>} params
 * @param {Record<string, string>} keys
 */
function checkParams(params, keys) {
  for (const [written, type] of Object.entries(keys)) {
    const optional = written.endsWith('?');
    const key = optional ? written.slice(0, -1) : written;
    const value = params[key];
    if (value === undefined && optional) continue;
    const problem = mismatch(value, type);
    if (problem) throw new CommandError('BAD_ARGS', `${key} is ${problem}`);
  }
}

/**
 * Returns a tab that a server may drive. It throws if there is none.
 *
 * @param {Broker} b
 * @param {Connection} c
 * @param {number} tabId
 * @returns {Shared}
 */
function requireDrivableTab(b, c, tabId) {
  b.tabs.expire(); // the alarm may be late
  const shared = b.tabs.get(tabId);
  if (!shared) throw new CommandError('TAB_NOT_FOUND', 'the tab is not shared');
  if (!b.drivers.mayDrive(shared, c)) {
    if (shared.chat || c.isChat) throw new CommandError('TAB_NOT_FOUND', 'the tab is not shared with this agent');
    throw new CommandError('TAB_NOT_FOUND', `the tab is driven by another agent, ${b.servers.nameOf(shared.driver || shared.openedBy)}; the user can change that in the extension popup`);
  }
  return shared;
}

/** @param {Broker} b @param {Connection} c */
async function listTabs(b, c) {
  b.tabs.expire();
  const open = new Map((await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.query({}), 'listing tabs')).map((t) => [t.id, t]));
  return b.tabs.list().flatMap((shared) => {
    const tab = open.get(shared.tabId);
    return tab && b.drivers.mayDrive(shared, c) ? [b.tabs.describe(shared, tab, c.key)] : [];
  });
}

/** @param {Broker} b @param {Connection} c */
async function newTab(b, c) {
  if (allowsNoSite(compile(c.policy))) throw new CommandError('POLICY_DENIED', 'the policy allows no site');
  const shared = await b.tabs.open(c.key, c.server?.name ?? '', c.isChat);
  b.log.add({ what: 'opened a tab', server: b.servers.nameOf(c.key), tabId: shared.tabId });
  try {
    return await attachTab(b, c, shared);
  } catch (e) {
    if (b.tabs.get(shared.tabId) === shared && shared.openedBy === c.key) { // the user may have given it to another agent
      await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.remove(shared.tabId), 'closing the tab').catch(() => {});
    }
    throw e;
  }
}

/** @param {Broker} b @param {Connection} c @param {{tabId: number}} params */
async function closeTab(b, c, { tabId }) {
  const shared = requireDrivableTab(b, c, tabId);
  if (shared.openedBy !== c.key && !b.settings.value.mayClose) {
    b.tabs.unshare(tabId, 'released');
    return { closed: false, released: true };
  }
  b.log.add({ what: 'closed a tab', server: b.servers.nameOf(c.key), tabId, host: shared.host });
  if (shared.openedBy === c.key) {
    // Its page may open a beforeunload dialog, which only the debugger can answer.
    if (!b.attachments.currentOf(c, tabId)) await attachTab(b, c, { tabId }).catch(() => {});
    await b.attachments.prepareClose(tabId);
  } else {
    await b.attachments.release(tabId); // in the user's own page, the user answers beforeunload
  }
  try {
    await withTimeout(SHORT_TIMEOUT_MS, chrome.tabs.remove(tabId), 'closing the tab');
  } catch (e) {
    if (!/No tab with id/.test(String(e))) {
      if (b.attachments.get(tabId)) {
        await b.attachments.release(tabId);
        sendEvent(c, 'detached', { tabId, reason: 'released' });
      }
      throw e;
    }
  }
  return { closed: true, released: false };
}

/** @param {Broker} b @param {Connection} c @param {{tabId: number}} params */
async function attachTab(b, c, { tabId }) {
  const shared = requireDrivableTab(b, c, tabId);
  const rules = () => b.scopes.policyFor(c);
  if (allowsNoSite(rules())) throw new CommandError('POLICY_DENIED', 'the policy allows no site');
  const before = await getTab(tabId);
  const why = b.tabs.shareRefusal(before.url ?? '');
  if (why) throw new CommandError('POLICY_DENIED', `${why}: open another page in the tab`);
  requireDrivableTab(b, c, tabId); // again, after the await
  b.drivers.setDriver(shared, c);
  try {
    await b.attachments.attach(c, tabId, rules, shared.openedBy === c.key);
    b.attachErrors.delete(tabId);
  } catch (e) {
    if (!b.attachments.get(tabId)) b.drivers.clearDriver(tabId);
    if (e instanceof CommandError && b.tabs.get(tabId)) b.attachErrors.set(tabId, e);
    b.changed();
    throw e;
  }
  if (b.tabs.get(tabId) !== shared || !b.drivers.mayDrive(shared, c)) { // or the user chose another driver
    if (b.attachments.get(tabId)?.connection === c) await b.attachments.release(tabId);
    if (b.tabs.get(tabId) === shared) requireDrivableTab(b, c, tabId);
    throw new CommandError('DETACHED', 'the tab was unshared');
  }
  const [tab] = await Promise.all([getTab(tabId), b.drivers.findTarget(shared)]);
  b.changed();
  return b.tabs.describe(shared, tab, c.key);
}

/**
 * @param {Broker} b
 * @param {Connection} c
 * @param {{tabId: number, sessionId?: string, method: string, params?: any, maxString?: number, client?: string}} params
 * @param {number} timeoutMs
 */
function cdp(b, c, { maxString = 0, ...command }, timeoutMs) {
  const result = sendCDP(b, c, command, timeoutMs);
  return maxString > 0 ? result.then((data) => cutStrings(data, maxString)) : result;
}

/**
 * @param {Broker} b
 * @param {Connection} c
 * @param {{tabId: number, sessionId?: string, method: string, params?: any, client?: string}} params
 * @param {number} timeoutMs
 */
function sendCDP(b, c, { tabId, sessionId = '', method, params = {}, client = '' }, timeoutMs) {
  const shared = requireDrivableTab(b, c, tabId);
  const a = b.attachments.currentOf(c, tabId);
  if (!a) throw new CommandError('DETACHED', 'the debugger is not attached to the tab');
  if (typeof params !== 'object' || params === null || Array.isArray(params)) throw new CommandError('BAD_ARGS', 'params is not an object');
  // Commands of tools do not renew: tab_used does. Those of Fetch answer requests of the page.
  if (client !== '' && !method.startsWith('Fetch.')) b.tabs.renew(shared);
  const installing = b.scopes.installing.get(c);
  if (!installing) return a.command(sessionId, method, params, timeoutMs, client);
  return installing.then(() => {
    requireDrivableTab(b, c, tabId);
    if (b.attachments.currentOf(c, tabId) !== a) throw new CommandError('DETACHED', 'the debugger is not attached to the tab');
    return a.command(sessionId, method, params, timeoutMs, client);
  });
}

/**
 * Returns how long to wait for the user, in ms: less than the timeout of the server, so that it
 * receives the result.
 *
 * @param {number} timeoutMs
 */
const userTimeout = (timeoutMs) => Math.max(timeoutMs - 1000, timeoutMs / 2);

/**
 * @param {Broker} b
 * @param {Connection} c
 * @param {{kind: string, origin: string, tool?: string, client?: string, call: string}} params
 * @param {number} timeoutMs
 */
async function consent(b, c, { kind, origin, tool = '', client = '', call }, timeoutMs) {
  const promptKind = PROMPT_KINDS.find((k) => k === kind);
  if (kind !== 'eval' && !promptKind) throw new CommandError('BAD_ARGS', `unknown kind of consent ${kind.slice(0, 40)}`);
  const site = siteOf(origin);
  if (!site || new URL(origin).origin !== origin) throw new CommandError('BAD_ARGS', 'the origin is not an origin such as https://example.com');
  const waitMs = userTimeout(timeoutMs);
  const agent = { key: c.key, name: b.servers.nameOf(c.key) };
  if (promptKind) {
    const answer = await b.permissionPrompts.wait(agent, { kind: promptKind, origin, tool: tool.slice(0, 40), client, call }, waitMs);
    if (answer === undefined) throw new CommandError('CONSENT_REQUIRED', 'waiting for the user to answer the prompt in the extension popup');
    return { granted: answer !== 'no', answer };
  }
  const why = decide(b.scopes.policyFor(c), origin + '/');
  if (why) throw new CommandError('POLICY_DENIED', why);
  const reply = await b.consent.wait(origin, agent, JSON.stringify([client, call]), waitMs, b.nameOfClient(c, client));
  if (reply === undefined) {
    throw new CommandError('CONSENT_REQUIRED', `running scripts on ${origin} requires the user's permission; the prompt is open in the extension popup`);
  }
  return { granted: reply.granted, answer: reply.answer ?? '' };
}

/**
 * Opens the question of a handover, or continues it if again is true, and waits for the answer.
 *
 * @param {Broker} b
 * @param {Connection} c
 * @param {{id: string, tabId: number, message: string, again: boolean}} params
 * @param {number} timeoutMs
 */
async function handover(b, c, { id, tabId, message, again }, timeoutMs) {
  const shared = requireDrivableTab(b, c, tabId);
  if (id.length > MAX_ID) throw new CommandError('BAD_ARGS', 'the id is too long');
  const agent = { key: c.key, name: b.servers.nameOf(c.key) };
  const tab = await getTab(tabId);
  if (!again) {
    const why = decide(b.scopes.policyFor(c), tab.url ?? '');
    if (why) throw new CommandError('POLICY_DENIED', why);
    await showTab(tabId);
  }
  // Check again after the awaits: the user may have stopped sharing the tab and shared it again.
  if (requireDrivableTab(b, c, tabId) !== shared) throw new CommandError('DETACHED', 'the tab was unshared');
  b.tabs.renew(shared); // also when the question ends, as Tabs.expire does
  const origin = siteOf(tab.url ?? '') ? new URL(tab.url ?? '').origin : '';
  const answer = await b.handovers.wait(agent, { id, tabId, origin, message: [...message].slice(0, MAX_HANDOVER_MESSAGE).join('') }, userTimeout(timeoutMs));
  if (answer === undefined) throw new CommandError('CONSENT_REQUIRED', 'waiting for the user to answer in the extension popup');
  return { answer };
}
