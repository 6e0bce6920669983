// @ts-check

// The texts of the popup and the options page.

import { SHARE_MINUTES } from './settings.js';
import { MAX_HANDOVER_MESSAGE } from './wire.js';

/** @typedef {import('./pages.js').ServerView} ServerView */
/** @typedef {import('./pages.js').TabView} TabView */
/** @typedef {import('./pages.js').State} State */
/** @typedef {import('./log.js').Entry} Entry */

/**
 * Sanitizes a text of a page or server for display: one line, truncated, and
 * without characters that change the writing direction of the text around it.
 *
 * @param {string} text
 * @param {number} [max] in characters
 */
export function sanitizeLine(text, max = 80) {
  const all = [...text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').replace(/\s+/gu, ' ').trim()];
  return all.length <= max ? all.join('') : all.slice(0, max - 1).join('') + '…';
}

/** Escape sequences of terminals: commands with parameters, texts for the terminal, and others. */
const ANSI = /(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]?|(?:\x1b\]|\x9d)[^\x07\x1b\x9c]{0,4096}(?:\x07|\x1b\\|\x9c)?|\x1b[PX^_][^\x1b\x9c]{0,4096}(?:\x1b\\|\x9c)?|\x1b[ -~]?/g;

/** Control characters except tab and line feed, characters that change the writing direction of the
 * text around them, and tags, which are invisible text. */
