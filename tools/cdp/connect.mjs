// Connects a stock client to a browser with many pages, for TestCDPManyTabs. Each line of stdin is a
// command, and each line of stdout its result: "connect" returns the number of pages, "title PATH" the
// title of a page, "close" disconnects.
//
//	node tools/cdp/connect.mjs playwright|puppeteer URL WEBSOCKET
import { createInterface } from "node:readline";
import { chromium } from "playwright-core";
import puppeteer from "puppeteer-core";

const [client, url, webSocket] = process.argv.slice(2);
let browser;
const pages = () => (client === "playwright" ? browser.contexts()[0].pages() : browser.pages());

const commands = {
  async connect() {
    browser = client === "playwright"
      ? await chromium.connectOverCDP(url)
      : await puppeteer.connect({ browserWSEndpoint: webSocket, defaultViewport: null });
    return (await pages()).length;
  },
  title: async (path) => (await pages()).find((page) => new URL(page.url()).pathname === path).title(),
  async close() {
    await (client === "playwright" ? browser.close() : browser.disconnect());
    return "closed";
  },
};

for await (const line of createInterface({ input: process.stdin })) {
  const [name, argument] = line.split(" ");
  console.log(await commands[name](argument));
}
process.exit(0);
