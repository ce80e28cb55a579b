import fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalJson, contentHash } from '../../../packages/canonical/ids.ts';
import { writtenRecord } from '../../../packages/decision/record.ts';
import type { Decision } from '../../../schemas/events/decision.ts';
import { command, decision } from '../../fixtures/outputs.ts';
import { outputHash } from '../../support/output-hash.ts';
import { runs } from '../../support/property-runs.ts';

type Unhashed = Omit<Decision, 'outputSha256'>;

function unhashed(over: Partial<Decision> = {}): Unhashed {
  const { outputSha256: _, ...record } = decision(over);
  return record;
}

const written = (record: Unhashed, ...following: readonly object[]) =>
  writtenRecord(record, following.map(canonicalJson));

test('the hash is of the record without itself and of all that follows, in canonical form', () => {
  const record = unhashed();
  expect(written(record, command()).outputSha256).toBe(contentHash([record, command()]));
});

test('the text is the canonical form of the record with its hash, whatever it says', () => {
  const facts = fc.dictionary(
    fc.string({ unit: 'grapheme' }),
    fc.oneof(fc.string({ unit: 'grapheme' }), fc.double({ noNaN: true, noDefaultInfinity: true })),
  );
  const texts = { reason: fc.string({ unit: 'grapheme' }), cluster: fc.string({ unit: 'grapheme' }) };
  const overtakenBy = fc.option(fc.constant({ topic: 't', partition: 1, offset: '2', id: 'i' }), {
    nil: undefined,
  });
  fc.assert(
    fc.property(fc.record({ ...texts, overtakenBy }), facts, ({ overtakenBy: by, ...said }, given) => {
      const verdicts = [{ action: 'keep', kind: 'image', position: 0, rule: 'D8', facts: given }] as const;
      const record = { ...unhashed({ ...said, verdicts: [...verdicts] }), ...(by && { overtakenBy: by }) };
      const { text, outputSha256 } = written(record, command());
      expect(outputSha256).toBe(outputHash([record, command()]));
      expect(text).toBe(canonicalJson({ ...record, outputSha256 }));
    }),
    runs(500),
  );
});

test('how the record was put together does not count', () => {
  const { outputSha256: _, ...record } = decision();
  const reversed = Object.fromEntries(Object.entries(decision()).toReversed());
  expect(outputHash([reversed])).toBe(written(record).outputSha256);
});

test.each([
  ['another word in the record', unhashed({ reason: 'other' }), [command()]],
  ['another command', unhashed(), [command({ lifetimeMs: 1 })]],
  ['no command', unhashed(), []],
  ['a second command', unhashed(), [command(), command()]],
])('%s is another hash', (_name, record, following) => {
  const { outputSha256 } = written(record, ...following);
  expect(outputSha256).not.toBe(written(unhashed(), command()).outputSha256);
});
