// @ts-check

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cutStrings } from '../cut_strings.js';

test('long values are cut', () => {
  assert.deepEqual(cutStrings({ result: { type: 'string', value: 'xxxxxxx' } }, 6), { result: { type: 'string', value: 'xxxxxx' }, cut: true, threw: false });
  assert.deepEqual(cutStrings({ result: { type: 'bigint', unserializableValue: '111111n', description: '111111n' } }, 6),
    { result: { type: 'bigint', unserializableValue: '111111', description: '111111' }, cut: true, threw: false });
});

test('exceptions with a long string are cut', () => {
  const thrown = { type: 'object', subtype: 'error', description: 'Error: x' };
  assert.deepEqual(cutStrings({ result: thrown, exceptionDetails: { text: 'Uncaught', exception: thrown } }, 7),
    { result: { ...thrown, description: 'Error: ' }, cut: true, threw: true });
  const frames = { exceptionDetails: { stackTrace: { callFrames: [{ functionName: 'xxxxxxxxx' }] } } };
  assert.deepEqual(cutStrings({ result: thrown, ...frames }, 8), { result: thrown, cut: true, threw: true });
});

test('other results are returned as they are', () => {
  const data = { result: { type: 'string', value: 'xxxx' }, exceptionDetails: { text: 'x' } };
  assert.equal(cutStrings(data, 6), data);
});
