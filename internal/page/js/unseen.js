// @ts-check
// Text that is there, and that nobody can see: transparent, in the colour of
// what is behind it, without a size, clipped away or far outside of the page.
// What hides whole elements is in visibility.js. When in doubt, text is seen.

/** Whether an element shows the text in it. Live only during one call from Go. @type {Map<Element, boolean>} */
let showing = new Map();

/** Whether the style of an element hides its text. @type {Map<Element, boolean>} */
let styledAway = new Map();

/** The colour behind an element, '' when it is not certain. @type {Map<Element, string>} */
let behinds = new Map();

/** The colour of most text, and of the page behind it, asked once a call. */
let usualColor = '';
let ground = '';

/** From how far outside the page on nothing is meant to be seen, in CSS pixels. */
const FAR = 3000;

function resetUnseen() {
  showing = new Map();
  styledAway = new Map();
  behinds = new Map();
  usualColor = '';
}

/**
 * showsText reports whether an element shows the text right in it, wherever it is.
 * @param {Element} el
 * @returns {boolean}
 */
function showsText(el) {
  let shows = showing.get(el);
  if (shows === undefined) {
    shows = (isRendered(el, UNFADED) || styleOf(el).display === 'contents') && !hidesText(el) && !isStyledAway(el);
    showing.set(el, shows);
  }
  return shows;
}

/**
 * isStyledAway reports whether the style of an element, or of one that it is
 * in, draws its text so that nobody can see it. An element without attributes
 * is taken to look like what it is in: colours and sizes are inherited, and to
 * read them of each element is dear.
 * @param {Element} el
 * @returns {boolean}
 */
function isStyledAway(el) {
  /** @type {Element[] | undefined} */
  let way;
  let away;
  for (let at = el; ; ) {
    const plain = !hasAttributes(at) && flatParent(at);
    if (!plain) {
      away = (isFaint(at) || isCutOff(at)) && !standsForPicture(at);
      break;
    }
    away = styledAway.get(plain);
    if (away !== undefined) break;
    if (way) way.push(plain);
    else way = [plain];
    at = plain;
  }
  if (way) for (const at of way) styledAway.set(at, away);
  return away;
}

/** @param {Element} el isFaint reports whether text is drawn without size or colour, or in that of its ground */
function isFaint(el) {
  const cs = styleOf(el);
  if (parseFloat(cs.fontSize) < 1) return true;
  const color = cs.webkitTextFillColor;
  if (color[3] === 'a' && alphaOf(color) < 0.05) {
    return cs.textShadow === 'none' && cs.backgroundClip !== 'text' && !parseFloat(cs.webkitTextStrokeWidth);
  }
  const top = bodyOf(document) || topOf(document);
  if (!usualColor) {
    usualColor = styleOf(top).webkitTextFillColor;
    ground = behind(top);
  }
  // To find the ground of each element is dear: its own, and that of the page, are where text is hidden.
  if (color === usualColor || color !== (color === ground ? behind(el) : cs.backgroundColor)) return false;
  return cs.textShadow === 'none' && !isAbove(el) && !isOnPicture(el);
}

/** @param {string} color as computed: rgba(…) */
function alphaOf(color) {
  const m = /[,/]\s*([\d.]+)(%?)\)$/.exec(color);
  return m ? +m[1] / (m[2] ? 100 : 1) : 1;
}

/**
 * behind returns the colour of the nearest ground that an element's text
 * stands on as far as the elements tell that it is in.
 * @param {Element} el
 * @returns {string}
 */
function behind(el) {
  /** @type {Element[]} */
  const way = [];
  let color = '';
  for (let at = /** @type {Found} */ (el); at; ) {
    const known = behinds.get(at);
    if (known !== undefined) {
      color = known;
      break;
    }
    way.push(at);
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
  for (const at of way) behinds.set(at, color);
  return color;
}

/**
 * isAbove reports whether an element may be drawn over another one than those
 * that it is in, up to the one whose ground it seems to stand on.
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
 * isOnPicture reports whether something may be drawn between an element and
 * its ground.
 * @param {Element} el
 */
function isOnPicture(el) {
  const b = boxOf(el);
  if (inViewport(b)) {
    const stack = documents.elementsFromPoint.call(document, Math.max(b.left, 0) + 1, b.top + b.height / 2);
    if (stack.length) return stack.some(isPicture);
  }
  for (let p = flatParent(el); p && p !== bodyOf(document); p = flatParent(p)) if (firstIn(p, PICTURES)) return true;
  const top = bodyOf(document);
  return !!top && [...childrenOf(top)].some((c) => /^(fixed|absolute)$/.test(styleOf(c).position) && (isPicture(c) || !!firstIn(c, PICTURES)));
}

const PICTURES = 'img, video, canvas, picture, svg, iframe, object, embed';

/** @param {Element} el */
function isPicture(el) {
  return matchesCSS(el, PICTURES) || styleOf(el).backgroundImage !== 'none';
}

/** @param {Element} el isCutOff reports whether text is clipped or moved away by a style of its own */
function isCutOff(el) {
  const cs = styleOf(el);
  return parseFloat(cs.textIndent) < -900 || /^(inset\((50|100)%|(circle|ellipse)\(0)/.test(cs.clipPath);
}

/**
 * isShrunk reports whether a box without a size has nothing that overflows it.
 * @param {Element} el
 * @param {DOMRect} b its box
 */
function isShrunk(el, b) {
  if (b.width > 0 || b.height > 0 || styleOf(el).display === 'contents') return false;
  const range = newRange();
  range.selectNodeContents(el);
  const r = range.getBoundingClientRect();
  return r.width === 0 && r.height === 0;
}

/**
 * isClipped reports whether a box that hides what overflows it has no room to
 * show anything.
 * @param {Element} el
 */
function isClipped(el) {
  if (clientHeightOf(el) > 1 && clientWidthOf(el) > 1) return false;
  return !/^(inline|contents)$/.test(styleOf(el).display) && !standsForPicture(el); // to inline text overflow means nothing
}

/**
 * standsForPicture reports whether hidden text is there to be read aloud
 * instead of what is seen beside it: stars, an icon, a price set in pieces.
 * @param {Element} el
 */
function standsForPicture(el) {
  if (styleOf(el).backgroundImage !== 'none') return true;
  const parent = flatParent(el);
  if (!parent || parent === bodyOf(document)) return false;
  if (styleOf(parent).backgroundImage !== 'none') return true;
  for (const c of childrenOf(parent)) {
    if (c !== el && (attributeOf(c, 'aria-hidden') === 'true' || /^(img|svg|i|picture|canvas|video)$/.test(tagOf(c))) && isRendered(c)) return true;
  }
  return false;
}
