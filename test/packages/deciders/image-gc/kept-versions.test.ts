import fc from 'fast-check';
import { expect, test } from 'vitest';
import { keptVersions } from '../../../../packages/deciders/image-gc/rules/protection.ts';
import { image } from '../../../fixtures/inventory.ts';
import { runs } from '../../../support/property-runs.ts';

/** Versions of one repository, all first detected at once, so that the tag decides. */
const versions = (tags: readonly string[]) =>
  tags.map((tag) => image(tag, { repoTags: [`registry.example/app:${tag}`], repoDigests: [] }));
const kept = (tags: readonly string[], count: number): string[] =>
  [...keptVersions(versions(tags), count).keys()].toSorted();

test.each([
  { lower: 'v1.9', higher: 'v1.10' },
  { lower: '1.0', higher: '1.0.1' },
  { lower: '1', higher: '01-x' },
  { lower: '2024.1', higher: '2024.01-1' },
  { lower: '2024.01', higher: '2024.1' },
  { lower: '1.0-rc', higher: '1.0a' },
])(
  '[M11] of $lower and $higher the latter is kept, in whatever order they are listed',
  ({ lower, higher }) => {
    expect(kept([lower, higher], 1)).toEqual([higher]);
    expect(kept([higher, lower], 1)).toEqual([higher]);
  },
);

test('[M11] which versions are kept does not depend on the order of the listing, and as many are as asked for', () => {
  const tag = fc
    .array(fc.constantFrom('0', '1', '2', '10', '.', '-', 'a', 'rc'), { minLength: 1, maxLength: 5 })
    .map((parts) => parts.join(''));
  const shuffledTags = fc
    .uniqueArray(tag, { minLength: 1, maxLength: 6 })
    .chain((tags) => fc.tuple(fc.constant(tags), fc.shuffledSubarray(tags, { minLength: tags.length })));
  fc.assert(
    fc.property(shuffledTags, fc.integer({ min: 1, max: 4 }), ([tags, others], count) => {
      const chosen = kept(tags, count);
      expect(kept(others, count)).toEqual(chosen);
      expect(chosen).toHaveLength(Math.min(count, tags.length));
    }),
    runs(1_000),
  );
});
