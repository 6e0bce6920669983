// @ts-check
// Fields with secret values: passwords and payment cards.

import { allIn, attributeOf, closestTo, containsNode, elementsNamed, findShadowRoots, firstChildOf, nextSiblingOf, onShadowRoot, readyOf, rootOf, tagOf, textIn, typeOfNode } from './dom.js';
import { isEntered } from './entered_fields.js';
import { labelsOf } from './labels.js';
import { foldText } from './same_text.js';
import { styleOf } from './visibility.js';

/**
 * Elements that were password fields before: a page may show what was typed.
 * @type {WeakSet<Element>}
 */
const passwords = new WeakSet();

const unmasking = new MutationObserver((changes) => {
  for (const c of changes) if ((c.oldValue || '').toLowerCase() === 'password') passwords.add(/** @type {Element} */ (c.target));
});

/**
 * watchPasswords records the password fields of a document or shadow root that the page changes to
 * another type.
 * @param {Document | ShadowRoot} root
 */
function watchPasswords(root) {
  unmasking.observe(root, { subtree: true, attributeFilter: ['type'], attributeOldValue: true });
}

watchPasswords(document);
// An observer of the document does not see mutations in shadow roots.
onShadowRoot(watchPasswords);
findShadowRoots(document);
// No event reports a new shadow root, so a document that is still loading is searched again.
if (readyOf(document) !== 'complete') addEventListener('load', () => findShadowRoots(document), { once: true });

/** rememberSecret makes a field permanently secret. @param {Element} el */
export function rememberSecret(el) {
  passwords.add(el);
}

const SECRETS = /(^|\s)(cc-(number|csc|exp|exp-month|exp-year|name|given-name|additional-name|family-name|type)|one-time-code|current-password|new-password)(\s|$)/i;

/** Types of inputs whose names and labels may indicate a secret. */
const NAME_HINTED_TYPES = new Set(['text', 'tel', 'number', 'month', 'hidden', 'textarea', 'select-one']);

/** Matches the beginnings of all words below, to skip other fields cheaply. */
const SECRET_HINT = /pass|pwd|card|cc|cv|csc|secur|pin|exp|valid|good|kennwort|kart|gültig|mot de|contrase|senha|wachtwoord|has[lł]o|parol|l[oö]sen|adgangskode|salasana|cryptogr|carte|tarjeta|парол|密码|密碼|パスワード|비밀번호/i;

/**
 * The name of a password field, such as user_password or pwd2. Pages replace password fields with
 * text fields to show the password.
 */
const PASSWORD_NAME = /(password|passwd|pwd)\d?$/i;

/** A label that consists only of a word for a password. */
const PASSWORD_WORDS = /^((your|current|new|old|confirm|repeat) )?(password|passwort|kennwort|mot de passe|contrasena|senha|wachtwoord|has[lł]o|parola|passord|losenord|adgangskode|salasana)$|^(пароль|密码|密碼|パスワード|비밀번호)$/;

/** Names of payment card fields. Other cards, such as library cards, also have numbers. */
const CARD_WORDS = new RegExp([
  /(?<!\b(library|loyalty|membership|member|identity|id|sim|report|score|business|health|insurance|student|green|residence|playing|game) )\bcard ?(number|num|no|nr)\b/,
  /\b(cardnumber|cardnum|cardno|ccnumber|ccnum|ccno|cc (number|num|no)|card (cvv|cvc|csc|pin))\b/,
  /\b(cvv2?|cvc2?|csc|cvn|ccv|card ?(security|verification)( ?(code|number|value))?|security ?code|card ?code)\b/,
  /\b(cc|card) ?exp(iry|iration|ires)?( ?(date|month|year|mm|yy|yyyy))?\b/,
  /\b(kreditkarten|karten)(nummer|prufnummer|prufziffer)\b|^numero de (la |votre )?carte( bancaire| bleue| de credit)?$|^numero de (la |tu )?tarjeta( de credito| de debito)?$|\bcryptogramme\b/,
].map((r) => r.source).join('|'));

/**
 * A name that is secret only if it is the complete text: "pin" has other meanings in longer texts.
 */
const PIN_WORDS = /^((your|enter|card|atm|bank|current|new|old|confirm|repeat|enter your) )*pin( (code|number|no))?$/;

