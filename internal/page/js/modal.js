// @ts-check
// Modal dialogs: what is behind one is out of a person's reach.

/**
 * Leaves out what is behind the modal dialog in front, if there is one.
 * What a page puts behind it in the document but in front of it on the
 * screen (its own menus, for one) stays.
 * @param {Walk} walk
 * @returns {number} how many nodes went
 */
function cutBehindModal(walk) {
  if (!walk.modals.length) return 0;
  /** @param {Element} el */
  const inFront = (el) => {
    const b = boxOf(el);
    if (b.width <= 0 || b.height <= 0) return false;
    const hit = elementFrom(rootOf(el), b.left + b.width / 2, b.top + b.height / 2);
    return !!hit && (el === hit || holds(el, hit));
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
