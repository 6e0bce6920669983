// @ts-check

import { ChatView } from './chat_view.js';
import { button, byId, make, Rows, setText } from './elements.js';
import { quoteLine } from './entries.js';
import { PanelPort } from './panel_port.js';
import { ago, displayURL, sanitizeLine, sentence, setupSteps, titleOf } from './text.js';

/** @typedef {import('./chats.js').Chat} Chat */
/** @typedef {import('./chats.js').PanelState} PanelState */
/** @typedef {import('./chats.js').PanelTab} PanelTab */

/** How long the search waits for more typing, in ms, and how often times are updated. */
const SEARCH_DELAY_MS = 150;
const UPDATE_INTERVAL_MS = 30_000;

/** The beginning of an exported chat. The host returns the position of each further part. */
const START = { seq: 0, offset: 0 };

/** The maximum length of a finished message that is announced. */
const MAX_ANNOUNCED = 500;

/** Why a turn ended, unless it ended regularly. @type {Record<string, string>} */
const STOP_LABELS = { cancelled: 'Stopped', refusal: 'The agent declined to continue', max_tokens: 'Stopped at the maximum number of tokens', max_turn_requests: 'Stopped at the maximum number of requests' };

const text = /** @type {HTMLTextAreaElement} */ (byId('text'));
const agent = /** @type {HTMLSelectElement} */ (byId('agent'));
const query = /** @type {HTMLInputElement} */ (byId('query'));
const name = /** @type {HTMLInputElement} */ (byId('name'));
const send = /** @type {HTMLButtonElement} */ (byId('send'));
const resume = /** @type {HTMLButtonElement} */ (byId('resume'));
const menu = /** @type {HTMLDetailsElement} */ (byId('menu'));
const addTab = /** @type {HTMLDetailsElement} */ (byId('add-tab'));

/** What is shown: the list, the form for a new chat, or a chat. @type {'list' | 'new' | 'chat'} */
let view = 'list';
/** @type {PanelState | null} */
let last = null;
/** The known chats by id. @type {Map<string, Chat>} */
let chats = new Map();
/** @type {string[] | null} names of agents, null while unknown */
let agents = null;
/** The shown chat. */
let current = '';
/** @type {import('./chat_host.js').Quote | null} */
let quote = null;
/** Whether a call that starts an agent or a turn waits for its answer. */
let starting = false;

const worker = new PanelPort({
  connected: () => {
    if (current !== '') void openChat(current);
    void refresh();
  },
  state: (state) => {
    const before = last?.host;
    last = state;
    if (state.host === 'ok' && before !== 'ok') void refresh();
    show();
  },
  event: (e) => {
    switch (e.event) {
      case 'chat': {
        const was = chats.get(e.chat.id);
        chats.set(e.chat.id, e.chat);
        if (e.chat.id === current && was?.running && !e.chat.running) announce(messages.lastText());
        show();
        break;
      }
      case 'entry':
        messages.put(e.entry);
        if (e.entry.permission && e.entry.permission.chosen === undefined) announce(`The agent asks for permission: ${sanitizeLine(e.entry.permission.title, 300)}`);
        break;
      case 'append':
        messages.append(e.seq, e.text, e.at);
        break;
      case 'deleted':
        forget(e.chat);
        break;
      case 'closed': {
        const chat = chats.get(e.chat);
        if (chat) chats.set(e.chat, { ...chat, open: false, running: false });
        if (e.message) trouble({ message: e.message, hint: e.hint });
        show();
      }
    }
  },
  ask: (ask) => {
    if (view !== 'chat' || !chats.get(current)?.open) showView('new');
    quote = ask.text ? { text: ask.text, url: ask.url } : null;
    show();
    text.focus();
  },
});

const messages = new ChatView({ log: byId('log'), entries: byId('entries'), newest: byId('newest') }, {
  read: (chat, before, limit) => worker.call('read', { chat, before, limit }),
  answer: async (request, option) => (await run(worker.call('answer', { chat: current, request, option }))) !== undefined,
  failed: trouble,
});

// What is shown.

function show() {
  const chat = chats.get(current);
  const ok = last === null || last.host === 'ok' || last.host === 'connecting';
  const noAgents = ok && agents?.length === 0 && view !== 'chat';
  showSetup(ok, noAgents);
  byId('back').hidden = view === 'list';
  byId('new').hidden = view !== 'list' || !ok || noAgents;
  menu.hidden = view !== 'chat' || !chat;
  byId('list-view').hidden = view !== 'list' || !ok;
  byId('chat-view').hidden = view === 'list' || !ok;
  byId('composer').hidden = view === 'list' || !ok || noAgents;
  setText(byId('title'), view === 'list' ? 'Chats' : view === 'new' ? 'New chat' : sanitizeLine(chat?.title ?? '', 120) || 'Chat');
  setText(byId('about'), view === 'chat' && chat ? aboutLine(chat) : '');
  if (view === 'list') showList();
  else showComposer(chat);
}

