// @ts-check
// Text that is in the document but cannot be seen: transparent, in the color of its
// background, without a size, clipped, or far outside of the page. visibility.js handles
// elements that are hidden as a whole. In doubt, text counts as visible.

import { attributeOf, bodyOf, boxOf, childrenOf, clientHeightOf, clientWidthOf, documents, firstIn, flatParent, hasAttributes, isRendered, matchesCSS, newRange, onCacheReset, tagOf, topOf } from './dom.js';
import { hidesText, inViewport, styleOf, UNFADED } from './visibility.js';
/** @import { Found } from './dom.js' */

/**
 * Whether an element shows its text. Valid only during one call from Go.
 * @type {Map<Element, boolean>}
 */
let showing = new Map();

/** Whether the style of an element hides its text. @type {Map<Element, boolean>} */
let hiddenByStyle = new Map();

/** The background color of an element, or '' if it is not certain. @type {Map<Element, string>} */
let backgrounds = new Map();

/** The text color and background color of the body, computed once per call. */
let usualColor = '';
let usualBackground = '';

/** The distance outside of the page from which content counts as hidden, in CSS pixels. */
export const FAR = 3000;

onCacheReset(() => {
  showing = new Map();
  hiddenByStyle = new Map();
  backgrounds = new Map();
  usualColor = '';
});

/**
 * showsText reports whether an element shows its own text, at any position.
 * @param {Element} el
 * @returns {boolean}
 */
export function showsText(el) {
  let shows = showing.get(el);
  if (shows === undefined) {
    shows = (isRendered(el, UNFADED) || styleOf(el).display === 'contents') && !hidesText(el) && !isHiddenByStyle(el);
    showing.set(el, shows);
  }
  return shows;
}

/**
 * isHiddenByStyle reports whether the style of an element or an ancestor makes its text
 * invisible. An element without attributes is assumed to look like its parent: colors and
 * sizes are inherited, and reading them for each element is expensive.
 * @param {Element} el
 * @returns {boolean}
 */
function isHiddenByStyle(el) {
  /** @type {Element[] | undefined} */
  let path;
  let away;
  for (let at = el; ; ) {
    const plain = !hasAttributes(at) && flatParent(at);
    if (!plain) {
      away = (isLowContrast(at) || isCutOff(at)) && !replacesImage(at);
      break;
    }
    away = hiddenByStyle.get(plain);
    if (away !== undefined) break;
    if (path) path.push(plain);
    else path = [plain];
    at = plain;
  }
  if (path) for (const at of path) hiddenByStyle.set(at, away);
  return away;
}

/**
 * isLowContrast reports whether text has no size, no color, or the color of its background.
 * @param {Element} el
 */
export function isLowContrast(el) {
  const cs = styleOf(el);
  if (parseFloat(cs.fontSize) < 1) return true;
  const color = cs.webkitTextFillColor;
  if (color[3] === 'a' && alphaOf(color) < 0.05) {
    return cs.textShadow === 'none' && cs.backgroundClip !== 'text' && !parseFloat(cs.webkitTextStrokeWidth);
  }
  const top = bodyOf(document) || topOf(document);
  if (!usualColor) {
    usualColor = styleOf(top).webkitTextFillColor;
    usualBackground = backgroundBehind(top);
  }
  // Finding the background of each element is expensive. Text is hidden in its element's own
  // background or the page's.
  if (color === usualColor || color !== (color === usualBackground ? backgroundBehind(el) : cs.backgroundColor)) return false;
  return cs.textShadow === 'none' && !isAbove(el) && !isOnImage(el);
}

/** alphaOf returns the alpha value of a color. @param {string} color as computed: rgba(…) */
function alphaOf(color) {
  const m = /[,/]\s*([\d.]+)(%?)\)$/.exec(color);
  return m ? +m[1] / (m[2] ? 100 : 1) : 1;
}

/**
 * backgroundBehind returns the background color of an element's text, considering only the element
 * and its ancestors, or '' if it is not certain.
 * @param {Element} el
 * @returns {string}
 */
