// @ts-check

// Denied paths. Servers read a path in different ways: they decode it once or
// twice, merge slashes, resolve dot segments, remove parameters. We cannot know
// all of them. So on a host with a denied path, ambiguous paths, which servers may
// read differently, are denied. All other paths are compared with the prefix.
//
// Both checks are regular expressions, so that decisions about documents and the DNR
// rules are the same. policy/path.go has the same expressions.
// internal/wire/testdata/patterns.json has test cases for both.

/**
 * Expressions that match ambiguous paths from the start of the path. Each fits
 * into the memory limit of a browser rule.
 */
export const AMBIGUOUS = [
  // An incomplete escape, or an escape of a control character, of an unreserved
  // character, or of one of / \ % ;
  '/[^?#]*%(?:.?(?:[^0-9a-f]|$)|[01]|2[5def]|3[0-9b]|[46][^0]|5[0-9acf]|7[0-9aef])',
  // Characters that browsers escape, and the backslash.
  '/[^?#]*[^!-\\[\\]-~]',
  // A dot segment, optionally with a parameter or a space.
  '(?:/[^?#]*)?/\\.(?:[./;:]|%20|%3a|$)',
  // Malformed UTF-8: overlong, outside of Unicode, ...
  '/[^?#]*%(?:c[01]|f[5-f]|e0%[89]|ed%[ab]|f0%8|f4%[9ab])',
  // ... with too few bytes ...
  '/[^?#]*%(?:[c-f].|[ef].%..|f.%..%..)(?:[^%]|%[^89ab]|$)',
  // ... or with too many.
  '/(?:[^?#]?[^?#]?|[^?#]*(?:[^%?#][^?#][^?#]|%[0-7].))%[89ab]',
  '/[^?#]*%(?:[cd].|e.%..|f.%..%..)%..%[89ab]',
  // Characters that some servers map to ASCII: i, s and k by case mapping ...
  '/[^?#]*%(?:c4%b[01]|c5%bf|e2%84%aa)',
  // ... dots and slashes, and full-width forms.
  '/[^?#]*%(?:e2%(?:80%a[45]|81%84|88%9[56])|ef%b(?:c%(?:85|8[d-f]|9[0-9b]|[ab])|d%[89]))',
  // Characters that some file systems ignore, after ASCII.
  '/(?:[^?#]?[^?#]?|[^?#]*(?:[^%?#][^?#][^?#]|%[0-7].))%(?:c2%ad|e2%8(?:0%(?:8[b-f]|a[a-e])|1%a)|ef%bb%bf)',
];

/** Matches the text between two segments: slashes, and dots, spaces and parameters
 * that some servers remove from the end of a segment. */
const BETWEEN = '(?:(?:\\.|%20)*(?:(?:[;:]|%3a)[^/?#]*)?/)';

/** @param {string} s */
export const quote = (s) => s.replace(/[.*+?^${}()|[\]\\/]/g, '\\$&');

/**
 * Returns the expression for the unambiguous paths below a denied prefix.
 *
 * @param {string} prefix of a pattern
 */
export function below(prefix) {
  const segments = prefix.slice(1).split('/').map((segment) => segment.replace(/[^]/g, (c) => {
    if (/[A-Za-z0-9._~-]/.test(c)) return quote(c);
    return `(?:${quote(c)}|%${c.charCodeAt(0).toString(16)})`;
  }));
  return `/${BETWEEN}*${segments.join(`${BETWEEN}+`)}`;
}

const ambiguous = AMBIGUOUS.map((expression) => new RegExp('^' + expression, 'i'));

/**
 * Reports whether a path is or may be below a denied prefix.
 *
 * @param {string} path as serialized by the browser
 * @param {string} prefix of a pattern
 */
export function pathUnder(path, prefix) {
  return ambiguous.some((e) => e.test(path)) || new RegExp('^' + below(prefix), 'i').test(path);
}
