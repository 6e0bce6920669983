// @ts-check

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { buildRules } from '../network.js';
import { compile, decide, parsePattern } from '../rules.js';

// The tables that package policy runs too.
const table = (/** @type {string} */ name) => JSON.parse(readFileSync(new URL(`../../internal/wire/testdata/${name}`, import.meta.url), 'utf8'));

/** @param {any} c */
const rulesOf = (c) => compile({
  allow: c.allow, block: c.block, subresources: c.subresources ?? 'public', resources: c.resources ?? [],
  private: c.private ?? [], unsafeAll: c.unsafeAll ?? false, ownPorts: c.ownPorts ?? [],
});

test('patterns are read as in package policy', () => {
  for (const { pattern, ok } of table('pattern-syntax.json')) {
    const read = () => parsePattern(pattern);
    if (ok) assert.doesNotThrow(read, pattern);
    else assert.throws(read, undefined, JSON.stringify(pattern));
  }
});

test('documents are decided on as in package policy', () => {
  for (const c of table('patterns.json')) {
    assert.equal(decide(rulesOf(c), c.url) === null, c.verdict === 'allow', JSON.stringify(c));
  }
});

const TYPES = /** @type {any[]} */ (['main_frame', 'sub_frame', 'image', 'websocket']);

/**
 * Finds what the rules do to a request of tab 1, as the browser would.
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

test('the network is held as the documents are', () => {
  let checked = 0;
  for (const c of table('patterns.json')) {
    if (!/^https?:/.test(c.url)) continue; // nothing of it reaches the network
    const rules = buildRules({ tabs: [1], rules: rulesOf(c), hosts: [] }, [2, 3], TYPES);
    // The rules may deny more than is decided of documents: where a range
    // opens all addresses in it, those that no pattern names; of what pages
    // load, addresses in IPv6; and paths with percent signs beside denied ones.
    const more = (c.unsafeAll && c.private?.length > 0) || /\/\/[^/]*\/.*%/.test(c.url);
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

test("the user's block list beats the policy", () => {
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

test('what sites start without a tab is held, and the tabs of the user are not', () => {
  const policy = { allow: ['example.com', '[::1]:3000'], block: [], subresources: 'same', resources: [], private: [], unsafeAll: false, ownPorts: [] };
  const built = buildRules({ tabs: [1], rules: compile(policy), hosts: ['example.org'] }, [2, 3], TYPES);
  const scoped = built.filter((r) => r.condition.initiatorDomains);
  assert.equal(scoped.length, built.filter((r) => r.condition.tabIds?.includes(1)).length);
  for (const { condition } of scoped) {
    assert.deepEqual(condition.initiatorDomains, ['example.com', 'example.org']);
    assert.deepEqual(condition.excludedTabIds, [2, 3]);
    assert.equal(condition.tabIds, undefined);
  }
});

test('for what has no origin and no tab that is known nothing is opened', () => {
  const policy = { allow: ['example.com', 'localhost'], block: ['evil.test'], subresources: 'public', resources: [], private: [], unsafeAll: false, ownPorts: [38017] };
  const built = buildRules({ tabs: [1], rules: compile(policy), hosts: [] }, [2, 3], TYPES);
  const nobodys = built.filter((r) => r.condition.excludedInitiatorDomains);
  assert.equal(nobodys.length, built.filter((r) => r.condition.tabIds?.includes(1) && r.action.type === 'block').length);
  for (const { action, condition } of nobodys) {
    assert.equal(action.type, 'block');
    assert.deepEqual(condition.excludedTabIds, [1, 2, 3]);
    for (const end of ['com', 'de', 'uk', 'localhost']) assert.ok(condition.excludedInitiatorDomains?.includes(end), end);
  }
});
