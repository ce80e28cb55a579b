import { expect, test } from 'vitest';
import { shortHash } from '../../../packages/text/short-hash.ts';

test('of what a message calls a hash no half character is told', () => {
  expect(shortHash('e'.repeat(64))).toBe('e'.repeat(12));
  expect(shortHash(`${'e'.repeat(11)}😀`)).toBe(`${'e'.repeat(11)}\ufffd`);
});