const CONTROLS = /[\p{Cc}\u202a-\u202e\u2066-\u2069\u2028\u2029\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;

/**
 * Sanitizes a text of an agent or page with several lines: without escape sequences of terminals,
 * control characters and characters that change the writing direction.
 *
 * @param {string} text
 */
export function sanitizeText(text) {
  return text.replace(/\r\n?/g, '\n').replace(ANSI, '').replace(CONTROLS, (c) => (c === '\n' || c === '\t' ? c : ''));
}

/**
 * Returns an exact text, such as a command, with each invisible character as its code, because it may
 * matter.
 *
 * @param {string} text
 */
export function exactText(text) {
  return text.replace(/[\p{C}\p{Zl}\p{Zp}\u034f\u115f\u1160\u3164\uffa0]|(?! )\p{Zs}/gu, (c) => (c === '\n' || c === '\t' ? c : `‹U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}›`));
}

/**
 * Returns the URL of a page for display, without the query.
 * The host is never truncated.
 *
 * @param {string} url
 */
export function displayURL(url) {
  let u;
  try {
    u = new URL(url);
  } catch {
    return sanitizeLine(url);
  }
  if (u.protocol !== 'http:' && u.protocol !== 'https:') return sanitizeLine(url, 60);
  const path = u.pathname === '/' ? '' : sanitizeLine(u.pathname, 48);
  return (u.protocol === 'http:' ? 'http://' : '') + u.host + path;
}

/** @param {{title: string, url: string}} tab */
export function titleOf(tab) {
  if (tab.url === '' || tab.url === 'about:blank') return 'Blank tab';
  return sanitizeLine(tab.title) || displayURL(tab.url);
}

/**
 * Returns how long ago a time is, as text.
 *
 * @param {number} at ms since 1970
 * @param {number} [now]
 */
export function elapsed(at, now = Date.now()) {
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 60) return 'less than a minute';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

/** @param {number} at @param {number} [now] */
export function ago(at, now = Date.now()) {
  return now - at < 10_000 ? 'now' : `${elapsed(at, now)} ago`;
}

/** @param {number} n @param {string} one */
export function count(n, one) {
  return `${n} ${one}${n === 1 ? '' : 's'}`;
}

/** @param {string} text */
export function sentence(text) {
  if (text === '') return '';
  const all = text[0].toUpperCase() + text.slice(1);
  return /[.!?…]$/.test(all) ? all : all + '.';
}

/** Returns the state of a server, in one line. @param {ServerView} s @param {number} [now] */
export function serverLine(s, now = Date.now()) {
  switch (s.state) {
    case 'connected':
      return `Connected for ${elapsed(s.since, now)}, ${s.drives.length === 0 ? 'drives no tab' : `drives ${count(s.drives.length, 'tab')}`}`;
    case 'connecting':
      return 'Connecting…';
    case 'refused':
      return sentence(s.message || 'the connection was rejected');
    default:
      return `${sentence(s.message || 'not connected')} Reconnecting.`;
  }
}

/** Returns the sites that a server may visit. @param {ServerView} s */
export function policyLine(s) {
  if (!s.policy) return '';
  if (s.policy.unsafeAll) return 'May work on every site: it was started with --unsafe-all-domains.';
  if (s.policy.allow.length === 0) return 'No allowed sites. Add some with --allow-domain in its configuration.';
  const named = s.policy.allow.slice(0, 3).map((p) => sanitizeLine(p, 60)).join(', ');
  const more = s.policy.allow.length - 3;
  return `May work on ${named}${more > 0 ? ` and ${more} more` : ''}`;
}

/**
 * Returns the state of a shared tab.
 * @param {TabView} t
 * @param {string} driver its name
 * @param {number} [now]
 */
export function tabLine(t, driver, now = Date.now()) {
  if (t.problem) return sentence(t.problem);
  if (t.doing) return `${sanitizeLine(t.doing.client, 60) || driver}: ${t.doing.what}, ${ago(t.doing.at, now)}`;
  if (t.driverLost) return `${driver} disconnected`;
  if (t.driver) return `${driver} connected, no activity yet`;
  return 'Idle. If your agent works in another tab, ask it to use this one';
}

/**
 * Returns how long a tab stays shared, or "" if that is until it is stopped.
 *
 * @param {Pick<TabView, 'until' | 'expires'>} t
 * @param {import('./settings.js').Settings} settings
 * @param {number} [now]
 */
export function untilLine({ until, expires }, settings, now = Date.now()) {
  switch (until) {
    case 'time':
      return `Shared for ${count(Math.max(1, Math.ceil((expires - now) / 60_000)), 'more minute')}; each call of an agent extends it to ${SHARE_MINUTES} minutes`;
    case 'idle':
      return `Shared until the machine has been idle for ${count(settings.shareIdleMinutes, 'minute')}`;
  }
  return '';
}

/** @type {Record<string, string>} */
const SHARED_BY_LABELS = {
  user: 'by you', group: 'moved to the group', site: 'site is shared automatically', all: 'all tabs are shared', own: 'opened by an agent', popup: 'opened by a shared page',
};

/** @type {Record<string, string>} */
const UNSHARED_LABELS = {
  user: 'by you, or its site is blocked or not shared automatically', released: 'closed by an agent', stopped: 'Stop all', closed: 'the tab was closed', locked: 'the screen was locked', idle: 'the machine was idle', moved: 'moved out of the group',
  expired: `no call for ${SHARE_MINUTES} minutes`, other_server: 'used by another agent', debugger: "Cancel in Chrome's debugging bar",
};

/** @type {Record<string, string>} */
const GRANT_LABELS = { once: 'once', session: 'until Chrome closes', always: 'always', no: 'until Chrome closes' };

/**
 * Returns why sharing ended, unless it was by a click in the popup.
 * @param {State['ended']} ended
 */
export function sharingEndedText(ended) {
  switch (ended?.reason) {
    case 'locked':
      return 'Sharing ended because the screen was locked.';
    case 'debugger':
      return "Sharing ended because Cancel was pressed in Chrome's debugging bar.";
    case 'expired':
      return `Sharing ended because no agent used the tab for ${SHARE_MINUTES} minutes.`;
    case 'idle':
      return 'Sharing ended because the machine was idle.';
    case 'moved':
      return 'Sharing ended because the tab was moved out of its group.';
    default:
      return '';
  }
}

/** Returns an entry of the log as text. @param {Entry} e */
export function entryLine(e) {
  const detail = e.detail === undefined ? '' : e.what === 'shared a tab' ? SHARED_BY_LABELS[e.detail] ?? e.detail
    : e.what === 'stopped sharing a tab' ? UNSHARED_LABELS[e.detail] ?? e.detail
    : e.what.endsWith('scripts') ? GRANT_LABELS[e.detail] ?? e.detail
    : e.detail;
  const what = e.what[0].toUpperCase() + e.what.slice(1);
  return `${what}${detail ? ` (${sanitizeLine(detail)})` : ''}${e.times && e.times > 1 ? ` × ${e.times}` : ''}`;
}

/**
 * Assigns short numbers to the tabs of the log, in order of their first entry, because tab ids
 * have ten digits.
 *
 * @param {Entry[]} entries newest last
 * @returns {Map<number, number>} by tab id
 */
export function tabNumbers(entries) {
  /** @type {Map<number, number>} */
  const numbers = new Map();
  for (const { tabId } of entries) if (tabId !== undefined && !numbers.has(tabId)) numbers.set(tabId, numbers.size + 1);
  return numbers;
}

/**
 * Returns what the user must do to connect an agent, or null if nothing is to do.
 *
 * @param {State} state
 * @returns {{title: string, text: string, steps: (string | {command: string})[][]} | null}
 */
export function setupSteps(state) {
  if (state.servers.some((s) => s.state === 'connected' || s.state === 'connecting')) return null;
  if (state.native.state === 'unknown') return null;
  const start = ['Start your agent: the program that has chrome-mcp among its MCP servers.'];
  if (state.native.state === 'ok' || state.pairings.length > 0) {
    if (state.servers.length > 0) return null; // their lines say why they are not connected
    if (state.stopped !== '') {
      return {
        title: 'Stopped', text: `chrome-mcp stop was run: ${sanitizeLine(state.stopped, 60)} disconnected from this browser and does not reconnect automatically.`,
        steps: [['Restart the program that has chrome-mcp among its MCP servers. It is found within a second.']],
      };
    }
    return { title: 'No agent is running', text: 'Start the program that has chrome-mcp among its MCP servers. It is found automatically, within ' + (state.native.state === 'ok' ? 'a second.' : 'half a minute.'), steps: [] };
  }
  if (state.native.state === 'error') {
    return { title: 'chrome-mcp does not respond', text: sentence(sanitizeLine(state.native.message, 200)), steps: [['Run ', { command: 'chrome-mcp extension install' }, ' again.'], start] };
  }
  return {
    title: 'Two steps to get started', text: 'This browser does not know the chrome-mcp program yet.',
    steps: [['Run ', { command: 'chrome-mcp extension install' }, ' in a terminal on this machine.'], start],
  };
}

/**
 * Returns the texts of a prompt: what the agent wants, and the consequences. The site
 * is displayed between the two parts of wants.
 *
 * @param {{kind: string, tool?: string, client?: string}} question client is the name of a CDP client
 * @returns {{wants: [string, string], follows: string}}
 */
export function promptText({ kind, tool, client }) {
  const by = tool ? ` (tool ${sanitizeLine(tool, 40)})` : '';
  const ends = '"This session" and "No" last until the agent disconnects.';
  switch (kind) {
    case 'site':
      return { wants: [' wants to use ', `, which is not an allowed site${by}.`], follows: `It could open and read its pages as you, with your login, and do there what else it is allowed to do. ${ends}` };
    case 'mutations':
      return { wants: [' wants to act on ', `${by}. It currently has read-only access.`], follows: `It could click, type and submit forms as you, in its tabs on all allowed sites. ${ends}` };
    case 'downloads':
      return { wants: [' wants to save a file from ', `${by}.`], follows: `It could save files into its download directory from all allowed sites. ${ends}` };
    case 'clipboard':
      return { wants: [' wants to copy or paste on ', `${by}.`], follows: `It could read and replace what is in your clipboard, on pages of this site. ${ends}` };
  }
  return {
    wants: [' wants to run scripts on ', '.'],
    follows: 'A script can read and change everything that the site\'s pages can, as you: what they show, and what your login allows. "This session" and "No" last until Chrome closes'
      + (client ? ', and apply to all agents and clients of the same program.' : '.'),
  };
}

/**
 * Returns the texts about a question of a handover. message is what the agent wrote, on one line.
 *
 * @param {{server: string, origin: string, message: string}} question
 * @returns {{title: string, text: string, message: string}}
 */
export function handoverText({ server, origin, message }) {
  const what = sanitizeLine(message, MAX_HANDOVER_MESSAGE);
  return { title: 'An agent asks you to take over', text: `${sanitizeLine(server, 60)}, on ${origin || 'a page without a site'}: \u201c${what}\u201d`, message: what };
}