/** @param {boolean} ok whether the host runs or starts @param {boolean} noAgents */
function showSetup(ok, noAgents) {
  byId('setup').hidden = ok && !noAgents;
  if (ok && !noAgents) return;
  const add = ['Run ', { command: 'chrome-mcp agents add NAME' }, ' in a terminal. ', { command: 'chrome-mcp agents list' }, ' shows the agents on this machine.'];
  const about = last?.host === 'missing' || last?.host === 'closed' ? setupSteps(/** @type {any} */ ({ servers: [], pairings: [], stopped: '', native: { state: 'missing', message: '' } })) : null;
  setText(byId('setup-title'), noAgents ? 'Add an agent' : about?.title ?? 'The chats are not available');
  setText(byId('setup-text'), noAgents ? 'No agent is configured for the side panel yet.' : about?.text ?? sentence(sanitizeLine(last?.message ?? '', 300)));
  const steps = noAgents ? [add] : about ? [about.steps[0], add] : [];
  byId('steps').replaceChildren(...steps.map((parts) => make('li', {}, ...parts.map((p) => (typeof p === 'string' ? p : make('code', {}, p.command))))));
  byId('steps').hidden = steps.length === 0;
}

const rows = new Rows(byId('chats'), (/** @type {Chat} */ c) => c.id, ({ id }) => {
  const title = make('span', { className: 'name theirs line' });
  const about = make('span', { className: 'quiet theirs line' });
  const open = button('', () => void openChat(id));
  open.append(title, about);
  const element = make('li', {}, open);
  return {
    element,
    update: (chat) => {
      setText(title, sanitizeLine(chat.title, 120) || 'Chat');
      setText(about, aboutLine(chat));
      element.className = chat.running ? 'running' : '';
    },
  };
}, () => byId('new'));

/** The ids of the chats that the search found, newest first. @type {string[]} */
let found = [];

function showList() {
  const list = query.value === '' ? [...chats.values()] : found.flatMap((id) => chats.get(id) ?? []);
  rows.show(list.sort((a, b) => b.updated - a.updated));
  setText(byId('no-chats'), list.length > 0 ? '' : query.value !== '' ? 'No chat contains this text.' : last?.host === 'ok' && agents?.length ? 'No chats yet. A chat can use only the tabs that you give to it.' : '');
}

/** @param {Chat} chat */
function aboutLine(chat) {
  const state = chat.running ? 'running' : chat.open ? 'open' : ago(chat.updated);
  return [sanitizeLine(chat.agent, 40), sanitizeLine(chat.site, 60), state].filter(Boolean).join(' · ');
}

/** @param {Chat | undefined} chat */
function showComposer(chat) {
  const isNew = view === 'new';
  const open = isNew || chat?.open === true;
  const tab = last?.current;
  byId('closed').hidden = open;
  byId('form').hidden = !open;
  byId('tabs').hidden = isNew || !open;
  byId('asking').hidden = !(last && last.questions > 0 && !isNew);
  byId('agent-choice').hidden = !isNew;
  byId('stop').hidden = !(chat?.running && !isNew);
  send.hidden = chat?.running === true && !isNew;
  send.disabled = resume.disabled = starting;
  byId('close').hidden = !open;
  const target = !tab ? '' : tab.obstacle ? `The agent gets no tab now: ${tab.obstacle}. You can add one later.` : `The agent gets this tab: ${titleOf(tab)} (${displayURL(tab.url)})`;
  setText(byId('target'), isNew ? target : '');
  setText(byId('closed-text'), `This chat is closed. ${target.replace('The agent gets', 'When you resume it, the agent gets')}`);
  byId('quote').hidden = quote === null || !open;
  setText(byId('quote-text'), quote ? quoteLine(quote) : '');
  setText(byId('turn'), starting ? 'Starting the agent…' : chat?.running && !isNew ? 'Working… Esc stops it' : outcome);
  const names = JSON.stringify(agents);
  if (agent.dataset.names !== names) {
    agent.dataset.names = names;
    agent.replaceChildren(...(agents ?? []).map((n) => make('option', { value: n }, sanitizeLine(n, 60))));
  }
  if (isNew || !open) return;
  const none = last?.given.length === 0;
  byId('given').classList.toggle('none', none);
  given.show(none ? [{ tabId: -1, title: '', url: '', obstacle: '' }] : last?.given ?? []);
  others.show((last?.others ?? []).filter((t) => t.url !== ''));
}

