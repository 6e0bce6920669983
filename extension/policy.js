// @ts-check

// The sites that an agent may visit: the patterns and decisions of package policy, reimplemented.
// internal/wire/testdata/patterns.json and pattern-syntax.json verify that both are equal. Two
// checks are missing on purpose, the public suffix list and the validity of punycode: the server
// makes them when it reads its policy.

import { pathUnder } from './paths.js';

/** @typedef {import('./wire.js').Policy} Policy */

/**
 * @typedef {object} Pattern
 * @property {string} text the original text
 * @property {string} scheme "http", "https", or "" for both (loopback only)
 * @property {string} host without its "*."
 * @property {boolean} subdomains whether it starts with "*."
 * @property {number} port 0 means any
 * @property {string} path a prefix with its leading slash, or ""
 */

/**
 * @typedef {object} Site the location of a document
 * @property {string} scheme
 * @property {string} host as serialized by the browser: lower case, IPv6 in brackets
 * @property {number} port
 * @property {string} path
 */

/**
 * Parses a pattern. It throws an Error whose message continues a sentence that starts with the
 * quoted pattern.
 *
 * @param {string} text
 * @returns {Pattern}
 */
export function parsePattern(text) {
  checkCharacters(text);
  let scheme = '';
  let rest = text;
  const at = text.indexOf('://');
  if (at >= 0) {
    scheme = text.slice(0, at);
    rest = text.slice(at + 3);
    if (scheme !== 'http' && scheme !== 'https') {
      throw new Error('is not a pattern: the scheme is neither http nor https');
    }
  }
  const slash = rest.indexOf('/');
  const authority = slash < 0 ? rest : rest.slice(0, slash);
  let path = slash < 0 ? '' : rest.slice(slash);
  checkPrefix(path);
  if (path === '/') path = '';

  const { host: written, port: portText } = cutPort(authority);
  if (written === '*') throw new Error('is not a pattern: * alone would mean every host; name the hosts');
  const subdomains = written.startsWith('*.');
  const host = subdomains ? written.slice(2) : written;
  if (host.includes('*')) {
    throw new Error('is not a pattern: * can only be the whole first label, as in *.example.com');
  }
  checkHost(host);
  const address = parseAddress(host);
  if (subdomains && address) throw new Error('is not a pattern: an address has no subdomains');
  if (subdomains && !host.includes('.') && !RESERVED.has(host)) {
    throw new Error('is a public suffix: unrelated sites share it');
  }

  const loopback = isLoopbackHost(host);
  let port = 0;
  if (portText === '*') port = 0;
  else if (portText !== null) port = parsePort(portText);
  else if (loopback) port = 0;
  else port = scheme === 'http' ? 80 : 443;
  if (scheme === '' && !loopback) scheme = 'https';
  return { text, scheme, host, subdomains, port, path };
}

/** Top-level domains that are not registered. */
const RESERVED = new Set(['localhost', 'test', 'example', 'invalid', 'local', 'internal']);

/** @param {string} s */
function checkCharacters(s) {
  if (s === '') throw new Error('is empty');
  for (const [bad, why] of [
    ['@', 'has a user name; write the host alone'],
    ['?', 'has a query; write the host, and a path at most'],
    ['#', 'has a fragment; write the host, and a path at most'],
    ['\\', 'has a backslash'],
  ]) {
    if (s.includes(bad)) throw new Error(why);
  }
  if (/[^\x00-\x7f]/.test(s)) throw new Error('has non-ASCII characters; write the host in punycode (xn--…)');
  if (/[\x00-\x20\x7f]/.test(s)) throw new Error('has a space or control character');
}

/** @param {string} path */
function checkPrefix(path) {
  if (path.includes('*')) throw new Error('is not a pattern: the path is a prefix and cannot contain *');
  if (path.includes('%') || path.includes('//')) {
    throw new Error('is not a pattern: the path has % or //; write it without them');
  }
  if (path.split('/').some((segment) => segment === '.' || segment === '..')) {
    throw new Error('is not a pattern: the path has a . or .. segment');
  }
}

/**
 * @param {string} authority
 * @returns {{host: string, port: string | null}}
 */
function cutPort(authority) {
  const colon = authority.lastIndexOf(':');
  if (colon < 0 || authority.endsWith(']')) return { host: authority, port: null };
  const host = authority.slice(0, colon);
  const port = authority.slice(colon + 1);
  if (host.includes(':') && !host.startsWith('[')) {
    throw new Error('is not a pattern: an IPv6 address needs brackets');
  }
  if (port === '') throw new Error('is not a pattern: the port is empty');
  return { host, port };
}

