#!/usr/bin/env node
// @ts-check
// Starts the chrome-mcp of this platform, which is in a package of its own.
'use strict';

const { spawn } = require('node:child_process');
const { constants } = require('node:os');

const { name, optionalDependencies } = require('../package.json');

const platform = `${process.platform}-${process.arch}`;
const package_ = Object.keys(optionalDependencies).find((p) => p.endsWith(`/${platform}`));

/** @param {string} message what is wrong, and what to do */
function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(1);
}

/** binary returns the path of the program. */
function binary() {
  if (!package_) {
    return fail(`there is no ${name} for ${platform}. There is one for ${Object.keys(optionalDependencies).map((p) => p.split('/')[1]).join(', ')}; elsewhere build it from source.`);
  }
  try {
    return require.resolve(`${package_}/bin/chrome-mcp${process.platform === 'win32' ? '.exe' : ''}`);
  } catch {
    return fail(`the package ${package_} is not installed. Install ${name} again, on this platform and without --no-optional or --omit=optional.`);
  }
}

const path = binary();
if (path) {
  const child = spawn(path, process.argv.slice(2), { stdio: 'inherit', windowsHide: true });
  child.on('error', (err) => fail(`${path} does not start: ${err.message}. Install ${name} again.`));
  // What is for the program is not for its starter: it ends when the program has.
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM', 'SIGHUP'])) {
    process.on(signal, () => child.kill(signal));
  }
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (constants.signals[signal ?? 'SIGTERM'] ?? 0)));
}
