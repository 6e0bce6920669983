// @ts-check
// The columns of an outline, which snapshot.js describes.

import { startOf } from './same_text.js';

/**
 * The maximum number of characters of one text, unless the caller sets another. Longer texts get a
 * hash.
 */
export const MAX_CHARS = 20000;
/**
 * The maximum number of characters of long texts in one walk. After that, each text is truncated to
 * MIN_CHARS.
 */
const MAX_TOTAL_CHARS = 5 << 20;
const MIN_CHARS = 400;

/**
 * hash returns a 32-bit FNV-1a hash of the UTF-16 code units of a text.
 * @param {string} s
 */
function hash(s) {
  let h = 0x811c9dc5;
  for (let i = 0; i < s.length; i++) h = imul(h ^ s.charCodeAt(i), 0x01000193);
  return h >>> 0;
}

const { imul } = Math;

export class Columns {
  /** @param {number} chars the maximum number of characters of one text */
  constructor(chars) {
    this.chars = chars;
    /** How many characters of long texts may still be sent. */
    this.budget = MAX_TOTAL_CHARS;
    /** @type {number[]} */ this.ci = [];
    /** @type {string[]} */ this.ck = [];
    /** @type {number[]} */ this.cr = [];
    /** @type {number[]} */ this.ch = [];
    /** @type {number[]} */ this.d = [];
    /** @type {number[]} */ this.r = [];
    /** @type {number[]} */ this.f = [];
    /** @type {number[]} */ this.i = [];
    /** @type {string[]} */ this.n = [];
    /** @type {number[]} */ this.xi = [];
    /** @type {string[]} */ this.xk = [];
    /** @type {string[]} */ this.xv = [];
    /** @type {Map<string, number>} */ this.roles = new Map();
    /** The keys of roles, once they are complete. @type {string[] | null} */
    this.roleNames = null;
  }

  /** roleAt returns the role of a node. @param {number} k */
  roleAt(k) {
    this.roleNames ||= [...this.roles.keys()];
    return this.roleNames[this.r[k]];
  }

  /**
   * append adds a node.
   * @param {string} role
   * @param {number} depth
   * @param {number} flags
   * @param {number} id
   * @param {string} name
   */
  append(role, depth, flags, id, name) {
    let r = this.roles.get(role);
    if (r === undefined) {
      r = this.roles.size;
      this.roles.set(role, r);
    }
    this.d.push(depth);
    this.r.push(r);
    this.f.push(flags);
    this.i.push(id);
    this.n.push(name.length > MIN_CHARS ? this.piece(this.n.length, 'n', name) : name);
  }

  /**
   * @param {number} node
   * @param {string} kind
   * @param {string} value
   */
  extra(node, kind, value) {
    if (value === '') return;
    this.xi.push(node);
    this.xk.push(kind);
    this.xv.push(this.piece(node, kind, value));
  }

  /**
   * piece returns the part of a text to send, and records the length and hash of a long text.
   * @param {number} node
   * @param {string} kind
   * @param {string} s
   */
  piece(node, kind, s) {
    if (s.length <= MIN_CHARS) return s;
    const max = Math.min(s.length, this.chars) <= this.budget ? this.chars : MIN_CHARS;
    const sent = startOf(s, max);
    this.budget -= sent.length;
    if (s.length > MAX_CHARS || sent.length < s.length) {
      this.ci.push(node);
      this.ck.push(kind);
      this.cr.push(s.length - sent.length);
      this.ch.push(hash(s));
    }
    return sent;
  }

  /** dropPieces drops the records of long texts from node n on. @param {number} n */
  dropPieces(n) {
    while (this.ci.length && this.ci[this.ci.length - 1] >= n) {
      this.ci.pop();
      this.ck.pop();
      this.cr.pop();
      this.ch.pop();
    }
  }

  /** truncate drops the nodes from n on. @param {number} n */
  truncate(n) {
    this.d.length = this.r.length = this.f.length = this.i.length = this.n.length = n;
    while (this.xi.length && this.xi[this.xi.length - 1] >= n) {
      this.xi.pop();
      this.xk.pop();
      this.xv.pop();
    }
    this.dropPieces(n);
  }
}
