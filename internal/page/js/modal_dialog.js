// @ts-check
// Modal dialogs: the user cannot reach content behind one.

import { boxOf, containsNode, elementFrom, rootOf } from './dom.js';
import { isSeen } from './visibility.js';
/** @import { Walk } from './walk.js' */

/**
 * dropInertNodes removes the nodes behind the frontmost modal dialog, if there is one.
 * It keeps nodes that are outside of the dialog in the document but in front of it on
 * the screen, such as the dialog's menus.
 * @param {Walk} walk
 * @returns {number} the number of nodes removed
 */
export function dropInertNodes(walk) {
  if (!walk.modals.length) return 0;
  /** @param {Element} el */
  const inFront = (el) => {
    const b = boxOf(el);
    if (b.width <= 0 || b.height <= 0) return false;
    const hit = elementFrom(rootOf(el), b.left + b.width / 2, b.top + b.height / 2);
    return !!hit && (el === hit || containsNode(el, hit));
  };
  const shown = walk.modals.filter((m) => m.end > m.start && isSeen(m.el));
  if (!shown.length) return 0;
  const front = shown.findLast((m) => inFront(m.el)) || shown[shown.length - 1];
  const keep = [front, ...walk.tops.filter((t) => t.start >= front.end && t.end > t.start && inFront(t.el))];
  const total = walk.d.length;
  const map = new Int32Array(total).fill(-1);
  const out = { d: /** @type {number[]} */ ([]), r: /** @type {number[]} */ ([]), f: /** @type {number[]} */ ([]), i: /** @type {number[]} */ ([]), n: /** @type {string[]} */ ([]) };
  for (const k of keep) {
    let base = Infinity;
    for (let x = k.start; x < k.end; x++) base = Math.min(base, walk.d[x]);
    for (let x = k.start; x < k.end; x++) {
      map[x] = out.d.length;
      out.d.push(walk.d[x] - base);
      out.r.push(walk.r[x]);
      out.f.push(walk.f[x]);
      out.i.push(walk.i[x]);
      out.n.push(walk.n[x]);
    }
  }
  const xi = [];
  const xk = [];
  const xv = [];
  for (let x = 0; x < walk.xi.length; x++) {
    if (map[walk.xi[x]] < 0) continue;
    xi.push(map[walk.xi[x]]);
    xk.push(walk.xk[x]);
    xv.push(walk.xv[x]);
  }
  const long = walk.ci.map((node, x) => ({ node: map[node], x })).filter((c) => c.node >= 0);
  Object.assign(walk, out, {
    xi, xk, xv, ci: long.map((c) => c.node), ck: long.map((c) => walk.ck[c.x]), cr: long.map((c) => walk.cr[c.x]), ch: long.map((c) => walk.ch[c.x]),
  });
  return total - out.d.length;
}
