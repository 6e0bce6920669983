// @ts-check
// Signals of page-level obstacles: a captcha, access denied, a login, a consent banner. They
// are facts only. Package obstacle evaluates them. Since it runs with each walk of a page, it
// reads little: certain ids, classes and frames, what floats over the center, and the text up to
// the length that an obstacle page has.

import { allIn, attributeOf, bodyOf, boxOf, clientHeightOf, collapse, documents, elementFrom, elementWithId, firstChildOf, flatChildren, flatParent, getter, isRendered, matchesCSS, nextSiblingOf, shadowOf, tagOf, textIn, titleOf, typeOfNode } from './dom.js';
import { foldCase } from './same_text.js';
import { NEVER_SHOWN, styleOf, UNFADED } from './visibility.js';

/** The maximum number of characters of a page that is only an obstacle. */
const MAX_OBSTACLE_CHARS = 1500;
/** The maximum number of elements of such a page. */
const MAX_OBSTACLE_ELEMENTS = 800;
/** The maximum number of links of a page with an obstacle. */
const MAX_OBSTACLE_LINKS = 200;

/** Ids of the elements in which captchas are rendered. */
const CAPTCHA_IDS = [
  'px-captcha', 'challenge-form', 'challenge-stage', 'challenge-running', 'captcha-form', 'captcha-container', 'FunCaptcha', 'funcaptcha',
  'arkose', 'sec-if-cpt-container', 'sec-cpt-if', 'amzn-captcha-verify-button',
];
const CAPTCHA_CLASSES = [
  'g-recaptcha', 'h-captcha', 'cf-turnstile', 'frc-captcha', 'geetest_captcha', 'geetest_holder', 'geetest_panel_box', 'mtcaptcha',
];
const CAPTCHA_TAGS = ['awswaf-captcha', 'altcha-widget'];
/** Fields that contain the token of a solved captcha. */
const CAPTCHA_TOKENS = ['g-recaptcha-response', 'h-captcha-response', 'cf-turnstile-response', 'frc-captcha-response', 'frc-captcha-solution', 'fc-token'];
/** URLs and names of frames and scripts to report. */
const CANDIDATE_PATTERN = /captcha|challenge|turnstile|arkose|geetest|awswaf|perimeterx|px-c|incapsula|consent|privacy|cmp|sp_message|login|signin|auth|sso/i;

/**
 * surveyObstacles collects the signals. See Signals in package obstacle. The
 * caller must be in withCaches.
 */
export function surveyObstacles() {
  const body = bodyOf(document);
  if (!body || window !== top) return null;
  const links = countLinks();
  const page = new Survey();
  page.long = links > MAX_OBSTACLE_LINKS;
  page.visit(body);
  const cover = coverOf();
  const scripts = [];
  for (const el of taggedIn('script')) {
    const src = attributeOf(el, 'src');
    if (src && CANDIDATE_PATTERN.test(src)) scripts.push(src.slice(0, 200));
  }
  const widgets = widgetsIn(page);
  return {
    ...page.result(), title: titleOf(document).slice(0, 300), links,
    widgets, frames: framesIn(taggedIn('iframe')), scripts: scripts.slice(0, 10), solved: solvedIn(), cover,
  };
}

/** @param {string} tag @returns {HTMLCollectionOf<Element>} */
const taggedIn = (tag) => documents.getElementsByTagName.call(document, tag);
const countLinks = () => linksOf(document).length;
const linksOf = /** @type {(d: Document) => HTMLCollection} */ (getter(Document, 'links'));

/**
 * isShown reports whether an element is visible and has at least the given size.
 * @param {Element} el
 * @param {number} width
 * @param {number} height
 */
export function isShown(el, width, height) {
  if (!isRendered(el, UNFADED)) return false;
  const r = boxOf(el);
  return r.width >= width && r.height >= height && r.right + scrollX > 0 && r.bottom + scrollY > 0;
}

/**
 * widgetsIn returns the names of the visible captcha widgets.
 * @param {Survey} page
 */
