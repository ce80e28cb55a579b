import { expect, test } from 'vitest';
import { Uint64 } from '../../schemas/events/filesystem.ts';

test.each(['0', '1', '9007199254740993', '18446744073709551615'])('[D6] the count %s is exact', (text) => {
  expect(BigInt(Uint64.parse(text)).toString()).toBe(text);
});

test.each(['', '-1', '1.5', '1e3', '007', '18446744073709551616', '99999999999999999999'])(
  '%j is no 64-bit count',
  (text) => {
    expect(Uint64.safeParse(text).success).toBe(false);
  },
);
