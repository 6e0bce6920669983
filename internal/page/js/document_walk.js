// @ts-check
// A walk of a complete document, or of one element of it.

import { bodyOf, flatParent, titleOf, topOf, withCaches } from './dom.js';
import { itemsAround } from './items_around.js';
import { dropInertNodes } from './modal_dialog.js';
import { surveyObstacles } from './obstacle_signals.js';
import { addRows } from './plain_rows.js';
import { Walk } from './walk.js';

/** walkDocument walks the complete document. */
export function walkDocument() {
  const from = bodyOf(document) || topOf(document);
  if (!from) return null;
  return withCaches(() => {
    const walk = new Walk(2000);
    walkFrom(walk, from, true, false);
    return walk;
  });
}

/**
 * walkFrom walks an element, and with whole the document that it is the root of.
 * @param {Walk} walk
 * @param {Element} from
 * @param {boolean} whole
 * @param {boolean} survey whether to return the signals of an obstacle
 * @returns the columns of snapshot.js
 */
export function walkFrom(walk, from, whole, survey) {
  walk.collectOwned(document);
  walk.body = whole ? from : null;
  const above = whole ? null : flatParent(from);
  if (above) {
    [walk.item, walk.box] = itemsAround(above);
    for (const item of [walk.item, walk.box]) if (item) item.done = true;
  }
  walk.visit(from, 0, { pointer: false, quiet: false, unseen: false, clipped: false, away: false });
  walk.flush();
  addRows(walk, from);
  const behind = whole ? dropInertNodes(walk) : 0;
  const url = walk.piece(-1, 'u', location.href);
  const title = walk.piece(-1, 'n', titleOf(document));
  return {
    v: 1, url, title, ci: walk.ci, ck: walk.ck.join(''), cr: walk.cr, ch: walk.ch, d: walk.d, r: walk.r, f: walk.f, i: walk.i, n: walk.n,
    roles: [...walk.roles.keys()], xi: walk.xi, xk: walk.xk.join(''), xv: walk.xv, behind,
    hosts: walk.hosts, customs: walk.customs, clickables: walk.clickables,
    signs: whole && survey ? surveyObstacles() : null,
  };
}
