// @ts-check
// Fields whose values are nobody's business: passwords and payment cards.

/** Fields that were password fields once: a page may show what was typed. @type {WeakSet<Element>} */
const passwords = new WeakSet();

const unmasking = new MutationObserver((changes) => {
  for (const c of changes) if ((c.oldValue || '').toLowerCase() === 'password') passwords.add(/** @type {Element} */ (c.target));
});

/** Shadow roots that are watched for password fields that the page shows. @type {WeakSet<ShadowRoot>} */
const watchedRoots = new WeakSet();

/** @param {Document | ShadowRoot} root */
function watchPasswords(root) {
  unmasking.observe(root, { subtree: true, attributeFilter: ['type'], attributeOldValue: true });
}

/**
 * watchShadow sees to it that a shadow root is watched, since an observer of
 * the document hears nothing of what is in it.
 * @param {ShadowRoot} root
 */
function watchShadow(root) {
  if (watchedRoots.has(root)) return;
  watchedRoots.add(root);
  watchPasswords(root);
}

/** @param {ParentNode} root watchShadowsIn watches the shadow roots below a node */
function watchShadowsIn(root) {
  for (const el of allIn(root, '*')) {
    const inner = shadowOf(el); // which watches it
    if (inner) watchShadowsIn(inner);
  }
}

watchPasswords(document);
watchShadowsIn(document);
// Nothing tells of a root that is made: those of a page that loads are looked for once more.
if (readyOf(document) !== 'complete') addEventListener('load', () => watchShadowsIn(document), { once: true });

const SECRETS = /(^|\s)(cc-(number|csc|exp|exp-month|exp-year|name|given-name|additional-name|family-name|type)|one-time-code|current-password|new-password)(\s|$)/i;

/** Types of inputs whose names and labels tell of a secret. */
const TOLD_BY_NAME = new Set(['text', 'tel', 'number', 'month', 'hidden', 'textarea', 'select-one']);

/** What any of the words below begins with, to leave all other fields in peace. */
const MAYBE_SECRET = /pass|pwd|card|cc|cv|csc|secur|pin|exp|valid|good|kennwort|kart|gültig|mot de|contrase|senha|wachtwoord|has[lł]o|parol|l[oö]sen|adgangskode|salasana|cryptogr|carte|tarjeta|парол|密码|密碼|パスワード|비밀번호/i;

/** A name of a password field, such as user_password or pwd2: pages put text fields in the place of password fields to show them. */
const PASSWORD_NAME = /(password|passwd|pwd)\d?$/i;

/** A label that says "password" and nothing else. */
const PASSWORD_WORDS = /^((your|current|new|old|confirm|repeat) )?(password|passwort|kennwort|mot de passe|contrasena|senha|wachtwoord|has[lł]o|parola|passord|losenord|adgangskode|salasana)$|^(пароль|密码|密碼|パスワード|비밀번호)$/;

/** Cards of other kinds than those that are paid with have numbers too. */
const CARD_WORDS = new RegExp([
  /(?<!\b(library|loyalty|membership|member|identity|id|sim|report|score|business|health|insurance|student|green|residence|playing|game) )\bcard ?(number|num|no|nr)\b/,
  /\b(cardnumber|cardnum|cardno|ccnumber|ccnum|ccno|cc (number|num|no)|card (cvv|cvc|csc|pin))\b/,
  /\b(cvv2?|cvc2?|csc|cvn|ccv|card ?(security|verification)( ?(code|number|value))?|security ?code|card ?code)\b/,
  /\b(cc|card) ?exp(iry|iration|ires)?( ?(date|month|year|mm|yy|yyyy))?\b/,
  /\b(kreditkarten|karten)(nummer|prufnummer|prufziffer)\b|^numero de (la |votre )?carte( bancaire| bleue| de credit)?$|^numero de (la |tu )?tarjeta( de credito| de debito)?$|\bcryptogramme\b/,
].map((r) => r.source).join('|'));

/** What is a secret only as all that a name or label says: others pin notes to boards. */
const PIN_WORDS = /^((your|enter|card|atm|bank|current|new|old|confirm|repeat|enter your) )*pin( (code|number|no))?$/;

/** Of a card where its number is asked for too: milk expires as well. */
const EXPIRY_WORDS = /^(expiry|expiration|expires?|exp|exp(iry|iration)?[ ]?(date|month|year|mm|yy|yyyy)|(date|month|year) of expiry|valid (thru|until)|good thru|gultig bis)( mm ?yy(yy)?)?$/;

/**
 * isMasked reports whether a field's value is a secret: a password, also while
 * the page shows it, or a part of a payment card.
 * @param {Element} el
 */
function isMasked(el) {
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
  if (!TOLD_BY_NAME.has(type) || ac && /(^|\s)postal-code(\s|$)/i.test(ac)) return false;
  if (tag === 'input' && (type === 'text' || type === 'hidden') && PASSWORD_NAME.test(attributeOf(el, 'name') || attributeOf(el, 'id') || '')) return true;
  return wordsFor(el).some((w) => CARD_WORDS.test(w) || PIN_WORDS.test(w) || (EXPIRY_WORDS.test(w) && asksForCard(el)))
    || (type === 'text' && labelWords(el).some((w) => PASSWORD_WORDS.test(w)));
}

/**
 * showsDots reports whether a style puts dots in the place of the characters of an element's text.
 * @param {Element} el
 */
function showsDots(el) {
  const security = /** @type {any} */ (styleOf(el)).webkitTextSecurity;
  return security !== undefined && security !== 'none' && security !== '';
}

/**
 * wordsOf writes a name or label as plain words: cardNumber, card_number and
 * "Card number: *" are "card number".
 * @param {string} s
 */
function wordsOf(s) {
  if (!MAYBE_SECRET.test(s)) return '';
  return s.slice(0, 100).replace(/([a-z])([A-Z])/g, '$1 $2').toLowerCase().normalize('NFD').replace(/[\u0300-\u036f]/g, '').normalize('NFC')
    .replace(/[^\p{L}\p{N}]+/gu, ' ').trim().replace(/ (required|optional)$/, '');
}

/** @param {Element} el labelWords returns what a field's labels say, as plain words */
function labelWords(el) {
  const said = [attributeOf(el, 'aria-label') || ''];
  for (const l of labelsOf(el) || []) said.push(ownWords(l, el));
  for (const l of elementsNamed(el, 'aria-labelledby')) said.push(ownWords(l, el));
  return said.map(wordsOf).filter(Boolean);
}

/** @param {Element} el wordsFor returns all that names a field, as plain words */
function wordsFor(el) {
  return ['name', 'id', 'placeholder'].map((a) => wordsOf(attributeOf(el, a) || '')).filter(Boolean).concat(labelWords(el));
}

/**
 * ownWords returns the start of a label's text without that of the controls in it.
 * @param {Element} label
 * @param {Element} control
 */
function ownWords(label, control) {
  if (!holds(label, control)) return (textIn(label) || '').slice(0, 200);
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
 * tree without one, is for the number or the code of a card.
 * @param {Element} el
 */
function asksForCard(el) {
  for (const other of allIn(closestTo(el, 'form') || rootOf(el), 'input:not([type=hidden])')) {
    if (other === el) continue;
    if (/(^|\s)cc-(number|csc)(\s|$)/i.test(attributeOf(other, 'autocomplete') || '') || wordsFor(other).some((w) => CARD_WORDS.test(w))) return true;
  }
  return false;
}
