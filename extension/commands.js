// @ts-check

import { PERMIT_KINDS } from './permits.js';
import { Refusal } from './refusal.js';
import { compile, decide, deniesAll, siteOf } from './rules.js';
import { SHORT, within } from './deadline.js';
import { getTab } from './tabs.js';
import { METHODS } from './wire.js';

/** @typedef {import('./connection.js').Connection} Connection */
/** @typedef {import('./connection.js').Command} Command */
/** @typedef {import('./broker.js').Broker} Broker */
/** @typedef {import('./tabs.js').Shared} Shared */

/** @type {{[K in keyof typeof METHODS]: (b: Broker, c: Connection, params: any, timeoutMs: number) => any}} */
const HANDLERS = {
  ping_probe: () => ({}),
  tabs_list: async (b, c) => {
    const elsewhere = b.elsewhere(c);
    return { tabs: await listTabs(b, c), ...(elsewhere > 0 ? { elsewhere } : {}) };
  },
  tab_new: newTab,
  tab_close: closeTab,
  tab_attach: attachTab,
  tab_release: async (b, c, { tabId }) => {
    if (b.relay.held.get(tabId)?.connection === c) {
      await b.relay.release(tabId);
      b.leave(tabId);
    }
    return {};
  },
  cdp,
  consent,
  download_cancel: async (b, c, { id }) => {
    const tabId = b.downloads.known.get(id);
    if (tabId === undefined || b.relay.holdOf(c, tabId) === undefined) throw new Refusal('BAD_ARGS', `download ${id} is not of a tab that this agent drives`);
    await b.downloads.cancel(id);
    return {};
  },
};

/**
 * Carries a command out and answers it, once, whatever happens.
 *
 * @param {Broker} b
 * @param {Connection} c
 * @param {Command} command
 */
export function handle(b, c, command) {
  const { session } = c;
  /** @param {Record<string, any>} frame */
  const answer = (frame) => {
    if (c.session !== session || c.state !== 'connected') return; // who asked is gone
    if (!c.send({ ...frame, id: command.id }) && frame.type === 'result') {
      c.send({ type: 'error', id: command.id, error: { code: 'INTERNAL', message: 'the answer is too large to be sent' } });
    }
  };
  /** @param {unknown} e */
  const fail = (e) => {
    const refusal = e instanceof Refusal ? e : new Refusal('INTERNAL', e instanceof Error ? e.message : String(e));
    answer({ type: 'error', error: { code: refusal.code, message: refusal.message, ...(refusal.data === undefined ? {} : { data: refusal.data }) } });
  };
  try {
    if (!Object.hasOwn(HANDLERS, command.method)) throw new Refusal('UNKNOWN_METHOD', `the extension does not know the method ${command.method.slice(0, 40)}`);
    const method = /** @type {keyof typeof METHODS} */ (command.method);
    checkParams(command.params, METHODS[method].params);
    // Called here and now: the order of commands to a tab is that of their frames.
    const result = HANDLERS[method](b, c, command.params, command.timeoutMs);
    Promise.resolve(result).then((data) => answer({ type: 'result', data: data ?? {} }), fail);
  } catch (e) {
    fail(e);
  }
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
    const ok = type === 'integer' ? Number.isSafeInteger(value) : type === 'any' ? value !== undefined : typeof value === type;
    if (!ok) throw new Refusal('BAD_ARGS', `${key} is not ${type === 'any' ? 'there' : `a${type === 'integer' ? ' whole number' : ` ${type}`}`}`);
  }
}

/**
 * Returns a tab that a server may drive.
 *
 * @param {Broker} b
 * @param {Connection} c
 * @param {number} tabId
 * @returns {Shared}
 */
function reach(b, c, tabId) {
  const shared = b.tabs.get(tabId);
  if (!shared) throw new Refusal('TAB_NOT_FOUND', `tab ${tabId} is not shared`);
  if (!b.visible(shared, c)) {
    throw new Refusal('TAB_NOT_FOUND', `tab ${tabId} is driven by another agent, ${b.nameOf(shared.driver || shared.own)}; the browser's user can change that in the popup`);
  }
  return shared;
}

/** @param {Broker} b @param {Connection} c */
async function listTabs(b, c) {
  const open = new Map((await within(SHORT, chrome.tabs.query({}), 'listing tabs')).map((t) => [t.id, t]));
  return b.tabs.list().flatMap((shared) => {
    const tab = open.get(shared.tabId);
    return tab && b.visible(shared, c) ? [b.tabs.describe(shared, tab, c.key)] : [];
  });
}

/** @param {Broker} b @param {Connection} c */
async function newTab(b, c) {
  if (deniesAll(compile(c.policy))) throw new Refusal('POLICY_DENIED', 'the policy allows no site');
  const shared = await b.tabs.open(c.key, c.server?.name ?? '');
  b.log.add({ what: 'opened a tab', server: b.nameOf(c.key), tabId: shared.tabId });
  return attachTab(b, c, { tabId: shared.tabId });
}

