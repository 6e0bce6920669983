// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Drivers } from '../drivers.js';

test('tabs that another server drives are counted', () => {
  const [mine, other] = [{ key: 'mine' }, { key: 'other' }];
  const tab = { openedBy: '', driver: '' };
  const tabs = { list: () => [tab, { ...tab, driver: 'mine' }, { ...tab, driver: 'other' }, { openedBy: 'other', driver: 'other' }] };
  /** @type {any[]} */
  const parts = [tabs, { connected: () => [mine, other] }, {}, () => {}];
  const drivers = new Drivers(parts[0], parts[1], parts[2], parts[3]);
  assert.equal(drivers.tabsOfOtherServers(/** @type {any} */ (mine)), 1);
  drivers.exited.add('other');
  assert.equal(drivers.tabsOfOtherServers(/** @type {any} */ (mine)), 0);
});

test('the tabs of a lost server are reserved for a limited time, also while it is tried again', async (t) => {
  t.mock.timers.enable({ apis: ['Date'], now: 1_700_000_000_000 });
  const [lost, other] = [{ key: 'lost' }, { key: 'other' }];
  const tab = { tabId: 1, openedBy: '', driver: 'lost' };
  /** @type {any[]} */
  const parts = [{ list: () => [tab], get: () => tab, stored: { saveSoon() {} } }, { connected: () => [other] }, { release: async () => {} }, () => {}];
  Object.assign(globalThis, { chrome: { tabs: { get: async () => null } } });
  const drivers = new Drivers(parts[0], parts[1], parts[2], parts[3]);
  const isVisible = () => drivers.mayDrive(/** @type {any} */ (tab), /** @type {any} */ (other));
  t.mock.timers.tick(120_000);
  drivers.onConnected(lost.key);
  t.mock.timers.tick(120_000);
  assert.equal(drivers.isOnline(lost.key), true);
  drivers.onDisconnected(lost.key);
  for (let s = 15; s < 60; s += 15) {
    t.mock.timers.tick(15_000);
    assert.equal(drivers.isOnline(lost.key), false);
    drivers.onDisconnected(lost.key); // an attempt that failed
    drivers.clearLostDrivers();
    assert.deepEqual([tab.driver, isVisible()], ['lost', false]);
  }
  t.mock.timers.tick(15_000);
  assert.equal(isVisible(), true);
  drivers.clearLostDrivers();
  assert.equal(tab.driver, '');
});

test('a driver that the user chooses replaces the other one before the debugger is detached', async () => {
  const [a, b] = [{ key: 'a', send() {} }, { key: 'b', send() {} }];
  /** @type {any} */
  const tab = { tabId: 1, openedBy: 'a', driver: 'a' };
  let released = () => {};
  /** @type {any[]} */
  const parts = [
    { get: () => tab, save: async () => {}, describe: () => ({}) }, { all: () => [a, b], connected: () => [a, b] },
    { release: () => new Promise((done) => { released = () => done(undefined); }) }, () => {},
  ];
  Object.assign(globalThis, { chrome: { tabs: { get: async () => null } } });
  const drivers = new Drivers(parts[0], parts[1], parts[2], parts[3]);
  const choosing = drivers.choose(1, 'b');
  assert.deepEqual([drivers.mayDrive(tab, /** @type {any} */ (a)), drivers.mayDrive(tab, /** @type {any} */ (b))], [false, true]);
  released();
  await choosing;
  assert.deepEqual(tab, { tabId: 1, openedBy: '', driver: 'b', driverChosen: true });
});

test('servers receive a tab when its target is known', async () => {
  /** @type {any} */
  const shared = { tabId: 1, targetId: '', openedBy: '', driver: '' };
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
