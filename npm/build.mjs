// @ts-check
// Packs chrome-mcp for npm: a package that starts it, and one for each
// platform with the program in it. Nothing is published from here.
//
//   node npm/build.mjs VERSION [--out DIRECTORY] [PLATFORM…]
//
// A PLATFORM has the name that npm and Node use, such as linux-x64; the default is all. DIRECTORY
// is dist/npm by default. It gets the tarballs and SHA256SUMS. The files of an
// earlier run are removed first. A directory with other files is an error.

import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const root = dirname(here);

/** @type {{package: string, scope: string, platforms: Record<string, [string, string]>}} */
const names = JSON.parse(readFileSync(join(here, 'names.json'), 'utf8'));

/** What Go calls each platform. */
const platforms = names.platforms;

const { values, positionals } = parseArgs({ options: { out: { type: 'string' } }, allowPositionals: true });
const out = values.out ? resolve(values.out) : join(root, 'dist', 'npm');
const [version, ...wanted] = positionals;
if (!version || !/^\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$/.test(version)) {
  fail(`${JSON.stringify(version ?? '')} is not a version. Give one such as 1.2.3 or 1.2.3-rc.1.`);
}
const unknown = wanted.filter((p) => !(p in platforms));
if (unknown.length > 0) {
  fail(`there is no platform ${unknown.join(', ')}. There are ${Object.keys(platforms).join(', ')}.`);
}

/** @param {string} message */
function fail(message) {
  process.stderr.write(`error: ${message}\n`);
  process.exit(2);
}

const repository = /^module (\S+)$/m.exec(readFileSync(join(root, 'go.mod'), 'utf8'))?.[1];

/** What both kinds of package say about themselves. */
const common = {
  version,
  description: 'Lets an AI agent use a real Chrome, over MCP: your own through an extension, or one that it starts.',
  license: 'MIT',
  homepage: `https://${repository}`,
  repository: { type: 'git', url: `git+https://${repository}.git` },
};

/**
 * pack writes a package from its manifest and files and returns its tarball's name.
 * @param {{name: string, [key: string]: unknown}} manifest
 * @param {(dir: string) => void} fill puts the files in
 */
function pack(manifest, fill) {
  const dir = join(out, 'packages', manifest.name);
  mkdirSync(join(dir, 'bin'), { recursive: true });
  writeFileSync(join(dir, 'package.json'), JSON.stringify(manifest, null, 2) + '\n');
  copyFileSync(join(root, 'LICENSE'), join(dir, 'LICENSE'));
  fill(dir);
  const [packed] = JSON.parse(execFileSync('npm', ['pack', '--json', '--ignore-scripts'], {
    cwd: dir, encoding: 'utf8', env: { ...process.env, npm_config_pack_destination: out },
    shell: process.platform === 'win32', // where npm is npm.cmd, which Node starts by a shell only
  }));
  return /** @type {string} */ (packed.filename);
}

const others = existsSync(out) ? readdirSync(out).filter((name) => !/^(packages|SHA256SUMS|.*\.tgz)$/.test(name)) : [];
if (others.length > 0) fail(`${out} is not empty: ${others[0]} is in it. Pass an empty directory.`);
rmSync(out, { recursive: true, force: true });
mkdirSync(out, { recursive: true });

const tarballs = [];
for (const platform of wanted.length > 0 ? wanted : Object.keys(platforms)) {
  const [os, cpu] = platform.split('-');
  const [GOOS, GOARCH] = platforms[platform];
  const file = join('bin', os === 'win32' ? 'chrome-mcp.exe' : 'chrome-mcp');
  tarballs.push(pack({
    name: `${names.scope}/${platform}`, ...common,
    description: `The program of ${names.package} for ${platform}. Install ${names.package} instead.`,
    os: [os], cpu: [cpu], files: ['bin'], preferUnplugged: true,
  }, (dir) => {
    execFileSync('go', ['build', '-trimpath', '-ldflags', `-s -w -X main.version=${version}`, '-o', join(dir, file), './cmd/chrome-mcp'], {
      cwd: root, stdio: ['ignore', 'inherit', 'inherit'], env: { ...process.env, GOOS, GOARCH, CGO_ENABLED: '0' },
    });
  }));
}
tarballs.push(pack({
  name: names.package, ...common,
  bin: { 'chrome-mcp': 'bin/chrome-mcp.js' }, files: ['bin'], engines: { node: '>=18' },
  keywords: ['mcp', 'model-context-protocol', 'chrome', 'browser', 'automation', 'agent'],
  optionalDependencies: Object.fromEntries(Object.keys(platforms).map((p) => [`${names.scope}/${p}`, version])),
}, (dir) => {
  copyFileSync(join(here, 'bin', 'chrome-mcp.js'), join(dir, 'bin', 'chrome-mcp.js'));
  copyFileSync(join(here, 'README.md'), join(dir, 'README.md'));
}));

const sums = tarballs.map((name) => `${createHash('sha256').update(readFileSync(join(out, name))).digest('hex')}  ${name}\n`);
writeFileSync(join(out, 'SHA256SUMS'), sums.join(''));
process.stdout.write(sums.join(''));
