// @ts-check

/**
 * What the badge can show, the most urgent first.
 *
 * @typedef {object} BadgeState
 * @property {boolean} asking a prompt is open
 * @property {boolean} handedOver a tab is handed over to the user
 * @property {boolean} pairable there is a way to find servers
 * @property {number} shared number of the user's shared tabs
 * @property {number} own number of tabs that agents opened
 * @property {number} connected number of connected servers
 * @property {number} connecting number of servers that are being connected to or waited for
 * @property {string} error why a server rejects us or we reject it; "" if no server is rejected
 */

/**
 * @typedef {{state: 'ask' | 'error' | 'pair' | 'shared' | 'connecting' | 'off', text: string, color: string, title: string}} Badge
 */

/**
 * @param {BadgeState} s
 * @returns {Badge}
 */
export function badgeFor(s) {
  const tabs = s.shared === 1 ? '1 tab is shared' : `${s.shared} tabs are shared`;
  if (s.handedOver) return { state: 'ask', text: '?', color: '#b3261e', title: 'chrome-mcp: an agent asks you to take over' };
  if (s.asking) return { state: 'ask', text: '?', color: '#b3261e', title: 'chrome-mcp: waiting for your permission' };
  if (s.error !== '') return { state: 'error', text: '!', color: '#b3261e', title: `chrome-mcp: ${s.error}` };
  if (!s.pairable && s.connected === 0) return { state: 'pair', text: 'pair', color: '#8a5a00', title: 'chrome-mcp: pair this browser in the options' };
  if (s.connecting > 0 && s.connected === 0) return { state: 'connecting', text: '…', color: '#5f6368', title: 'chrome-mcp: connecting to an agent' };
  if (s.shared > 0) return { state: 'shared', text: String(s.shared), color: s.connected > 0 ? '#1a7f37' : '#5f6368', title: `chrome-mcp: ${tabs}${s.connected > 0 ? '' : ', no agent is running'}` };
  const own = s.own === 0 ? '' : `, ${s.own === 1 ? 'one tab was' : `${s.own} tabs were`} opened by agents`;
  return { state: 'off', text: '', color: '#5f6368', title: s.connected > 0 ? `chrome-mcp: no tab is shared${own}` : 'chrome-mcp: no agent is running' };
}

/** Shows a badge if it differs from the last one. */
export class BadgeView {
  constructor() {
    this.shown = '';
  }

  /** @param {Badge} badge */
  show(badge) {
    const text = JSON.stringify(badge);
    if (text === this.shown) return;
    this.shown = text;
    chrome.action.setBadgeText({ text: badge.text }).catch(() => {});
    chrome.action.setBadgeBackgroundColor({ color: badge.color }).catch(() => {});
    chrome.action.setTitle({ title: badge.title }).catch(() => {});
  }
}
