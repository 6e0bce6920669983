// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Broker } from '../broker.js';
import { Hosts } from '../hosts.js';
import { compile } from '../policy.js';

const connection = { port: 1 };

/** Returns a broker that drives tab 1. @param {() => Promise<void>} update updates the network rules @param {any} [policy] */
function driving(update, policy = { allow: ['a.test'], subresources: 'public' }) {
  const a = { tabId: 1, connection, session: 's', rules: compile(policy), url: 'https://a.test/' };
  /** @type {any[]} */
  const events = [];
  /** @type {any} */
  const broker = Object.assign(Object.create(Broker.prototype), {
    relay: { attachments: new Map([[1, a]]), release: async (/** @type {number} */ tabId) => broker.relay.attachments.delete(tabId) },
    newTabs: { from: () => [] }, hosts: new Hosts(), network: { update }, applying: new Map(),
    sendEvent: (/** @type {any} */ _, /** @type {string} */ event, /** @type {any} */ data) => events.push([event, data.tabId]),
  });
  return { broker, a, events };
}

test('a tab is released if the rules for a new frame cannot be installed', async () => {
  let rejects = false;
  const { broker, events } = driving(async () => {
    if (rejects) throw new Error('rejected');
  });
  broker.documentLoads(1, 7, 'https://x.test/');
  await broker.applying.get(connection);
  assert.equal(broker.relay.attachments.size, 1);
  rejects = true;
  broker.documentLoads(1, 8, 'https://y.test/');
  await broker.applying.get(connection); // as commands do
  assert.equal(broker.relay.attachments.size, 0);
  assert.deepEqual(events, [['detached', 1]]);
});

test('the rules include the site of a page that was open before its tab is driven', async () => {
  /** @type {any} */ (globalThis).chrome = { webNavigation: { getAllFrames: async () => [{ frameId: 0, url: 'https://shop.test/' }, { frameId: 3, url: 'https://x.test/' }] } };
  const all = driving(async () => {}, { allow: [], unsafeAll: true, subresources: 'public' });
  await all.broker.addHosts(all.a);
  assert.deepEqual(all.broker.hosts.of('1/s'), ['shop.test', 'x.test']);
  const listed = driving(async () => {}); // the rules deny the page, which the user may have open in another tab
  await listed.broker.addHosts(listed.a);
  assert.deepEqual(listed.broker.hosts.of('1/s'), ['x.test']);
});

test('tabs that another server drives are counted', () => {
  const [mine, other] = [{ key: 'mine' }, { key: 'other' }];
  const tab = { own: '', driver: '' };
  /** @type {any} */
  const broker = Object.assign(Object.create(Broker.prototype), {
    exited: new Set(), servers: { connected: () => [mine, other] },
    tabs: { list: () => [tab, { ...tab, driver: 'mine' }, { ...tab, driver: 'other' }, { own: 'other', driver: 'other' }] },
  });
  assert.equal(broker.tabsOfOtherServers(mine), 1);
  broker.exited.add('other');
  assert.equal(broker.tabsOfOtherServers(mine), 0);
});
