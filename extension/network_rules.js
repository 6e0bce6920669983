// @ts-check

// Session rules of declarativeNetRequest that restrict what the driven tabs may load.
// Checks before each command cannot stop what a page does on its own: redirects, popup
// windows, sockets, workers, prerendering.

import { allowsNoSite, BUILTIN, isLoopbackHost, isPublicAddress, opens, parseAddress, parsePattern, siteOf } from './policy.js';
import { AMBIGUOUS, below, quote } from './paths.js';
import { SHORT_TIMEOUT_MS, withTimeout } from './timeout.js';

/** @typedef {import('./policy.js').Rules} Rules */
/** @typedef {import('./policy.js').Pattern} Pattern */
/** @typedef {chrome.declarativeNetRequest.Rule} Rule */
/** @typedef {chrome.declarativeNetRequest.RuleCondition} Condition */

/**
 * Tabs that share one set of rules.
 *
 * @typedef {object} NetworkScope
 * @property {number[]} tabs
 * @property {Rules} rules
 * @property {string[] | null} hosts of documents in the tabs, null for any host
 * @property {{tabId: number, url: string}[]} [openers] tabs whose pages opened the tabs, see
 *   Attachment.opener
 */

/** The start of a URL up to its host; the browser keeps user names there. */
const START = '://(?:[^/?#@]*@)?';

/** Matches subdomain labels before a host. */
const UNDER = '(?:[^/?#@:]+\\.)';

/** Matches what may follow a host. */
const END = '(?::[0-9]+)?/';

/** Non-public addresses: the ranges of SPECIAL in policy.js, in parts that each fit into
 * one rule. All of IPv6 is included, and each host with a trailing dot, because
 * "localhost." is localhost and no pattern or domain list matches it. */
const PRIVATE = [
  '(?:0|10|127)\\.[0-9.]+',
  '(?:100\\.(?:6[4-9]|[7-9][0-9]|1[01][0-9]|12[0-7])|169\\.254|172\\.(?:1[6-9]|2[0-9]|3[01])|192\\.168|198\\.1[89])\\.[0-9.]+',
  '(?:192\\.0\\.[02]|192\\.88\\.99|198\\.51\\.100|203\\.0\\.113)\\.[0-9]+',
  '(?:22[4-9]|2[34][0-9]|25[0-5])\\.[0-9.]+',
  '\\[[0-9a-f:.]+\\]',
  `${UNDER}*localhost`,
  `${UNDER}+`,
].map((host) => `^[a-z]+${START}${host}${END}`);

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

/** Matches what precedes the path, if a domain list matches the host. */
const ANYWHERE = '^[a-z]+://[^/?#]*';

/** @param {Pattern} p */
function beforePath(p) {
  const address = parseAddress(p.host) !== null;
  const host = (address ? '' : p.subdomains ? `${UNDER}+` : `${UNDER}*`) + quote(p.host);
  return `^[a-z]+${START}${host}(?::[0-9]+)?`;
}

/** The maximum cost of a path expression: the browser limits a rule to 2 KiB. */
const MAX_PATH_COST = 100;

/**
 * Shortens a denied path whose expression is too long for a rule. The result denies more
 * paths.
 *
 * @param {string} path
 * @param {number} budget
 */
export function shortenPath(path, budget) {
  for (let i = 0; i < path.length; i++) {
    budget -= path[i] === '/' ? 28 : /[A-Za-z0-9._~-]/.test(path[i]) ? 1 : 5;
    if (budget < 0 && i > 1) return path.slice(0, i);
  }
  return path;
}

/**
 * Returns the conditions for what patterns deny. For patterns with a path, these
 * are the paths that pathUnder denies: those below the prefix, and all ambiguous
 * paths of the host.
 *
 * @param {Pattern[]} denied
 * @returns {Condition[]}
 */