function widgetsIn(page) {
  /** @type {Set<string>} */
  const out = new Set(page.captcha);
  /** @param {Element | null} el @param {string} name */
  const add = (el, name) => {
    if (el && attributeOf(el, 'data-size') !== 'invisible' && isShown(el, 100, 30)) out.add(name);
  };
  for (const id of CAPTCHA_IDS) add(elementWithId(document, id), id);
  for (const name of CAPTCHA_CLASSES) for (const el of documents.getElementsByClassName.call(document, name)) add(el, name);
  for (const name of CAPTCHA_TAGS) for (const el of taggedIn(name)) add(el, name);
  return [...out];
}

/** solvedIn reports whether a captcha of the page was solved. */
function solvedIn() {
  for (const name of CAPTCHA_TOKENS) {
    for (const el of documents.getElementsByName.call(document, name)) {
      const value = /** @type {HTMLInputElement} */ (el).value;
      if (typeof value === 'string' && value !== '' && value[0] !== '.') return true; // ".UNSTARTED" and the like
    }
  }
  return false;
}

/**
 * framesIn returns the visible frames whose URL or name matches CANDIDATE_PATTERN.
 * @param {Iterable<Element>} list
 * @returns {{url: string, name: string, width: number, height: number}[]}
 */
function framesIn(list) {
  const out = [];
  for (const el of list) {
    if (out.length >= 10) break;
    const url = attributeOf(el, 'src') || '';
    const name = [attributeOf(el, 'title'), attributeOf(el, 'id'), attributeOf(el, 'name')].filter(Boolean).join(' ');
    if (!CANDIDATE_PATTERN.test(url) && !CANDIDATE_PATTERN.test(name)) continue;
    if (!isShown(el, 100, 30)) continue;
    const r = boxOf(el);
    out.push({ url: url.slice(0, 1000), name: name.slice(0, 200), width: Math.round(r.width), height: Math.round(r.height) });
  }
  return out;
}

/** Survey collects what an element shows: text, fields, the first heading. */
class Survey {
  constructor() {
    this.text = '';
    this.heading = '';
    this.left = MAX_OBSTACLE_ELEMENTS;
    /** Whether the limits were reached, so that the rest was not read. */
    this.long = false;
    /** Names of the password fields. @type {string[]} */
    this.passwords = [];
    /** The number of text fields other than password and search fields. */
    this.fields = 0;
    this.closes = false;
    /** @type {string[]} */
    this.captcha = [];
  }

  result() {
    return {
      text: this.long ? '' : this.text, long: this.long, heading: this.heading.slice(0, 200),
      passwords: this.passwords.slice(0, 4), fields: this.fields, closes: this.closes,
    };
  }

  /** @param {string} s */
  add(s) {
    const t = collapse(s);
    if (t === '') return;
    this.text += (this.text === '' ? '' : ' ') + t.slice(0, MAX_OBSTACLE_CHARS + 1);
    if (this.text.length > MAX_OBSTACLE_CHARS) this.long = true;
  }

  /** @param {Element} el */
  visit(el) {
    if (this.long) return;
    if (--this.left < 0) {
      this.long = true;
      return;
    }
    const tag = tagOf(el);
    if (NEVER_SHOWN.has(tag) || tag === 'svg' || tag === 'select' || tag === 'textarea' || tag === 'iframe') return;
    if (!isRendered(el) && styleOf(el).display !== 'contents') return;
    if (tag === 'input') {
      this.field(/** @type {HTMLInputElement} */ (el));
      return;
    }
    if (tag === 'button' || attributeOf(el, 'role') === 'button') this.button(el);
    const before = this.text.length;
    if (shadowOf(el) || tag === 'slot') for (const node of flatChildren(el)) this.child(node, el);
    else for (let node = firstChildOf(el); node && !this.long; node = nextSiblingOf(node)) this.child(node, el);
    if (this.heading === '' && (tag === 'h1' || attributeOf(el, 'aria-level') === '1')) this.heading = this.text.slice(before).trim();
  }

