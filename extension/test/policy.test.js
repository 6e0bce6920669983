// @ts-check

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildRules, NetworkRules } from '../network_rules.js';
import { UserTabs } from '../user_tabs.js';
import { compile, decide, parsePattern } from '../policy.js';

// The test tables of package policy.
const table = (/** @type {string} */ name) => JSON.parse(readFileSync(new URL(`../../internal/wire/testdata/${name}`, import.meta.url), 'utf8'));

/** @param {any} c */
const rulesOf = (c) => compile({
  allow: c.allow, block: c.block, subresources: c.subresources ?? 'public', resources: c.resources ?? [],
  private: c.private ?? [], unsafeAll: c.unsafeAll ?? false, ownPorts: c.ownPorts ?? [],
});

test('patterns are parsed as in package policy', () => {
  for (const { pattern, ok } of table('pattern-syntax.json')) {
    const read = () => parsePattern(pattern);
    if (ok) assert.doesNotThrow(read, pattern);
    else assert.throws(read, undefined, JSON.stringify(pattern));
  }
});

test('documents are allowed and denied as in package policy', () => {
  for (const c of table('patterns.json')) {
    assert.equal(decide(rulesOf(c), c.url) === null, c.verdict === 'allow', JSON.stringify(c));
  }
});

const TYPES = /** @type {any[]} */ (['main_frame', 'sub_frame', 'image', 'websocket']);

/**
 * Returns the effect of the rules on a request of tab 1, as in the browser.
 *
 * @param {Omit<chrome.declarativeNetRequest.Rule, 'id'>[]} rules
 * @param {string} url
 * @param {string} type
 */
function outcome(rules, url, type) {
  const { hostname } = new URL(url);
  const hits = rules.filter(({ condition: c }) => c.tabIds?.includes(1)
    && /** @type {any} */ (c.resourceTypes)?.includes(type)
    && (c.regexFilter === undefined || new RegExp(c.regexFilter, 'i').test(url))
    && (c.requestDomains === undefined || c.requestDomains.some((d) => hostname === d || hostname.endsWith('.' + d))));
  const top = Math.max(0, ...hits.map((r) => r.priority ?? 1));
  const best = hits.filter((r) => (r.priority ?? 1) === top);
  return best.some((r) => r.action.type === 'allow') || best.length === 0 ? 'allow' : 'deny';
}

test('network rules match the document decisions', () => {
  let checked = 0;
  for (const c of table('patterns.json')) {
    if (!/^https?:/.test(c.url)) continue; // causes no request
    const rules = buildRules({ tabs: [1], rules: rulesOf(c), hosts: [] }, [2, 3], TYPES);
    // The rules may deny more than the policy: addresses in an allowed range that no
    // pattern lists and, for subresources, IPv6 addresses.
    const more = (c.unsafeAll && c.private?.length > 0);
    const main = outcome(rules, c.url, 'main_frame');
    if (!(main === 'deny' && more)) assert.equal(main, c.verdict, `main_frame: ${JSON.stringify(c)}`);
    if (c.load) {
      const load = outcome(rules, c.url, 'image');
      if (!(load === 'deny' && (more || c.url.includes('://[')))) assert.equal(load, c.load, `image: ${JSON.stringify(c)}`);
    }
    checked++;
  }
  assert.ok(checked > 50);
});

