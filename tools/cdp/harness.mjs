// Runs the cases of one client against two browsers at the same time, and prints one JSON line per
// case: its name and, for each browser, the result or the error. Package
// internal/testing/cdpsuite compares them.
//
// A case is {name, run, differs}. run(t) returns a JSON value, and must not fail in plain Chromium:
// t.failure returns the error of a promise that has to fail. differs, if set, is the exception
// {reason, ours}: the reason why a managed browser differs, and the result there. The exceptions of
// the user's Chrome are in user-chrome.mjs.
import { userChrome } from "./user-chrome.mjs";

const caseTimeout = 30_000;
const lateCase = "timed out: the case";

// A promise of a case that failed may fail later.
process.on("unhandledRejection", (error) => console.error(error));

/** The object that the test passes: the URLs of the site, and of the two endpoints. */
export const config = JSON.parse(process.argv[2]);

/** Bounds a promise, with an error that says what was awaited. */
export async function within(promise, what, ms = 10_000) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`timed out: ${what}`)), ms);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls until get returns a value that is not false. It is for states without an event. */
export async function until(what, get) {
  for (const end = Date.now() + 10_000; ; ) {
    const value = await get();
    if (value) {
      return value;
    }
    if (Date.now() > end) {
      throw new Error(`timed out: ${what}`);
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Returns the first line of the error of a promise that has to fail. */
export async function failure(promise) {
  try {
    await promise;
  } catch (error) {
    return firstLine(error);
  }
  throw new Error("it did not fail");
}

/** Describes an image. */
export function png(image) {
  const data = Buffer.from(image);
  return { png: data.toString("latin1", 1, 4) === "PNG", width: data.readUInt32BE(16), height: data.readUInt32BE(20) };
}

/** Sorts lines, for events whose order is not determined. */
export const sorted = (lines) => [...lines].sort();

function firstLine(error) {
  return String(error?.message ?? error).split("\n")[0];
}

async function outcome(side, test, timeout) {
  const cleanups = [];
  const begin = performance.now();
  const t = { ...side.t(cleanups), ...config, side: side.name, failure, timeout };
  const got = {};
  try {
    got.result = await within(test.run(t), "the case", caseTimeout);
    if (got.result === undefined) {
      throw new Error("the case has no result");
    }
  } catch (error) {
    got.error = firstLine(error);
    got.stack = error?.stack;
  }
  try {
    for (const clean of cleanups.reverse()) {
      await within(clean(), "closing what the case opened");
    }
  } catch (error) {
    got.error ??= firstLine(error);
  }
  got.ms = Math.round(performance.now() - begin);
  return got;
}

/**
 * Runs the cases of a client. connect(endpoint) returns {t, close}: t(cleanups) returns what the
 * cases get, and appends functions that close what a case opened.
 */
export async function runAll(client, connect, cases) {
  const only = config.only ? new RegExp(config.only) : /./;
  const sides = [];
  for (const name of ["plain", "ours"]) {
    sides.push({ name, ...(await within(connect(config[name]), `connecting to ${name}`, caseTimeout)) });
  }
  for (const test of cases) {
    if (!only.test(test.name)) {
      continue;
    }
    let differs = config.userChrome ? userChrome[client][test.name] : test.differs;
    let [plain, ours] = await Promise.all(
      sides.map((side) => outcome(side, test, side.name === "ours" && differs?.fails ? 2_000 : 10_000)),
    );
    if (plain.error === lateCase) {
      // Seen once in thousands of runs. Plain Chromium is not what is tested, but the reference.
      console.error(`${test.name}: plain Chromium timed out; running it there again`);
      plain = await outcome(sides[0], test, 10_000);
    }
    if (typeof differs?.ours === "function") {
      differs = { ...differs, ours: plain.result && differs.ours(plain.result) };
    }
    console.log(JSON.stringify({ name: test.name, plain, ours, differs }));
  }
  for (const side of sides) {
    await within(side.close(), `disconnecting from ${side.name}`);
  }
  process.exit(0);
}
