// @ts-check

import { PagePort } from './page_port.js';
import { button, byId, make, Rows, setText } from './elements.js';
import { LogView } from './logview.js';
import { parsePattern } from './policy.js';
import { setupSteps, sanitizeLine, policyLine, sentence, serverLine } from './text.js';

/** @typedef {import('./pages.js').State} State */
/** @typedef {import('./pages.js').ServerView} ServerView */

/** @typedef {'stopOnLock' | 'mayClose' | 'ownWindow'} Switch */

/** @type {State | null} */
let last = null;

const worker = new PagePort((state) => {
  last = state;
  show(state);
  log.refresh();
});

const log = new LogView(() => worker.act('log'));

/** @param {string} id */
const input = (id) => /** @type {HTMLInputElement} */ (byId(id));

/** @type {Switch[]} */
const SWITCHES = ['stopOnLock', 'mayClose', 'ownWindow'];

/** The settings in minutes. @type {('idleMinutes' | 'shareIdleMinutes')[]} */
const MINUTES = ['idleMinutes', 'shareIdleMinutes'];

/** @param {State} state */
function show(state) {
  const { settings } = state;
  setText(byId('version'), `Version ${state.version}`);
  setText(byId('native'), nativeLine(state));
  servers.show(state.servers);
  keys.show(state.pairings);
  byId('no-keys').hidden = state.pairings.length > 0;
  setText(byId('no-keys'), state.native.state === 'ok' ? 'None: the chrome-mcp program finds agents.' : 'None.');
  autoSharedSites.show(settings.keepSites);
  byId('no-auto-shared').hidden = settings.keepSites.length > 0;
  scriptGrants.show(state.consents);
  byId('no-script-grants').hidden = state.consents.length > 0;
  blocked.show(settings.blockList);
  for (const radio of radios()) {
    radio.disabled = false;
    radio.checked = radio.value === settings.access;
  }
  for (const name of SWITCHES) {
    input(name).disabled = false;
    input(name).checked = settings[name];
  }
  for (const name of MINUTES) {
    const field = input(name);
    field.disabled = false;
    if (document.activeElement !== field) field.value = String(settings[name]);
  }
  for (const b of document.querySelectorAll('form [type=submit]')) /** @type {HTMLButtonElement} */ (b).disabled = false;
}

/** @param {State} state */
function nativeLine(state) {
  switch (state.native.state) {
    case 'ok':
      if (setupSteps(state) && state.stopped !== '') return 'The chrome-mcp program responds; chrome-mcp stop stopped its servers. Restart the program that has chrome-mcp among its MCP servers.';
      return setupSteps(state) ? 'The chrome-mcp program responds; no agent is running.' : 'The chrome-mcp program responds: agents are found automatically.';
    case 'missing':
      if (state.pairings.length > 0) return 'This browser cannot reach the chrome-mcp program: agents are found with the keys below.';
      return 'This browser does not know the chrome-mcp program. Run "chrome-mcp extension install" in a terminal, or pair with a pairing string.';
    case 'error':
      return `The chrome-mcp program does not respond correctly: ${sentence(sanitizeLine(state.native.message, 200))}`;
    default:
      return 'Querying the chrome-mcp program…';
  }
}

/**
 * Returns a function that creates a row with a button to remove it.
 *
 * @template T
 * @param {string} label label of the button
 * @param {(item: T) => string} text
 * @param {(item: T) => string} more text in small letters
 * @param {(item: T) => Promise<unknown> | void} remove
 */
function removable(label, text, more, remove) {
  return (/** @type {T} */ item) => {
    const what = make('bdi', { className: 'theirs' });
    const note = make('span', { className: 'quiet' });
    const b = button(label, () => void remove(item), { className: 'stop' });
    return {
      element: make('li', {}, make('span', {}, what, ' ', note), b),
      update: (/** @type {T} */ now) => {
        setText(what, text(now));
        setText(note, more(now));
        b.setAttribute('aria-label', `${label} ${text(now)}`);
      },
    };
  };
}

const servers = new Rows(byId('servers'), (/** @type {ServerView} */ s) => String(s.port), () => {
  const name = make('bdi', { className: 'theirs' });
  const head = make('span', { className: 'state' }, name);
  const line = make('span', { className: 'quiet' });
  const policy = make('span', { className: 'quiet theirs' });
  return {
    element: make('li', {}, make('div', {}, head, make('p', {}, line), make('p', {}, policy))),
    update: (s) => {
      head.className = `state ${s.state}`;
      setText(name, `${sanitizeLine(s.name, 60)}${s.version ? ` ${sanitizeLine(s.version, 30)}` : ''}, port ${s.port}`);
      setText(line, serverLine(s));
      setText(policy, policyLine(s));
    },
  };
});

