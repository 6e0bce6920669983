// @ts-check
// The same text: the form of a text in which the texts that a user cannot distinguish are equal
// strings. Package pagetext has the same functions, Fold and FoldCase, and its Clean does this for the
// outline. Everything that compares texts of a page with each other or with a text of a client uses
// them.

/** Text that foldText does not change. */
const FOLDED = /^(?:[!-~]+(?: [!-~]+)*)?$/;
/** Text in which only white space may change. */
const PRINTED = /^[\t-\r -~]*$/;
/** Terminal escape sequences. */
const ESCAPES = /\x1b\[(?:[ -?]{0,62}[@-~])?|\x9b(?:[ -?]{0,63}[@-~])?|\x1b\](?:[^\x07\x1b]{0,254}[\x07\x1b])?/g;
/** Characters that draw nothing or change how others are drawn, except white space. */
const INVISIBLE = /[\0-\x08\x0e-\x1f\x7f-\x84\x86-\x9f\xad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ue000-\uf8ff\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb\u{13430}-\u{1343f}\u{1bca0}-\u{1bca3}\u{1d159}\u{1d173}-\u{1d17a}\u{e0000}-\u{e0fff}\u{f0000}-\u{10ffff}]/gu;
const WHITE_SPACE = /[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/g;

/**
 * foldText returns a text without characters that a user cannot see, in Unicode normalization form C,
 * and with each run of white space collapsed to one space and trimmed.
 * @param {string} s
 */
export function foldText(s) {
  if (FOLDED.test(s)) return s;
  const shown = PRINTED.test(s) ? s : s.replace(ESCAPES, '').replace(INVISIBLE, '').normalize('NFC');
  return shown.replace(WHITE_SPACE, ' ').replace(/^ | $/g, '');
}

/**
 * foldCase is foldText, and ignores case.
 * @param {string} s
 */
export function foldCase(s) {
  const folded = foldText(s).toLowerCase();
  return /[ςß\u0307]/.test(folded) ? folded.replace(/ς/g, 'σ').replace(/ß/g, 'ss').replace(/i\u0307/g, 'i') : folded;
}

/**
 * The maximum number of characters of a folded text per character of the text: of those that form C
 * decomposes, and of ß.
 */
export const FOLD_GROWTH = 3;

/**
 * startOf returns the first n characters of s, or one less if that would split a surrogate pair.
 * @param {string} s
 * @param {number} n
 */
export function startOf(s, n) {
  if (s.length <= n) return s;
  const last = s.charCodeAt(n - 1);
  return s.slice(0, last >= 0xd800 && last < 0xdc00 ? n - 1 : n);
}

/**
 * clip truncates a text without splitting a character.
 * @param {string} s
 * @param {number} max
 */
export function clip(s, max) {
  return s.length <= max ? s : startOf(s, max) + '…';
}