/** @param {string} text */
function parsePort(text) {
  if (!/^[1-9][0-9]{0,4}$/.test(text) || Number(text) > 65535) {
    throw new Error('is not a pattern: the port is not a number from 1 to 65535');
  }
  return Number(text);
}

/**
 * Accepts a host only in its canonical form, as serialized by the browser, so that
 * the checked host is the one that is reached.
 *
 * @param {string} host
 */
function checkHost(host) {
  if (host === '') throw new Error('is not a pattern: the host is missing');
  if (host.startsWith('[')) {
    if (!parseAddress(host)) throw new Error('is not a pattern: the brackets do not contain a canonical IPv6 address');
    return;
  }
  if (host.length > 253) throw new Error('is not a pattern: the host is too long');
  if (!/^[a-z0-9._-]*$/.test(host)) {
    throw new Error('is not a pattern: the host has a character, or an upper-case letter, that host names do not have');
  }
  const labels = host.split('.');
  if (labels.some((label) => label === '')) {
    throw new Error('is not a pattern: the host has an empty label or ends in a dot');
  }
  if (labels.some((label) => label.length > 63)) {
    throw new Error('is not a pattern: the host has a label of more than 63 characters');
  }
  // The browser parses a host that ends in a number as an IPv4 address, in any
  // of a dozen notations.
  if (/^(0x[0-9a-f]*|[0-9]+)$/.test(labels[labels.length - 1]) && !parseAddress(host)) {
    throw new Error('is not a pattern: the host is not a canonical IPv4 address');
  }
}

/**
 * Reports whether a site has the canonical form of patterns. The browser keeps hosts in other
 * forms that patterns never match although they reach the same server:
 * "localhost." is localhost, and "[::ffff:7f00:1]" is 127.0.0.1.
 *
 * @param {Site} site
 */
export function isCanonical(site) {
  try {
    checkHost(site.host);
  } catch {
    return false;
  }
  return site.port > 0;
}

/**
 * @param {Pattern} p
 * @param {Site} site
 */
export function allows(p, site) {
  if (p.scheme !== '' && p.scheme !== site.scheme) return false;
  if (p.port !== 0 && p.port !== site.port) return false;
  return p.subdomains ? isSubdomain(site.host, p.host) : site.host === p.host;
}

/**
 * Reports whether a pattern of a block list denies a site. It covers subdomains, and all schemes
 * and ports.
 *
 * @param {Pattern} p
 * @param {Site} site
 */
export function denies(p, site) {
  const under = isSubdomain(site.host, p.host);
  if (!under && (p.subdomains || site.host !== p.host)) return false;
  return p.path === '' || pathUnder(site.path, p.path);
}

/**
 * @param {string} host
 * @param {string} parent
 */
function isSubdomain(host, parent) {
  return host.length > parent.length + 1 && host.endsWith('.' + parent);
}

/** @param {string} host */
export function isLoopbackHost(host) {
  if (host === 'localhost' || host.endsWith('.localhost')) return true;
  const address = parseAddress(host);
  return address !== null && (address.v4 ? address.bytes[0] === 127 : host === '[::1]');
}

/**
 * @typedef {object} Address
 * @property {boolean} v4
 * @property {number[]} bytes 4 or 16
 */

/**
 * Returns the address for a host in the canonical form of the browser, or null for a name and
 * anything else.
 *
 * @param {string} host
 * @returns {Address | null}
 */
export function parseAddress(host) {
  if (host.startsWith('[')) {
    let url;
    try {
      url = new URL(`http://${host}/`);
    } catch {
      return null;
    }
    if (url.host !== host) return null;
    const bytes = bytesOfIPv6(host.slice(1, -1));
    // An IPv4-mapped address has its own canonical form.
    return bytes.slice(0, 10).every((b) => b === 0) && bytes[10] === 0xff && bytes[11] === 0xff ? null : { v4: false, bytes };
  }
  const parts = host.split('.');
  if (parts.length !== 4 || !parts.every((p) => /^(0|[1-9][0-9]{0,2})$/.test(p) && Number(p) < 256)) return null;
  return { v4: true, bytes: parts.map(Number) };
}

/**
 * @param {string} text as serialized by the browser: hexadecimal groups, one "::"
 * @returns {number[]}
 */
