import { expect, test } from 'vitest';
import { contentHash } from '../../../packages/canonical/ids.ts';
import { outputHash } from '../../../packages/decision/decision-record.ts';
import { command, decision } from '../../fixtures/outputs.ts';

test('the hash is of the record without itself and of all that follows, in canonical form', () => {
  const { outputSha256: _, ...record } = decision();
  expect(outputHash([decision(), command()])).toBe(contentHash([record, command()]));
});

test('a record that holds its hash already has the same', () => {
  const outputs = [decision(), command()];
  expect(outputHash([{ ...decision(), outputSha256: outputHash(outputs) }, command()])).toBe(
    outputHash(outputs),
  );
});

test('how the record was written does not count: a reader gets the same hash of what it parsed', () => {
  const reversed = Object.fromEntries(Object.entries(decision()).toReversed());
  expect(outputHash([reversed])).toBe(outputHash([decision()]));
});

test.each([
  ['another word in the record', [decision({ reason: 'other' }), command()]],
  ['another command', [decision(), command({ lifetimeMs: 1 })]],
  ['no command', [decision()]],
  ['a second command', [decision(), command(), command()]],
])('%s is another hash', (_name, outputs) => {
  expect(outputHash(outputs)).not.toBe(outputHash([decision(), command()]));
});
