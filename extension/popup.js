// @ts-check

import { PagePort } from './page_port.js';
import { button, byId, make, Rows, setText } from './elements.js';
import { SHARE_MINUTES } from './settings.js';
import { count, handoverText, untilLine, sharingEndedText, setupSteps, displayURL, sanitizeLine, policyLine, promptText, sentence, serverLine, tabLine, titleOf } from './text.js';
import { timing } from './timing.js';

/** @typedef {import('./pages.js').State} State */
/** @typedef {import('./pages.js').TabView} TabView */
/** @typedef {import('./pages.js').ServerView} ServerView */
/** @typedef {State['questions'][number]} Prompt */
/** @typedef {import('./wire.js').CDPClient} CDPClient */

/** How often times are updated, in ms. */
const UPDATE_INTERVAL_MS = 10_000;

const share = /** @type {HTMLButtonElement} */ (byId('share'));
const keep = /** @type {HTMLInputElement} */ (byId('keep'));
const until = /** @type {HTMLSelectElement} */ (byId('until'));

/** @type {State | null} */
let last = null;
/** The tab and its site for which "keep" was selected before the tab is shared. A page that replaces the
 * site drops the selection. */
let keepChoice = '';

/** @param {NonNullable<State['current']>} current */
const choiceOf = ({ tabId, origin }) => `${tabId} ${origin}`;

const worker = new PagePort((state) => {
  last = state;
  show(state);
});
setInterval(() => {
  if (last) show(last);
}, UPDATE_INTERVAL_MS);

/** @param {State} state */
function show(state) {
  const connected = state.servers.filter((s) => s.state === 'connected');
  setText(byId('status'), statusLine(state, connected));
  setText(byId('ended'), sharingEndedText(state.ended));
  questions.show(state.questions);
  byId('asking').hidden = state.questions.length === 0;
  showSetup(state);
  showCurrent(state);
  const [shared, own] = [state.tabs.filter((t) => !t.own), state.tabs.filter((t) => t.own)];
  tabs.show(shared);
  setText(byId('tabs-title'), titled('Shared tabs', shared.length));
  byId('no-tabs').hidden = shared.length > 0;
  ownTabs.show(own);
  setText(byId('own-title'), titled('Tabs that agents opened', own.length));
  byId('own').hidden = own.length === 0;
  const stopAll = /** @type {HTMLButtonElement} */ (byId('stop-all'));
  const idle = state.tabs.length === 0 && state.servers.every((s) => s.clients.length === 0);
  if (idle && document.activeElement === stopAll) share.focus();
  stopAll.disabled = idle;
  servers.show(state.servers);
  byId('agents').hidden = state.servers.length === 0;
  delayAnswers();
}

/** The list of prompts and its position. */
let lastLayout = '';
let answersEnabled = false;
/** @type {ReturnType<typeof setTimeout>} */
let enableTimer;

/** Disables the answer buttons if the list of prompts changed or moved. */
function delayAnswers() {
  const now = JSON.stringify([byId('asking').offsetTop, (last?.questions ?? []).map((q) => [q.id, q.waits])]);
  if (now === lastLayout) return;
  lastLayout = now;
  enableAnswers(false);
  clearTimeout(enableTimer);
  enableTimer = setTimeout(() => enableAnswers(true), timing.patience.misclick);
}

/** @param {boolean} on */
function enableAnswers(on) {
  answersEnabled = on;
  questions.show(last?.questions ?? []);
}

/** @param {string} title title of a list @param {number} n its length */
function titled(title, n) {
  return n === 0 ? title : `${title} (${n})`;
}

/** @param {State} state @param {ServerView[]} connected */
function statusLine(state, connected) {
  const n = state.tabs.filter((t) => !t.own).length;
  const shared = n === 0 ? 'no tab shared' : `${count(n, 'tab')} shared`;
  if (state.questions.some((q) => q.kind === 'handover')) return 'An agent asks you to take over';
  if (state.questions.length > 0) return 'Waiting for your permission';
  if (connected.length > 0) return `${connected.length === 1 ? sanitizeLine(connected[0].name, 40) : count(connected.length, 'agent')} connected, ${shared}`;
  if (state.servers.some((s) => s.state === 'connecting')) return 'Connecting…';
  return `Not connected, ${shared}`;
}

/** @param {State} state */
function showSetup(state) {
  const first = setupSteps(state);
  byId('setup').hidden = first === null;
  if (!first) return;
  setText(byId('setup-title'), first.title);
  setText(byId('setup-text'), first.text);
  byId('pair').hidden = state.native.state === 'ok';
  byId('steps').replaceChildren(...first.steps.map((parts) => make('li', {}, ...parts.map((p) => (typeof p === 'string' ? p : make('code', {}, p.command))))));
  byId('steps').hidden = first.steps.length === 0;
}

