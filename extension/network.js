// @ts-check

// What the tabs that an agent drives may load, held at the network by session
// rules of declarativeNetRequest. Checks before each command cannot stop what
// a page does by itself: redirects, popups, sockets, workers, prerendering.

import { BUILTIN, deniesAll, isLoopbackHost, isPublicAddress, opens, parseAddress, parsePattern } from './rules.js';
import { SHORT, within } from './deadline.js';

/** @typedef {import('./rules.js').Rules} Rules */
/** @typedef {import('./rules.js').Pattern} Pattern */
/** @typedef {chrome.declarativeNetRequest.Rule} Rule */
/** @typedef {chrome.declarativeNetRequest.RuleCondition} Condition */

/**
 * Tabs under one set of rules.
 *
 * @typedef {object} Fence
 * @property {number[]} tabs
 * @property {Rules} rules
 * @property {string[]} hosts that the tabs are at
 */

/** The start of a URL up to its host; the browser keeps user names there. */
const START = '://(?:[^/?#@]*@)?';

/** A host and its subdomains, then: */
const UNDER = '(?:[^/?#@:]+\\.)';

/** What may follow a host. */
const END = '(?::[0-9]+)?/';

/** Addresses that are not the public internet: what SPECIAL of rules.js holds,
 * in parts that are small enough for one rule each. IPv6 goes as a whole, and
 * so does every host with a dot at its end: "localhost." is localhost, and no
 * pattern or list of domains knows it. */
const PRIVATE = [
  '(?:0|10|127)\\.[0-9.]+',
  '(?:100\\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])|169\\.254|172\\.(?:1[6-9]|2[0-9]|3[01])|192\\.168|198\\.1[89])\\.[0-9.]+',
  '(?:192\\.0\\.[02]|192\\.88\\.99|198\\.51\\.100|203\\.0\\.113)\\.[0-9]+',
  '(?:22[4-9]|2[34][0-9]|25[0-5])\\.[0-9.]+',
  '\\[[0-9a-f:.]+\\]',
  `${UNDER}*localhost`,
  `${UNDER}+`,
].map((host) => `^[a-z]+${START}${host}${END}`);

/** @param {string} s */
const quote = (s) => s.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/**
 * Returns the expressions for what a pattern allows. ws and wss count as http
 * and https.
 *
 * @param {Pattern} p
 */
export function allowExpressions(p) {
  const host = (p.subdomains ? `${UNDER}+` : '') + quote(p.host);
  return (p.scheme === '' ? ['http', 'https'] : [p.scheme]).map((scheme) => {
    const usual = scheme === 'http' ? 80 : 443;
    const port = p.port === 0 ? '(?::[0-9]+)?' : p.port === usual ? '' : `:${p.port}`;
    return `^${scheme === 'http' ? '(?:http|ws)' : '(?:https|wss)'}${START}${host}${port}/`;
  });
}

/**
 * Returns the expressions for what a pattern denies, none when a plain list of
 * domains says it. A path that is spelled with percent signs may be one that
 * is denied, and an expression which reads them would be too large: with a
 * path, all such paths of the host are denied.
 *
 * @param {Pattern} p
 * @returns {string[]}
 */
function denyExpressions(p) {
  if (!p.subdomains && p.path === '' && !p.host.startsWith('[')) return [];
  const address = parseAddress(p.host) !== null;
  const host = (address ? '' : p.subdomains ? `${UNDER}+` : `${UNDER}*`) + quote(p.host);
  const start = `^[a-z]+${START}${host}(?::[0-9]+)?`;
  if (p.path === '') return [`${start}/`];
  return [start + p.path.split('/').map(quote).join('/+'), `${start}/[^?#]*%`];
}

/**
 * The ends of the names of sites: every country's and the usual others. What
 * none of them begins has no origin: a worker that a page made of a data: URL,
 * a tab that a sandboxed frame opened, and what the user typed.
 */
const NAMED = (() => {
  const letters = [...'abcdefghijklmnopqrstuvwxyz'];
  return [
    ...letters.flatMap((a) => letters.map((b) => a + b)),
    ...('com net org edu gov mil int info biz name pro mobi aero coop museum jobs travel cat asia tel post xxx app dev page cloud online site '
      + 'website shop store tech blog news live space world today work team email agency studio digital media design group center company '
      + 'social network systems solutions services support tools software finance bank health care money games video chat click link '
      + 'life art club fun icu top vip win xyz zone google youtube amazon apple microsoft test local internal localhost').split(' '),
    '127.0.0.1',
  ];
})();

/** How rules outrank each other. */
const PRIORITY = { fence: 1, listed: 2, private: 3, named: 4, blocked: 5 };