const given = new Rows(byId('given'), (/** @type {PanelTab} */ t) => String(t.tabId), ({ tabId }) => {
  if (tabId < 0) return { element: make('li', { className: 'none' }, 'The agent has no tab.'), update: () => {} };
  const title = button('', () => void run(worker.call('showTab', { tabId })), { className: 'plain line theirs' });
  const remove = button('×', () => void run(worker.call('removeTab', { chat: current, tabId })), { className: 'remove' });
  return {
    element: make('li', {}, title, remove),
    update: (t) => {
      setText(title, titleOf(t));
      title.title = displayURL(t.url);
      remove.title = `Stop sharing ${titleOf(t)} with the agent`;
      remove.setAttribute('aria-label', remove.title);
    },
  };
}, () => text);

const others = new Rows(byId('others'), (/** @type {PanelTab} */ t) => String(t.tabId), ({ tabId }) => {
  const title = make('span', { className: 'theirs line' });
  const where = make('span', { className: 'quiet theirs line' });
  let url = ''; // as the user sees it
  const add = button('', () => {
    addTab.open = false;
    void run(worker.call('addTab', { chat: current, tabId, url }));
  });
  add.append(title, where);
  return {
    element: make('li', {}, add),
    update: (t) => {
      setText(title, titleOf(t));
      setText(where, t.obstacle ? sentence(t.obstacle) : displayURL(t.url));
      add.disabled = t.obstacle !== '';
      url = t.url;
    },
  };
}, () => text);

// Actions.

/** Why the last turn ended, as text. */
let outcome = '';

/** @param {'list' | 'new' | 'chat'} to @param {string} [chat] */
function showView(to, chat = '') {
  view = to;
  current = chat;
  quote = null;
  outcome = '';
  trouble(null);
  menu.open = addTab.open = false;
  void worker.call('show', { chat }).catch(() => {});
  void messages.open(chat);
  show();
  (to === 'list' ? byId('title') : text).focus();
}

/** @param {string} id */
async function openChat(id) {
  showView('chat', id);
  if (chats.get(id)?.open === false) resume.focus();
}

/** Reads the agents and chats again. */
async function refresh() {
  try {
    const [a, l] = await Promise.all([worker.call('agents'), worker.call('list')]);
    agents = a.agents.map((/** @type {{name: string}} */ x) => x.name);
    chats = new Map(l.chats.map((/** @type {Chat} */ c) => [c.id, c]));
    show();
  } catch {
    // the state says why
  }
}

/** @type {ReturnType<typeof setTimeout>} */
let searching;
query.oninput = () => {
  clearTimeout(searching);
  const wanted = query.value;
  searching = setTimeout(async () => {
    const result = await run(worker.call('list', { query: wanted }));
    if (!result || query.value !== wanted) return;
    for (const c of result.chats) chats.set(c.id, c);
    found = result.chats.map((/** @type {Chat} */ c) => c.id);
    show();
  }, SEARCH_DELAY_MS);
};

/** The parameters that give the tab that the panel shows to a chat. */
function tabParams() {
  const tab = last?.current;
  return tab && !tab.obstacle ? { tabId: tab.tabId, url: tab.url } : {};
}

/** Starts an agent, and returns whether it runs. @param {'new' | 'open'} method @param {Record<string, string>} params */
async function start(method, params) {
  starting = true;
  show();
  const result = await run(worker.call(method, { ...params, ...tabParams() }));
  starting = false;
  if (result) {
    chats.set(result.chat.id, result.chat);
    if (current !== result.chat.id) {
      const kept = quote;
      showView('chat', result.chat.id);
      quote = kept;
    } else {
      void messages.open(current);
    }
    if (result.problem && result.chat.open) trouble({ message: `The agent has no tab: ${result.problem}`, hint: '' });
  }
  show();
  return result?.chat.open === true;
}

async function submit() {
  const typed = text.value;
  const words = typed.trim();
  if (words === '' || starting || (view === 'chat' && chats.get(current)?.running) || (view === 'new' && agent.value === '')) return;
  trouble(null);
  if (view === 'new' && !await start('new', { agent: agent.value, title: sanitizeLine(words, 60) })) return;
  const chat = current;
  const params = { chat, text: words, ...(quote ? { quote } : {}) };
  if (text.value.startsWith(typed)) text.value = text.value.slice(typed.length).trimStart(); // the user may have typed more
  const sent = quote;
  quote = null;
  outcome = '';
  messages.toEnd();
  show();
  await messages.opened; // an event before it could be older than what is read
  const result = await run(worker.call('prompt', params));
  if (chat !== current) return;
  if (result) outcome = STOP_LABELS[result.stop] ?? '';
  else if (text.value === '') [text.value, quote] = [words, sent]; // it was not sent, or failed
  show();
}