function denyConditions(denied) {
  const listed = (/** @type {Pattern} */ p) => !p.host.startsWith('[');
  /** @param {Pattern[]} patterns */
  const domains = (patterns) => ({ requestDomains: [...new Set(patterns.map((p) => p.host))] });
  const whole = denied.filter((p) => p.path === '');
  const pathed = denied.filter((p) => p.path !== '');
  /** @type {Condition[]} */
  const out = [];
  if (whole.some((p) => listed(p) && !p.subdomains)) out.push(domains(whole.filter((p) => listed(p) && !p.subdomains)));
  for (const p of whole) if (!listed(p) || p.subdomains) out.push({ regexFilter: `${beforePath(p)}/` });
  for (const p of pathed) {
    const named = listed(p) && !p.subdomains;
    const path = shortenPath(p.path, named ? MAX_PATH_COST : MAX_PATH_COST - 15 - p.host.length);
    out.push({ regexFilter: (named ? ANYWHERE : beforePath(p)) + below(path), ...(named ? domains([p]) : {}) });
  }
  for (const expression of AMBIGUOUS) {
    if (pathed.some(listed)) out.push({ regexFilter: ANYWHERE + expression, ...domains(pathed.filter(listed)) });
    for (const p of pathed) if (!listed(p)) out.push({ regexFilter: beforePath(p) + expression });
  }
  return out;
}

/**
 * The top-level domains: of all countries, and other common ones. A request whose initiator is
 * in none of them has no origin: it comes from a worker of a data: URL, a tab that a
 * sandboxed frame opened, or the user's input.
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

/** Local hosts whose workers may reach private addresses: usually sites in
 * development on this machine. */
const LOCAL = ['localhost', '127.0.0.1'];

/** The tab id of requests without a tab: chrome.tabs.TAB_ID_NONE. */
const NO_TAB = -1;

/** The priorities of the rules. */
const PRIORITY = { scope: 1, listed: 2, private: 3, named: 4, blocked: 5 };

/**
 * Builds the rules for one scope, for four kinds of targets: the tabs themselves; requests
 * of the sites of their documents without a tab (service and shared workers,
 * prefetch) or in an unknown tab; requests without a known tab and without an
 * origin, for which no allow rule applies; and workers of all sites, which are
 * blocked from private addresses: a worker may start before the browser reports
 * that its site has a document in a tab.
 *
 * @param {NetworkScope} scope
 * @param {number[]} otherTabs all other tabs in a scope, and the user's tabs
 * @param {chrome.declarativeNetRequest.ResourceType[]} types all existing types: without
 *   them a rule would not apply to main frames
 * @param {number[]} [tried] tabs in which requests without an origin are not blocked
 * @returns {Omit<Rule, 'id'>[]}
 */