const keys = new Rows(byId('pairings'), (/** @type {State['pairings'][number]} */ p) => p.id,
  removable('Revoke', (p) => sanitizeLine(p.name, 60) || 'A server', (p) => `port ${p.port}, since ${new Date(p.added).toLocaleString()}`, (p) => act('unpair', { pairing: p.id })),
  () => byId('pairing'));

const autoSharedSites = new Rows(byId('auto-shared'), (/** @type {string} */ origin) => origin,
  removable('Remove', (origin) => origin, () => '', (origin) => act('keep', { origin, on: false })), () => byId('mayClose'));

const scriptGrants = new Rows(byId('script-grants'), (/** @type {State['consents'][number]} */ c) => `${c.origin} ${c.always} ${c.server}`,
  removable('Forget', (c) => c.origin, (c) => `${sanitizeLine(c.server, 40)} ${c.granted ? 'may run scripts' : 'may not run scripts'}, ${c.always ? 'always' : 'until Chrome closes'}`,
    (c) => act('forget', { origin: c.origin, server: c.server })),
  () => byId('mayClose'));

const blocked = new Rows(byId('blocked'), (/** @type {string} */ text) => text,
  removable('Remove', (text) => text, () => '', async (text) => {
    await change({ blockList: (last?.settings.blockList ?? []).filter((t) => t !== text) });
    setText(byId('block-status'), `${text} is no longer blocked.`);
  }), () => byId('pattern'));

function radios() {
  return /** @type {NodeListOf<HTMLInputElement>} */ (document.querySelectorAll('input[name=access]'));
}

byId('again').onclick = () => act('retry');

byId('pair').onsubmit = (event) => {
  event.preventDefault();
  const field = input('pairing');
  const status = byId('paired');
  setText(status, 'Pairing…');
  status.classList.remove('bad');
  field.setAttribute('aria-invalid', 'false');
  worker.act('pair', { text: field.value.trim() }).then(() => {
    field.value = '';
    setText(status, 'Paired.');
  }, (e) => {
    status.classList.add('bad');
    field.setAttribute('aria-invalid', 'true');
    setText(status, sentence(e.message));
  });
};

byId('block').onsubmit = async (event) => {
  event.preventDefault();
  const field = input('pattern');
  const status = byId('block-status');
  const text = field.value.trim();
  /** @param {string} text @param {boolean} bad */
  const report = (text, bad) => {
    status.classList.toggle('bad', bad);
    field.setAttribute('aria-invalid', String(bad));
    setText(status, text);
  };
  try {
    parsePattern(text);
  } catch (e) {
    report(text === '' ? 'Enter a site.' : `"${text}" ${/** @type {Error} */ (e).message}.`, true);
    field.focus();
    return;
  }
  try {
    await worker.act('settings', { patch: { blockList: [...(last?.settings.blockList ?? []), text] } });
    field.value = '';
    report(`${text} is blocked. Tabs there are no longer shared.`, false);
  } catch (e) {
    report(sentence(/** @type {Error} */ (e).message), true);
  }
};

for (const radio of radios()) {
  radio.onchange = () => {
    if (radio.value !== 'all') {
      void change({ access: 'shared' });
      return;
    }
    // A single press of an arrow key must not share all tabs.
    const dialog = /** @type {HTMLDialogElement} */ (byId('all-tabs'));
    dialog.returnValue = '';
    dialog.onclose = () => {
      if (dialog.returnValue === 'all') void change({ access: 'all' });
      else if (last) show(last);
    };
    dialog.showModal();
  };
}

for (const name of SWITCHES) {
  input(name).onchange = () => void change({ [name]: input(name).checked });
}

for (const name of MINUTES) {
  const change = () => void changeMinutes(name, byId(name === 'idleMinutes' ? 'idle-status' : 'share-idle-status'));
  byId(name === 'idleMinutes' ? 'idle' : 'share-idle').onsubmit = (event) => {
    event.preventDefault();
    change();
  };
  input(name).onchange = change;
}

/** @param {typeof MINUTES[number]} name @param {HTMLElement} status */
async function changeMinutes(name, status) {
  const field = input(name);
  try {
    if (field.value === '') throw new Error('enter a number of minutes');
    await worker.act('settings', { patch: { [name]: Number(field.value) } });
    field.setAttribute('aria-invalid', 'false');
    status.classList.remove('bad');
    setText(status, 'Saved.');
  } catch (e) {
    field.setAttribute('aria-invalid', 'true');
    status.classList.add('bad');
    setText(status, sentence(/** @type {Error} */ (e).message));
  }
}

/** @param {Record<string, unknown>} patch */
function change(patch) {
  return act('settings', { patch });
}

/**
 * @param {import('./pages.js').Action} action
 * @param {Record<string, unknown>} [args]
 */
async function act(action, args) {
  setText(byId('trouble'), '');
  try {
    await worker.act(action, args);
  } catch (e) {
    setText(byId('trouble'), sentence(sanitizeLine(/** @type {Error} */ (e).message, 300)));
    if (last) show(last); // undo the change of the control
  }
}
