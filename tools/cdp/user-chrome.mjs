// The exceptions of the user's Chrome.
const unavailable = (method) => `'${method}' is not available in the user's Chrome`;
const noContext = { reason: "There is one browser context, the user's.", fails: unavailable("Target.createBrowserContext") };
const version = (plain) => plain.replace(/(\d+)\.[\d.]+/, "$1.0.0.0");
const noVersion = (ours) => ({ reason: "An extension does not receive the full version of Chrome, nor its user agent.", ours });
const noTracing = { reason: "Tracing records all sites and clients of the browser.", ours: { unavailable: true } };
const noCookies = (method) => ({ reason: "A client can use only the cookies of a page.", fails: unavailable(method) });
const noPermissions = { reason: "The user decides on the permissions of sites.", fails: unavailable("Browser.grantPermissions") };
const noServiceWorker = (fails) => ({ reason: "Service workers do not belong to a tab.", fails });
const noProfiler = { reason: "Chrome does not give extensions the Profiler.", fails: unavailable("Profiler.enable") };

/**
 * The cases that differ from plain Chromium: {reason, ours} is the result in the user's Chrome, or a
 * function of the result in plain Chromium; {reason, fails} is a part of the error of a case that
 * fails there.
 */
export const userChrome = {
  playwright: {
    "version": noVersion((plain) => ({ ...plain, version: version(plain.version) })),
    "browser session": noVersion((plain) => ({ ...plain, product: version(plain.product) })),
    "two contexts with separate cookies": noContext,
    "close a context": noContext,
    "disconnecting leaves the default context and closes the client's": noContext,
    "touch": noContext,
    "content of a download": noContext,
    "viewport, scale and mobile": noContext,
    "locale, time zone and user agent": noContext,
    "geolocation and permissions": noContext,
    "scripts off and policy of the page bypassed": noContext,
    "extra headers": noContext,
    "HTTP credentials": noContext,
    "context with a proxy": { reason: "All connections go through the proxy of chrome-mcp.", ours: { denied: true } },
    "tracing of the browser": noTracing,
    "system information": { reason: "SystemInfo describes the machine and the pages of other clients.", ours: { unavailable: true } },
    "goto, back, forward, reload": { reason: "Chrome keeps pages of the history alive, and the client does not notice when it goes back to one.", fails: "page.goBack: Timeout" },
    "goto an invalid URL": {
      reason: "chrome-mcp checks URLs before the browser does.",
      ours: "page.goto: Protocol error (Page.navigate): Invalid parameters: the URL has no scheme. Write it in full, as in https://example.com/.",
    },
    "goto a data URL": { reason: "The policy decides by site, and a data: URL has none.", ours: { denied: true } },
    "beforeunload": { reason: "A tab that a client closes does not prompt.", fails: "closed" },
    "canceled download": { reason: "Only the user cancels downloads.", fails: unavailable("Browser.cancelDownload") },
    "file outside of the uploads directory": { reason: "A client can give pages only files of --uploads-dir.", ours: { denied: true, files: [] } },
    "service worker": noServiceWorker('waiting for event "serviceworker"'),
    "coverage": noProfiler,
    "routes of a context, a popup and a frame of another site": {
      reason: "A popup window loads before a client is attached to it.",
      ours: (plain) => ({ ...plain, popup: "Two" }),
    },
    "WebSocket frames": {
      reason: "Handshakes of WebSockets are not reported, because they contain cookies.",
      ours: (plain) => ({ ...plain, frames: ["closed"] }),
    },
    "headers and bodies": {
      reason: "Headers that the network adds are not reported, because cookies are among them.",
      ours: (plain) => ({ ...plain, sent: [plain.sent[0], null, null] }),
    },
    "continue with another URL": { reason: "Interception must not change URLs, because the rules for them have been applied before.", fails: "page.goto: Timeout" },
    "fetch and change a response": { reason: "A client can use only the cookies of a page.", fails: "page.goto: Timeout" },
    "cookies": noCookies("Storage.setCookies"),
    "storage state": noCookies("Storage.getCookies"),
    "requests of the client with the cookies of a context": noCookies("Storage.getCookies"),
  },
  puppeteer: {
    "version and user agent": noVersion((plain) => ({
      ...plain,
      version: version(plain.version),
      agent: `Mozilla/5.0 AppleWebKit/537.36 (KHTML, like Gecko) ${version(plain.version)} Safari/537.36`,
    })),
    "contexts": noContext,
    "file chooser": { reason: "A client cannot give pages files of this machine by their names.", fails: "DOM.setFileInputFiles" },
    "emulation": { reason: "Emulation of the time zone would affect other tabs of the user.", fails: unavailable("Emulation.setTimezoneOverride") },
    "geolocation and permissions": noPermissions,
    "offline and cache": { reason: "The extension does not have Network.overrideNetworkState.", fails: unavailable("Network.overrideNetworkState") },
    "cookies": noCookies("Storage.setCookies"),
    "coverage": noProfiler,
    "shared worker and service worker": noServiceWorker("Timed out"),
    "tracing": noTracing,
  },
};
