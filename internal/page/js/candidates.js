// @ts-check
// What may be meant by a target that is not there.

/**
 * candidates returns elements that may have been meant: of a role and name, or
 * with words in common with a selector.
 * @param {string} role
 * @param {string} text
 * @param {number} limit
 */
api.candidates = (role, text, limit) => {
  const words = new Set(text.toLowerCase().split(/[^\p{L}\p{N}]+/u).filter((w) => w.length > 2 && !noise.has(w)));
  /** @type {{score: number, id: number, role: string, name: string}[]} */
  const found = [];
  const list = allIn(document, 'a[href], button, input, select, textarea, summary, [role], [tabindex], [contenteditable]');
  for (const el of [...list].slice(0, 3000)) {
    if (!shown(el)) continue;
    const [r, name] = roleAndName(el);
    const own = new Set((name + ' ' + (attributeOf(el, 'id') || '') + ' ' + (attributeOf(el, 'name') || '')).toLowerCase().split(/[^\p{L}\p{N}]+/u));
    let score = role && r === role ? 1 : 0;
    if (role && name === text && score) score += 10;
    for (const w of words) if (own.has(w)) score += 2;
    if (score > (role ? 1 : 0)) found.push({ score, id: idOf(el), role: r, name: name.slice(0, 80) });
  }
  return found.sort((a, b) => b.score - a.score).slice(0, limit).map(({ id, role, name }) => ({ id, role, name }));
};
const noise = new Set(['text', 'role', 'name', 'button', 'input', 'div', 'span', 'type', 'class', 'nth', 'child', 'not', 'has']);