/** @param {State} state */
function showCurrent({ current, settings }) {
  setText(byId('title'), current ? titleOf(current) : 'No active tab');
  setText(byId('url'), current ? displayURL(current.url) : '');
  const mine = current?.shared === true;
  share.textContent = mine ? 'Stop sharing this tab' : 'Share this tab';
  share.classList.toggle('main', !mine);
  share.classList.toggle('stop', mine);
  share.disabled = !current || (current.obstacle !== '' && !mine);
  setText(byId('obstacle'), sentence(current?.obstacle ?? ''));
  byId('until-choice').hidden = !current || (mine ? current.own : current.obstacle !== '');
  until.disabled = false;
  setText(byId('until-time'), `for ${SHARE_MINUTES} minutes after the last call`);
  setText(byId('until-idle'), `until the machine is idle for ${count(settings.shareIdleMinutes, 'minute')}`);
  if (current && mine) until.value = current.until;
  const choice = byId('keep-choice');
  choice.hidden = !current || current.origin === '' || current.obstacle !== '' || settings.access === 'all';
  setText(byId('keep-site'), current ? `(${current.origin}: all its tabs, now and later)` : '');
  if (!current || keepChoice !== choiceOf(current)) keepChoice = '';
  if (current && !current.shared && !current.keep) keep.checked = keepChoice !== '';
  else keep.checked = current?.keep === true;
}

/** @param {import('./handovers.js').HandoverQuestion} q */
function handoverRow(q) {
  /** @param {import('./handovers.js').HandoverAnswer} value */
  const answer = (value) => act('handover', { question: q.id, answer: value });
  const answers = [button('Done', () => answer('done'), { disabled: true }), button("Can't do it", () => answer('cannot'), { disabled: true })];
  const id = `about-${q.id}`;
  for (const b of answers) b.setAttribute('aria-describedby', id);
  const { message } = handoverText(q);
  return {
    element: make('li', {},
      make('p', { id, role: 'alert' }, make('bdi', { className: 'theirs' }, sanitizeLine(q.server, 60)), ' asks you to act on ', make('strong', { className: 'theirs' }, q.origin || 'a page without a site'), ':'),
      make('blockquote', { className: 'theirs', dir: 'auto' }, message),
      make('p', { className: 'quiet' }, 'Until you answer, agents cannot see or use the tab. What you type in its fields is masked in later results. The text above is from the agent: enter nothing that you would not enter without the agent.'),
      make('div', { className: 'row' }, ...answers, button('Show the tab', () => act('show', { tabId: q.tabId }), { className: 'plain' }))),
    update: () => {
      for (const b of answers) b.disabled = !answersEnabled;
    },
  };
}

/** Returns who needs a permission. @param {import('./consent.js').ConsentPrompt | import('./permission_prompts.js').PermissionPrompt} q */
function asker(q) {
  const name = (/** @type {string} */ text) => make('bdi', { className: 'theirs' }, sanitizeLine(text, 60));
  return q.kind === 'eval' && q.client ? [name(q.client), ' (through ', name(q.server), ')'] : [name(q.server)];
}

const questions = new Rows(byId('questions'), (/** @type {Prompt} */ q) => q.id, (q) => {
  if (q.kind === 'handover') return handoverRow(q);
  const once = button('Allow once', () => answer('once'), { disabled: true });
  const answers = [
    once,
    button('Allow this session', () => answer('session'), { disabled: true }),
    button('No', () => answer('no'), { disabled: true }),
  ];
  /** @param {import('./consent.js').Answer} value */
  const answer = (value) => act('answer', { question: q.id, answer: value });
  const id = `about-${q.id}`;
  for (const b of answers) b.setAttribute('aria-describedby', id);
  const { wants: [before, after], follows } = promptText(q);
  const late = make('p', { className: 'quiet' }, 'This call has ended. You can allow it once when the agent repeats it.');
  const element = make('li', {},
    make('p', { id, role: 'alert' }, ...asker(q), before, make('strong', { className: 'theirs' }, q.origin), after),
    make('p', { className: 'quiet' }, follows),
    late,
    make('div', { className: 'row' }, ...answers));
  return {
    element,
    update: ({ waits }) => {
      late.hidden = waits;
      for (const b of answers) b.disabled = !answersEnabled || (b === once && !waits);
    },
  };
}, () => share);

/** @param {TabView} t */
const tabKey = (t) => String(t.tabId);

/** @param {TabView} tab @returns {{element: HTMLElement, update: (t: TabView) => void}} */
function tabRow({ tabId }) {
  const title = make('bdi', { className: 'theirs line' });
  const where = make('bdi', { className: 'theirs line quiet' });
  const doing = make('p', { className: 'quiet' });
  const sharedUntil = make('p', { className: 'quiet shared-until' });
  const driver = make('select', { onchange: () => act('drive', { tabId, server: driver.value }) });
  const go = button('', () => act('show', { tabId }), { className: 'plain' });
  const stop = button('Stop', () => act('unshare', { tabId }), { className: 'stop' });
  go.append(title);
  return {
    element: make('li', {}, make('div', {}, go, where), stop, doing, driver, sharedUntil),
    update: (t) => {
      const name = titleOf(t);
      setText(title, name);
      setText(where, displayURL(t.url));
      setText(doing, tabLine(t, nameOf(t.driver)));
      doing.classList.toggle('bad', t.problem !== '');
      setText(sharedUntil, last ? untilLine(t, last.settings) : '');
      sharedUntil.hidden = t.until === 'stopped';
      go.setAttribute('aria-label', `Show ${name}`);
      stop.setAttribute('aria-label', `Stop sharing ${name}`);
      showDrivers(driver, t, name);
    },
  };
}

