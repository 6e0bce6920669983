// @ts-check

// The page of the dashboard: it receives the sessions and questions as server-sent events and shows
// them. Elements are updated in place, so that the focus stays where it is.

import { byId, children, element, send, setText } from './elements.js';
import { LiveView } from './live.js';

/**
 * @typedef {object} Call
 * @property {number} id
 * @property {string} [client]
 * @property {string} tool
 * @property {string} [target]
 * @property {string} [tab]
 * @property {boolean} [nested]
 * @property {string} started
 * @property {string} [ended]
 * @property {string} [code] absent while it runs
 * @property {string} [line]
 */

/**
 * @typedef {object} Tab
 * @property {string} id
 * @property {string} url
 * @property {string} title
 * @property {boolean} active
 * @property {boolean} live whether it has a live view
 * @property {string} [browser] the name of its browser
 * @property {string} [color] of that browser
 */

/**
 * @typedef {object} Session
 * @property {string} id
 * @property {string} principal
 * @property {string} name
 * @property {string[] | null} clients
 * @property {string[] | null} cdpClients
 * @property {string} backend
 * @property {string} started
 * @property {boolean} stopping
 * @property {Tab[]} tabs
 * @property {Call[]} calls
 */

/**
 * @typedef {object} Question
 * @property {string} id
 * @property {string} session
 * @property {string} principal
 * @property {string} agent
 * @property {string} message
 * @property {string} site
 * @property {string} title
 * @property {string} tab
 */

/** @type {Map<string, Session>} */
const sessions = new Map();
/** @type {string[]} */
let order = [];
/** @type {Question[]} */
let questions = [];
/** @type {LiveView | null} */
let live = null;
/** The kind of the process: "server" or "MCP host". */
let kind = '';

/** How long the answers of questions stay disabled after the list has changed, in ms: a click may be
 * meant for what was there before. */
const MISCLICK = 600;
/** The ids of the questions whose answers are enabled, or will be. */
let listed = '';
let settled = false;
/** @type {ReturnType<typeof setTimeout>} */
let settling;

const backends = new Map([['cdp', 'managed or attached browser'], ['extension', 'your Chrome']]);

/** @param {Session} s */
const titleOf = (s) => s.name || s.clients?.at(-1) || 'session';

/** @param {string} text */
const say = (text) => setText(byId('said'), text);

/** @param {string} text */
const fail = (text) => setText(byId('failed'), text);

/** @param {string} time */
const clock = (time) => new Date(time).toLocaleTimeString();

/** @param {Tab} t */
const nameOf = (t) => t.title || t.url || 'blank page';

/** Disables the answers of questions for MISCLICK if the list has changed. */
function settle() {
  const now = questions.map((q) => q.id).join();
  if (now === listed) return;
  listed = now;
  settled = false;
  clearTimeout(settling);
  settling = setTimeout(() => {
    settled = true;
    render();
  }, MISCLICK);
}

/** Shows what has changed. */
function render() {
  settle();
  const principals = [...new Set(order.map((id) => sessions.get(id)?.principal ?? ''))];
  children(byId('principals'), principals, (p) => `principal ${p}`, makePrincipal, (node, p) => {
    setText(node.querySelector('h3'), p === '' ? 'You' : `Token ${p}`);
    const list = order.flatMap((id) => sessions.get(id) ?? []).filter((s) => s.principal === p);
    children(node.querySelector('.list'), list, (s) => s.id, makeSession, updateSession);
  });
  byId('none').hidden = order.length > 0;
  byId('handed-over').hidden = questions.length === 0;
  children(byId('questions'), questions, (q) => q.id, makeQuestion, updateQuestion);
  const watched = live && sessions.get(live.session)?.tabs.find((t) => t.id === live?.tab);
  if (watched) setText(byId('live-tab'), nameOf(watched));
}

function makePrincipal() {
  return element('div', { class: 'principal' }, element('h3'), element('div', { class: 'list principal' }));
}

/** @param {Session} s */
function makeSession(s) {
  const stop = element('button', { type: 'button', class: 'stop' }, 'Stop');
  stop.addEventListener('click', () => askStop(s.id));
  return element('article', { 'aria-labelledby': `title-${s.id}` },
    element('div', { class: 'heading' }, element('h4', { id: `title-${s.id}`, class: 'theirs' }), stop),
    element('p', { class: 'about quiet theirs' }),
    element('p', { class: 'now theirs' }),
    element('ul', { class: 'tabs', 'aria-label': 'Tabs' }),
    element('ol', { class: 'calls', 'aria-label': 'Last calls, newest first', tabindex: '0' }));
}