  /** @param {Node} node @param {Element} el */
  child(node, el) {
    const type = typeOfNode(node);
    if (type === 1) this.visit(/** @type {Element} */ (node));
    else if (type === 3 && /\S/.test(node.nodeValue || '') && isRendered(el, UNFADED)) this.add(node.nodeValue || '');
  }

  /** @param {HTMLInputElement} el */
  field(el) {
    const type = el.type;
    if (type === 'hidden' || !isShown(el, 10, 5)) return;
    const name = [attributeOf(el, 'autocomplete'), attributeOf(el, 'name'), attributeOf(el, 'id')].join(' ').toLowerCase().slice(0, 100);
    if (type === 'password') this.passwords.push(name);
    else if (type === 'submit' || type === 'button') this.add(el.value);
    else if (type === 'text' || type === 'email' || type === 'tel' || type === 'number' || type === 'url') {
      this.fields++;
      if (name.includes('captcha')) this.captcha.push('captcha-field');
    }
  }

  /** @param {Element} el */
  button(el) {
    const label = foldCase(attributeOf(el, 'aria-label') || attributeOf(el, 'title') || textIn(el) || '');
    if (/^([x×✕✖⨯]|(close|dismiss|not now|no thanks|maybe later|schliessen|fermer|cerrar|chiudi|sluiten|fechar|閉じる)\b.*|閉じる.*)$/.test(label)) this.closes = true;
  }
}

/** The points at which to look for content over the page, the center first. */
const SAMPLE_POINTS = [[0.5, 0.5], [0.5, 0.3], [0.5, 0.9], [0.12, 0.2], [0.88, 0.2], [0.12, 0.8], [0.88, 0.8]];

/**
 * coverOf surveys what floats over the center of the viewport.
 * @returns {object | null} null if nothing does
 */
function coverOf() {
  /** The floating elements, and the element that was hit in each. @type {Map<Element, Element>} */
  const found = new Map();
  let share = 0;
  for (const [x, y] of SAMPLE_POINTS) {
    let hit = elementFrom(document, innerWidth * x, innerHeight * y);
    for (let root = hit && shadowOf(hit); hit && root; root = shadowOf(hit)) {
      const inner = elementFrom(root, innerWidth * x, innerHeight * y);
      if (!inner || inner === hit) break;
      hit = inner;
    }
    const over = hit && floating(hit);
    if (hit && over) {
      share++;
      if (!found.has(over)) found.set(over, hit);
    }
    if (share === 0) return null; // not over the center
  }
  const survey = new Survey();
  let names = '';
  /** @type {Element[]} */
  const frames = [];
  for (const [over, hit] of found) {
    survey.visit(over);
    // The body's attributes do not describe what is over the page.
    for (let el = /** @type {Element | null} */ (hit), n = 0; el && n < 12 && el !== bodyOf(document); el = flatParent(el), n++) {
      names += ' ' + (attributeOf(el, 'id') || '') + ' ' + (attributeOf(el, 'class') || '') + ' ' + (attributeOf(el, 'aria-label') || '');
    }
    frames.push(...(tagOf(over) === 'iframe' ? [over] : allIn(over, 'iframe')));
  }
  return { ...survey.result(), share, of: SAMPLE_POINTS.length, names: collapse(names).slice(0, 1000), frames: framesIn(frames) };
}

/** The minimum z-index of an absolutely positioned overlay. */
const OVERLAY_LAYER = 10;

/**
 * floating returns the ancestor of el that keeps it over the page while it scrolls,
 * or null.
 * @param {Element} el
 */
function floating(el) {
  for (let e = /** @type {Element | null} */ (el); e && e !== bodyOf(document); e = flatParent(e)) {
    const cs = styleOf(e);
    if (cs.position === 'fixed' || (tagOf(e) === 'dialog' && matchesCSS(e, ':modal'))) return e;
    if (cs.position === 'absolute' && parseInt(cs.zIndex, 10) >= OVERLAY_LAYER && clientHeightOf(e) >= innerHeight * 0.9) return e;
  }
  return null;
}
