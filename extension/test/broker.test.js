// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Broker } from '../broker.js';
import { Hosts } from '../hosts.js';
import { compile } from '../rules.js';

const connection = { port: 1 };

/** A broker that drives tab 1. @param {() => Promise<void>} update of the network's rules @param {any} [policy] */
function driving(update, policy = { allow: ['a.test'], subresources: 'public' }) {
  const a = { tabId: 1, connection, session: 's', rules: compile(policy), url: 'https://a.test/' };
  /** @type {any[]} */
  const told = [];
  /** @type {any} */
  const broker = Object.assign(Object.create(Broker.prototype), {
    relay: { held: new Map([[1, a]]), release: async (/** @type {number} */ tabId) => broker.relay.held.delete(tabId) },
    newTabs: { from: () => [] }, hosts: new Hosts(), network: { update }, applying: new Map(),
    tell: (/** @type {any} */ _, /** @type {string} */ event, /** @type {any} */ data) => told.push([event, data.tabId]),
  });
  return { broker, a, told };
}

test('where the rules for a new frame are not installed, the tab is not driven', async () => {
  let refuses = false;
  const { broker, told } = driving(async () => {
    if (refuses) throw new Error('refused');
  });
  broker.loads(1, 7, 'https://x.test/');
  await broker.applying.get(connection);
  assert.equal(broker.relay.held.size, 1);
  refuses = true;
  broker.loads(1, 8, 'https://y.test/');
  await broker.applying.get(connection); // as commands do
  assert.equal(broker.relay.held.size, 0);
  assert.deepEqual(told, [['detached', 1]]);
});

test('the site of a page that was there before its tab is driven is in the rules', async () => {
  /** @type {any} */ (globalThis).chrome = { webNavigation: { getAllFrames: async () => [{ frameId: 0, url: 'https://shop.test/' }, { frameId: 3, url: 'https://x.test/' }] } };
  const all = driving(async () => {}, { allow: [], unsafeAll: true, subresources: 'public' });
  await all.broker.frames(all.a);
  assert.deepEqual(all.broker.hosts.of('1/s'), ['shop.test', 'x.test']);
  const listed = driving(async () => {}); // the rules refuse the page: it is perhaps one that the user has open as well
  await listed.broker.frames(listed.a);
  assert.deepEqual(listed.broker.hosts.of('1/s'), ['x.test']);
});

test('tabs that another server drives are counted', () => {
  const [mine, other] = [{ key: 'mine' }, { key: 'other' }];
  const tab = { own: '', driver: '' };
  /** @type {any} */
  const broker = Object.assign(Object.create(Broker.prototype), {
    ended: new Set(), servers: { connected: () => [mine, other] },
    tabs: { list: () => [tab, { ...tab, driver: 'mine' }, { ...tab, driver: 'other' }, { own: 'other', driver: 'other' }] },
  });
  assert.equal(broker.elsewhere(mine), 1);
  broker.ended.add('other');
  assert.equal(broker.elsewhere(mine), 0);
});