export function buildRules({ tabs, rules, hosts, openers = [] }, otherTabs, types, tried = []) {
  if (tabs.length === 0) return [];
  const initiators = hosts && [...new Set([...rules.allow.map((p) => p.host), ...hosts])].filter((h) => !h.startsWith('['));
  const mainFrame = /** @type {any[]} */ (['main_frame']);
  const frames = /** @type {any[]} */ (['sub_frame', 'object']);
  const parts = types.filter((t) => /** @type {string} */ (t) !== 'main_frame');
  /** @type {Condition} */
  const unknown = otherTabs.length > 0 ? { excludedTabIds: otherTabs } : {};
  /** @type {Condition[]} */
  const targets = [{ tabIds: tabs }];
  if (!initiators) targets.push({ excludedTabIds: [...tabs, ...otherTabs] });
  else if (initiators.length > 0 && tried.length === 0) targets.push({ initiatorDomains: initiators, ...unknown });
  else if (initiators.length > 0) {
    // If a document loads in a tried tab, its initiator is not one of these. The
    // page is then the user's, with its subresources.
    targets.push({ initiatorDomains: initiators, ...unknown, resourceTypes: mainFrame });
    targets.push({ initiatorDomains: initiators, excludedTabIds: [...otherTabs, ...tried], resourceTypes: parts });
  }
  /** @type {Condition} */
  const withoutOrigin = { excludedTabIds: [...tabs, ...otherTabs, ...tried], excludedInitiatorDomains: NAMED };
  /** @type {Condition} */
  const workers = { tabIds: [NO_TAB], excludedInitiatorDomains: LOCAL };
  /** @type {Omit<Rule, 'id'>[]} */
  const out = [];
  /**
   * @param {number} priority
   * @param {'block' | 'allow'} type
   * @param {Condition} condition
   * @param {Condition[]} more targets
   */
  const add = (priority, type, condition, more = []) => {
    for (const target of type === 'block' ? [...targets, withoutOrigin, ...more] : targets) {
      const resourceTypes = (condition.resourceTypes ?? types).filter((t) => target.resourceTypes?.includes(t) ?? true);
      if (resourceTypes.length === 0) continue;
      out.push({ priority, action: { type: /** @type {any} */ (type) }, condition: { ...condition, ...target, resourceTypes } });
    }
  };

  if (rules.subresources !== 'public') add(PRIORITY.scope, 'block', rules.unsafeAll ? { resourceTypes: parts } : {});
  else if (!rules.unsafeAll) add(PRIORITY.scope, 'block', { resourceTypes: mainFrame });
  if (allowsNoSite(rules)) add(PRIORITY.blocked, 'block', {});
  if (initiators) {
    // A window that a page of the scope just opened is in no rule yet. A frame in it
    // from a site that is not an initiator could send requests to which no rule
    // applies. So such frames are blocked until the window is known.
    const later = { excludedRequestDomains: initiators, excludedTabIds: [NO_TAB, ...tabs, ...otherTabs, ...tried], resourceTypes: frames };
    for (const from of [{ initiatorDomains: initiators }, { excludedInitiatorDomains: NAMED }]) {
      if (initiators.length > 0) out.push({ priority: PRIORITY.private, action: { type: /** @type {any} */ ('block') }, condition: { ...later, ...from } });
    }
  }

  // No other rule applies to the user's tab that opened one of the tabs, which a page of these could
  // navigate to any URL. Pages of an allowed site that the user opened there are not affected.
  const sites = rules.allow.map((p) => p.host).filter((h) => !h.startsWith('['));
  const navigable = openers.filter(({ tabId, url }) => !tabs.includes(tabId) && !sites.some((h) => `.${siteOf(url)?.host}`.endsWith(`.${h}`)));
  if (navigable.length > 0 && sites.length > 0) {
    out.push({ priority: PRIORITY.blocked, action: { type: /** @type {any} */ ('block') }, condition: { initiatorDomains: sites, tabIds: navigable.map((o) => o.tabId), resourceTypes: mainFrame } });
  }

  /** @param {Pattern} p @param {Condition} extra */
  const allow = (p, extra) => {
    const address = parseAddress(p.host) !== null;
    const special = isLoopbackHost(p.host) || (address && (p.host.startsWith('[') || !isPublicAddress(p.host)));
    // A pattern opens a private address only if it is on this machine. Others
    // require an allowed range, which decide() of policy.js checks.
    if (special && !isLoopbackHost(p.host) && !isPublicAddress(p.host) && !opens(rules, p.host)) return;
    for (const regexFilter of allowExpressions(p)) add(special ? PRIORITY.named : PRIORITY.listed, 'allow', { regexFilter, ...extra });
  };
  for (const p of rules.allow) allow(p, {});
  if (rules.subresources === 'list') for (const p of rules.resources) allow(p, { resourceTypes: parts });

  for (const regexFilter of PRIVATE) add(PRIORITY.private, 'block', { regexFilter }, [workers]);

  const denied = [...rules.block, ...rules.userBlock, ...BUILTIN.map((b) => b.pattern), ...METADATA];
  for (const condition of denyConditions(denied)) add(PRIORITY.blocked, 'block', condition);
  if (rules.ownPorts.size > 0) {
    const host = `(?:${UNDER}*localhost|[0-9.]+|\\[[0-9a-f:.]+\\])`;
    add(PRIORITY.blocked, 'block', { regexFilter: `^[a-z]+${START}${host}:(?:${[...rules.ownPorts].join('|')})/` });
    // A URL does not have the default port of its scheme.
    if (rules.ownPorts.has(80)) add(PRIORITY.blocked, 'block', { regexFilter: `^(?:http|ws)${START}${host}/` });
    if (rules.ownPorts.has(443)) add(PRIORITY.blocked, 'block', { regexFilter: `^(?:https|wss)${START}${host}/` });
  }
  return out;
}

