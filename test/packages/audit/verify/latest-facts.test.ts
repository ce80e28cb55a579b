import { expect, test } from 'vitest';
import { LocatedFacts } from '../../../../packages/audit/verify/latest-facts.ts';
import { valueSha256 } from '../../../../packages/canonical/ids.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { keyOfLatestFact } from '../../../../schemas/events/latest-fact.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { latestNodeFact } from '../../../fixtures/latest-fact.ts';
import { HOUR, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { AT_END, at, findings, midway } from './support.ts';

const VALUE = Buffer.from('{}');
const HOME = partitionOf(TOPICS.latestFacts.name, keyOfLatestFact(latestNodeFact()));

/** A sample each minute; its offset is its minute. */
const sample = (minute: number, over: Partial<LogRecord> = {}): LogRecord =>
  at('diskStats', minute, minute * MINUTE, { partition: HOME, value: VALUE, ...over });

/** The position of the sample of a minute, right after it. */
function position(minute: number, offset = minute): LogRecord {
  const loggedAtMs = NOW + minute * MINUTE;
  const event = latestNodeFact({
    partition: HOME,
    offset: String(offset),
    loggedAtMs,
    sha256: valueSha256(VALUE),
  });
  const place = { partition: HOME, offset: BigInt(minute), timestampMs: loggedAtMs + SECOND };
  return recordOf({ topic: 'latestFacts', key: keyOfLatestFact(event), event }, place);
}

interface Asked {
  readonly samples: readonly LogRecord[];
  readonly positions: readonly LogRecord[];
  readonly toMs?: number;
  readonly deletes?: boolean;
  readonly coveredMs?: number;
}

/** Judged as the log goes on, and at the end. */
function judged({
  samples,
  positions,
  toMs,
  deletes = true,
  coveredMs = Number.NEGATIVE_INFINITY,
}: Asked): string[] {
  const { collector, deviations, gaps } = findings();
  const range = { fromMs: null, toMs: toMs ?? null };
  const located = new LocatedFacts({ findings: collector, coverage: () => coveredMs, range, deletes });
  const all = [...samples, ...positions].toSorted((a, b) => a.timestampMs - b.timestampMs);
  for (const record of all) {
    if (record.topic === TOPICS.latestFacts.name) located.position(record);
    else located.fact('diskStats', record);
    located.judge(midway(record.timestampMs - NOW - 10 * MINUTE));
  }
  // Other topics go on.
  located.judge(midway(3 * HOUR));
  located.judge(AT_END);
  return [...deviations(), ...gaps()];
}

const minutes = (first: number, last: number): readonly LogRecord[] =>
  Array.from({ length: last - first + 1 }, (_, index) => sample(first + index));

test('positions of samples that lie there are right, however long the log', () => {
  const positions = [0, 5, 10, 60, 119].map((minute) => position(minute));
  expect(judged({ samples: minutes(0, 120), positions })).toEqual([]);
});

test('a position of a sample that is lost with its neighbours cannot be verified', () => {
  const samples = [...minutes(0, 3), ...minutes(100, 101)];
  for (const deletes of [true, false])
    expect(judged({ samples, positions: [position(3), position(40), position(100)], deletes })).toEqual([
      'records-missing 40',
    ]);
});

test.each([
  { name: 'no sample, between two', minute: 4, offset: 1_000 },
  { name: 'a sample of long ago', minute: 60, offset: 3 },
  { name: 'a record without a value', minute: 8, offset: 8 },
])('a position deviates that names $name', ({ minute, offset }) => {
  const samples = [...minutes(0, 7), sample(8, { value: null }), ...minutes(9, 120)];
  for (const deletes of [true, false])
    expect(judged({ samples, positions: [position(minute, offset)], deletes })).toEqual([
      `wrong-position ${minute}`,
    ]);
});

test('at the end of a range brokers disagree on what lies in it', () => {
  const samples = minutes(0, 9);
  const toMs = NOW + 10 * MINUTE + SECOND;
  expect(judged({ samples, positions: [position(10)], toMs })).toEqual([]);
  expect(judged({ samples, positions: [position(8, 77)], toMs })).toEqual(['wrong-position 8']);
});

test('behind the last sample a position deviates on a log; an archive may lack the sample', () => {
  const told = (minute: number, deletes: boolean) =>
    judged({ samples: minutes(0, 9), positions: [position(minute)], deletes });
  expect([told(12, true), told(60, true)]).toEqual([['wrong-position 12'], ['wrong-position 60']]);
  expect([told(12, false), told(60, false)]).toEqual([[], ['records-missing 60']]);
});

test('where no sample is left, positions that should have one cannot be verified', () => {
  const positions = [position(5), position(50)];
  expect(judged({ samples: [], positions, coveredMs: NOW + 10 * MINUTE })).toEqual(['records-missing 50']);
});

test('of positions that wait for their records no more are kept than ten thousand', () => {
  const { collector, deviations } = findings();
  const range = { fromMs: null, toMs: null };
  const located = new LocatedFacts({
    findings: collector,
    coverage: () => Number.NEGATIVE_INFINITY,
    range,
    deletes: true,
  });
  located.fact('diskStats', sample(0));
  for (let made = 0; made < 10_003; made += 1) located.position(position(5, 1_000_000 + made));
  located.judge(midway(0));
  expect(deviations()).toHaveLength(3);
});
