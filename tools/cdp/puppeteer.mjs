// The cases of a stock Puppeteer client.
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import puppeteer from "puppeteer-core";
import { config, png, runAll, sorted, until, within } from "./harness.mjs";

async function connect({ webSocket }) {
  const browser = await puppeteer.connect({ browserWSEndpoint: webSocket, defaultViewport: null });
  return {
    close: () => browser.disconnect(),
    t: (cleanups) => ({
      browser,
      webSocket,
      /** Opens a context that ends with the case. */
      async newContext() {
        const context = await browser.createBrowserContext();
        cleanups.push(() => context.close());
        return context;
      },
      /** Returns a context: a new one or, in the user's Chrome, the only one, whose new pages end with the case. */
      async context() {
        if (!config.userChrome) {
          return this.newContext();
        }
        const before = await browser.pages();
        cleanups.push(async () => {
          const pages = (await browser.pages()).filter((page) => !before.includes(page));
          await Promise.all(pages.map((page) => page.close()));
        });
        return browser.defaultBrowserContext();
      },
      /** Opens a page of the site in such a context. */
      async page(path) {
        const page = await (await this.context()).newPage();
        page.setDefaultTimeout(this.timeout);
        if (path) {
          await page.goto(this.site + path);
        }
        return page;
      },
      /** Closes something when the case ends. */
      cleanup: (f) => cleanups.push(f),
    }),
  };
}

/** Waits for an event. */
const once = (emitter, event) => within(new Promise((resolve) => emitter.once(event, resolve)), event);