/**
 * Builds the rules for one fence, in three scopes: the tabs themselves;
 * whatever their sites start without a tab (service and shared workers,
 * prefetch) or in a tab that nobody knows yet; and what begins without a tab
 * that is known and without an origin, for which nothing is opened.
 *
 * @param {Fence} fence
 * @param {number[]} otherTabs every tab that is not in the fence
 * @param {chrome.declarativeNetRequest.ResourceType[]} types every type there is: without
 *   them a rule would not apply to main frames
 * @returns {Omit<Rule, 'id'>[]}
 */
export function buildRules({ tabs, rules, hosts }, otherTabs, types) {
  if (tabs.length === 0) return [];
  const initiators = [...new Set([...rules.allow.map((p) => p.host), ...hosts])].filter((h) => !h.startsWith('['));
  /** @type {Condition[]} */
  const scopes = [{ tabIds: tabs }];
  if (initiators.length > 0) {
    scopes.push({ initiatorDomains: initiators, ...(otherTabs.length > 0 ? { excludedTabIds: otherTabs } : {}) });
  }
  /** @type {Condition} */
  const nobodys = { excludedTabIds: [...tabs, ...otherTabs], excludedInitiatorDomains: NAMED };
  /** @type {Omit<Rule, 'id'>[]} */
  const out = [];
  /** @param {number} priority @param {'block' | 'allow'} type @param {Condition} condition */
  const add = (priority, type, condition) => {
    for (const scope of type === 'block' ? [...scopes, nobodys] : scopes) {
      out.push({ priority, action: { type: /** @type {any} */ (type) }, condition: { resourceTypes: types, ...condition, ...scope } });
    }
  };
  const mainFrame = /** @type {any[]} */ (['main_frame']);
  const parts = types.filter((t) => /** @type {string} */ (t) !== 'main_frame');

  if (rules.subresources !== 'public') add(PRIORITY.fence, 'block', rules.unsafeAll ? { resourceTypes: parts } : {});
  else if (!rules.unsafeAll) add(PRIORITY.fence, 'block', { resourceTypes: mainFrame });
  if (deniesAll(rules)) add(PRIORITY.blocked, 'block', {});

  /** @param {Pattern} p @param {Condition} extra */
  const allow = (p, extra) => {
    const address = parseAddress(p.host) !== null;
    const special = isLoopbackHost(p.host) || (address && (p.host.startsWith('[') || !isPublicAddress(p.host)));
    // Of private addresses only those of this machine are opened by a name;
    // the others need their range, which decide() of rules.js asks for.
    if (special && !isLoopbackHost(p.host) && !isPublicAddress(p.host) && !opens(rules, p.host)) return;
    for (const regexFilter of allowExpressions(p)) add(special ? PRIORITY.named : PRIORITY.listed, 'allow', { regexFilter, ...extra });
  };
  for (const p of rules.allow) allow(p, {});
  if (rules.subresources === 'list') for (const p of rules.resources) allow(p, { resourceTypes: parts });

  for (const regexFilter of PRIVATE) add(PRIORITY.private, 'block', { regexFilter });

  const denied = [...rules.block, ...rules.mine, ...BUILTIN.map((b) => b.pattern), ...METADATA];
  const domains = denied.filter((p) => denyExpressions(p).length === 0).map((p) => p.host);
  if (domains.length > 0) add(PRIORITY.blocked, 'block', { requestDomains: [...new Set(domains)] });
  for (const p of denied) {
    for (const regexFilter of denyExpressions(p)) add(PRIORITY.blocked, 'block', { regexFilter });
  }
  if (rules.ownPorts.size > 0) {
    const host = `(?:${UNDER}*localhost|127\\.[0-9.]+|\\[::1\\])`;
    add(PRIORITY.blocked, 'block', { regexFilter: `^[a-z]+${START}${host}:(?:${[...rules.ownPorts].join('|')})/` });
  }
  return out;
}

/** Addresses that nothing opens; in IPv6 the block of private ones does. */
const METADATA = ['169.254.169.254', '169.254.170.2', '169.254.170.23', '100.100.100.200', '192.0.0.192', '168.63.129.16'].map((h) => parsePattern(h));

/** Session rules may have this many expressions. */
const MAX_EXPRESSIONS = 1000;