/** Metadata addresses, which cannot be opened. IPv6 ones are covered by the private ranges. */
const METADATA = ['169.254.169.254', '169.254.170.2', '169.254.170.23', '100.100.100.200', '192.0.0.192', '168.63.129.16'].map((h) => parsePattern(h));

/** The maximum number of regular expressions in session rules. */
const MAX_EXPRESSIONS = 1000;

/** Keeps the browser's session rules in sync with the wanted scopes. */
export class NetworkRules {
  /**
   * @param {() => NetworkScope[]} wanted
   * @param {() => Promise<number[]>} allTabs
   * @param {import('./user_tabs.js').UserTabs} userTabs
   */
  constructor(wanted, allTabs, userTabs) {
    this.wanted = wanted;
    this.allTabs = allTabs;
    this.userTabs = userTabs;
    this.queue = Promise.resolve();
    /** An update that has not started yet. @type {Promise<void> | null} */
    this.next = null;
    /** The rules installed last, to skip unchanged updates. */
    this.installed = '';
    /**
     * The last value passed to setNetworkPrediction. The setting outlives the worker.
     * @type {boolean | null}
     */
    this.networkPrediction = null;
  }

  /**
   * Installs the rules for the current scopes. It throws if the browser
   * rejects them. Then no tab may be driven.
   *
   * @returns {Promise<void>}
   */
  update() {
    if (this.next) return this.next; // it will use the current state
    const done = this.next = this.queue.then(() => this.install());
    this.queue = done.catch(() => {});
    return done;
  }

  async install() {
    this.next = null;
    const scopes = this.wanted();
    const types = Object.values(chrome.declarativeNetRequest.ResourceType);
    const all = scopes.length > 0 ? await this.allTabs() : [];
    this.userTabs.install(new Set(scopes.flatMap((f) => f.tabs)), all);
    const { known, inside, tried } = this.userTabs;
    const others = all.filter((id) => known?.has(id) || inside.has(id));
    const build = (/** @type {number[]} */ except) => scopes.flatMap((scope) => buildRules(scope, others.filter((id) => !scope.tabs.includes(id)), types, except))
      .map((rule, i) => ({ id: i + 1, ...rule }));
    const count = () => rules.filter((r) => r.condition.regexFilter !== undefined).length;
    let rules = build([...tried]);
    // Tried tabs need additional rules. Without these, the tabs stay blocked.
    if (tried.size > 0 && count() > MAX_EXPRESSIONS) rules = build([]);
    const expressions = count();
    if (expressions > MAX_EXPRESSIONS) {
      throw new Error(`the policy needs ${expressions} network rules, more than the browser's limit of ${MAX_EXPRESSIONS}; allow fewer sites`);
    }
    await this.setNetworkPrediction(scopes.length === 0);
    const text = JSON.stringify(rules);
    if (text === this.installed) return;
    const old = await withTimeout(SHORT_TIMEOUT_MS, chrome.declarativeNetRequest.getSessionRules(), 'reading the network rules');
    this.installed = '';
    await withTimeout(SHORT_TIMEOUT_MS, chrome.declarativeNetRequest.updateSessionRules({
      removeRuleIds: old.map((r) => r.id), addRules: rules,
    }), 'installing the network rules');
    this.installed = text;
  }

  /**
   * Enables or disables network prediction. The browser connects to predicted hosts before
   * any rule applies, and a host name alone can leak data. It is one setting for all tabs,
   * and disabling it slows down the user's navigations slightly.
   *
   * @param {boolean} on true restores the user's setting
   */
  async setNetworkPrediction(on) {
    if (this.networkPrediction === on) return;
    const setting = chrome.privacy.network.networkPredictionEnabled;
    await withTimeout(SHORT_TIMEOUT_MS, on ? setting.clear({}) : setting.set({ value: false }), 'disabling network prediction');
    this.networkPrediction = on;
  }
}