/**
 * @param {HTMLElement} node
 * @param {Session} s
 */
function updateSession(node, s) {
  const stop = /** @type {HTMLButtonElement} */ (node.querySelector('.stop'));
  stop.disabled = s.stopping;
  stop.setAttribute('aria-label', `Stop ${titleOf(s)}`);
  setText(node.querySelector('h4'), titleOf(s));
  const clients = [...s.clients ?? [], ...(s.cdpClients ?? []).map((name) => `${name} (CDP)`)];
  const about = [clients.join(', ') || 'no client yet', backends.get(s.backend) ?? 'no browser yet', `since ${clock(s.started)}`];
  setText(node.querySelector('.about'), about.join(' · '));
  const running = s.calls.filter((c) => !c.code);
  const now = running.map((c) => `${c.tool}${c.target ? ` ${c.target}` : ''}`).join(', ');
  const idle = questions.some((q) => q.session === s.id) ? 'Waiting for you' : 'Waiting for the agent';
  setText(node.querySelector('.now'), s.stopping ? 'Stopping…' : now ? `Now: ${now}` : idle);
  children(node.querySelector('.tabs'), s.tabs, (t) => t.id, (t) => makeTab(s.id, t), (item, t) => {
    setText(item.querySelector('.title'), nameOf(t));
    setText(item.querySelector('.url'), t.url);
    const watch = item.querySelector('button');
    watch?.setAttribute('aria-label', `Watch ${nameOf(t)}`);
    watch?.setAttribute('aria-pressed', String(live?.tab === t.id));
  });
  children(node.querySelector('.calls'), s.calls.toReversed(), (c) => String(c.id), makeCall, updateCall);
}

/**
 * @param {string} session
 * @param {Tab} t
 */
function makeTab(session, t) {
  const item = element('li', {}, element('div', {}, element('span', { class: 'title theirs line' }), element('span', { class: 'url theirs line quiet' })));
  if (t.browser) {
    const name = element('span', { class: 'browser' }, t.browser);
    if (t.color) name.style.borderColor = t.color;
    item.firstElementChild?.prepend(name);
  }
  if (t.live) {
    const watch = element('button', { type: 'button' }, 'Watch');
    watch.addEventListener('click', () => openLive(session, t.id));
    item.append(watch);
  }
  return item;
}

/** @param {Call} c */
function makeCall(c) {
  return element('li', { class: c.nested ? 'nested' : '' },
    element('div', { class: 'row' }, element('code', {}, c.tool), element('span', { class: 'code' }), element('span', { class: 'time quiet' })),
    element('div', { class: 'target theirs quiet' }, c.target ?? ''),
    element('div', { class: 'result theirs' }));
}

/**
 * @param {HTMLElement} node
 * @param {Call} c
 */
function updateCall(node, c) {
  const code = /** @type {HTMLElement} */ (node.querySelector('.code'));
  setText(code, c.code ?? 'running');
  code.className = `code ${!c.code ? 'running' : c.code === 'OK' ? 'ok' : 'failed'}`;
  const took = c.ended ? `, ${((Date.parse(c.ended) - Date.parse(c.started)) / 1000).toFixed(1)} s` : '';
  setText(node.querySelector('.time'), clock(c.started) + took);
  setText(node.querySelector('.result'), c.line ?? '');
}

/** @param {Question} q */
function makeQuestion(q) {
  const answer = (/** @type {string} */ label, /** @type {string} */ outcome) => {
    const button = element('button', { type: 'button', class: outcome }, label);
    button.addEventListener('click', async () => {
      if (settled) fail(await send('answer', { question: q.id, outcome }));
    });
    return button;
  };
  const show = element('button', { type: 'button', class: 'show' }, 'Show the page');
  show.addEventListener('click', () => {
    const now = questions.find((other) => other.id === q.id);
    if (now?.session) openLive(now.session, now.tab, true);
  });
  return element('li', {},
    element('p', { class: 'asks' },
      element('bdi', { class: 'agent theirs' }), element('span', { class: 'token' }), ' asks you to act on ', element('strong', { class: 'site theirs' }), ':'),
    element('blockquote', { class: 'message theirs', dir: 'auto' }),
    element('p', { class: 'page quiet' }, 'The page has this title:', element('bdi', { class: 'title theirs line' })),
    element('div', { class: 'row' }, show, answer('Done', 'done'), answer("Can't do it", 'cannot')));
}

