// Cases about pages: navigation, scripts, input, dialogs, and files.
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { sorted, until } from "./harness.mjs";

export const pageCases = [
  {
    name: "goto, back, forward, reload",
    async run(t) {
      const page = await t.page();
      const response = await page.goto(`${t.site}/one.html`);
      await page.goto(`${t.site}/two.html`);
      const titles = [await page.title()];
      await page.goBack();
      titles.push(await page.title());
      await page.goForward();
      titles.push(await page.title());
      const again = await page.reload();
      return { titles, status: [response.status(), again.status()], url: page.url() };
    },
  },
  {
    name: "goto errors",
    async run(t) {
      const page = await t.page();
      const missing = await page.goto(`${t.site}/missing.html`);
      const late = await t.failure(page.goto(`${t.site}/hang`, { timeout: 300 }));
      return { status: missing.status(), late };
    },
  },
  {
    name: "goto an invalid URL",
    run: async (t) => t.failure((await t.page()).goto("nothing")),
    differs: {
      reason: "chrome-mcp checks URLs before the browser does.",
      ours: "page.goto: Protocol error (Page.navigate): Invalid parameters: the URL has no scheme. Write it in full, as in https://example.com/.",
    },
  },
  {
    name: "goto a data URL",
    async run(t) {
      const page = await t.page();
      return page.goto("data:text/html,<title>Data</title>").then(() => page.title(), (error) => ({ denied: error.message.includes("'Page.navigate' was denied") }));
    },
    differs: { reason: "The policy decides by site, and a data: URL has none.", ours: { denied: true } },
  },
  {
    name: "goto a port without a server",
    async run(t) {
      const page = await t.page();
      return page.goto(t.nothing).then((response) => response.status(), (error) => error.message.split(" at ")[0]);
    },
    differs: { reason: "The proxy of chrome-mcp answers for a server that it cannot reach.", ours: 502 },
  },
  {
    name: "goto with a redirect and a click that navigates",
    async run(t) {
      const page = await t.page();
      const response = await page.goto(`${t.site}/redirect`);
      const from = response.request().redirectedFrom();
      await Promise.all([page.waitForURL(/two/), page.click("#next")]);
      return { from: from.url(), status: (await from.response()).status(), at: response.url(), then: await page.title() };
    },
  },
  {
    name: "navigation within the document",
    async run(t) {
      const page = await t.page("/one.html");
      await page.evaluate(() => history.pushState({}, "", "/pushed"));
      await page.waitForURL(/pushed/);
      await page.evaluate(() => (location.hash = "part"));
      await page.waitForURL(/#part/);
      return { url: page.url(), length: await page.evaluate("history.length") };
    },
  },
  {
    name: "setContent and content",
    async run(t) {
      const page = await t.page();
      await page.setContent("<title>Set</title><p>Set content</p><script>window.ran = true</script>");
      return { title: await page.title(), ran: await page.evaluate("ran"), content: await page.content() };
    },
  },
  {
    name: "frame of the same site",
    async run(t) {
      const page = await t.page("/frames.html");
      const frame = page.frameLocator("iframe[name=near]");
      await frame.locator("#press").click();
      await frame.locator("#field").fill("typed");
      return { said: await frame.locator("#said").textContent(), value: await frame.locator("#field").inputValue() };
    },
  },
  {
    name: "frame of another site",
    async run(t) {
      const page = await t.page("/frames.html");
      const messages = [];
      page.on("console", (message) => messages.push(`${message.text()} ${message.location().url}`));
      const frame = page.frame({ name: "far" });
      await frame.click("#press");
      await frame.locator("#field").pressSequentially("typed");
      await until("the message", () => messages.length);
      return { said: await frame.textContent("#said"), value: await frame.inputValue("#field"), parent: frame.parentFrame() === page.mainFrame(), messages };
    },
  },
  {
    name: "frames that come, move to another site, and go",
    async run(t) {
      const page = await t.page("/one.html");
      const events = [];
      const path = (frame) => frame.url().replace(t.site, "site").replace(t.other, "other");
      page.on("frameattached", () => events.push("attached"));
      page.on("framedetached", () => events.push("detached"));
      page.on("framenavigated", (frame) => events.push(`navigated ${path(frame)}`));
      await page.evaluate((url) => {
        document.body.append(Object.assign(document.createElement("iframe"), { src: url }));
      }, `${t.site}/frame.html`);
      await until("the frame", () => events.includes("navigated site/frame.html"));
      await page.evaluate((url) => { document.querySelector("iframe").src = url; }, `${t.other}/frame.html`);
      await until("the other frame", () => events.includes("navigated other/frame.html"));
      const text = await page.frames()[1].textContent("#press");
      await page.evaluate(() => document.querySelector("iframe").remove());
      await until("the end of the frame", () => events.includes("detached"));
      return { events, text, left: page.frames().length };
    },
  },
  {
    name: "evaluate and handles",
    async run(t) {
      const page = await t.page("/one.html");
      const handle = await page.evaluateHandle(() => ({ list: [1, 2, { x: NaN }], date: new Date(0), text: document.querySelector("#text") }));
      const properties = await handle.getProperties();
      const element = properties.get("text").asElement();
      return {
        values: await page.evaluate(([a, b]) => [a + b, String(undefined), 10n ** 20n > 1, -0], [1, 2]),
        keys: [...properties.keys()],
        text: await element.textContent(),
        box: (await element.boundingBox()).width > 0,
        value: String((await handle.evaluate((it) => it.list[2])).x),
        error: await t.failure(page.evaluate(() => { throw new TypeError("wrong"); })),
        promise: await page.evaluate(() => new Promise((resolve) => setTimeout(resolve, 5, "later"))),
      };
    },
  },
  {
    name: "exposeFunction and exposeBinding",
    async run(t) {
      const page = await t.page();
      await page.exposeFunction("add", (a, b) => a + b);
      await page.exposeBinding("where", ({ frame }) => frame.url());
      await page.goto(`${t.site}/frames.html`);
      const far = page.frame({ name: "far" });
      return { sum: await page.evaluate("add(1, 2)"), far: await far.evaluate("add(3, 4)"), where: [await page.evaluate("where()"), await far.evaluate("where()")] };
    },
  },
  {
    name: "addInitScript",
    async run(t) {
      const context = await t.context();
      await context.addInitScript(() => { window.fromContext = document.readyState; });
      const page = await context.newPage();
      await page.addInitScript({ content: "window.fromPage = location.pathname" });
      await page.goto(`${t.site}/frames.html`);
      const get = () => [window.fromContext, window.fromPage];
      return { page: await page.evaluate(get), far: await page.frame({ name: "far" }).evaluate(get) };
    },
  },
  {
    name: "addScriptTag, addStyleTag, waitForFunction",
    async run(t) {
      const page = await t.page("/one.html");
      await page.addScriptTag({ url: `${t.site}/script.js` });
      await page.addStyleTag({ content: "#text { color: rgb(9, 9, 9) }" });
      await page.evaluate(() => setTimeout(() => (window.done = "done"), 20));
      const done = await page.waitForFunction("window.done");
      return { ran: await page.evaluate("ran"), color: await page.evaluate(() => getComputedStyle(document.querySelector("#text")).color), done: await done.jsonValue() };
    },
  },
  {
    name: "clicks",
    async run(t) {
      const page = await t.page("/form.html");
      await page.click("#click");
      await page.dblclick("#click");
      await page.click("#click", { button: "right" });
      await page.click("#low"); // scrolls
      return { said: await page.evaluate("said"), scrolled: await page.evaluate("scrollY > 0") };
    },
  },
  {
    name: "typing and keys",
    async run(t) {
      const page = await t.page("/form.html");
      await page.locator("#name").pressSequentially("aB");
      await page.keyboard.press("Shift+ArrowLeft");
      await page.keyboard.insertText("é");
      await page.keyboard.press("Tab");
      await page.keyboard.type("note");
      return { name: await page.inputValue("#name"), note: await page.inputValue("#note"), keys: await page.evaluate("keys") };
    },
  },
  {
    name: "fill, check, select and submit a form",
    async run(t) {
      const page = await t.page("/form.html");
      await page.getByLabel("Name").fill("Ada");
      await page.getByLabel("Gift").check();
      const selected = await page.selectOption("#color", "green");
      const [response] = await Promise.all([page.waitForResponse(/echo/), page.getByRole("button", { name: "Send" }).click()]);
      const { method, body } = await response.json();
      return { selected, method, body };
    },
  },
  {
    name: "hover, wheel and drag",
    async run(t) {
      const page = await t.page("/form.html");
      await page.hover("#click");
      const color = await page.evaluate(() => getComputedStyle(document.querySelector("#click")).color);
      await page.dragAndDrop("#from", "#to");
      await page.mouse.move(50, 50);
      await page.mouse.wheel(0, 300);
      await page.waitForFunction("scrollY > 0");
      return { color, said: await page.evaluate("said") };
    },
  },
  {
    name: "touch",
    async run(t) {
      const page = await t.page("/form.html", { hasTouch: true });
      await page.tap("#to");
      await page.waitForFunction("said.length > 0");
      return page.evaluate("said");
    },
  },
  {
    name: "locators",
    async run(t) {
      const page = await t.page("/form.html");
      await page.evaluate(() => setTimeout(() => document.body.insertAdjacentHTML("beforeend", "<p class=late>late</p>"), 20));
      await page.waitForSelector(".late");
      return {
        count: await page.getByRole("button").count(),
        text: await page.getByText("late").textContent(),
        strict: (await t.failure(page.locator("button").click({ timeout: 500 }))).includes("strict mode violation"),
        nth: await page.locator("button").nth(1).textContent(),
        visible: await page.locator("#low").isVisible(),
        missing: await t.failure(page.waitForSelector("#nothing", { timeout: 100 })),
      };
    },
  },
  {
    name: "accessibility",
    async run(t) {
      const page = await t.page("/form.html");
      const session = await page.context().newCDPSession(page);
      const { nodes } = await session.send("Accessibility.getFullAXTree");
      return { snapshot: await page.locator("body").ariaSnapshot(), roles: sorted(new Set(nodes.map((node) => node.role.value))) };
    },
  },
  {
    name: "alert, confirm and prompt",
    async run(t) {
      const page = await t.page("/dialogs.html");
      const dialogs = [];
      const said = [];
      page.on("dialog", async (dialog) => {
        dialogs.push([dialog.type(), dialog.message(), dialog.defaultValue()]);
        await (dialog.type() === "prompt" ? dialog.accept("Grace") : dialogs.length === 2 ? dialog.accept() : dialog.dismiss());
      });
      for (const id of ["#alert", "#confirm", "#confirm", "#prompt"]) {
        await page.click(id);
        said.push(await page.textContent("#said"));
      }
      return { dialogs, said };
    },
  },
  {
    name: "dialog without a listener",
    async run(t) {
      const page = await t.page("/dialogs.html");
      await page.click("#confirm");
      return page.textContent("#said");
    },
  },
  {
    name: "beforeunload",
    async run(t) {
      const page = await t.page("/dialogs.html");
      await page.click("body"); // a gesture
      const dialog = page.waitForEvent("dialog");
      const [asked] = await Promise.all([dialog, page.close({ runBeforeUnload: true })]);
      const closed = page.waitForEvent("close");
      await asked.accept();
      await closed;
      return { type: asked.type(), closed: page.isClosed() };
    },
  },
  {
    name: "downloads",
    async run(t) {
      const page = await t.page("/downloads.html");
      const got = [];
      for (const id of ["#file", "#named", "#blob"]) {
        const [download] = await Promise.all([page.waitForEvent("download"), page.click(id)]);
        got.push([download.suggestedFilename(), download.url().replace(/[0-9a-f-]{36}/, "id"), await download.failure(), download.page() === page]);
      }
      return got;
    },
  },
  {
    name: "content of a download",
    async run(t) {
      const page = await (await t.newContext()).newPage();
      await page.goto(`${t.site}/downloads.html`);
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#file")]);
      return readFile(await download.path(), "utf8");
    },
  },
  {
    name: "canceled download",
    async run(t) {
      const page = await t.page("/downloads.html");
      const [download] = await Promise.all([page.waitForEvent("download"), page.click("#slow")]);
      await download.cancel();
      return { failure: await download.failure(), name: download.suggestedFilename() };
    },
  },
  {
    name: "file chooser",
    async run(t) {
      const page = await t.page("/form.html");
      const [chooser] = await Promise.all([page.waitForEvent("filechooser"), page.click("#file")]);
      const file = join(t.uploads, "playwright.txt");
      await writeFile(file, "from a file");
      await chooser.setFiles(file);
      const first = await page.evaluate("files()");
      await page.setInputFiles("#file", [{ name: "memory.txt", mimeType: "text/plain", buffer: Buffer.from("from memory") }]);
      return { multiple: chooser.isMultiple(), first, second: await page.evaluate("files()") };
    },
  },
  {
    name: "file outside of the uploads directory",
    async run(t) {
      const page = await t.page("/form.html");
      const session = await page.context().newCDPSession(page);
      const { root } = await session.send("DOM.getDocument");
      const { nodeId } = await session.send("DOM.querySelector", { nodeId: root.nodeId, selector: "#file" });
      try {
        await session.send("DOM.setFileInputFiles", { nodeId, files: [fileURLToPath(import.meta.url)] });
      } catch (error) {
        return { denied: /'DOM.setFileInputFiles' was denied/.test(error.message), files: await page.evaluate("files()") };
      }
      return { files: (await page.evaluate("files()")).length };
    },
    differs: { reason: "A client can give pages only files of --uploads-dir.", ours: { denied: true, files: [] } },
  },
];
