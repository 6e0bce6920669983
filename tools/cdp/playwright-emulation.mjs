// Cases about what pages show and say: captures, emulation, console, workers, and coverage.
import { png, until, within } from "./harness.mjs";

export const emulationCases = [
  {
    name: "screenshots",
    async run(t) {
      const page = await t.page("/form.html", { viewport: { width: 640, height: 480 } });
      return {
        page: png(await page.screenshot()),
        full: png(await page.screenshot({ fullPage: true })),
        element: png(await page.locator("#from").screenshot()),
        clip: png(await page.screenshot({ clip: { x: 0, y: 0, width: 30, height: 20 } })),
        jpeg: (await page.screenshot({ type: "jpeg" })).toString("hex", 0, 3),
      };
    },
  },
  {
    name: "PDF",
    async run(t) {
      const page = await t.page("/one.html");
      const pdf = await page.pdf({ format: "A4" });
      return { head: pdf.toString("latin1", 0, 5), pages: pdf.toString("latin1").match(/\/Count (\d+)/)?.[1] };
    },
  },
  {
    name: "viewport, scale and mobile",
    async run(t) {
      const get = () => [innerWidth, innerHeight, devicePixelRatio, matchMedia("(pointer: coarse)").matches, navigator.maxTouchPoints];
      const page = await t.page("/one.html", { viewport: { width: 400, height: 300 }, deviceScaleFactor: 2, isMobile: true, hasTouch: true });
      const first = await page.evaluate(get);
      await page.setViewportSize({ width: 500, height: 350 });
      return { first, second: await page.evaluate(get) };
    },
  },
  {
    name: "media",
    async run(t) {
      const get = () => ["print", "(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)", "(forced-colors: active)"].map((query) => matchMedia(query).matches);
      const page = await t.page("/one.html", { colorScheme: "dark" });
      const first = await page.evaluate(get);
      await page.emulateMedia({ media: "print", colorScheme: "light", reducedMotion: "reduce", forcedColors: "active" });
      return { first, second: await page.evaluate(get) };
    },
  },
  {
    name: "locale, time zone and user agent",
    async run(t) {
      const page = await t.page("/one.html", { locale: "de-DE", timezoneId: "Asia/Tokyo", userAgent: "Test/1" });
      const { headers } = await page.evaluate(async () => (await fetch("/echo")).json());
      return {
        number: await page.evaluate("(1234.5).toLocaleString()"),
        zone: await page.evaluate("Intl.DateTimeFormat().resolvedOptions().timeZone"),
        languages: await page.evaluate("navigator.languages"),
        agent: await page.evaluate("navigator.userAgent"),
        headers: [headers["Accept-Language"], headers["User-Agent"]],
      };
    },
  },
  {
    name: "geolocation and permissions",
    async run(t) {
      const page = await t.page("/one.html", { geolocation: { latitude: 59.5, longitude: 18.25 } });
      const state = () => page.evaluate(async () => (await navigator.permissions.query({ name: "geolocation" })).state);
      const context = page.context();
      const states = [await state()];
      await context.grantPermissions(["geolocation"], { origin: t.site });
      states.push(await state());
      const position = await page.evaluate(() => new Promise((resolve, reject) => {
        navigator.geolocation.getCurrentPosition(({ coords }) => resolve([coords.latitude, coords.longitude]), reject);
      }));
      await context.clearPermissions();
      return { states: [...states, await state()], position };
    },
  },
  {
    name: "scripts off and policy of the page bypassed",
    async run(t) {
      const off = await t.page("/console.html", { javaScriptEnabled: false });
      const bypass = await t.page("/csp", { bypassCSP: true });
      const bound = await t.page("/csp");
      const run = (page) => page.addScriptTag({ content: "window.added = true" }).then(() => page.evaluate("window.added === true"), () => false);
      return { off: await off.title(), bypass: await run(bypass), bound: await run(bound) };
    },
  },
  {
    name: "console",
    async run(t) {
      const page = await t.page();
      const messages = [];
      page.on("console", (message) => messages.push([message.type(), message.text(), message.location().url, message.location().lineNumber]));
      const [error] = await Promise.all([page.waitForEvent("pageerror"), page.goto(`${t.site}/console.html`)]);
      return { messages, error: [error.name, error.message] };
    },
  },
  {
    name: "dedicated worker",
    async run(t) {
      const page = await t.page();
      const messages = [];
      page.on("console", (message) => messages.push(message.text()));
      const [worker] = await Promise.all([page.waitForEvent("worker"), page.goto(`${t.site}/workers.html`)]);
      const answer = await page.evaluate("ask('question')");
      await until("the message", () => messages.length);
      const value = await worker.evaluate("self.value");
      const closed = worker.waitForEvent("close");
      await page.evaluate("worker.terminate()");
      await closed;
      return { url: worker.url(), value, answer, messages };
    },
  },
  {
    name: "shared worker",
    async run(t) {
      const page = await t.page("/workers.html");
      return page.evaluate("share()");
    },
  },
  {
    name: "service worker",
    async run(t) {
      const page = await t.page();
      const [worker] = await Promise.all([page.context().waitForEvent("serviceworker"), page.goto(`${t.site}/service.html`)]);
      await page.evaluate("ready");
      await page.reload();
      const response = await page.goto(`${t.site}/from-service`);
      return { url: worker.url(), scope: await worker.evaluate("registration.scope"), text: await response.text(), from: response.fromServiceWorker() };
    },
  },
  {
    name: "coverage",
    async run(t) {
      const page = await t.page();
      await Promise.all([page.coverage.startJSCoverage(), page.coverage.startCSSCoverage()]);
      await page.goto(`${t.site}/network.html`);
      const [js, css] = await Promise.all([page.coverage.stopJSCoverage(), page.coverage.stopCSSCoverage()]);
      return {
        js: js.map((entry) => [entry.url, entry.functions.map((f) => [f.functionName, f.ranges[0].count])]),
        css: css.map((entry) => [entry.url, entry.ranges]),
      };
    },
  },
  {
    name: "end of a page while a call waits",
    async run(t) {
      const page = await t.page("/one.html");
      const waiting = t.failure(page.evaluate(() => new Promise(() => {})));
      await page.close();
      const message = await within(waiting, "the call");
      // There, the end of the contexts may be reported before the end of the page.
      return t.userChrome ? /closed|Execution context was destroyed/.test(message) : message;
    },
  },
];
