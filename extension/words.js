// @ts-check

// What the pages say, as far as it follows from what they know.

/** @typedef {import('./messages.js').ServerView} ServerView */
/** @typedef {import('./messages.js').TabView} TabView */
/** @typedef {import('./messages.js').State} State */
/** @typedef {import('./log.js').Entry} Entry */

/**
 * Makes a text of somebody else's fit to be shown: one line, of a length, and
 * without the characters that turn the direction of what stands beside them.
 *
 * @param {string} text
 * @param {number} [max] in characters
 */
export function plain(text, max = 80) {
  const all = [...text.replace(/[\p{C}\p{Zl}\p{Zp}]/gu, ' ').replace(/\s+/gu, ' ').trim()];
  return all.length <= max ? all.join('') : all.slice(0, max - 1).join('') + '…';
}

/**
 * The address of a page as people need it: where it is, without the query.
 * The host is never cut.
 *
 * @param {string} url
 */
export function place(url) {
  let u;
  try {
    u = new URL(url);
  } catch {
    return plain(url);
  }
  if (u.protocol !== 'http:' && u.protocol !== 'https:') return plain(url, 60);
  const path = u.pathname === '/' ? '' : plain(u.pathname, 48);
  return (u.protocol === 'http:' ? 'http://' : '') + u.host + path;
}

/** @param {{title: string, url: string}} tab */
export function titleOf(tab) {
  if (tab.url === '' || tab.url === 'about:blank') return 'Blank tab';
  return plain(tab.title) || place(tab.url);
}

/**
 * How long ago something was, in one word and a number.
 *
 * @param {number} at ms since 1970
 * @param {number} [now]
 */
