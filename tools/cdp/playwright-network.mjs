// Cases about requests, interception, cookies, and storage.
import { sorted, until } from "./harness.mjs";

export const networkCases = [
  {
    name: "network events",
    async run(t) {
      const page = await t.page();
      const events = [];
      page.on("request", (request) => events.push(`request ${request.method()} ${request.resourceType()} ${request.url()}`));
      page.on("response", (response) => events.push(`response ${response.status()} ${response.url()}`));
      page.on("requestfinished", (request) => events.push(`finished ${request.url()}`));
      await page.goto(`${t.site}/network.html`);
      await until("all requests", () => events.filter((event) => event.startsWith("finished")).length === 4);
      return sorted(events);
    },
  },
  {
    name: "headers and bodies",
    async run(t) {
      const page = await t.page("/one.html");
      const [response] = await Promise.all([
        page.waitForResponse(/echo/),
        page.evaluate(async () => (await fetch("/echo?q=1", { method: "POST", body: "sent", headers: { "X-Case": "yes" } })).text()),
      ]);
      const request = response.request();
      const sent = await request.allHeaders();
      return {
        post: request.postData(),
        sent: [sent["x-case"], sent.host, sent.origin],
        got: await response.headerValue("x-site"),
        status: [response.status(), response.statusText(), response.ok()],
        body: (await response.json()).body,
        length: (await request.sizes()).requestBodySize,
      };
    },
  },
  {
    name: "address of a server",
    async run(t) {
      const page = await t.page();
      const response = await page.goto(`${t.site}/one.html`);
      const { port } = await response.serverAddr();
      return { site: port === Number(new URL(t.site).port) };
    },
    differs: { reason: "Connections go through the proxy of chrome-mcp, whose address the browser reports.", ours: { site: false } },
  },
  {
    name: "failed requests",
    async run(t) {
      const page = await t.page("/one.html");
      const failed = [];
      page.on("requestfailed", (request) => failed.push(`${request.url()} ${request.failure().errorText}`));
      await page.evaluate(async () => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), 50);
        await fetch("/hang", { signal: controller.signal }).catch(() => {});
      });
      await until("the failed request", () => failed.length);
      return failed;
    },
  },
  {
    name: "extra headers",
    async run(t) {
      const page = await t.page("/one.html", { extraHTTPHeaders: { "X-Context": "c" } });
      await page.setExtraHTTPHeaders({ "X-Page": "p" });
      const { headers } = await page.evaluate(async () => (await fetch("/echo")).json());
      return [headers["X-Context"], headers["X-Page"]];
    },
  },
  {
    name: "fulfill",
    async run(t) {
      const page = await t.page();
      await page.route("**/one.html", (route) => route.fulfill({ status: 201, contentType: "text/html", headers: { "X-Made": "up" }, body: "<title>Made up</title>" }));
      await page.route("**/data.json", (route) => route.fulfill({ json: { a: 1 } }));
      const response = await page.goto(`${t.site}/one.html`);
      return { title: await page.title(), status: response.status(), made: response.headers()["x-made"], data: await page.evaluate(async () => (await fetch("/data.json")).json()) };
    },
  },
  {
    name: "abort",
    async run(t) {
      const page = await t.page();
      await page.route("**/*.gif", (route) => route.abort());
      await page.route("**/two.html", (route) => route.abort("connectionrefused"));
      const failed = [];
      page.on("requestfailed", (request) => failed.push(`${request.url()} ${request.failure().errorText}`));
      await page.goto(`${t.site}/network.html`);
      return { failed, width: await page.evaluate("document.querySelector('img').naturalWidth"), document: await t.failure(page.goto(`${t.site}/two.html`)) };
    },
  },
  {
    name: "continue with other headers, method and body",
    async run(t) {
      const page = await t.page();
      // Before the document: Chromium can miss requests of an existing one directly after Fetch.enable.
      await page.route("**/echo", (route) => route.continue({ method: "PUT", postData: "changed", headers: { ...route.request().headers(), "X-Added": "yes" } }));
      await page.goto(`${t.site}/one.html`);
      const got = await page.evaluate(async () => (await fetch("/echo", { method: "POST", body: "sent" })).json());
      return { method: got.method, body: got.body, added: got.headers["X-Added"] };
    },
  },
  {
    name: "continue with another URL",
    async run(t) {
      const page = await t.page();
      await page.route("**/one.html", (route) => route.continue({ url: `${t.site}/two.html` }));
      await page.goto(`${t.site}/one.html`);
      return { title: await page.title(), url: page.url() };
    },
  },
  {
    name: "fetch and change a response",
    async run(t) {
      const page = await t.page();
      await page.route("**/one.html", async (route) => {
        const response = await route.fetch();
        await route.fulfill({ response, body: (await response.text()).replace("Page one", "Page changed") });
      });
      await page.goto(`${t.site}/one.html`);
      return page.textContent("h1");
    },
  },
  {
    name: "routes of a context, a popup and a frame of another site",
    async run(t) {
      const context = await t.context();
      await context.route("**/two.html", (route) => route.fulfill({ contentType: "text/html", body: "<title>Routed</title>" }));
      await context.route(`${t.other}/frame.html`, (route) => route.fulfill({ contentType: "text/html", body: "routed frame" }));
      const page = await context.newPage();
      await page.goto(`${t.site}/popup.html`);
      const [popup] = await Promise.all([page.waitForEvent("popup"), page.click("#open")]);
      await popup.waitForLoadState();
      await page.goto(`${t.site}/frames.html`);
      return { popup: await popup.title(), frame: await page.frame({ name: "far" }).textContent("body") };
    },
  },
  {
    name: "unroute while a request is paused",
    async run(t) {
      const page = await t.page();
      let paused;
      const asked = new Promise((resolve) => (paused = resolve));
      await page.route("**/echo", (route) => paused(route)); // before the document, as above
      await page.goto(`${t.site}/one.html`);
      const fetched = page.evaluate(async () => (await fetch("/echo")).status);
      const route = await asked;
      await route.continue();
      const status = await fetched;
      await page.unrouteAll({ behavior: "wait" });
      return { status, then: await page.evaluate(async () => (await fetch("/echo")).status) };
    },
  },
  {
    name: "HTTP credentials",
    async run(t) {
      const page = await t.page("/one.html", { httpCredentials: { username: "ada", password: "secret" } });
      return page.evaluate(async () => (await fetch("/auth")).status);
    },
    differs: { reason: "HTTP authentication is off in a managed browser, because it would prompt the user.", ours: 401 },
  },
  {
    name: "WebSocket frames",
    async run(t) {
      const page = await t.page("/one.html");
      const frames = [];
      page.on("websocket", (socket) => {
        socket.on("framesent", ({ payload }) => frames.push(`sent ${payload}`));
        socket.on("framereceived", ({ payload }) => frames.push(`received ${payload}`));
        socket.on("close", () => frames.push("closed"));
      });
      const echoed = await page.evaluate(() => new Promise((resolve, reject) => {
        const socket = new WebSocket(`ws://${location.host}/socket`);
        socket.onopen = () => socket.send("ping");
        socket.onerror = () => reject(new Error("no connection"));
        socket.onmessage = ({ data }) => {
          socket.close();
          resolve(data);
        };
      }));
      await until("the end of the socket", () => frames.includes("closed"));
      return { echoed, frames };
    },
  },
  {
    name: "offline",
    async run(t) {
      const page = await t.page("/one.html");
      await page.context().setOffline(true);
      const off = await page.evaluate(async () => [navigator.onLine, await fetch("/echo").then(() => "fetched", () => "failed")]);
      await page.context().setOffline(false);
      return { off, on: await page.evaluate(async () => [navigator.onLine, (await fetch("/echo")).status]) };
    },
  },
  {
    name: "cookies",
    async run(t) {
      const page = await t.page("/cookies");
      const context = page.context();
      await context.addCookies([{ name: "added", value: "1", url: t.site, sameSite: "Lax" }]);
      const seen = sorted((await page.evaluate(async () => (await (await fetch("/echo")).json()).headers.Cookie)).split("; "));
      const cookies = (await context.cookies(t.site)).map(({ name, value, httpOnly, domain, path, sameSite }) => [name, value, httpOnly, domain, path, sameSite]);
      await context.clearCookies({ name: "added" });
      const left = (await context.cookies()).map(({ name }) => name);
      return { seen, cookies: sorted(cookies), left: sorted(left) };
    },
  },
  {
    name: "storage state",
    async run(t) {
      const page = await t.page("/storage.html");
      const state = await page.context().storageState();
      const restored = await t.page("/one.html", { storageState: state });
      return { state, restored: await restored.evaluate(() => [localStorage.getItem("key"), document.cookie]) };
    },
  },
  {
    name: "requests of the client with the cookies of a context",
    async run(t) {
      const page = await t.page("/cookies");
      const response = await page.request.get(`${t.site}/echo`);
      return { status: response.status(), cookies: sorted((await response.json()).headers.Cookie.split("; ")) };
    },
  },
];
