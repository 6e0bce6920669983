// @ts-check
// One walk over the flat tree of a document. It returns the outline's nodes as columns, which
// are small as JSON and fast to decode.
//
//   v      version of this format, 1
//   url, title
//   d[i]   depth of node i; its parent is the nearest node before it with a smaller depth
//   r[i]   role, an index into roles; the role "text" is a run of text, in n
//   f[i]   states, bits as in F
//   i[i]   id of the element (idOf) if it can be a target, else 0
//   n[i]   name, or the text
//   roles  the roles that occur
//   xi, xk, xv  values that few nodes have: node, kind (one letter of the string xk), value. Kinds:
//          v value, l level, u URL, p placeholder, d description, c current,
//          t type, o options of a select, m the number of them if there are many
//   ci, ck, cr, ch  texts that are longer than MAX_CHARS characters or were truncated: node (-1 is the
//          document), kind (n name or text, and as in xk; of the document n title, u URL), the number
//          of characters that were not sent, hash of the complete text
//   behind number of nodes omitted because a modal dialog is in front of them
//   hosts  ids of elements that may have a closed shadow root, see closed_shadow_roots.js
//   customs  ids of custom elements whose internals may have a role, see internals.js
//   clickables  ids of clickable elements whose descendants may have click listeners, see listeners.js
//   signs  signals of an obstacle (obstacle_signals.js), for the complete page only
//   at     number of the record of what the elements were (shown_elements.js)
//   replaced  ids of elements that are other things than in the client's previous walk
//
// The Go side of this format is Decode in package outline.

import { walkFrom } from './document_walk.js';
import { bodyOf, byId, flatParent, topOf, withCaches } from './dom.js';
import { recordWalk } from './shown_elements.js';
import { styleOf } from './visibility.js';
import { MAX_CHARS } from './outline_columns.js';
import { Walk } from './walk.js';

/**
 * snapshot walks the document, or one element of it.
 * @param {{root?: number, mark?: number, survey?: boolean, chars?: number, since?: number, ours?: boolean}} [opts]
 *   mark is an element of the document whose nodes get the flag marked. chars is the maximum number of
 *   characters of one text. since and ours are as in recordWalk
 * @returns {object} the columns described above, or {error}
 */
export function snapshot(opts) {
  const from = opts?.root ? byId(opts.root) : bodyOf(document) || topOf(document);
  if (!from) return { error: opts?.root ? 'gone' : 'empty' };
  return withCaches(() => {
    const walk = new Walk(opts?.chars || MAX_CHARS);
    if (opts?.mark) walk.marked = blockOf(byId(opts.mark));
    const result = walkFrom(walk, from, !opts?.root, !!opts?.survey);
    return { ...result, ...recordWalk(walk, opts?.since || 0, !!opts?.ours) };
  });
}

/**
 * blockOf returns the element whose text is separate from the text around it and that contains el, or is
 * el.
 * @param {Element | null} el
 */
function blockOf(el) {
  let at = el;
  while (at && /^(inline|contents|none)/.test(styleOf(at).display)) at = flatParent(at);
  return at;
}
