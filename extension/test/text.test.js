// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEFAULTS } from '../settings.js';
import { ago, sharingEndedText, entryLine, setupSteps, displayURL, sanitizeLine, policyLine, serverLine, elapsed, tabLine, tabNumbers, titleOf, untilLine } from '../text.js';

test('untrusted text stays on one line, is truncated, and does not change direction', () => {
  assert.equal(sanitizeLine(' a\n\t b\u202ec\u2066d\u200be\u0000 '), 'a b c d e');
  assert.equal(sanitizeLine('x'.repeat(100)), 'x'.repeat(79) + '…');
  assert.equal([...sanitizeLine('😀'.repeat(100), 10)].length, 10);
  assert.equal(sanitizeLine('\ud800x'), 'x');
  assert.equal(sanitizeLine('<b>שלום</b>'), '<b>שלום</b>');
});

test('a URL shows its complete host, and no query', () => {
  const host = 'accounts.example.com.' + 'a'.repeat(60) + '.evil.example';
  assert.equal(displayURL(`https://${host}/x?token=1#y`), `${host}/x`);
  assert.equal(displayURL('http://127.0.0.1:8080/'), 'http://127.0.0.1:8080');
  assert.equal(displayURL('https://user:secret@a.example/'), 'a.example');
  assert.equal(displayURL('https://раypal.example/'), 'xn--ypal-43d9g.example');
  assert.equal(displayURL('chrome://settings/'), 'chrome://settings/');
  assert.ok(displayURL(`https://a.example/${'b'.repeat(200)}`).length < 70);
});

test('titles', () => {
  assert.equal(titleOf({ title: '', url: '' }), 'Blank tab');
  assert.equal(titleOf({ title: '\u202e', url: 'https://a.example/b' }), 'a.example/b');
  assert.equal(titleOf({ title: 'A', url: 'https://a.example/b' }), 'A');
});

test('times', () => {
  const now = 1e12;
  for (const [ms, want] of /** @type {const} */ ([[0, 'less than a minute'], [60_000, '1 min'], [3_599_000, '59 min'], [7_200_000, '2 h'], [200_000_000, '2 days'], [-5, 'less than a minute']])) {
    assert.equal(elapsed(now - ms, now), want);
  }
  assert.equal(ago(now, now), 'now');
  assert.equal(ago(now - 120_000, now), '2 min ago');
});

/** @type {import('../pages.js').ServerView} */
const server = { key: '1@2', name: 'claude', version: '1', port: 2, state: 'connected', message: '', since: 1e12, drives: [], policy: { allow: [], unsafeAll: false }, clients: [] };

test('servers', () => {
  assert.equal(serverLine(server, 1e12 + 300_000), 'Connected for 5 min, drives no tab');
  assert.equal(serverLine({ ...server, drives: [1, 2] }, 1e12), 'Connected for less than a minute, drives 2 tabs');
  assert.equal(serverLine({ ...server, state: 'refused', message: 'this browser is not paired' }), 'This browser is not paired.');
  assert.equal(serverLine({ ...server, state: 'waiting', message: 'no server responds' }), 'No server responds. Reconnecting.');
  assert.match(policyLine(server), /No allowed sites.*--allow-domain/);
  assert.match(policyLine({ ...server, policy: { allow: [], unsafeAll: true } }), /every site/);
  assert.equal(policyLine({ ...server, policy: { allow: ['a', 'b', 'c', 'd', 'e'], unsafeAll: false } }), 'May work on a, b, c and 2 more');
});

test('how long a tab stays shared', () => {
  const settings = { ...DEFAULTS, shareIdleMinutes: 3 };
  assert.equal(untilLine({ until: 'stopped', expires: 0 }, settings, 1e12), '');
  assert.equal(untilLine({ until: 'time', expires: 1e12 + 840_001 }, settings, 1e12), 'Shared for 15 more minutes; each call of an agent extends it to 15 minutes');
  assert.equal(untilLine({ until: 'idle', expires: 0 }, settings, 1e12), 'Shared until the machine has been idle for 3 minutes');
});

test('tabs', () => {
  /** @type {import('../pages.js').TabView} */
  const tab = { tabId: 1, title: 'T', url: 'https://a.example/', origin: 'https://a.example', active: true, own: false, how: 'user', driver: '', driverLost: false, attached: false, doing: null, keep: false, problem: '' };
  assert.equal(tabLine(tab, ''), 'Idle. If your agent works in another tab, ask it to use this one');
  assert.equal(tabLine({ ...tab, driver: '1@2', doing: { what: 'typing', at: 1e12, client: '' } }, 'claude', 1e12), 'claude: typing, now');
  assert.equal(tabLine({ ...tab, driver: '1@2', doing: { what: 'clicking', at: 1e12, client: 'Playwright/1.65.1' } }, 'claude', 1e12), 'Playwright/1.65.1: clicking, now');
  assert.equal(tabLine({ ...tab, driver: '1@2', driverLost: true }, 'claude'), 'claude disconnected');
  assert.equal(tabLine({ ...tab, problem: 'the developer tools are open' }, ''), 'The developer tools are open.');
});

test('the log and how sharing ended', () => {
  assert.equal(entryLine({ at: 0, what: 'shared a tab', detail: 'group' }), 'Shared a tab (moved to the group)');
  assert.equal(entryLine({ at: 0, what: 'stopped sharing a tab', detail: 'debugger' }), "Stopped sharing a tab (Cancel in Chrome's debugging bar)");
  assert.equal(entryLine({ at: 0, what: 'clicking', times: 3 }), 'Clicking × 3');
  assert.equal(entryLine({ at: 0, what: 'disconnected', detail: 'x\u202ey' }), 'Disconnected (x y)');
  assert.match(sharingEndedText({ reason: 'locked', at: 0 }), /locked/);
  assert.equal(sharingEndedText({ reason: 'user', at: 0 }), '');
  assert.equal(sharingEndedText(null), '');
});

test('tabs of the log have short numbers', () => {
  const numbers = tabNumbers([{ at: 0, what: 'a', tabId: 2105586715 }, { at: 0, what: 'b' }, { at: 0, what: 'a', tabId: 7 }, { at: 0, what: 'c', tabId: 2105586715 }]);
  assert.deepEqual([...numbers], [[2105586715, 1], [7, 2]]);
});

test('first steps', () => {
  /** @param {string} native @param {any[]} [servers] @param {any[]} [pairings] */
  const title = (native, servers = [], pairings = [], stopped = '') => setupSteps(/** @type {any} */ ({ stopped, native: { state: native, message: 'it hangs' }, servers, pairings }))?.title;
  assert.equal(title('missing'), 'Two steps to get started');
  assert.equal(title('error'), 'chrome-mcp does not respond');
  assert.equal(title('ok'), 'No agent is running');
  assert.equal(title('missing', [], [{}]), 'No agent is running');
  for (const [native, soon] of [['ok', /within a second/], ['missing', /within half a minute/]]) {
    assert.match(setupSteps(/** @type {any} */ ({ stopped: '', native: { state: native }, servers: [], pairings: [{}] }))?.text ?? '', /** @type {RegExp} */ (soon));
  }
  assert.equal(title('ok', [], [], 'claude'), 'Stopped');
  assert.equal(title('ok', [{ ...server, state: 'refused' }], [], 'claude'), undefined, 'its line says why');
  assert.equal(title('unknown'), undefined);
  assert.equal(title('missing', [server]), undefined);
  assert.equal(title('ok', [{ ...server, state: 'refused' }]), undefined);
});
