// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hosts } from '../hosts.js';
import { NetworkScopes } from '../network_scopes.js';
import { compile, decide } from '../policy.js';

/** Returns the scopes of a server that drives tab 1. @param {() => Promise<void>} update updates the network rules @param {any} [policy] */
function driving(update, policy = { allow: ['a.test'], subresources: 'public' }) {
  /** @type {any[]} */
  const events = [];
  /** @type {any} */
  const connection = { port: 1, send: (/** @type {any} */ { event, data }) => events.push([event, data.tabId]) };
  /** @type {any} */
  const a = { tabId: 1, connection, generation: 3, rules: compile(policy), documents: { url: 'https://a.test/' } };
  let driven = [a];
  /** @type {any} */
  const attachments = { all: () => driven, release: async () => { driven = []; } };
  /** @type {any} */
  const scopes = Object.assign(Object.create(NetworkScopes.prototype), {
    attachments, userTabs: { originatingFrom: () => [] }, hosts: new Hosts(), networkRules: { update }, installing: new Map(),
  });
  return { scopes, a, connection, attachments, events };
}

test('a tab is released if the rules for a new frame cannot be installed', async () => {
  let rejects = false;
  const { scopes, connection, attachments, events } = driving(async () => {
    if (rejects) throw new Error('rejected');
  });
  scopes.documentLoads(1, 7, 'https://x.test/');
  await scopes.installing.get(connection);
  assert.equal(attachments.all().length, 1);
  rejects = true;
  scopes.documentLoads(1, 8, 'https://y.test/');
  await scopes.installing.get(connection); // as commands do
  assert.equal(attachments.all().length, 0);
  assert.deepEqual(events, [['detached', 1]]);
});

test('the rules include the site of a page that was open before its tab is driven', async () => {
  /** @type {any} */ (globalThis).chrome = { webNavigation: { getAllFrames: async () => [{ frameId: 0, url: 'https://shop.test/' }, { frameId: 3, url: 'https://x.test/' }] } };
  const all = driving(async () => {}, { allow: [], unsafeAll: true, subresources: 'public' });
  await all.scopes.addHosts(all.a);
  assert.deepEqual(all.scopes.hosts.of('1/3'), ['shop.test', 'x.test']);
  const listed = driving(async () => {}); // the rules deny the page, which the user may have open in another tab
  await listed.scopes.addHosts(listed.a);
  assert.deepEqual(listed.scopes.hosts.of('1/3'), ['x.test']);
});

test("the rules for the tab that opened a driven one follow the user's navigations", async () => {
  let updates = 0;
  const { scopes, a, connection, attachments } = driving(async () => { updates++; });
  /** @type {number[]} */
  let attached = [];
  attachments.get = (/** @type {number} */ id) => attached.includes(id);
  scopes.tabs = { list: () => [] };
  a.opener = { tabId: 5, url: 'https://user.test/' };
  scopes.committed(5, 'https://a.test/');
  scopes.committed(6, 'https://x.test/');
  await scopes.installing.get(connection);
  assert.equal(updates, 1);
  assert.deepEqual(scopes.wanted()[0].openers, [{ tabId: 5, url: 'https://a.test/' }]);
  attached = [5];
  assert.equal(scopes.wanted()[0].openers, undefined, 'a driven tab has the rules of its driver');
});

test('the own ports of a server are denied to the agents of all servers', async () => {
  const policy = { allow: ['127.0.0.1'], block: [], subresources: 'public', ownPorts: [] };
  /** @type {any} */
  const [one, other] = [{ port: 1, policy }, { port: 2, policy: null }];
  const { scopes, a, attachments } = driving(async () => {}, policy);
  attachments.allOf = (/** @type {any} */ c) => (c === one ? [a] : []);
  a.setRules = (/** @type {any} */ rules) => { a.rules = rules; };
  Object.assign(scopes, { servers: { all: () => [one, other], connected: () => [one, other] }, blockList: () => [] });
  const url = 'http://127.0.0.1:38017/';
  assert.equal(decide(scopes.policyFor(one), url), null);
  other.policy = { ...policy, ownPorts: [38017] }; // its dashboard is open now
  assert.match(decide(scopes.policyFor(one), url) ?? '', /one of chrome-mcp's own/);
  scopes.applyPolicy(other);
  await scopes.installing.get(one); // as commands do
  assert.match(decide(a.rules, url) ?? '', /one of chrome-mcp's own/, 'in a tab that is driven');
});