/** @param {Broker} b @param {Connection} c @param {{tabId: number}} params */
async function closeTab(b, c, { tabId }) {
  const shared = reach(b, c, tabId);
  if (shared.own !== c.key && !b.settings.value.mayClose) {
    b.tabs.unshare(tabId, 'user');
    return { closed: false, released: true };
  }
  b.log.add({ what: 'closed a tab', server: b.nameOf(c.key), tabId, host: shared.host });
  if (shared.own === c.key) {
    // Its page may ask whether to be left, and nobody else could answer.
    if (!b.relay.holdOf(c, tabId)) await attachTab(b, c, { tabId }).catch(() => {});
    await b.relay.closing(tabId);
  } else {
    await b.relay.release(tabId); // what was written in a page of the user's is the user's to give up
  }
  try {
    await within(SHORT, chrome.tabs.remove(tabId), 'closing the tab');
  } catch (e) {
    if (!/No tab with id/.test(String(e))) {
      if (b.relay.held.has(tabId)) {
        await b.relay.release(tabId);
        b.tell(c, 'detached', { tabId, reason: 'released' });
      }
      throw e;
    }
  }
  return { closed: true, released: false };
}

/** @param {Broker} b @param {Connection} c @param {{tabId: number}} params */
async function attachTab(b, c, { tabId }) {
  const shared = reach(b, c, tabId);
  const rules = b.rulesOf(c);
  if (deniesAll(rules)) throw new Refusal('POLICY_DENIED', 'the policy allows no site');
  const before = await getTab(tabId);
  const why = b.tabs.obstacle(before.url ?? '');
  if (why) throw new Refusal('POLICY_DENIED', `${why}: open another page in the tab`);
  reach(b, c, tabId); // still
  b.claim(shared, c);
  try {
    await b.relay.attach(c, tabId, rules, shared.own === c.key);
    b.problems.delete(tabId);
  } catch (e) {
    if (!b.relay.held.has(tabId)) b.leave(tabId);
    if (e instanceof Refusal && b.tabs.get(tabId)) b.problems.set(tabId, e);
    b.changed();
    throw e;
  }
  if (b.tabs.get(tabId) !== shared) {
    await b.relay.release(tabId);
    throw new Refusal('DETACHED', `tab ${tabId} was unshared`);
  }
  const [tab] = await Promise.all([getTab(tabId), b.findTarget(shared)]);
  b.changed();
  return b.tabs.describe(shared, tab, c.key);
}

/**
 * @param {Broker} b
 * @param {Connection} c
 * @param {{tabId: number, sessionId?: string, method: string, params?: any}} params
 * @param {number} timeoutMs
 */
function cdp(b, c, { tabId, sessionId = '', method, params = {} }, timeoutMs) {
  reach(b, c, tabId);
  const a = b.relay.holdOf(c, tabId);
  if (!a) throw new Refusal('DETACHED', `the debugger is not attached to tab ${tabId}`);
  if (typeof params !== 'object' || params === null || Array.isArray(params)) throw new Refusal('BAD_ARGS', 'params is not an object');
  const applying = b.applying.get(c);
  if (!applying) return b.relay.command(a, sessionId, method, params, timeoutMs);
  return applying.then(() => {
    reach(b, c, tabId);
    if (b.relay.holdOf(c, tabId) !== a) throw new Refusal('DETACHED', `the debugger is not attached to tab ${tabId}`);
    return b.relay.command(a, sessionId, method, params, timeoutMs);
  });
}

/**
 * @param {Broker} b
 * @param {Connection} c
 * @param {{kind: string, origin: string, tool?: string, client?: string, call: string}} params
 * @param {number} timeoutMs
 */
async function consent(b, c, { kind, origin, tool = '', client = '', call }, timeoutMs) {
  const permit = PERMIT_KINDS.find((k) => k === kind);
  if (kind !== 'eval' && !permit) throw new Refusal('BAD_ARGS', `there is no consent of kind ${kind.slice(0, 40)}`);
  const site = siteOf(origin);
  if (!site || new URL(origin).origin !== origin) throw new Refusal('BAD_ARGS', 'the origin is not an origin such as https://example.com');
  // A little less than the server waits, so that it hears of it from here.
  const patience = Math.max(timeoutMs - 1000, timeoutMs / 2);
  const agent = { key: c.key, name: b.nameOf(c.key) };
  if (permit) {
    const answer = await b.permits.wait(agent, { kind: permit, origin, tool: tool.slice(0, 40), client, call }, patience);
    if (answer === undefined) throw new Refusal('CONSENT_REQUIRED', 'the user is being asked in the popup of the chrome-mcp extension');
    return { granted: answer !== 'no', answer };
  }
  const why = decide(b.rulesOf(c), origin + '/');
  if (why) throw new Refusal('POLICY_DENIED', why);
  const said = await b.consent.wait(origin, agent, JSON.stringify([client, call]), patience);
  if (said === undefined) {
    throw new Refusal('CONSENT_REQUIRED', `running scripts in ${origin} needs the leave of the browser's user, who is being asked in the popup of the chrome-mcp extension`);
  }
  return { granted: said.granted, answer: said.answer ?? '' };
}
