import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isOffsetText, OffsetText } from '../../schemas/events/offset-text.ts';
import { runs } from '../support/property-runs.ts';

const ROOT = join(import.meta.dirname, '../..');

test('an offset is text as it is written of a number, of at most 18 digits', () => {
  fc.assert(
    fc.property(fc.bigInt({ min: 0n, max: 10n ** 18n - 1n }), (offset) => {
      expect(isOffsetText(String(offset))).toBe(true);
      expect(isOffsetText(`0${offset}`)).toBe(false);
      expect(OffsetText.safeParse(String(offset)).data).toBe(String(offset));
    }),
    runs(1_000),
  );
  for (const text of ['', '-1', '1 ', '1\n', '1e3', '0x1', '٣', '1'.repeat(19), String(2n ** 63n - 1n)])
    expect({ text, is: isOffsetText(text) }).toEqual({ text, is: false });
});

test('nobody has a definition of his own', () => {
  const sources = globSync('{cli,packages,schemas,services}/**/*.ts', { cwd: ROOT }).filter(
    (path) => !path.startsWith('packages/audit/deciders/'),
  );
  expect(sources.length).toBeGreaterThan(500);
  const own = sources.filter((path) =>
    readFileSync(join(ROOT, path), 'utf8')
      .split('\n')
      .some((line) => /offset/i.test(line) && /(\\d|\[0-9\])\{\d,1\d\}/.test(line)),
  );
  expect(own).toEqual([]);
});