function bytesOfIPv6(text) {
  const [head, tail] = text.split('::');
  /** @param {string | undefined} s */
  const groups = (s) => (s ? s.split(':').map((g) => parseInt(g, 16)) : []);
  const front = groups(head);
  const back = groups(tail);
  const all = [...front, ...Array(8 - front.length - back.length).fill(0), ...back];
  return all.flatMap((g) => [g >> 8, g & 255]);
}

/**
 * @param {Address} address
 * @param {string} cidr
 */
function within(address, cidr) {
  const [base, length] = cidr.split('/');
  const range = parseAddress(base.includes(':') ? `[${base}]` : base);
  if (!range || range.v4 !== address.v4) return false;
  let bits = Number(length);
  for (let i = 0; i < range.bytes.length && bits > 0; i++, bits -= 8) {
    const mask = bits >= 8 ? 255 : (255 << (8 - bits)) & 255;
    if ((range.bytes[i] & mask) !== (address.bytes[i] & mask)) return false;
  }
  return true;
}

/** The ranges that are not public, as in package policy. */
const SPECIAL = [
  '0.0.0.0/8', '10.0.0.0/8', '100.64.0.0/10', '127.0.0.0/8', '169.254.0.0/16', '172.16.0.0/12',
  '192.0.0.0/24', '192.0.2.0/24', '192.88.99.0/24', '192.168.0.0/16', '198.18.0.0/15',
  '198.51.100.0/24', '203.0.113.0/24', '224.0.0.0/4', '240.0.0.0/4',
  '2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20',
];

/** Addresses at which clouds give credentials to any process. No policy opens them. */
const METADATA = new Set([
  '169.254.169.254', '169.254.170.2', '169.254.170.23', '[fd00:ec2::23]', '[fd00:ec2::254]', '[fd20:ce::254]',
  '100.100.100.200', '192.0.0.192', '168.63.129.16',
]);

/** @param {string} host an address as serialized by the browser */
function isMetadata(host) {
  if (METADATA.has(host)) return true;
  const address = parseAddress(host);
  if (!address || address.v4) return false;
  const dotted = (/** @type {number} */ from) => address.bytes.slice(from, from + 4).join('.');
  return (within(address, '64:ff9b::/96') && METADATA.has(dotted(12)))
    || (within(address, '2002::/16') && METADATA.has(dotted(2)));
}

/**
 * Reports whether an address is a public unicast address.
 *
 * @param {string} host an address as serialized by the browser
 */
export function isPublicAddress(host) {
  const address = parseAddress(host);
  if (!address || METADATA.has(host)) return false;
  if (!address.v4 && !within(address, '2000::/3')) return false;
  return !SPECIAL.some((range) => within(address, range));
}

/** The hosts that no policy opens. */
export const BUILTIN = [
  ['chromewebstore.google.com', "a browser's extension store"],
  ['chrome.google.com/webstore', "a browser's extension store"],
  ['microsoftedge.microsoft.com/addons', "a browser's extension store"],
  ['addons.opera.com', "a browser's extension store"],
  ['metadata.google.internal', 'a cloud metadata service'],
  ['metadata.goog', 'a cloud metadata service'],
  ['metadata', 'a cloud metadata service'],
  ['instance-data', 'a cloud metadata service'],
  ['instance-data.ec2.internal', 'a cloud metadata service'],
].map(([text, what]) => ({ pattern: parsePattern(text), what }));

/**
 * The rules for a tab: the policy of the server that drives it, and the user's
 * block list.
 *
 * @typedef {object} Rules
 * @property {Pattern[]} allow
 * @property {Pattern[]} block the server's block list
 * @property {Pattern[]} userBlock the block list of the user
 * @property {Pattern[]} resources
 * @property {'public' | 'same' | 'list'} subresources
 * @property {string[]} privateRanges that are allowed
 * @property {boolean} unsafeAll
 * @property {Set<number>} ownPorts
 */

/**
 * Compiles a policy. An invalid pattern is dropped from lists that allow, and is
 * an error in lists that deny, so that nothing fails open.
 *
 * @param {Policy | null | undefined} policy null denies everything
 * @param {string[]} [blockList] the user's block list
 * @returns {Rules}
 */
