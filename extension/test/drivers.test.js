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
