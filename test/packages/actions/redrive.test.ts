import { expect, test } from 'vitest';
import { planRedrive, redrive } from '../../../packages/actions/redrive.ts';
import type { LogPosition, OutgoingRecord } from '../../../packages/log/port.ts';
import type { StoredLetter } from '../../../packages/read-model/letters.ts';
import { NOBODY_SAYS } from '../../../packages/records/doing.ts';
import type { DeadLetter } from '../../../schemas/events/dead-letter.ts';
import { TOPICS } from '../../../schemas/events/topics.ts';
import { NOW_MS, TRACEPARENT } from '../../support/logs/log-record.ts';
import { madeUpPositions } from '../../support/logs/made-up-positions.ts';

const PUBLICATION = { source: '/fleetgc/cli', nowMs: NOW_MS, trace: { traceparent: TRACEPARENT } };

const stored = (offset: number, over: Partial<StoredLetter> = {}): StoredLetter => ({
  valueBytes: 0,
  diedAtMs: NOW_MS,
  redrivenAtMs: null,
  letter: letterAt(offset),
  ...over,
});

const letterAt = (offset: number): DeadLetter => ({
  type: 'fleetgc.dead-letter',
  version: 1,
  id: `dead-letter-${offset}`,
  cause: 'handler-failed',
  message: '',
  group: 'image-gc',
  topic: TOPICS.inventory.name,
  partition: 0,
  offset: String(offset),
  timestampMs: NOW_MS,
  key: Buffer.from('prod/web-1').toString('base64'),
  value: Buffer.from(String(offset)).toString('base64'),
  headers: {},
  omittedBytes: 0,
  suppressedBefore: 0,
});

/** Takes so many publishes. */
function recorder(accepted: number) {
  const published: string[] = [];
  let calls = 0;
  const publish = async (records: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    calls += 1;
    if (calls > accepted) throw new Error('not acknowledged');
    published.push(...records.map(({ topic }) => topic));
    return madeUpPositions(records);
  };
  return { published, log: { publish } };
}

test('a message that could not be put back is not marked as put back', async () => {
  const { log, published } = recorder(0);
  const { redrives } = planRedrive([stored(1)], false);
  const { signal } = new AbortController();

  await expect(
    redrive(redrives, { log, publication: PUBLICATION, doing: NOBODY_SAYS, signal, onProgress: () => {} }),
  ).rejects.toThrow('not acknowledged');
  expect(published).toEqual([]);
});

test('stopped in between, what went back is marked and the rest stays open', async () => {
  const { log, published } = recorder(Number.POSITIVE_INFINITY);
  const stopping = new AbortController();
  const { redrives } = planRedrive(
    Array.from({ length: 150 }, (_, offset) => stored(offset)),
    false,
  );
  const count = await redrive(redrives, {
    log,
    publication: PUBLICATION,
    doing: { by: 'ann', reason: 'mended' },
    signal: stopping.signal,
    onProgress: () => stopping.abort(),
  });

  expect(count).toBe(100);
  expect(published.filter((topic) => topic === TOPICS.inventory.name)).toHaveLength(100);
  expect(published.filter((topic) => topic === TOPICS.deadLetters.name)).toHaveLength(100);
});

test('offsets are compared as numbers, also beyond 2^53', () => {
  const beyond = '9007199254740993';
  const letters = [
    stored(0, { letter: { ...letterAt(0), id: 'late', offset: beyond } }),
    stored(10),
    stored(9),
  ];

  expect(planRedrive(letters, false).redrives.map(({ letters: [letter] }) => letter?.offset)).toEqual([
    '9',
    '10',
    beyond,
  ]);
});

test('what was put back before is left alone, unless asked', () => {
  const before = stored(1, { redrivenAtMs: NOW_MS });

  expect(planRedrive([before], false)).toMatchObject({ redrives: [], done: [{ id: 'dead-letter-1' }] });
  expect(planRedrive([before], true)).toMatchObject({ redrives: [{ letters: [before.letter] }], done: [] });
});