test("the user's block list overrides the policy", () => {
  const policy = { allow: ['*.example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: true, ownPorts: [] };
  const rules = compile(policy, ['mail.example.com']);
  assert.match(decide(rules, 'https://a.mail.example.com/') ?? '', /block list/);
  assert.equal(decide(rules, 'https://www.example.com/'), null);
  const built = buildRules({ tabs: [1], rules, hosts: [] }, [], TYPES);
  assert.equal(outcome(built, 'https://a.mail.example.com/x', 'image'), 'deny');
});

test('no policy denies', () => {
  const rules = compile(null);
  assert.notEqual(decide(rules, 'https://example.com/'), null);
  assert.notEqual(decide(rules, 'about:blank'), null);
  const built = buildRules({ tabs: [1], rules, hosts: [] }, [], TYPES);
  for (const type of TYPES) assert.equal(outcome(built, 'https://example.com/', type), 'deny');
  assert.throws(() => compile(/** @type {any} */ ({ block: ['*'] }))); // nothing fails open
});

test('rules apply to requests without a tab, and not to the tabs of the user', () => {
  const policy = { allow: ['example.com', '[::1]:3000'], block: [], subresources: 'same', resources: [], private: [], unsafeAll: false, ownPorts: [] };
  const built = buildRules({ tabs: [1], rules: compile(policy), hosts: ['example.org'] }, [2, 3], TYPES);
  const scoped = built.filter((r) => r.condition.initiatorDomains && !r.condition.excludedRequestDomains);
  assert.equal(scoped.length, built.filter((r) => r.condition.tabIds?.includes(1)).length);
  for (const { condition } of scoped) {
    assert.deepEqual(condition.initiatorDomains, ['example.com', 'example.org']);
    assert.deepEqual(condition.excludedTabIds, [2, 3]);
    assert.equal(condition.tabIds, undefined);
  }
});

test('a frame in an unknown window loads only sites to which rules apply', () => {
  for (const subresources of ['same', 'list', 'public']) {
    const policy = { allow: ['example.com', 'localhost'], block: [], subresources, resources: ['cdn.test'], private: [], unsafeAll: subresources === 'public', ownPorts: [] };
    const built = buildRules({ tabs: [1], rules: compile(policy), hosts: ['example.org'] }, [2, 3], TYPES, [4]);
    const [named, opaque, ...more] = built.filter((r) => r.condition.excludedRequestDomains);
    assert.deepEqual(more, []);
    for (const { action, condition, priority } of [named, opaque]) {
      assert.equal(action.type, 'block');
      assert.deepEqual(condition.resourceTypes, ['sub_frame', 'object']);
      assert.deepEqual(condition.excludedRequestDomains, ['example.com', 'localhost', 'example.org']);
      assert.deepEqual(condition.excludedTabIds, [-1, 1, 2, 3, 4]);
      for (const r of built.filter((r) => r.action.type === 'allow' && (r.priority ?? 1) >= (priority ?? 1))) {
        assert.match(r.condition.regexFilter ?? '', /localhost/, 'no rule for a site that is not an initiator outranks it');
      }
    }
    assert.deepEqual(named.condition.initiatorDomains, ['example.com', 'localhost', 'example.org']);
    assert.ok(opaque.condition.excludedInitiatorDomains?.includes('com'), 'a data: URL has no domain');
  }
});

test('no allow rule applies to requests without an origin and a known tab', () => {
  const policy = { allow: ['example.com', 'localhost'], block: ['evil.test'], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [38017] };
  const built = buildRules({ tabs: [1], rules: compile(policy), hosts: [] }, [2, 3], TYPES);
  const withoutOrigin = built.filter((r) => r.condition.excludedInitiatorDomains && !r.condition.tabIds && !r.condition.excludedRequestDomains);
  assert.equal(withoutOrigin.length, built.filter((r) => r.condition.tabIds?.includes(1) && r.action.type === 'block').length);
  for (const { action, condition } of withoutOrigin) {
    assert.equal(action.type, 'block');
    assert.deepEqual(condition.excludedTabIds, [1, 2, 3]);
    for (const end of ['com', 'de', 'uk', 'localhost']) assert.ok(condition.excludedInitiatorDomains?.includes(end), end);
  }
});

test('workers of all sites are blocked from private addresses only', () => {
  const policy = { allow: ['example.com'], block: ['evil.test'], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [38017] };
  const workers = buildRules({ tabs: [1], rules: compile(policy), hosts: [] }, [2, 3], TYPES).filter((r) => r.condition.tabIds?.includes(-1));
  assert.ok(workers.length > 0);
  for (const { action, condition } of workers) {
    assert.equal(action.type, 'block');
    assert.deepEqual(condition.excludedInitiatorDomains, ['localhost', '127.0.0.1']); // sites in development are not blocked
    assert.doesNotMatch('https://public.example/', new RegExp(condition.regexFilter ?? '', 'i'));
  }
  for (const url of ['https://127.0.0.1/', 'https://10.0.0.1:8443/', 'https://192.168.1.1/', 'https://[::1]/', 'https://a.localhost/']) {
    assert.ok(workers.some((r) => new RegExp(r.condition.regexFilter ?? '', 'i').test(url)), url);
  }
});

test('a scope with too many hosts covers all unknown tabs', () => {
  const policy = { allow: ['example.com'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] };
  const built = buildRules({ tabs: [1], rules: compile(policy), hosts: null }, [2, 3], TYPES);
  assert.ok(built.every((r) => !r.condition.excludedRequestDomains));
  const anyHost = built.filter((r) => !r.condition.tabIds && !r.condition.excludedInitiatorDomains);
  assert.equal(anyHost.length, built.filter((r) => r.condition.tabIds?.includes(1)).length);
  for (const { condition } of anyHost) {
    assert.equal(condition.initiatorDomains, undefined);
    assert.deepEqual(condition.excludedTabIds, [1, 2, 3]);
  }
});

test("pages of allowed sites cannot navigate the user's tab that opened them", () => {
  const policy = { allow: ['example.com', '[::1]:3000'], block: [], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [] };
  const openers = [{ tabId: 1, url: 'https://a.test/' }, { tabId: 2, url: 'https://a.test/' }, { tabId: 3, url: 'https://a.example.com/' }, { tabId: 4, url: 'chrome://newtab/' }];
  const build = (/** @type {any} */ scope) => buildRules({ tabs: [1], rules: compile(policy), hosts: ['ads.test'], ...scope }, [2, 3, 4], TYPES);
  const built = build({ openers });
  const applied = built.filter((r) => r.condition.tabIds?.some((id) => id > 1));
  assert.deepEqual(applied.map((r) => [r.action.type, r.condition]), [['block', { initiatorDomains: ['example.com'], tabIds: [2, 4], resourceTypes: ['main_frame'] }]]);
  for (const r of built) if (r.action.type === 'allow') assert.ok((r.priority ?? 1) < (applied[0].priority ?? 1));
  for (const scope of [{ openers: [openers[0], openers[2]] }, {}]) assert.ok(build(scope).every((r) => !r.condition.tabIds?.some((id) => id > 1)));
});

test('rules for known initiators apply to a tried tab', () => {
  const policy = { allow: ['example.com'], block: [], subresources: 'same', resources: [], private: [], unsafeAll: false, ownPorts: [] };
  const applied = buildRules({ tabs: [1], rules: compile(policy), hosts: [] }, [2], TYPES, [4]).filter((r) => !r.condition.excludedTabIds?.includes(4));
  const initiated = applied.filter((r) => r.condition.initiatorDomains && !r.condition.excludedRequestDomains);
  assert.ok(initiated.some((r) => r.action.type === 'block' && !r.condition.regexFilter && !r.condition.requestDomains));
  for (const r of initiated) assert.deepEqual(r.condition.resourceTypes, ['main_frame']); // subresources of the user's page are not blocked
  assert.ok(applied.every((r) => r.condition.initiatorDomains || r.condition.tabIds));
});

test('a policy that needs nearly all expressions stays installed while a tab is tried', async () => {
  /** @type {chrome.declarativeNetRequest.Rule[]} */
  let installed = [];
  /** @type {any} */ (globalThis).chrome = {
    declarativeNetRequest: {
      ResourceType: Object.fromEntries(TYPES.map((t) => [t, t])), getSessionRules: async () => installed,
      updateSessionRules: async (/** @type {any} */ { addRules }) => {
        installed = addRules;
      },
    },
    privacy: { network: { networkPredictionEnabled: { set: async () => {}, clear: async () => {} } } },
  };
  const allow = (/** @type {number} */ n) => rulesOf({ allow: Array.from({ length: n }, (_, i) => `h${i}.test`), block: [] });
  let scope = { tabs: [1], rules: allow(400), hosts: ['x.test'] };
  const userTabs = new UserTabs(() => {});
  const network = new NetworkRules(() => [scope], async () => [1, 2], userTabs);
  await network.update();
  userTabs.created(/** @type {any} */ ({ id: 3 }));
  assert.ok(userTabs.mayReload(3)); // it is tried
  scope = { ...scope, hosts: ['x.test', 'y.test'] };
  await network.update();
  assert.ok(installed.some((r) => r.condition.initiatorDomains?.includes('y.test')));
  scope = { ...scope, rules: allow(600) };
  await assert.rejects(network.update(), /allow fewer sites/);
});
