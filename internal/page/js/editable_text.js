// @ts-check
// The text in an editable element.

import { allIn, innerTextOf } from './dom.js';
import { styleOf } from './visibility.js';

/**
 * editableTextOf returns the text in an editable element, without a placeholder that its editor shows
 * there: a part that can be neither edited, selected nor clicked, as in Slate.
 * @param {Element} el
 * @returns {string}
 */
export function editableTextOf(el) {
  const text = innerTextOf(el) || '';
  let rest = text;
  for (const part of allIn(el, '[contenteditable=false]')) {
    const { userSelect, pointerEvents } = styleOf(part);
    if (userSelect === 'none' && pointerEvents === 'none') rest = rest.replace(innerTextOf(part), '');
  }
  return rest === text || rest.trim() !== '' ? rest : ''; // a placeholder is shown where nothing else is
}
