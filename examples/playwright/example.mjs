// Opens a page in the browser of a running chrome-mcp, and prints its title.
//
//   node example.mjs "$(chrome-mcp cdp-url)" https://example.com/
import { chromium } from "playwright-core";

const [endpoint, url] = process.argv.slice(2);
const browser = await chromium.connectOverCDP(endpoint);
const page = await browser.contexts()[0].newPage(); // a new tab, which the agent sees too
await page.goto(url);
console.log(await page.title());
await page.close();
await browser.close(); // disconnects