/** Keeps the browser's session rules equal to the fences that are wanted. */
export class Network {
  /**
   * @param {() => Fence[]} wanted
   * @param {() => Promise<number[]>} allTabs
   */
  constructor(wanted, allTabs) {
    this.wanted = wanted;
    this.allTabs = allTabs;
    this.turn = Promise.resolve();
    /** What was installed last, so that nothing is done twice. */
    this.installed = '';
    /** Tabs inside a fence. @type {Set<number>} */
    this.inside = new Set();
    /** Tabs that are known to be the user's, null while nothing is fenced. A
     * new tab is not, until it is shown that no driven page opened it: its
     * first request may come before the browser tells whose it is.
     * @type {Set<number> | null} */
    this.known = null;
    /** What foresee did last: the setting outlives us. @type {boolean | null} */
    this.foresight = null;
    /** New tabs that nothing was loaded in yet. @type {Set<number>} */
    this.fresh = new Set();
  }

  /** @param {chrome.tabs.Tab} tab that was just opened */
  created(tab) {
    if (tab.id === undefined) return;
    // At once, or a link that the user opens in a new tab meets rules that do
    // not know the tab.
    if (tab.openerTabId !== undefined) this.settle(tab);
    // While nothing is fenced, too: the first rules may be on their way.
    this.fresh.add(tab.id);
  }

  /** @param {number} tabId @param {number} before the number that it had */
  renamed(tabId, before) {
    if (!this.known?.has(before)) return;
    this.known.add(tabId);
    this.update().catch(() => {});
  }

  /**
   * Loads a new tab again whose first request was refused because nobody knew
   * yet whose tab it is. What holds for it then decides.
   *
   * @param {number} tabId
   * @param {string} url
   * @param {boolean} fenced it is in a fence now, and else the user's
   */
  async again(tabId, url, fenced) {
    if (!fenced) this.known?.add(tabId);
    await this.update();
    await within(SHORT, chrome.tabs.update(tabId, { url }), 'loading a tab again');
  }

  /**
   * Takes a new tab for the user's, unless it may come from one that is
   * fenced: an opener may stand for nothing, but its absence says something.
   *
   * @param {chrome.tabs.Tab} tab
   */
  settle({ id, openerTabId, url }) {
    if (id === undefined) return;
    this.fresh.delete(id);
    if (!this.known || this.known.has(id)) return;
    const users = url?.startsWith('chrome://'); // where no page can send it
    if (!users && openerTabId !== undefined && this.inside.has(openerTabId)) return;
    this.known.add(id);
    this.update().catch(() => {}); // until then it is held a little more
  }

  /**
   * Installs the rules for the fences as they are now. It throws when the
   * browser does not take them: then no tab may be driven.
   *
   * @returns {Promise<void>}
   */
  update() {
    const done = this.turn.then(() => this.install());
    this.turn = done.catch(() => {});
    return done;
  }

  async install() {
    const fences = this.wanted();
    this.inside = new Set(fences.flatMap((f) => f.tabs));
    const types = Object.values(chrome.declarativeNetRequest.ResourceType);
    const all = fences.length > 0 ? await this.allTabs() : [];
    this.known = fences.length > 0 ? this.known ?? new Set(all) : null;
    const others = all.filter((id) => this.known?.has(id) || this.inside.has(id));
    const rules = fences.flatMap((fence) => buildRules(fence, others.filter((id) => !fence.tabs.includes(id)), types))
      .map((rule, i) => ({ id: i + 1, ...rule }));
    const expressions = rules.filter((r) => r.condition.regexFilter !== undefined).length;
    if (expressions > MAX_EXPRESSIONS) {
      throw new Error(`the policy needs ${expressions} network rules, and the browser takes ${MAX_EXPRESSIONS}: name fewer sites`);
    }
    await this.foresee(fences.length === 0);
    const text = JSON.stringify(rules);
    if (text === this.installed) return;
    const old = await within(SHORT, chrome.declarativeNetRequest.getSessionRules(), 'reading the network rules');
    this.installed = '';
    await within(SHORT, chrome.declarativeNetRequest.updateSessionRules({
      removeRuleIds: old.map((r) => r.id), addRules: rules,
    }), 'installing the network rules');
    this.installed = text;
  }

  /**
   * Lets the browser connect ahead to where a page may go next, or not. It does
   * so before any rule is asked, and a name alone can carry something out. It
   * is one setting for all tabs, which costs the user's a moment each.
   *
   * @param {boolean} on as the user has it
   */
  async foresee(on) {
    if (this.foresight === on) return;
    const setting = chrome.privacy.network.networkPredictionEnabled;
    await within(SHORT, on ? setting.clear({}) : setting.set({ value: false }), 'having the browser connect nowhere ahead');
    this.foresight = on;
  }

  /** Whether any tab is fenced: then new tabs concern the rules. */
  get active() {
    return this.inside.size > 0;
  }
}
