// @ts-check

// The hosts of all present and past documents in the tabs under one set of rules.
// Workers of such a document outlive it and belong to no tab.

import { siteOf } from './rules.js';

/** How many hosts a fence names. With more of them, or one that cannot be named,
 * its rules hold whatever begins outside of tabs that are known. */
export const MAX_HOSTS = 200;

/** What a rule can name: names as DNS has them, and IPv4 addresses. The rules
 * know those in brackets by other means. Pages can lead frames to a host of
 * two million characters, and each rule of a fence names each host. */
const NAMEABLE = /^(?:[a-z0-9._-]{1,253}|\[[0-9a-f:.]+\])$/;

/** Stands for any host. @type {Set<string>} */
const ANY = new Set();

export class Hosts {
  constructor() {
    /** @type {Map<string, Set<string>>} */
    this.fences = new Map();
  }

  /**
   * Adds the host of a document and reports whether the rules of the fence
   * change.
   *
   * @param {string} fence
   * @param {string} url
   */
  add(fence, url) {
    // Documents without one have their parent's origin, or none. A rule that
    // names more than five hosts compares them with one without its last dot.
    const host = siteOf(url)?.host.replace(/\.$/, '');
    let hosts = this.fences.get(fence);
    if (!hosts) this.fences.set(fence, hosts = new Set());
    if (!host || hosts === ANY || hosts.has(host)) return false;
    if (hosts.size === MAX_HOSTS || !NAMEABLE.test(host)) this.fences.set(fence, ANY);
    else hosts.add(host);
    return true;
  }

  /** @param {string} fence @returns {string[] | null} null for any host */
  of(fence) {
    const hosts = this.fences.get(fence) ?? new Set();
    return hosts === ANY ? null : [...hosts];
  }

  /** Removes all other fences. @param {Iterable<string>} there */
  keep(there) {
    const fences = new Set(there);
    for (const fence of this.fences.keys()) if (!fences.has(fence)) this.fences.delete(fence);
  }
}
