// @ts-check

// The hosts of all present and past documents in the tabs under one set of rules.
// Workers of such a document outlive it and belong to no tab.

import { siteOf } from './policy.js';

/** The maximum number of hosts of a scope. With more of them, or one that cannot be listed,
 * its rules apply to all requests from outside of known tabs. */
export const MAX_HOSTS = 200;

/** The hosts that a rule can list: DNS names and IPv4 addresses. Bracketed IPv6 addresses
 * match here too, and have separate rules. Pages can navigate frames to a host of
 * two million characters, and each rule of a scope lists each host. */
const NAMEABLE = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])$/;

/** Represents any host. @type {Set<string>} */
const ANY = new Set();

export class Hosts {
  constructor() {
    /** @type {Map<string, Set<string>>} */
    this.scopes = new Map();
  }

  /**
   * Adds the host of a document and reports whether the rules of the scope
   * change.
   *
   * @param {string} scope
   * @param {string} url
   */
  add(scope, url) {
    // Documents without a host have their parent's origin, or none. A rule with more than
    // five hosts compares them without a trailing dot.
    const host = siteOf(url)?.host.replace(/\.$/, '');
    let hosts = this.scopes.get(scope);
    if (!hosts) this.scopes.set(scope, hosts = new Set());
    if (!host || hosts === ANY || hosts.has(host)) return false;
    if (hosts.size === MAX_HOSTS || !NAMEABLE.test(host)) this.scopes.set(scope, ANY);
    else hosts.add(host);
    return true;
  }

  /** @param {string} scope @returns {string[] | null} null for any host */
  of(scope) {
    const hosts = this.scopes.get(scope) ?? new Set();
    return hosts === ANY ? null : [...hosts];
  }

  /** Removes all other scopes. @param {Iterable<string>} scopes */
  retain(scopes) {
    const retained = new Set(scopes);
    for (const scope of this.scopes.keys()) if (!retained.has(scope)) this.scopes.delete(scope);
  }
}
