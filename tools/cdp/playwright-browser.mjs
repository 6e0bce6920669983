// Cases about the connection, contexts, targets, and what ends them.
import { chromium } from "playwright-core";
import { failure, sorted, until, within } from "./harness.mjs";

export const browserCases = [
  {
    name: "page that was open before the connection",
    async run(t) {
      const [context] = t.browser.contexts();
      const page = context.pages().find((page) => page.url().endsWith("/frames.html"));
      const title = await page.title();
      const far = await until("the frame", () => page.frame({ url: `${t.other}/frame.html` }));
      await far.click("#press");
      return { title, frames: sorted(page.frames().map((frame) => frame.url())), said: await far.textContent("#said") };
    },
  },
  {
    name: "version",
    run: async (t) => ({ version: t.browser.version(), type: t.browser.browserType().name(), connected: t.browser.isConnected() }),
  },
  {
    name: "connect by WebSocket URL",
    async run(t) {
      const { webSocketDebuggerUrl } = await (await fetch(`${t.url}/json/version`)).json();
      const browser = await chromium.connectOverCDP(webSocketDebuggerUrl);
      t.cleanup(() => browser.close());
      return { contexts: browser.contexts().length, connected: browser.isConnected() };
    },
  },
  {
    name: "two contexts with separate cookies",
    async run(t) {
      const [one, two] = [await (await t.newContext()).newPage(), await (await t.newContext()).newPage()];
      await Promise.all([one, two].map((page) => page.goto(`${t.site}/one.html`)));
      await one.evaluate(() => (document.cookie = "who=one"));
      await two.evaluate(() => (document.cookie = "who=two"));
      return Promise.all([one, two].map((page) => page.evaluate(() => document.cookie)));
    },
  },
  {
    name: "context with a proxy",
    async run(t) {
      try {
        await t.newContext({ proxy: { server: t.nothing } });
      } catch (error) {
        return { denied: error.message.includes("'Target.createBrowserContext' was denied") };
      }
      return { created: true };
    },
    differs: { reason: "All connections go through the proxy of chrome-mcp.", ours: { denied: true } },
  },
  {
    name: "page in the default context",
    async run(t) {
      const page = await t.browser.contexts()[0].newPage();
      t.cleanup(() => page.close());
      await page.goto(`${t.site}/one.html`);
      return { title: await page.title(), text: await page.textContent("#text") };
    },
  },
  {
    name: "close a page",
    async run(t) {
      const page = await t.page("/one.html");
      const closed = page.waitForEvent("close");
      await page.close();
      await closed;
      return { closed: page.isClosed(), left: page.context().pages().length, then: await failure(page.title()) };
    },
  },
  {
    name: "close a context",
    async run(t) {
      const context = await t.newContext();
      const page = await context.newPage();
      const closed = context.waitForEvent("close");
      await context.close();
      await closed;
      return { closed: page.isClosed(), then: await failure(page.evaluate("1")) };
    },
  },
  {
    name: "disconnecting leaves the default context and closes the client's",
    async run(t) {
      const other = await t.connect();
      const page = await (await other.newContext()).newPage();
      await page.goto(`${t.site}/two.html?closed`);
      const left = await other.contexts()[0].newPage();
      await left.goto(`${t.site}/two.html?left=playwright`);
      await other.close();
      const stays = await until("the page of the other client", () =>
        t.browser.contexts()[0].pages().find((page) => page.url().endsWith("left=playwright")),
      );
      const title = await stays.title();
      await stays.close();
      return { title, connected: [other.isConnected(), t.browser.isConnected()] };
    },
  },
  {
    name: "two clients see a page",
    async run(t) {
      const page = await t.browser.contexts()[0].newPage();
      t.cleanup(() => page.close());
      await page.goto(`${t.site}/one.html?shared`);
      const other = await t.connect();
      const same = other.contexts()[0].pages().find((page) => page.url().endsWith("?shared"));
      const events = [];
      page.on("console", (message) => events.push(`first ${message.text()}`));
      same.on("console", (message) => events.push(`second ${message.text()}`));
      await same.evaluate(() => console.log("from the second"));
      await page.evaluate(() => console.log("from the first"));
      await until("the messages", () => events.length === 4);
      return sorted(events);
    },
  },
  {
    name: "popup with an opener",
    async run(t) {
      const page = await t.page("/popup.html");
      const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("#open")]);
      await popup.waitForLoadState();
      const opener = await popup.opener();
      return { url: popup.url(), title: await popup.title(), opener: opener === page, name: await popup.evaluate("window.name") };
    },
  },
  {
    name: "popup of another site",
    async run(t) {
      const page = await t.page("/popup.html");
      const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("#far")]);
      await popup.waitForURL(/two/);
      return { title: await popup.title(), origin: await popup.evaluate("origin"), pages: page.context().pages().length };
    },
  },
  {
    name: "popup without an opener",
    async run(t) {
      const page = await t.page("/popup.html");
      const [popup] = await Promise.all([page.context().waitForEvent("page"), page.click("#alone")]);
      await popup.waitForURL(/two/);
      return { title: await popup.title(), opener: await popup.evaluate("window.opener") };
    },
  },
  {
    name: "link to a new tab",
    async run(t) {
      const page = await t.page("/one.html");
      const [tab] = await Promise.all([page.context().waitForEvent("page"), page.click("#new")]);
      await tab.waitForLoadState();
      await tab.close();
      return { url: tab.url(), closed: tab.isClosed() };
    },
  },
  {
    name: "page session",
    async run(t) {
      const page = await t.page("/one.html");
      const session = await page.context().newCDPSession(page);
      await session.send("Runtime.enable");
      const called = new Promise((resolve) => session.once("Runtime.consoleAPICalled", resolve));
      const value = await session.send("Runtime.evaluate", { expression: "console.log(1), 6 * 7", returnByValue: true });
      const { type } = await within(called, "the console event");
      const unknown = await failure(session.send("Runtime.nothing"));
      await session.detach();
      return { value, type, unknown: unknown.includes("-32601") || /wasn't found|not available/.test(unknown), then: await failure(session.send("Runtime.enable")) };
    },
  },
  {
    name: "browser session",
    async run(t) {
      const session = await t.browser.newBrowserCDPSession();
      const version = await session.send("Browser.getVersion");
      const { targetInfos } = await session.send("Target.getTargets");
      await session.detach();
      return { product: version.product, protocol: version.protocolVersion, types: sorted(new Set(targetInfos.map((info) => info.type).filter((type) => type === "page"))) };
    },
  },
  {
    name: "session of a frame of another site",
    async run(t) {
      const page = await t.page("/frames.html");
      const frame = page.frame({ name: "far" });
      const session = await page.context().newCDPSession(frame);
      return session.send("Runtime.evaluate", { expression: "location.host", returnByValue: true });
    },
  },
  {
    name: "tracing of the browser",
    async run(t) {
      const page = await t.page("/one.html");
      try {
        await t.browser.startTracing(page);
      } catch (error) {
        return { unavailable: /'Tracing.start' is not available/.test(error.message) };
      }
      return { trace: (await t.browser.stopTracing()).length > 0 };
    },
    differs: { reason: "Tracing records all sites and clients of the browser.", ours: { unavailable: true } },
  },
  {
    name: "tracing of Playwright",
    async run(t) {
      const page = await t.page("/one.html");
      await page.context().tracing.start({ screenshots: true, snapshots: true });
      await page.click("#next");
      await page.context().tracing.stop();
      return page.title();
    },
  },
  {
    name: "system information",
    async run(t) {
      const session = await t.browser.newBrowserCDPSession();
      try {
        const info = await session.send("SystemInfo.getProcessInfo");
        return { processes: info.processInfo.length > 0 };
      } catch (error) {
        return { unavailable: /'SystemInfo.getProcessInfo' is not available/.test(error.message) };
      }
    },
    differs: { reason: "SystemInfo describes the machine and the pages of other clients.", ours: { unavailable: true } },
  },
];