/**
 * The expiry date of a card, if the form also has a field for its number. Other things expire also.
 */
const EXPIRY_WORDS = /^(expiry|expiration|expires?|exp|exp(iry|iration)?[ ]?(date|month|year|mm|yy|yyyy)|(date|month|year) of expiry|valid (thru|until)|good thru|gultig bis)( mm ?yy(yy)?)?$/;

/**
 * isMasked reports whether a field's value is secret: a password, including one that
 * the page shows, a part of a payment card, or what the user entered during a handover.
 * @param {Element} el
 */
export function isMasked(el) {
  if (isEntered(el)) return true;
  const tag = tagOf(el);
  if (tag !== 'input' && tag !== 'textarea' && tag !== 'select') return false;
  const type = /** @type {HTMLInputElement} */ (el).type;
  if (type === 'password') {
    passwords.add(el);
    return true;
  }
  if (passwords.has(el)) return true;
  const ac = attributeOf(el, 'autocomplete');
  if (ac && SECRETS.test(ac)) return true;
  if (tag !== 'select' && showsDots(el)) return true;
  if (!NAME_HINTED_TYPES.has(type) || ac && /(^|\s)postal-code(\s|$)/i.test(ac)) return false;
  if (tag === 'input' && (type === 'text' || type === 'hidden') && PASSWORD_NAME.test(attributeOf(el, 'name') || attributeOf(el, 'id') || '')) return true;
  return wordsFor(el).some((w) => CARD_WORDS.test(w) || PIN_WORDS.test(w) || (EXPIRY_WORDS.test(w) && asksForCard(el)))
    || (type === 'text' && labelWords(el).some((w) => PASSWORD_WORDS.test(w)));
}

/**
 * showsDots reports whether a style replaces the characters of an element's text with dots.
 * @param {Element} el
 */
export function showsDots(el) {
  const security = /** @type {any} */ (styleOf(el)).webkitTextSecurity;
  return security !== undefined && security !== 'none' && security !== '';
}

/**
 * wordsOf normalizes a name or label: cardNumber, card_number and
 * "Card number: *" become "card number".
 * @param {string} s
 */
function wordsOf(s) {
  const text = foldText(s);
  if (!SECRET_HINT.test(text)) return '';
  return text.slice(0, 100).replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().normalize('NFD').replace(/[\u0300-\u036f]/g, '').normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, ' ').trim().replace(/ (required|optional)$/, '');
}

/** labelWords returns the normalized labels of a field. @param {Element} el */
function labelWords(el) {
  const labels = [attributeOf(el, 'aria-label') || ''];
  for (const l of labelsOf(el) || []) labels.push(ownWords(l, el));
  for (const l of elementsNamed(el, 'aria-labelledby')) labels.push(ownWords(l, el));
  return labels.map(wordsOf).filter(Boolean);
}

/** wordsFor returns the normalized names and labels of a field. @param {Element} el */
function wordsFor(el) {
  return ['name', 'id', 'placeholder'].map((a) => wordsOf(attributeOf(el, a) || '')).filter(Boolean).concat(labelWords(el));
}

/**
 * ownWords returns the start of a label's text, excluding the text of the controls in it.
 * @param {Element} label
 * @param {Element} control
 */
function ownWords(label, control) {
  if (!containsNode(label, control)) return (textIn(label) || '').slice(0, 200);
  let s = '';
  /** @param {Node} node */
  const add = (node) => {
    for (let n = firstChildOf(node); n && s.length < 200; n = nextSiblingOf(n)) {
      const type = typeOfNode(n);
      if (type === 3) s += n.nodeValue + ' ';
      else if (type === 1 && !/^(select|textarea|button|script|style|option)$/.test(tagOf(/** @type {Element} */ (n)))) add(n);
    }
  };
  add(label);
  return s;
}

/**
 * asksForCard reports whether another field of the same form, or of the same
 * tree if there is no form, is for a card number or code.
 * @param {Element} el
 */
function asksForCard(el) {
  for (const other of allIn(closestTo(el, 'form') || rootOf(el), 'input:not([type=hidden])')) {
    if (other === el) continue;
    if (/(^|\s)cc-(number|csc)(\s|$)/i.test(attributeOf(other, 'autocomplete') || '') || wordsFor(other).some((w) => CARD_WORDS.test(w))) return true;
  }
  return false;
}
