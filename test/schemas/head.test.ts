import { expect, test } from 'vitest';
import { parseJson } from '../../packages/records/parse/parse-record.ts';
import { DecisionHead, MOST_RANGES, MOST_STATEMENTS } from '../../schemas/events/head.ts';
import { TOPICS } from '../../schemas/events/topics.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const headWith = (ranges: number, statements: number): DecisionHead => ({
  type: 'fleetgc.decision-head',
  version: 1,
  id: 'decision-head-1',
  chain: 'c'.repeat(64),
  decider: 'container-gc',
  statements: Object.fromEntries(
    many(statements, (index) => [`revoked ${String(index).padStart(32, '0')}`, Number.MAX_SAFE_INTEGER]),
  ),
  ranges: many(ranges, () => ({
    partition: 31,
    first: Number.MAX_SAFE_INTEGER,
    records: Number.MAX_SAFE_INTEGER,
    sha256: 'a'.repeat(64),
    firstAtMs: Number.MAX_SAFE_INTEGER,
    lastAtMs: Number.MAX_SAFE_INTEGER,
  })),
});

test('the largest head of decisions is read', () => {
  const largest = headWith(MOST_RANGES, MOST_STATEMENTS);
  expect(DecisionHead.safeParse(largest).success).toBe(true);
  expect(parseJson(TOPICS.heads.name, Buffer.from(JSON.stringify(largest))).ok).toBe(true);
});

test('a larger one is none, and one without ranges is one', () => {
  for (const tooLarge of [headWith(MOST_RANGES + 1, 0), headWith(0, MOST_STATEMENTS + 1)])
    expect(DecisionHead.safeParse(tooLarge).success).toBe(false);
  expect(DecisionHead.safeParse(headWith(0, 1)).success).toBe(true);
});