/**
 * @param {HTMLElement} node
 * @param {Question} q
 */
function updateQuestion(node, q) {
  // Each text of the agent and of the page has its own element, so that none can continue our sentence.
  setText(node.querySelector('.agent'), q.agent || 'An agent');
  setText(node.querySelector('.token'), q.principal ? ` (token ${q.principal})` : '');
  setText(node.querySelector('.site'), q.site || 'a page without a site');
  /** @type {HTMLElement} */ (node.querySelector('.page')).hidden = q.title === '';
  setText(node.querySelector('.title'), q.title);
  setText(node.querySelector('.message'), q.message);
  // A button that is disabled would lose the focus.
  for (const answer of node.querySelectorAll('.done, .cannot')) answer.setAttribute('aria-disabled', String(!settled));
  /** @type {HTMLButtonElement} */ (node.querySelector('.show')).disabled = !sessions.get(q.session)?.tabs.find((t) => t.id === q.tab)?.live;
}

/** The session that the dialog asks about. */
let asked = '';

/** Asks the user whether to stop a session. @param {string} id */
function askStop(id) {
  const s = sessions.get(id);
  if (!s) return;
  const exit = kind === 'MCP host' ? ' chrome-mcp exits; the MCP host may start it again.' : '';
  setText(byId('confirm-text'), `Session ${titleOf(s)}: its calls fail, and the tabs that it opened are closed.${exit}`);
  asked = id;
  /** @type {HTMLDialogElement} */ (byId('confirm')).showModal();
}

// The close event of a dialog is late: it may belong to a question that the user has left.
byId('confirm').addEventListener('submit', async (e) => {
  const { submitter } = /** @type {SubmitEvent} */ (e);
  if (submitter === byId('confirm-stop')) fail(await send('stop', { session: asked }));
});

/**
 * @param {string} session
 * @param {string} tab
 * @param {boolean} [focus] whether the live view gets the focus when the user may act in the tab
 */
function openLive(session, tab, focus = false) {
  live?.close();
  live = new LiveView(session, tab, focus);
  setText(byId('live-tab'), tab); // until the tab is known
  byId('live-close').hidden = false;
  render();
}

byId('live-close').addEventListener('click', () => {
  /** @type {HTMLElement} */ (document.querySelector('.tabs [aria-pressed="true"]') ?? byId('sessions-title')).focus();
  live?.close();
  live = null;
  byId('live-close').hidden = true;
  setText(byId('live-tab'), 'Choose a tab of a session to watch it.');
  render();
});

byId('logout').addEventListener('click', async () => {
  await send('logout', {});
  end('Logged out.');
});

/** Removes what the page shows when the login has ended. @param {string} why */
function end(why) {
  live?.close();
  source.close();
  sessions.clear();
  order = [];
  questions = [];
  render();
  /** @type {HTMLDialogElement} */ (byId('confirm')).close();
  byId('main').hidden = true;
  byId('logout').hidden = true;
  setText(byId('connection'), `${why} Run chrome-mcp dashboard to open this page again.`);
}

const source = new EventSource('events');
source.addEventListener('process', (e) => {
  const p = JSON.parse(e.data);
  kind = p.kind;
  setText(byId('process'), `${kind}, version ${p.version}`);
});
source.addEventListener('session', (e) => {
  /** @type {Session} */
  const s = JSON.parse(e.data);
  sessions.set(s.id, s);
});
source.addEventListener('sessions', (e) => {
  const before = order;
  order = JSON.parse(e.data);
  for (const id of before) {
    if (order.includes(id)) continue;
    const gone = sessions.get(id);
    if (gone) say(`Session ${titleOf(gone)} has ended.`);
    sessions.delete(id);
  }
});
source.addEventListener('questions', (e) => {
  const before = questions;
  questions = JSON.parse(e.data);
  const asked = questions.find((q) => !before.some((old) => old.id === q.id));
  if (asked) say(`${asked.agent || 'An agent'} waits for you.`);
  render();
});
source.addEventListener('ready', () => setText(byId('connection'), 'Connected'));
source.addEventListener('error', () => {
  if (source.readyState === EventSource.CLOSED) end('The login has ended.');
  else setText(byId('connection'), 'Connection lost. Reconnecting…');
});
