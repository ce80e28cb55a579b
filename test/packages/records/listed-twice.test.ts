import { expect, test } from 'vitest';
import { listedTwice } from '../../../packages/decision/inventory-checks.ts';

test.each([
  ['nothing', [], []],
  ['keys of which each is there once', ['a', 'b'], []],
  ['a key that is there three times', ['a', 'b', 'a', 'a'], ['a']],
  ['keys that end alike and are not the same', ['sha256:1-same-end', 'sha256:2-same-end'], []],
  ['keys that end alike, and one of them twice', ['1-same-end', '2-same-end', '2-same-end'], ['2-same-end']],
  ['the empty key twice', ['', 'a', ''], ['']],
])('[C5] %s', (_name, keys, twice) => {
  expect([...listedTwice(keys)]).toEqual(twice);
});