const tabs = new Rows(byId('tabs'), tabKey, tabRow, () => share);
const ownTabs = new Rows(byId('own-tabs'), tabKey, tabRow, () => share);

/**
 * Shows the selection of the driver of a tab, if there is a choice.
 *
 * @param {HTMLSelectElement} select
 * @param {TabView} t
 * @param {string} name
 */
function showDrivers(select, t, name) {
  const connected = (last?.servers ?? []).filter((s) => s.state === 'connected' && !s.isChat);
  select.hidden = t.own || t.chat || (connected.length < 2 && (t.driver === '' || connected.some((s) => s.key === t.driver)));
  const options = [['', 'First to act'], ...connected.map((s) => [s.key, sanitizeLine(s.name, 40)])];
  if (t.driver !== '' && !connected.some((s) => s.key === t.driver)) options.push([t.driver, `${nameOf(t.driver)} (not connected)`]);
  const text = JSON.stringify(options);
  if (select.dataset.options !== text) {
    select.dataset.options = text;
    select.replaceChildren(...options.map(([value, label]) => make('option', { value }, label)));
  }
  select.value = t.driver;
  select.setAttribute('aria-label', `Driver of ${name}`);
}

const servers = new Rows(byId('servers'), (/** @type {ServerView} */ s) => String(s.port), () => {
  const name = make('bdi', { className: 'theirs' });
  const version = make('span', { className: 'quiet' });
  const line = make('p', { className: 'quiet' });
  const policy = make('p', { className: 'quiet theirs' });
  const head = make('p', { className: 'state' }, name, ' ', version);
  const list = make('ul', { className: 'clients', 'aria-label': 'CDP clients' });
  let key = '';
  const clients = new Rows(list, (/** @type {CDPClient} */ c) => c.id, ({ id, name }) => {
    const title = sanitizeLine(name, 60);
    const stop = button('Stop', () => act('stopClient', { server: key, client: id }), { className: 'stop', 'aria-label': `Stop ${title}` });
    return { element: make('li', {}, make('bdi', { className: 'theirs line' }, title), stop), update: () => {} };
  }, () => share);
  return {
    element: make('li', {}, head, line, policy, list),
    update: (s) => {
      head.className = `state ${s.state}`;
      setText(name, sanitizeLine(s.name, 60));
      setText(version, s.version ? sanitizeLine(s.version, 30) : `port ${s.port}`);
      setText(line, serverLine(s));
      setText(policy, policyLine(s));
      key = s.key;
      clients.show(s.clients);
      list.hidden = s.clients.length === 0;
    },
  };
});

/** @param {string} key */
function nameOf(key) {
  return sanitizeLine(last?.servers.find((s) => s.key === key)?.name ?? 'An agent', 40);
}

share.onclick = () => {
  const current = last?.current;
  if (!current) return;
  if (current.shared) {
    act('unshare', { tabId: current.tabId });
    return;
  }
  const site = keepChoice === choiceOf(current) && keep.checked ? current.origin : '';
  keepChoice = '';
  act('share', { tabId: current.tabId, until: until.value });
  if (site) act('keep', { origin: site, on: true });
};

until.onchange = () => {
  const current = last?.current;
  if (current?.shared) act('sharedUntil', { tabId: current.tabId, until: until.value });
};

keep.onchange = () => {
  const current = last?.current;
  if (!current) return;
  if (current.shared || current.keep) act('keep', { origin: current.origin, on: keep.checked });
  else keepChoice = keep.checked ? choiceOf(current) : ''; // until the tab is shared
};

const panel = /** @type {HTMLButtonElement} */ (byId('panel'));
// The browser opens the panel only in the event of the click, so the window must be known before.
chrome.windows.getCurrent().then(({ id: windowId = chrome.windows.WINDOW_ID_NONE }) => {
  panel.disabled = false;
  panel.onclick = () => {
    chrome.sidePanel.open({ windowId }).then(() => window.close(), (e) => trouble(sentence(String(e.message))));
  };
}, (e) => trouble(sentence(String(e.message))));

byId('stop-all').onclick = () => act('stopAll');
byId('again').onclick = () => act('retry');
byId('options').onclick = byId('pair').onclick = () => {
  chrome.runtime.openOptionsPage().then(() => window.close(), (e) => trouble(sentence(String(e.message))));
};

/** @param {import('./pages.js').Action} action @param {Record<string, unknown>} [args] */
function act(action, args) {
  trouble('');
  worker.act(action, args).catch((e) => trouble(sentence(sanitizeLine(e.message, 300))));
}

/** @param {string} text */
function trouble(text) {
  setText(byId('trouble'), text);
  delayAnswers(); // the message moves the list of prompts
}
