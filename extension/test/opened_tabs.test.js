// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RecentTabs } from '../opened_tabs.js';

test('a tab is recent for a second after it was first seen', () => {
  const tabs = new RecentTabs();
  assert.deepEqual(tabs.update([1, 2], 0), [1, 2]);
  assert.deepEqual(tabs.update([1, 2], 999), [1, 2]);
  tabs.add(3, 1000);
  assert.deepEqual(tabs.update([1, 2, 3, 4], 1500), [3, 4]);
  assert.deepEqual(tabs.update([1, 2, 3, 4], 2100), [4]);
});

test('a tab that was closed is forgotten', () => {
  const tabs = new RecentTabs();
  tabs.update([1], 0);
  tabs.update([], 10);
  assert.deepEqual(tabs.update([1], 2000), [1]);
});