const cases = [
  {
    name: "page that was open before the connection",
    async run(t) {
      const page = (await t.browser.pages()).find((page) => page.url().endsWith("/frames.html"));
      const title = await page.title();
      const far = await until("the frame", () => page.frames().find((frame) => frame.url() === `${t.other}/frame.html`));
      await far.click("#field");
      await page.keyboard.type("p");
      return { title, frames: sorted(page.frames().map((frame) => frame.url())), typed: (await far.$eval("#field", (field) => field.value)).slice(-1) };
    },
  },
  {
    name: "version and user agent",
    run: async (t) => ({ version: await t.browser.version(), agent: await t.browser.userAgent(), connected: t.browser.connected }),
  },
  {
    name: "events of targets",
    async run(t) {
      const events = [];
      const note = (event) => (target) => target.type() === "page" && events.push(`${event} ${target.url().replace(t.site, "")}`);
      const context = await t.context();
      context.on("targetcreated", note("created"));
      context.on("targetchanged", note("changed"));
      context.on("targetdestroyed", note("destroyed"));
      const page = await context.newPage();
      await page.goto(`${t.site}/one.html`);
      await page.close();
      await until("the end of the target", () => events.some((event) => event.startsWith("destroyed")));
      return events;
    },
  },
  {
    name: "contexts",
    async run(t) {
      const before = t.browser.browserContexts().length;
      const context = await t.newContext();
      const page = await context.newPage();
      await page.goto(`${t.site}/one.html`);
      const count = [t.browser.browserContexts().length - before, (await context.pages()).length];
      return { count, same: page.browserContext() === context, closed: t.browser.defaultBrowserContext() !== context };
    },
  },
  {
    name: "disconnecting leaves the pages of the default context",
    async run(t) {
      const other = await puppeteer.connect({ browserWSEndpoint: t.webSocket, defaultViewport: null });
      const left = await other.newPage();
      await left.goto(`${t.site}/two.html?left=puppeteer`);
      await other.disconnect();
      const target = await t.browser.waitForTarget((target) => target.url().endsWith("left=puppeteer"), { timeout: 10_000 });
      const page = await target.page();
      const title = await page.title();
      await page.close();
      return { title, connected: [other.connected, t.browser.connected] };
    },
  },
  {
    name: "goto, back, reload, setContent",
    async run(t) {
      const page = await t.page("/one.html");
      const response = await page.goto(`${t.site}/two.html`);
      await page.goBack();
      const titles = [await page.title()];
      await page.reload();
      await page.setContent("<title>Set</title><p>Set content</p>");
      return { titles: [...titles, await page.title()], status: response.status(), content: await page.content() };
    },
  },
  {
    name: "goto errors",
    async run(t) {
      const page = await t.page();
      return { late: await t.failure(page.goto(`${t.site}/hang`, { timeout: 300 })), missing: (await page.goto(`${t.site}/missing.html`)).status() };
    },
  },
  {
    name: "frames",
    async run(t) {
      const page = await t.page("/frames.html");
      const said = {};
      for (const frame of page.mainFrame().childFrames()) {
        await frame.click("#press");
        said[new URL(frame.url()).hostname] = await frame.$eval("#said", (node) => node.textContent);
      }
      return said;
    },
  },
  {
    name: "evaluate and handles",
    async run(t) {
      const page = await t.page("/one.html");
      const handle = await page.evaluateHandle(() => ({ a: [1, 2], text: document.querySelector("#text") }));
      const properties = await handle.getProperties();
      return {
        keys: [...properties.keys()],
        text: await properties.get("text").evaluate((node) => node.textContent),
        value: await page.evaluate((a, b) => a + b, 1, 2),
        error: await t.failure(page.evaluate(() => { throw new TypeError("wrong"); })),
        isolated: await page.$eval("h1", (node) => node.textContent),
      };
    },
  },
  {
    name: "exposeFunction and evaluateOnNewDocument",
    async run(t) {
      const page = await t.page();
      await page.exposeFunction("add", (a, b) => a + b);
      const script = await page.evaluateOnNewDocument(() => { window.early = document.readyState; });
      await page.goto(`${t.site}/frames.html`);
      const far = page.frames().find((frame) => frame.url().startsWith(t.other));
      const got = { sum: await page.evaluate("add(1, 2)"), far: await far.evaluate("add(3, 4)"), early: [await page.evaluate("early"), await far.evaluate("early")] };
      await page.removeScriptToEvaluateOnNewDocument(script.identifier);
      await page.goto(`${t.site}/two.html`);
      return { ...got, then: await page.evaluate("window.early ?? null") };
    },
  },
  {
    name: "clicks, keys and selections",
    async run(t) {
      const page = await t.page("/form.html");
      await page.click("#click");
      await page.click("#low");
      await page.type("#name", "Ada");
      await page.keyboard.press("Tab");
      await page.keyboard.sendCharacter("é");
      const selected = await page.select("#color", "blue");
      await page.locator("#gift").click();
      await page.hover("#click");
      return page.evaluate((selected) => ({ selected, said, keys, name: document.querySelector("#name").value, note: document.querySelector("#note").value, gift: document.querySelector("#gift").checked }), selected);
    },
  },
  {
    name: "drag and touch",
    async run(t) {
      const page = await t.page("/form.html");
      const [from, to] = [await page.$("#from"), await page.$("#to")];
      await from.hover();
      await page.mouse.down();
      await to.hover();
      await to.hover();
      await page.mouse.up();
      await page.waitForFunction("said.length > 0");
      await to.tap();
      await page.waitForFunction("said.length > 1");
      return page.evaluate("said");
    },
  },
  {
    name: "dialogs",
    async run(t) {
      const page = await t.page("/dialogs.html");
      const got = [];
      page.on("dialog", async (dialog) => {
        got.push([dialog.type(), dialog.message(), dialog.defaultValue()]);
        await dialog.accept("Grace");
      });
      for (const id of ["#alert", "#confirm", "#prompt"]) {
        await page.click(id);
        got.push(await page.$eval("#said", (node) => node.textContent));
      }
      return got;
    },
  },
  {
    name: "file chooser",
    async run(t) {
      const page = await t.page("/form.html");
      const file = join(t.uploads, "puppeteer.txt");
      await writeFile(file, "from a file");
      const [chooser] = await Promise.all([page.waitForFileChooser(), page.click("#file")]);
      await chooser.accept([file]);
      return { multiple: chooser.isMultiple(), files: await page.evaluate("files()") };
    },
  },
  {
    name: "events of downloads",
    async run(t) {
      const page = await t.page("/downloads.html");
      const session = await t.browser.target().createCDPSession();
      await session.send("Browser.setDownloadBehavior", { behavior: "allowAndName", browserContextId: page.browserContext().id, downloadPath: t.uploads, eventsEnabled: true });
      const begin = once(session, "Browser.downloadWillBegin");
      const done = new Promise((resolve) => session.on("Browser.downloadProgress", ({ state, receivedBytes }) => state !== "inProgress" && resolve([state, receivedBytes])));
      await page.click("#file");
      const { url, suggestedFilename } = await begin;
      return { url, suggestedFilename, done: await within(done, "the download") };
    },
  },
  {
    name: "screenshots and PDF",
    async run(t) {
      const page = await t.page("/form.html");
      await page.setViewport({ width: 320, height: 240, deviceScaleFactor: 2 });
      const pdf = Buffer.from(await page.pdf());
      return {
        page: png(await page.screenshot()),
        full: png(await page.screenshot({ fullPage: true })),
        element: png(await (await page.$("#from")).screenshot()),
        pdf: pdf.toString("latin1", 0, 5),
      };
    },
  },
  {
    name: "emulation",
    async run(t) {
      const page = await t.page("/one.html");
      await page.setViewport({ width: 300, height: 200, isMobile: true, hasTouch: true });
      await page.emulateMediaType("print");
      await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: "dark" }]);
      await page.emulateTimezone("Asia/Tokyo");
      await page.setUserAgent({ userAgent: "Test/2" });
      await page.emulateVisionDeficiency("achromatopsia");
      await page.emulateCPUThrottling(2);
      return page.evaluate(() => [innerWidth, matchMedia("print").matches, matchMedia("(prefers-color-scheme: dark)").matches, Intl.DateTimeFormat().resolvedOptions().timeZone, navigator.userAgent]);
    },
  },
  {
    name: "geolocation and permissions",
    async run(t) {
      const page = await t.page("/one.html");
      await page.browserContext().overridePermissions(t.site, ["geolocation"]);
      await page.setGeolocation({ latitude: 10, longitude: 20 });
      return page.evaluate(() => new Promise((resolve, reject) => {
        navigator.geolocation.getCurrentPosition(({ coords }) => resolve([coords.latitude, coords.longitude]), reject);
      }));
    },
  },
  {
    name: "offline and cache",
    async run(t) {
      const page = await t.page("/one.html");
      await page.setCacheEnabled(false);
      await page.setOfflineMode(true);
      const off = await page.evaluate(() => fetch("/echo").then(() => "fetched", () => "failed"));
      await page.setOfflineMode(false);
      return { off, on: await page.evaluate(async () => (await fetch("/echo")).status) };
    },
  },
  {
    name: "interception",
    async run(t) {
      const page = await t.page();
      await page.setRequestInterception(true);
      const asked = [];
      page.on("request", (request) => {
        const { pathname } = new URL(request.url());
        asked.push(`${request.method()} ${request.resourceType()} ${pathname}`);
        if (pathname === "/pixel.gif") {
          request.abort();
        } else if (pathname === "/style.css") {
          request.respond({ status: 200, contentType: "text/css", body: ".used { color: rgb(7, 7, 7) }" });
        } else if (pathname === "/echo") {
          request.continue({ headers: { ...request.headers(), "X-Added": "yes" }, method: "POST", postData: "changed" });
        } else {
          request.continue();
        }
      });
      await page.goto(`${t.site}/network.html`);
      const echo = await page.evaluate(async () => (await fetch("/echo")).json());
      return {
        asked: sorted(asked),
        echo: [echo.method, echo.body, echo.headers["X-Added"]],
        color: await page.$eval(".used", (node) => getComputedStyle(node).color),
        width: await page.$eval("img", (image) => image.naturalWidth),
      };
    },
  },
  {
    name: "requests and responses",
    async run(t) {
      const page = await t.page();
      const failed = [];
      page.on("requestfailed", (request) => failed.push(request.failure().errorText));
      const response = await page.goto(`${t.site}/redirect`);
      const [echo] = await Promise.all([
        page.waitForResponse((response) => response.url().endsWith("/echo")),
        page.evaluate(async () => (await fetch("/echo", { method: "POST", body: "sent" })).text()),
      ]);
      await page.evaluate(() => fetch("/hang", { signal: AbortSignal.timeout(50) }).catch(() => {}));
      await until("the failed request", () => failed.length);
      return { chain: response.request().redirectChain().map((request) => request.url()), text: (await response.text()).includes("Page one"), body: (await echo.json()).body, post: echo.request().postData(), failed };
    },
  },
  {
    name: "authentication",
    async run(t) {
      const page = await t.page();
      await page.authenticate({ username: "ada", password: "secret" });
      return (await page.goto(`${t.site}/auth`)).status();
    },
    differs: { reason: "HTTP authentication is off in a managed browser, because it would prompt the user.", ours: 401 },
  },
  {
    name: "cookies",
    async run(t) {
      const page = await t.page("/cookies");
      const context = page.browserContext();
      await context.setCookie({ name: "set", value: "3", domain: "127.0.0.1" });
      const cookies = (await context.cookies()).map(({ name, value, domain, httpOnly }) => `${name} ${value} ${domain} ${httpOnly}`);
      await context.deleteMatchingCookies({ name: "plain" });
      return { cookies: sorted(cookies), left: sorted((await context.cookies()).map(({ name }) => name)) };
    },
  },
  {
    name: "console and errors",
    async run(t) {
      const page = await t.page();
      const messages = [];
      page.on("console", (message) => messages.push([message.type(), message.text(), message.location().lineNumber]));
      const error = once(page, "pageerror");
      await page.goto(`${t.site}/console.html`);
      return { messages, error: (await error).message };
    },
  },
  {
    name: "dedicated worker",
    async run(t) {
      const page = await t.page();
      const created = once(page, "workercreated");
      await page.goto(`${t.site}/workers.html`);
      const worker = await created;
      const value = await worker.evaluate("self.value");
      const destroyed = once(page, "workerdestroyed");
      await page.evaluate("worker.terminate()");
      await destroyed;
      return { url: worker.url(), value, left: page.workers().length };
    },
  },
  {
    name: "shared worker and service worker",
    async run(t) {
      const page = await t.page("/workers.html");
      const context = page.browserContext();
      const shared = context.waitForTarget((target) => target.type() === "shared_worker", { timeout: t.timeout });
      const answer = await page.evaluate("share()");
      const service = context.waitForTarget((target) => target.type() === "service_worker", { timeout: t.timeout });
      await page.goto(`${t.site}/service.html`);
      const worker = await (await service).worker();
      return { answer, shared: (await shared).url(), service: (await service).url(), scope: await worker.evaluate("registration.scope") };
    },
  },
  {
    name: "coverage",
    async run(t) {
      const page = await t.page();
      await Promise.all([page.coverage.startJSCoverage(), page.coverage.startCSSCoverage()]);
      await page.goto(`${t.site}/network.html`);
      const [js, css] = await Promise.all([page.coverage.stopJSCoverage(), page.coverage.stopCSSCoverage()]);
      return { js: js.map((entry) => [entry.url, entry.ranges]), css: css.map((entry) => [entry.url, entry.ranges]) };
    },
  },
  {
    name: "metrics",
    async run(t) {
      const page = await t.page("/one.html");
      const metrics = await page.metrics();
      return { names: sorted(Object.keys(metrics)), documents: metrics.Documents > 0 };
    },
  },
  {
    name: "accessibility",
    async run(t) {
      const page = await t.page("/form.html");
      const clean = ({ role, name, children }) => ({ role, name, children: children?.map(clean) });
      return clean(await page.accessibility.snapshot());
    },
  },
  {
    name: "popup",
    async run(t) {
      const page = await t.page("/popup.html");
      const opened = once(page, "popup");
      await page.click("#open");
      const popup = await opened;
      await popup.waitForSelector("h1");
      const title = await popup.title();
      const closed = once(popup, "close");
      await page.evaluate("window.open('', 'popup').close()");
      await closed;
      return { title, closed: popup.isClosed() };
    },
  },
  {
    name: "session of a target",
    async run(t) {
      const page = await t.page("/one.html");
      const session = await page.createCDPSession();
      const { result } = await session.send("Runtime.evaluate", { expression: "document.title" });
      const unknown = await t.failure(session.send("Page.navigateNowhere"));
      await session.detach();
      return { value: result.value, unknown: /wasn't found|not available/.test(unknown) };
    },
  },
  {
    name: "tracing",
    async run(t) {
      const page = await t.page("/one.html");
      try {
        await page.tracing.start();
      } catch (error) {
        return { unavailable: /'Tracing.start' is not available/.test(error.message) };
      }
      return { trace: (await page.tracing.stop()).length > 0 };
    },
    differs: { reason: "Tracing records all sites and clients of the browser.", ours: { unavailable: true } },
  },
  {
    name: "end of a page",
    async run(t) {
      const page = await t.page("/one.html");
      const waiting = t.failure(page.evaluate(() => new Promise(() => {})));
      await page.close();
      return { waiting: await waiting, closed: page.isClosed(), then: (await t.failure(page.title())) !== "" };
    },
  },
];

await runAll("puppeteer", connect, cases);
