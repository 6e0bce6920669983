// Drives a browser with a stock Playwright client, for TestLongCDPClientLeaks of both backends.
// Each line of stdin is a command {id, tab, do, argument}; each line of stdout is the reply
// {id, error}. Commands of several tabs run at the same time.
//
//	node tools/cdp/leaks.mjs ENDPOINT new|default
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";

const [endpoint, where] = process.argv.slice(2);
const browser = await chromium.connectOverCDP(endpoint);
const tabs = new Map();

const commands = {
  async open(tab) {
    const context = where === "new" ? await browser.newContext() : browser.contexts()[0];
    const page = await context.newPage();
    const pages = [page];
    const follow = (popup) => {
      pages.push(popup);
      popup.on("popup", follow);
    };
    page.on("popup", follow);
    tabs.set(tab, { context, page, pages });
  },
  navigate: (tab, url) => tabs.get(tab).page.goto(url, { waitUntil: "commit" }),
  click: (tab, selector) => tabs.get(tab).page.click(selector),
  async close(tab) {
    const { context, pages } = tabs.get(tab);
    tabs.delete(tab);
    await (where === "new" ? context.close() : Promise.all(pages.map((page) => page.close())));
  },
};

async function reply({ id, tab, do: name, argument }) {
  let error;
  try {
    await commands[name](tab, argument);
  } catch (e) {
    error = e.message;
  }
  process.stdout.write(`${JSON.stringify({ id, error })}\n`);
}

const running = [];
for await (const line of createInterface({ input: process.stdin })) {
  running.push(reply(JSON.parse(line)));
}
await Promise.all(running);
await browser.close();
