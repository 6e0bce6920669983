// @ts-check

// The proofs with which the extension and a server verify that both have the same key.
// The key itself is never sent.

import { KEY_SIZE, LABELS, PAIRING_PREFIX, VERSION } from './wire.js';

/**
 * The values that both sides of a handshake agree on.
 *
 * @typedef {object} Transcript
 * @property {string} extensionId
 * @property {string} instance
 * @property {number} port
 * @property {Uint8Array} nonceC
 * @property {Uint8Array} nonceS
 */

const text = new TextEncoder();

/**
 * Returns the fields, each preceded by its length as a big-endian uint32.
 *
 * @param {Transcript} t
 */
export function transcriptBytes(t) {
  const fields = [
    text.encode(String(VERSION)), text.encode(t.extensionId), text.encode(t.instance),
    text.encode(String(t.port)), t.nonceC, t.nonceS,
  ];
  const out = new Uint8Array(fields.reduce((n, f) => n + 4 + f.length, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const f of fields) {
    view.setUint32(at, f.length);
    out.set(f, at + 4);
    at += 4 + f.length;
  }
  return out;
}

/**
 * @param {string} label
 * @param {Transcript} t
 */
function labeled(label, t) {
  const head = text.encode(label);
  const tail = transcriptBytes(t);
  const out = new Uint8Array(head.length + tail.length);
  out.set(head);
  out.set(tail, head.length);
  return out;
}

/**
 * Imports a key for signing and verifying that cannot be exported.
 *
 * @param {Uint8Array<ArrayBuffer>} raw
 */
export function importKey(raw) {
  return crypto.subtle.importKey('raw', raw, { name: 'HMAC', hash: 'SHA-256' }, false, ['sign', 'verify']);
}

/**
 * Reports whether mac is the server's proof. WebCrypto compares in constant
 * time.
 *
 * @param {CryptoKey} key
 * @param {Transcript} t
 * @param {string} mac
 */
export async function verifyServer(key, t, mac) {
  const signature = decodeKey(mac);
  return signature !== null && crypto.subtle.verify('HMAC', key, signature, labeled(LABELS.server, t));
}

/**
 * Returns the client's proof.
 *
 * @param {CryptoKey} key
 * @param {Transcript} t
 */
export async function clientProof(key, t) {
  return encode(new Uint8Array(await crypto.subtle.sign('HMAC', key, labeled(LABELS.client, t))));
}

/**
 * Returns the key that a server encrypted with the secret of a pairing string, or null
 * if it is invalid.
 *
 * @param {CryptoKey} secret
 * @param {Transcript} t
 * @param {string} sealed
 */
export async function unseal(secret, t, sealed) {
  const hidden = decodeKey(sealed);
  if (!hidden) return null;
  const pad = new Uint8Array(await crypto.subtle.sign('HMAC', secret, labeled(LABELS.seal, t)));
  return hidden.map((b, i) => b ^ pad[i]);
}

/** Returns a random nonce. */
export function newNonce() {
  return crypto.getRandomValues(new Uint8Array(KEY_SIZE));
}

/**
 * Encodes bytes as base64url without padding.
 *
 * @param {Uint8Array} bytes
 */
export function encode(bytes) {
  return btoa(String.fromCharCode(...bytes)).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}

/**
 * Decodes base64url without padding. It returns null for invalid input.
 *
 * @param {unknown} s
 * @returns {Uint8Array<ArrayBuffer> | null}
 */
export function decode(s) {
  if (typeof s !== 'string' || !/^[A-Za-z0-9_-]*$/.test(s)) return null;
  try {
    const bytes = Uint8Array.from(atob(s.replaceAll('-', '+').replaceAll('_', '/')), (c) => c.charCodeAt(0));
    return encode(bytes) === s ? bytes : null; // reject non-canonical encodings
  } catch {
    return null;
  }
}

/**
 * Decodes a key, nonce or MAC. It returns null for invalid input.
 *
 * @param {unknown} s
 */
export function decodeKey(s) {
  const bytes = decode(s);
  return bytes?.length === KEY_SIZE ? bytes : null;
}

/**
 * Parses a pairing string, ignoring surrounding white space. It returns null for invalid input.
 *
 * @param {string} s
 * @returns {{port: number, secret: Uint8Array<ArrayBuffer>} | null}
 */
export function parsePairing(s) {
  const trimmed = s.trim();
  if (!trimmed.startsWith(PAIRING_PREFIX)) return null;
  const bytes = decode(trimmed.slice(PAIRING_PREFIX.length));
  if (bytes?.length !== 2 + KEY_SIZE) return null;
  const port = bytes[0] * 256 + bytes[1];
  return port === 0 ? null : { port, secret: bytes.slice(2) };
}
