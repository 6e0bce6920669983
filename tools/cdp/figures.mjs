// Measures a stock Playwright client on two browsers, in turns: the time from connectOverCDP to the
// first page.title(), and the round trip of Runtime.evaluate. It prints the medians, in ms.
import { chromium } from "playwright-core";

const config = JSON.parse(process.argv[2]);
const rounds = 20;
const evaluations = 100;
const times = { connect: { plain: [], ours: [] }, evaluate: { plain: [], ours: [] } };

async function round(side) {
  const begin = performance.now();
  const browser = await chromium.connectOverCDP(config[side].url);
  const page = browser.contexts()[0].pages()[0];
  await page.title();
  times.connect[side].push(performance.now() - begin);
  const session = await page.context().newCDPSession(page);
  for (let i = 0; i < evaluations; i++) {
    const begin = performance.now();
    await session.send("Runtime.evaluate", { expression: "1" });
    times.evaluate[side].push(performance.now() - begin);
  }
  await browser.close();
}

for (let i = 0; i <= rounds; i++) {
  for (const side of ["plain", "ours"]) {
    await round(side);
    if (i === 0) { // warms up
      times.connect[side].length = times.evaluate[side].length = 0;
    }
  }
}
const median = (all) => all.sort((a, b) => a - b)[all.length >> 1];
const medians = ({ plain, ours }) => ({ plain: median(plain), ours: median(ours) });
console.log(JSON.stringify({ connect: medians(times.connect), evaluate: medians(times.evaluate) }));
