// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drivers } from '../drivers.js';

test('tabs that another server drives are counted', () => {
  const [mine, other] = [{ key: 'mine' }, { key: 'other' }];
  const tab = { own: '', driver: '' };
  const tabs = { list: () => [tab, { ...tab, driver: 'mine' }, { ...tab, driver: 'other' }, { own: 'other', driver: 'other' }] };
  /** @type {any[]} */
  const parts = [tabs, { connected: () => [mine, other] }, {}, () => {}];
  const drivers = new Drivers(parts[0], parts[1], parts[2], parts[3]);
  assert.equal(drivers.tabsOfOtherServers(/** @type {any} */ (mine)), 1);
  drivers.exited.add('other');
  assert.equal(drivers.tabsOfOtherServers(/** @type {any} */ (mine)), 0);
});

test('servers receive a tab when its target is known', async () => {
  /** @type {any} */
  const shared = { tabId: 1, targetId: '', own: '', driver: '' };
  /** @type {any} */
  const tab = { id: 1, url: 'https://a.test/' };
  /** @type {any} */ (globalThis).chrome = {
    tabs: { get: async () => tab },
    debugger: { getTargets: async () => [{ tabId: 1, type: 'page', id: 'T' }] },
  };
  /** @type {any[]} */
  const sent = [];
  const server = { key: 's', send: (/** @type {any} */ m) => sent.push([m.event, m.data]) };
  const tabs = { get: () => shared, describe: () => shared.targetId };
  /** @type {any[]} */
  const parts = [tabs, { connected: () => [server] }, {}, () => {}];
  const drivers = new Drivers(parts[0], parts[1], parts[2], parts[3]);
  drivers.tabUpdated(shared, tab);
  await new Promise((resolve) => setImmediate(resolve));
  assert.deepEqual(sent, [['tab_shared', 'T']]);
  drivers.tabUpdated(shared, tab);
  assert.deepEqual(sent.slice(1), [['tab_updated', 'T']]);
});