export function span(at, now = Date.now()) {
  const s = Math.max(0, Math.round((now - at) / 1000));
  if (s < 60) return 'less than a minute';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 48 * 3600) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} days`;
}

/** @param {number} at @param {number} [now] */
export function ago(at, now = Date.now()) {
  return now - at < 10_000 ? 'now' : `${span(at, now)} ago`;
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

/** What a server is doing, in one line. @param {ServerView} s @param {number} [now] */
export function serverLine(s, now = Date.now()) {
  switch (s.state) {
    case 'connected':
      return `Connected for ${span(s.since, now)}, ${s.drives.length === 0 ? 'drives no tab' : `drives ${count(s.drives.length, 'tab')}`}`;
    case 'connecting':
      return 'Connecting…';
    case 'refused':
      return sentence(s.message || 'the connection was refused');
    default:
      return `${sentence(s.message || 'not connected')} Trying again.`;
  }
}

/** Where a server may go. @param {ServerView} s */
export function policyLine(s) {
  if (!s.policy) return '';
  if (s.policy.unsafeAll) return 'May work on every site: it was started with --unsafe-all-domains.';
  if (s.policy.allow.length === 0) return 'May work on no site yet: name some with --allow-domain where it is configured.';
  const named = s.policy.allow.slice(0, 3).map((p) => plain(p, 60)).join(', ');
  const more = s.policy.allow.length - 3;
  return `May work on ${named}${more > 0 ? ` and ${more} more` : ''}`;
}

/** What happens in a shared tab. @param {TabView} t @param {string} driver its name @param {number} [now] */
export function tabLine(t, driver, now = Date.now()) {
  if (t.problem) return sentence(t.problem);
  if (t.doing) return `${driver}: ${t.doing.what}, ${ago(t.doing.at, now)}`;
  if (t.left) return `${driver} worked in it, and is not connected`;
  if (t.driver) return `${driver} holds it, and has done nothing yet`;
  return 'No agent works in it. If yours works in another tab, ask it to use this one';
}

/** @type {Record<string, string>} */
const HOW = {
  user: 'by you', group: 'moved into the group', site: 'its site is kept shared', all: 'all tabs are shared', own: 'an agent opened it', popup: 'its page was opened by a shared one',
};

/** @type {Record<string, string>} */
const WHY = {
  user: 'by you, or its site is blocked or not one that is kept shared', stopped: 'Stop all', closed: 'the tab was closed', locked: 'the screen was locked', idle: 'nobody used it', moved: 'moved out of the group',
  other_server: 'another agent drives it', debugger: "Cancel in Chrome's yellow bar",
};

/** @type {Record<string, string>} */
const LEAVE = { once: 'once', session: 'until Chrome closes', always: 'for good', no: 'until Chrome closes' };

/** How sharing ended, where it was not by a click here. @param {State['ended']} ended */
export function endLine(ended) {
  switch (ended?.reason) {
    case 'locked':
      return 'Sharing ended because the screen was locked.';
    case 'debugger':
      return "Sharing ended because Cancel was pressed in Chrome's yellow bar.";
    case 'moved':
      return 'Sharing ended because the tab was moved out of its group.';
    default:
      return '';
  }
}

/** An entry of the log, in words. @param {Entry} e */
export function entryLine(e) {
  const detail = e.detail === undefined ? '' : e.what === 'shared a tab' ? HOW[e.detail] ?? e.detail
    : e.what === 'stopped sharing a tab' ? WHY[e.detail] ?? e.detail
    : e.what.endsWith('scripts') ? LEAVE[e.detail] ?? e.detail
    : e.detail;
  const what = e.what[0].toUpperCase() + e.what.slice(1);
  return `${what}${detail ? ` (${plain(detail)})` : ''}${e.times && e.times > 1 ? ` × ${e.times}` : ''}`;
}

/**
 * Short numbers for the tabs of the log, in the order in which they come up
 * in it: the browser's own have ten digits.
 *
 * @param {Entry[]} entries the newest last
 * @returns {Map<number, number>} by the browser's number
 */
export function tabNumbers(entries) {
  /** @type {Map<number, number>} */
  const numbers = new Map();
  for (const { tabId } of entries) if (tabId !== undefined && !numbers.has(tabId)) numbers.set(tabId, numbers.size + 1);
  return numbers;
}

/**
 * What the user has to do first, null when there is nothing.
 *
 * @param {State} state
 * @returns {{title: string, text: string, steps: (string | {command: string})[][]} | null}
 */
export function firstSteps(state) {
  if (state.servers.some((s) => s.state === 'connected' || s.state === 'connecting')) return null;
  if (state.native.state === 'unknown') return null;
  const start = ['Start your agent: the program that has chrome-mcp among its MCP servers.'];
  if (state.native.state === 'ok' || state.pairings.length > 0) {
    if (state.servers.length > 0) return null; // they say themselves why not
    if (state.stopped !== '') {
      return {
        title: 'Stopped', text: `chrome-mcp stop was run: ${plain(state.stopped, 60)} let go of this browser, and does not come back by itself.`,
        steps: [['Restart the program that has chrome-mcp among its MCP servers. It is found within a second.']],
      };
    }
    return { title: 'No agent is running', text: 'Start the program that has chrome-mcp among its MCP servers. It is found by itself, within ' + (state.native.state === 'ok' ? 'a second.' : 'half a minute.'), steps: [] };
  }
  if (state.native.state === 'error') {
    return { title: 'chrome-mcp does not answer', text: sentence(plain(state.native.message, 200)), steps: [['Run ', { command: 'chrome-mcp extension install' }, ' again.'], start] };
  }
  return {
    title: 'Two steps to begin', text: 'This browser does not know the chrome-mcp program yet.',
    steps: [['Run ', { command: 'chrome-mcp extension install' }, ' in a terminal of this computer.'], start],
  };
}

/**
 * Says what an agent asks for: what it wants, and what would follow. The site
 * stands between the two parts of what it wants.
 *
 * @param {{kind: string, tool?: string}} question
 * @returns {{wants: [string, string], follows: string}}
 */
export function questionWords({ kind, tool }) {
  const by = tool ? ` (tool ${plain(tool, 40)})` : '';
  const ends = 'This session, and No, last until the agent ends.';
  switch (kind) {
    case 'site':
      return { wants: [' wants to use ', `, which is not on its list of sites${by}.`], follows: `It could open and read the pages there as you, with your login, and do there whatever else it may do. ${ends}` };
    case 'mutations':
      return { wants: [' wants to act on ', `${by}. So far it may only look.`], follows: `It could click, type and submit forms as you, in its tabs on all the sites that it may go to. ${ends}` };
    case 'downloads':
      return { wants: [' wants to save a file from ', `${by}.`], follows: `It could save files into its download folder from all the sites that it may go to. ${ends}` };
  }
  return {
    wants: [' wants to run scripts in ', '.'],
    follows: 'A script can read and change all that its pages can, as you: what they show, and what your login there allows. This session, and No, last until Chrome closes.',
  };
}