export function compile(policy, blockList = []) {
  const subresources = policy?.subresources;
  return {
    allow: parseValid(policy?.allow),
    block: (policy?.block ?? []).map(parsePattern),
    userBlock: blockList.map(parsePattern),
    resources: parseValid(policy?.resources),
    subresources: subresources === 'public' || subresources === 'list' ? subresources : 'same',
    privateRanges: policy?.private ?? [],
    unsafeAll: policy?.unsafeAll === true,
    ownPorts: new Set(policy?.ownPorts ?? []),
  };
}

/** @param {string[] | undefined} list */
function parseValid(list) {
  return (list ?? []).flatMap((text) => {
    try {
      return [parsePattern(text)];
    } catch {
      return [];
    }
  });
}

/**
 * Reports whether rules allow no site at all.
 *
 * @param {Rules} rules
 */
export function allowsNoSite(rules) {
  return rules.allow.length === 0 && !rules.unsafeAll;
}

/**
 * Decides whether a document may be at a URL. It returns
 * null if it may, or else the reason, as text that follows "host: ".
 *
 * @param {Rules} rules
 * @param {string} url as serialized by the browser
 * @returns {string | null}
 */
export function decide(rules, url) {
  if (allowsNoSite(rules)) return 'the policy allows no site';
  if (isBlank(url)) return null;
  const site = siteOf(url);
  if (!site) return 'only http and https pages can be used';
  if (!isCanonical(site)) return 'the host is not in canonical form';
  const blocked = decideBlocked(rules, site);
  if (blocked) return blocked;
  if (!isListed(rules, site)) return `${site.host} is not in the list of allowed sites`;
  if (parseAddress(site.host) && !isPublicAddress(site.host) && !isLoopbackHost(site.host) && !opens(rules, site.host)) {
    return `${site.host} is a private address`;
  }
  return null;
}

/**
 * Checks what no policy opens: own ports, built-in hosts, and the block lists.
 *
 * @param {Rules} rules
 * @param {Site} site
 * @returns {string | null}
 */
export function decideBlocked(rules, site) {
  const local = isLoopbackHost(site.host) || parseAddress(site.host) !== null; // the addresses of this machine are unknown
  if (local && rules.ownPorts.has(site.port)) return `port ${site.port} is one of chrome-mcp's own`;
  if (isMetadata(site.host)) return `${site.host} is a cloud metadata service`;
  for (const { pattern, what } of BUILTIN) {
    if (denies(pattern, site)) return `${site.host} is ${what}`;
  }
  if (rules.userBlock.some((p) => denies(p, site))) return `${site.host} is on the block list of this browser's user`;
  if (rules.block.some((p) => denies(p, site))) return `${site.host} is blocked by the policy`;
  return null;
}

/**
 * @param {Rules} rules
 * @param {Site} site
 */
function isListed(rules, site) {
  if (rules.allow.some((p) => allows(p, site))) return true;
  if (!rules.unsafeAll) return false;
  return !isLoopbackHost(site.host) || opens(rules, parseAddress(site.host) ? site.host : '127.0.0.1');
}

/**
 * Reports whether the policy opens a private address.
 *
 * @param {Rules} rules
 * @param {string} host an address
 */
export function opens(rules, host) {
  const address = parseAddress(host);
  return address !== null && !isMetadata(host) && rules.privateRanges.some((cidr) => within(address, cidr));
}

/** @param {string} url */
export function isBlank(url) {
  return url === 'about:blank' || url.startsWith('about:blank#') || url.startsWith('about:blank?')
    || url === 'about:srcdoc' || url.startsWith('chrome-error://');
}

/**
 * Returns the host, port and path of a URL or origin as serialized by the browser, or null if it
 * is neither http nor https. For a blob: URL, it uses the origin that created it.
 *
 * @param {string} url
 * @returns {Site | null}
 */
export function siteOf(url) {
  let u;
  try {
    u = new URL(url.startsWith('blob:') ? new URL(url).origin : url);
  } catch {
    return null;
  }
  if (u.protocol !== 'http:' && u.protocol !== 'https:') return null;
  const scheme = u.protocol.slice(0, -1);
  return { scheme, host: u.hostname, port: u.port ? Number(u.port) : scheme === 'http' ? 80 : 443, path: u.pathname };
}

/**
 * Returns the origin of a URL as serialized by the browser, or "" if it is opaque.
 *
 * @param {string} url
 */
export function originOf(url) {
  try {
    const { origin } = new URL(url);
    return origin === 'null' ? '' : origin;
  } catch {
    return '';
  }
}