function stop() {
  if (view === 'chat' && chats.get(current)?.running) void run(worker.call('cancel', { chat: current }));
}

byId('form').onsubmit = (e) => {
  e.preventDefault();
  void submit();
};
text.onkeydown = (e) => {
  if (e.key !== 'Enter' || e.shiftKey || e.isComposing) return;
  e.preventDefault();
  void submit();
};
document.addEventListener('keydown', (e) => {
  if (e.key !== 'Escape' || document.querySelector('dialog[open]')) return;
  const open = [menu, addTab].find((d) => d.open);
  if (open) {
    open.open = false;
    open.querySelector('summary')?.focus();
  } else {
    stop();
  }
});
document.addEventListener('click', (e) => {
  for (const d of [menu, addTab]) if (d.open && !d.contains(/** @type {Node} */ (e.target))) d.open = false;
  const link = /** @type {Element} */ (e.target).closest?.('#entries a[href]');
  if (!(link instanceof HTMLAnchorElement)) return;
  e.preventDefault();
  if (link.protocol === 'https:' || link.protocol === 'http:') chrome.tabs.create({ url: link.href }).catch(trouble);
});

byId('back').onclick = () => {
  showView('list');
  void refresh();
};
byId('new').onclick = () => showView('new');
byId('stop').onclick = stop;
byId('retry').onclick = () => void run(worker.call('retry').then(refresh));
byId('quote-remove').onclick = () => {
  quote = null;
  show();
  text.focus();
};
resume.onclick = async () => {
  if (await start('open', { chat: current })) text.focus();
};
byId('show-popup').onclick = () => void run(chrome.action.openPopup());
byId('close').onclick = () => {
  menu.open = false;
  void run(worker.call('close', { chat: current }));
};
byId('export').onclick = async () => {
  menu.open = false;
  const chat = current;
  const title = chats.get(chat)?.title ?? '';
  const parts = [];
  for (let from = START; from; ) {
    const part = await run(worker.call('export', { chat, from }));
    if (!part) return;
    parts.push(part.markdown);
    from = part.next;
  }
  const url = URL.createObjectURL(new Blob(parts, { type: 'text/markdown' }));
  make('a', { href: url, download: `${title.replace(/[^\p{L}\p{N} _-]/gu, ' ').trim().slice(0, 80) || 'chat'}.md` }).click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
};

/**
 * Shows a dialog, and returns whether the user confirmed it.
 *
 * @param {string} id
 * @returns {Promise<boolean>}
 */
function confirmed(id) {
  const dialog = /** @type {HTMLDialogElement} */ (byId(id));
  menu.open = false;
  dialog.returnValue = '';
  dialog.showModal();
  return new Promise((resolve) => {
    dialog.onclose = () => resolve(dialog.returnValue === 'ok');
  });
}

byId('rename').onclick = async () => {
  name.value = chats.get(current)?.title ?? '';
  const chat = current;
  if (await confirmed('rename-dialog') && name.value.trim() !== '') await run(worker.call('rename', { chat, title: name.value.trim() }));
};
byId('delete').onclick = async () => {
  const chat = current;
  setText(byId('delete-text'), `“${sanitizeLine(chats.get(chat)?.title ?? '', 120)}” and its transcript are removed from this computer.`);
  if (await confirmed('delete-dialog') && await run(worker.call('delete', { chat }))) forget(chat);
};

/** Forgets a chat that was deleted, here or in another panel. @param {string} chat */
function forget(chat) {
  chats.delete(chat);
  if (current === chat) showView('list');
  else show();
}

/**
 * Waits for a call, and shows its error. It returns undefined after an error.
 *
 * @template T
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>}
 */
async function run(promise) {
  try {
    return await promise;
  } catch (e) {
    trouble(e);
    return undefined;
  }
}

/** Shows an error, or none. @param {any} e */
function trouble(e) {
  setText(byId('trouble'), e === null ? '' : [e.message, e.hint].filter(Boolean).map((t) => sentence(sanitizeLine(String(t), 400))).join(' '));
}

/** @param {string} words */
function announce(words) {
  setText(byId('announce'), sanitizeLine(words, MAX_ANNOUNCED));
}

setInterval(show, UPDATE_INTERVAL_MS);
worker.connect();
