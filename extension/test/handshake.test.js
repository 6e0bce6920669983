// @ts-check

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { clientProof, decode, decodeKey, encode, importKey, parsePairing, transcriptBytes, unseal, verifyServer } from '../handshake.js';

// The test vectors of internal/wire.
const vectors = JSON.parse(readFileSync(new URL('../../internal/wire/testdata/handshake.json', import.meta.url), 'utf8'));

for (const v of vectors) {
  test(`handshake: ${v.name}`, async () => {
    const nonceC = decodeKey(v.nonceC);
    const nonceS = decodeKey(v.nonceS);
    const raw = decodeKey(v.key);
    assert.ok(nonceC && nonceS && raw);
    const t = { extensionId: v.extensionId, instance: v.instance, port: v.port, nonceC, nonceS };
    assert.equal(encode(transcriptBytes(t)), v.transcript);
    const key = await importKey(raw);
    assert.equal(await verifyServer(key, t, v.serverMac), true);
    assert.equal(await verifyServer(key, t, v.clientMac), false);
    assert.equal(await verifyServer(key, { ...t, port: v.port === 1 ? 2 : v.port - 1 }, v.serverMac), false);
    assert.equal(await clientProof(key, t), v.clientMac);
    const opened = await unseal(key, t, v.sealed);
    assert.ok(opened);
    assert.equal(encode(opened), v.newKey);
    const pairing = parsePairing(` ${v.pairingString}\n`);
    assert.equal(pairing?.port, v.port);
    assert.deepEqual(pairing?.secret, raw);
  });
}

test('invalid keys and pairing strings are rejected', () => {
  for (const s of ['', 'A', 'A'.repeat(42), 'A'.repeat(44), '_'.repeat(43), 'A'.repeat(42) + '=', 'A'.repeat(42) + '+', null, 7]) assert.equal(decodeKey(s), null);
  assert.equal(decode('A*'), null);
  for (const s of ['', 'cm1-', 'cm2-' + 'A'.repeat(46), 'cm1-' + 'A'.repeat(46), 'cm1-AAE']) assert.equal(parsePairing(s), null);
});
