// The cases of a stock Playwright client.
import { chromium } from "playwright-core";
import { config, runAll } from "./harness.mjs";
import { browserCases } from "./playwright-browser.mjs";
import { emulationCases } from "./playwright-emulation.mjs";
import { networkCases } from "./playwright-network.mjs";
import { pageCases } from "./playwright-pages.mjs";

async function connect({ url }) {
  const browser = await chromium.connectOverCDP(url);
  return {
    close: () => browser.close(),
    t: (cleanups) => ({
      browser,
      url,
      /** Opens a context that ends with the case. */
      async newContext(options) {
        const context = await browser.newContext(options);
        context.setDefaultTimeout(this.timeout);
        cleanups.push(() => context.close());
        return context;
      },
      /** Returns a context: a new one or, in the user's Chrome, the only one, whose new pages end with the case. */
      async context(options) {
        if (!config.userChrome || options) {
          return this.newContext(options);
        }
        const [context] = browser.contexts();
        context.setDefaultTimeout(this.timeout);
        const before = context.pages();
        cleanups.push(async () => {
          await Promise.all(context.pages().filter((page) => !before.includes(page)).map((page) => page.close()));
          await context.unrouteAll();
        });
        return context;
      },
      /** Opens a page of the site in such a context. */
      async page(path, options) {
        const { viewport, colorScheme, ...others } = options ?? {};
        const only = config.userChrome && Object.keys(others).length === 0; // options that a page has, too
        const page = await (await this.context(only ? undefined : options)).newPage();
        if (only && viewport) {
          await page.setViewportSize(viewport);
        }
        if (only && colorScheme) {
          await page.emulateMedia({ colorScheme });
        }
        if (path) {
          await page.goto(path.startsWith("/") ? this.site + path : path);
        }
        return page;
      },
      /** Connects once more, until the case ends. */
      async connect(options) {
        const other = await chromium.connectOverCDP(url, options);
        cleanups.push(() => other.close());
        return other;
      },
      /** Closes something when the case ends. */
      cleanup: (f) => cleanups.push(f),
    }),
  };
}

await runAll("playwright", connect, [...browserCases, ...pageCases, ...emulationCases, ...networkCases]);
