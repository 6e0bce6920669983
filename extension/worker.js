// @ts-check

// The service worker: event listeners, registered before any await, because the browser starts
// the worker only for events that it listened to when it last started. Everything else is in the
// modules.

import { ALARM, EXPIRY_ALARM } from './alarm.js';
import { Broker } from './broker.js';
import { Chats } from './chats.js';
import { ASK_ITEM, SEND_ITEM } from './context_menu.js';
import { showQuestion } from './notifications.js';
import { Pages } from './pages.js';

const broker = new Broker();
const pages = new Pages(broker);
const chats = new Chats(broker);

/** Runs work after the stored values were read. @param {() => unknown} work */
function then(work) {
  broker.ready.then(work).catch((e) => console.warn(`chrome-mcp: ${e instanceof Error ? e.message : e}`));
}

chrome.runtime.onInstalled.addListener(() => then(() => broker.tabs.autoShareAll()));
chrome.runtime.onStartup.addListener(() => then(() => broker.tabs.autoShareAll()));
chrome.runtime.onConnect.addListener((port) => {
  if (!chats.onConnect(port)) pages.onConnect(port);
});

chrome.alarms.onAlarm.addListener((alarm) => {
  if (alarm.name === ALARM) then(() => broker.tick());
  if (alarm.name === EXPIRY_ALARM) then(() => broker.expire());
});

chrome.tabs.onCreated.addListener((tab) => broker.openedTabs.created(tab));
chrome.tabs.onUpdated.addListener((tabId, change, tab) => {
  then(() => broker.tabs.onUpdated(tabId, change, tab));
  if (change.url !== undefined || change.title !== undefined) void chats.update();
});
chrome.tabs.onActivated.addListener(() => then(() => {
  broker.changed();
  broker.servers.rescanIfStale();
}));
chrome.windows.onFocusChanged.addListener((windowId) => then(() => {
  if (windowId === chrome.windows.WINDOW_ID_NONE) return;
  broker.changed();
  broker.servers.rescanIfStale();
}));
chrome.tabs.onRemoved.addListener((tabId) => then(() => {
  broker.downloads.closed(tabId);
  broker.tabs.onRemoved(tabId);
  broker.openedTabs.forget(tabId);
  void chats.update();
}));
chrome.tabs.onReplaced.addListener((added, removed) => {
  broker.scopes.userTabs.renamed(added, removed);
  then(() => broker.tabs.onRemoved(removed));
});
chrome.tabGroups.onRemoved.addListener((group) => then(() => broker.tabs.onGroupRemoved(group.id)));
chrome.webNavigation.onCreatedNavigationTarget.addListener((details) => then(() => broker.openedTabs.opened(details.sourceTabId, details.tabId, details.url)));
// Called with the URL that a frame navigates to, and with the URL that it commits:
// they differ after a redirect.
chrome.webNavigation.onBeforeNavigate.addListener((details) => broker.scopes.documentLoads(details.tabId, details.frameId, details.url));
chrome.webNavigation.onCommitted.addListener((details) => {
  broker.attachments.committed(details.tabId);
  broker.scopes.documentLoads(details.tabId, details.frameId, details.url);
  if (details.frameId === 0) {
    broker.scopes.userTabs.committed(details.tabId, details.url, details.transitionType);
    broker.scopes.committed(details.tabId, details.url);
  }
});
chrome.webNavigation.onErrorOccurred.addListener((details) => {
  if (details.frameId === 0 && details.error === 'net::ERR_BLOCKED_BY_CLIENT') then(() => broker.openedTabs.blocked(details.tabId, details.url));
});

chrome.debugger.onEvent.addListener((source, method, params) => broker.attachments.onEvent(source, method, params));
chrome.debugger.onDetach.addListener((source, reason) => then(() => broker.attachments.onDetach(source, reason)));

chrome.downloads.onCreated.addListener((item) => then(() => broker.downloads.onCreated(item)));
chrome.downloads.onChanged.addListener((delta) => then(() => broker.downloads.onChanged(delta)));

chrome.notifications?.onClicked.addListener((id) => then(() => {
  const q = broker.handovers.find(id);
  if (q) return showQuestion(q.shown);
}));

chrome.idle.onStateChanged.addListener((state) => then(() => {
  if (state === 'locked' && broker.settings.value.stopOnLock) broker.tabs.unshareAll('locked');
  if (state !== 'active') broker.tabs.machineIdle(); // a locked screen counts as idle
  if (state === 'active') broker.tabs.unlocked();
}));

chrome.contextMenus.onClicked.addListener((info, tab) => {
  if (info.menuItemId === ASK_ITEM) chats.ask(info, tab); // opens the panel, before any await
  if (info.menuItemId === SEND_ITEM) then(() => broker.sendElement(info, tab));
});

chrome.commands.onCommand.addListener((command, tab) => {
  if (command === 'open-panel' && tab) chats.openPanel(tab.windowId); // before any await
  then(async () => {
    if (command === 'stop-all') broker.stopAll();
    if (command !== 'share-tab') return;
    const id = tab?.id ?? (await chrome.tabs.query({ active: true, lastFocusedWindow: true }))[0]?.id;
    if (id !== undefined) await broker.toggle(id);
  });
});
