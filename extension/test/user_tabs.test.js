// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Hosts, MAX_HOSTS } from '../hosts.js';
import { UserTabs } from '../user_tabs.js';

const PAGE = 1; // the agent drives it
const OTHER = 2; // the user's
const NEW = 3;

function scoped() {
  const tabs = new UserTabs(() => {});
  tabs.install(new Set([PAGE]), [PAGE, OTHER]);
  return tabs;
}

/** @param {Partial<chrome.tabs.Tab>} tab */
const tab = (tab) => /** @type {any} */ ({ id: NEW, url: '', ...tab });

/** @param {UserTabs} tabs */
const users = (tabs) => tabs.known?.has(NEW) === true;

test("a new tab is the user's only with proof", () => {
  /** @type {[string, boolean, (tabs: UserTabs) => void][]} */
  const cases = [
    ['unknown', false, () => {}],
    ['the new tab page', true, (t) => t.created(tab({ pendingUrl: 'chrome://newtab/' }))],
    ['an opener that is only the foreground tab', false, (t) => t.created(tab({ openerTabId: OTHER, pendingUrl: 'https://a.test/' }))],
    ['opened by a page of the user', true, (t) => t.opened(NEW, OTHER)],
    ['opened by a driven page', false, (t) => t.opened(NEW, PAGE)],
    ['a typed URL', true, (t) => t.committed(NEW, 'https://a.test/', 'typed')],
    ['a link', false, (t) => t.committed(NEW, 'https://a.test/', 'link')],
    ['opened by a worker', false, (t) => t.committed(NEW, 'https://a.test/', 'start_page')],
    ['a reload', false, (t) => t.committed(NEW, 'https://a.test/', 'reload')],
    ['a successful reload after a blocked load', true, (t) => {
      t.created(tab({ pendingUrl: 'https://a.test/' }));
      assert.ok(t.mayReload(NEW));
      t.committed(NEW, 'https://a.test/', 'reload');
    }],
    ['a blocked reload', false, (t) => {
      t.created(tab({ pendingUrl: 'https://a.test/' }));
      assert.ok(t.mayReload(NEW));
      assert.ok(!t.mayReload(NEW));
      t.committed(NEW, 'https://a.test/', 'link');
    }],
  ];
  for (const [name, want, work] of cases) {
    const tabs = scoped();
    work(tabs);
    assert.equal(users(tabs), want, name);
  }
});

test('a blocked load does not make a tab known', () => {
  const tabs = scoped();
  tabs.created(tab({ pendingUrl: 'https://denied.test/' }));
  tabs.mayReload(NEW);
  assert.ok(!users(tabs));
});

test('windows opened by pages of a scope join it', () => {
  const tabs = scoped();
  tabs.created(tab({ openerTabId: PAGE, status: 'complete' })); // Document Picture-in-Picture
  assert.deepEqual(tabs.originatingFrom(PAGE), [NEW]);
  tabs.created(tab({ id: 4, openerTabId: NEW }));
  assert.deepEqual(tabs.originatingFrom(PAGE), [NEW, 4]);
  for (const id of [NEW, 4]) {
    assert.ok(!tabs.mayReload(id));
    tabs.committed(id, 'https://a.test/', 'typed');
    assert.ok(!tabs.known?.has(id));
  }
  tabs.created(tab({ id: 5, openerTabId: PAGE, pendingUrl: 'https://a.test/' })); // the user's, from a bookmark
  assert.ok(!tabs.inScope(5));
  tabs.forget(NEW);
  assert.deepEqual(tabs.originatingFrom(PAGE), [4]);
});

test("a tab opened just before the first rules is the user's", () => {
  for (const opened of [false, true]) {
    const tabs = new UserTabs(() => {});
    tabs.created(tab({ openerTabId: OTHER }));
    if (opened) tabs.opened(NEW, OTHER);
    tabs.install(new Set([PAGE]), [PAGE, OTHER]); // listed before NEW was opened
    assert.ok(users(tabs));
  }
});

test("a tab that the user's page opens behind a driven page is the user's", () => {
  for (const installed of [false, true]) {
    let changes = 0;
    const tabs = new UserTabs(() => { changes++; });
    tabs.install(new Set([PAGE]), [PAGE, OTHER]);
    tabs.created(tab({ openerTabId: PAGE })); // the tab in the foreground
    if (installed) tabs.install(new Set([PAGE, NEW]), [PAGE, OTHER, NEW]);
    changes = 0;
    tabs.opened(NEW, OTHER);
    assert.ok(!tabs.inScope(NEW));
    assert.ok(users(tabs));
    assert.equal(changes, 1);
    assert.ok(tabs.mayReload(NEW), 'it is reloaded if the rules blocked it');
  }
});

test('a tab opened by an unknown tab is not reloaded', () => {
  const tabs = scoped();
  tabs.created(tab({ id: 4, pendingUrl: 'https://a.test/' }));
  tabs.created(tab({ openerTabId: 4 }));
  tabs.opened(NEW, 4);
  assert.ok(!tabs.mayReload(NEW));
});

test('a scope stores a limited number of hosts', () => {
  const hosts = new Hosts();
  assert.ok(hosts.add('a', 'https://x.test/frame'));
  assert.ok(!hosts.add('a', 'https://x.test/other'));
  assert.ok(!hosts.add('a', 'about:srcdoc'));
  assert.ok(!hosts.add('a', 'data:text/html,x'));
  assert.deepEqual(hosts.of('a'), ['x.test']);
  assert.deepEqual(hosts.of('b'), []);
  for (let i = 0; i < MAX_HOSTS * 2; i++) hosts.add('a', `https://h${i}.test/`);
  assert.equal(hosts.of('a'), null);
  hosts.retain(['b']);
  assert.deepEqual(hosts.of('a'), []);
});

test('a host that no rule can list counts as any', () => {
  for (const host of ['a'.repeat(2e6) + '.test', 'a*b.test', 'a"b.test']) {
    const hosts = new Hosts();
    hosts.add('a', 'https://x.test/');
    assert.ok(hosts.add('a', `https://${host}/`));
    assert.equal(hosts.of('a'), null);
    assert.ok(!hosts.add('a', `https://${host}/`));
  }
  const hosts = new Hosts();
  for (const host of ['a_b.test', '127.0.0.1', '[::1]', 'xn--mnchen-3ya.test', 'x.test']) assert.ok(hosts.add('a', `https://${host}/`));
  assert.ok(!hosts.add('a', 'https://x.test./'), 'the same host');
  assert.equal(hosts.of('a')?.length, 5);
});