function backgroundBehind(el) {
  /** @type {Element[]} */
  const path = [];
  let color = '';
  for (let at = /** @type {Found} */ (el); at; ) {
    const known = backgrounds.get(at);
    if (known !== undefined) {
      color = known;
      break;
    }
    path.push(at);
    const cs = styleOf(at);
    color = cs.backgroundColor;
    if (color === 'rgba(0, 0, 0, 0)') {
      at = cs.backgroundImage === 'none' ? flatParent(at) : null;
      color = at || cs.backgroundImage !== 'none' || cs.colorScheme.includes('dark') ? '' : 'rgb(255, 255, 255)';
    } else {
      if (color[3] === 'a' || cs.backgroundImage !== 'none') color = '';
      at = null;
    }
  }
  for (const at of path) backgrounds.set(at, color);
  return color;
}

/**
 * isAbove reports whether an element may be drawn over an element other than its ancestors, up
 * to the one that has a background color.
 * @param {Element} el
 */
function isAbove(el) {
  for (let p = /** @type {Found} */ (el); p; p = flatParent(p)) {
    const cs = styleOf(p);
    if (cs.backgroundColor !== 'rgba(0, 0, 0, 0)') return false;
    if (cs.position !== 'static' || cs.float !== 'none' || cs.transform !== 'none') return true;
  }
  return false;
}

/**
 * isOnImage reports whether an image may be drawn between an element and its background.
 * @param {Element} el
 */
function isOnImage(el) {
  const b = boxOf(el);
  if (inViewport(b)) {
    const stack = documents.elementsFromPoint.call(document, Math.max(b.left, 0) + 1, b.top + b.height / 2);
    if (stack.length) return stack.some(isImage);
  }
  for (let p = flatParent(el); p && p !== bodyOf(document); p = flatParent(p)) if (firstIn(p, IMAGES)) return true;
  const top = bodyOf(document);
  return !!top && [...childrenOf(top)].some((c) => /^(fixed|absolute)$/.test(styleOf(c).position) && (isImage(c) || !!firstIn(c, IMAGES)));
}

const IMAGES = 'img, video, canvas, picture, svg, iframe, object, embed';

/** @param {Element} el */
function isImage(el) {
  return matchesCSS(el, IMAGES) || styleOf(el).backgroundImage !== 'none';
}

/**
 * isCutOff reports whether the element's style clips its text or moves it away.
 * @param {Element} el
 */
function isCutOff(el) {
  const cs = styleOf(el);
  return parseFloat(cs.textIndent) < -900 || /^(inset\((50|100)%|(circle|ellipse)\(0)/.test(cs.clipPath);
}

/**
 * isShrunk reports whether a box has no size and no overflowing content.
 * @param {Element} el
 * @param {DOMRect} b its box
 */
export function isShrunk(el, b) {
  if (b.width > 0 || b.height > 0 || styleOf(el).display === 'contents') return false;
  const range = newRange();
  range.selectNodeContents(el);
  const r = range.getBoundingClientRect();
  return r.width === 0 && r.height === 0;
}

/**
 * isClipped reports whether a box that hides overflow is too small to show anything.
 * @param {Element} el
 */
export function isClipped(el) {
  if (clientHeightOf(el) > 1 && clientWidthOf(el) > 1) return false;
  return !/^(inline|contents)$/.test(styleOf(el).display) && !replacesImage(el); // overflow does not apply to inline elements
}

/**
 * replacesImage reports whether hidden text is a text alternative for what is shown next to it,
 * such as stars, an icon, or a price in separate elements.
 * @param {Element} el
 */
export function replacesImage(el) {
  if (styleOf(el).backgroundImage !== 'none') return true;
  const parent = flatParent(el);
  if (!parent || parent === bodyOf(document)) return false;
  if (styleOf(parent).backgroundImage !== 'none') return true;
  for (const c of childrenOf(parent)) {
    if (c !== el && (attributeOf(c, 'aria-hidden') === 'true' || /^(img|svg|i|picture|canvas|video)$/.test(tagOf(c))) && isRendered(c)) return true;
  }
  return false;
}
