import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../../packages/log/embedded/database.ts';
import { writtenPositions } from '../../../packages/log/embedded/group-member.ts';
import { cleanOnce } from '../../../packages/log/embedded.ts';
import { TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { runs } from '../../support/property-runs.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { outgoing, silentContext, subscriptionOf } from './probe.ts';

const MEBIBYTE = 1024 * 1024;
const DAY_MS = 24 * 60 * 60 * 1000;
const START_MS = Date.UTC(2026, 0, 1);
/** What retention counts a record of `outgoing` with beside its value. */
const KEY = 'test/node-1';

interface Record {
  readonly topic: TopicName;
  readonly value: Buffer | null;
  readonly key?: string;
}

/** The file of a log, cleaned by hand at times of the test's own. */
async function file() {
  const database = await openDatabase(join(temporaryDirectory(), 'events.sqlite'), 256 * MEBIBYTE);
  onTestFinished(() => database.close());
  await database.write(({ partitions }) => partitions.createMissing());
  let nowMs = START_MS;
  const context = silentContext({ now: () => nowMs });
  return {
    database,
    publish: (records: readonly Record[]) =>
      database.write((tables) =>
        tables.records.append(
          records.map((record) => outgoing({ key: KEY, ...record })),
          nowMs,
        ),
      ),
    pass: (ms: number) => {
      nowMs += ms;
    },
    clean: (maxBytes: number) => cleanOnce({ database, context }, maxBytes),
    kept: (topic: TopicName) => keptOf(database, topic),
    keptBytes: () => database.read(({ removals }) => removals.keptBytes()),
  };
}

/** The values that a topic still holds, oldest first. */
const keptOf = (database: Database, topic: TopicName): Promise<string[]> =>
  database.read(({ partitions, records }) =>
    partitions
      .ofTopic(topic)
      .flatMap(({ id, partition, nextOffset }) =>
        records
          .page({ id, topic, partition, from: 0, before: nextOffset, maxRecords: 1e6, maxBytes: Infinity })
          .map(({ value }) => value?.toString('latin1').split(' ')[0] ?? '(tombstone)'),
      ),
  );

const filled = (number: number, sizeBytes: number): Buffer =>
  Buffer.from(`${number} `.padEnd(sizeBytes, '.'), 'latin1');

describe('retention by size', () => {
  test('stops where the rest fits, however often it runs', async () => {
    const log = await file();
    await log.publish(
      Array.from({ length: 12 }, (_, index) => ({
        topic: 'gc.node.results',
        value: filled(index, MEBIBYTE),
      })),
    );
    // Seven tenths of it are for records: eleven of a little more than a mebibyte.
    const maxBytes = 16 * MEBIBYTE;
    for (let pass = 0; pass < 3; pass += 1) {
      await log.clean(maxBytes);
      expect(await log.kept('gc.node.results')).toEqual(
        Array.from({ length: 11 }, (_, index) => `${index + 1}`),
      );
    }
  });

  test('deletes the oldest of all topics and only as many as it must, and nothing that is kept for ever', async () => {
    const topics = ['gc.node.results', 'gc.node.inventory', 'gc.dead-letters'] as const;
    const records = fc.array(
      fc.record({ topic: fc.constantFrom(...topics), sizeBytes: fc.integer({ min: 10, max: 4_000 }) }),
      { minLength: 1, maxLength: 150 },
    );
    await fc.assert(
      fc.asyncProperty(records, fc.integer({ min: 1, max: 300_000 }), async (written, maxBytes) => {
        const log = await file();
        await log.publish([{ topic: 'gc.policies', value: filled(0, 500) }]);
        await log.publish([{ topic: 'gc.policy-versions', value: filled(0, 500) }]);
        const foreverBytes = await log.keptBytes();
        const bytesAfter: number[] = [];
        for (const [index, { topic, sizeBytes }] of written.entries()) {
          await log.publish([{ topic, value: filled(index, sizeBytes) }]);
          bytesAfter.push(await log.keptBytes());
        }
        await log.clean(maxBytes);
        const kept = (await Promise.all(topics.map(log.kept)))
          .flat()
          .map(Number)
          .toSorted((a, b) => a - b);
        const first = written.length - kept.length;
        expect(kept).toEqual(Array.from({ length: kept.length }, (_, index) => first + index));
        const limitBytes = Math.floor(maxBytes * 0.7);
        const totalBytes = bytesAfter.at(-1) ?? 0;
        const withoutFirst = (count: number): number =>
          totalBytes - ((bytesAfter[count - 1] ?? foreverBytes) - foreverBytes);
        expect(await log.keptBytes()).toBe(withoutFirst(first));
        if (kept.length > 0) expect(withoutFirst(first)).toBeLessThanOrEqual(limitBytes);
        if (first > 0) expect(withoutFirst(first - 1)).toBeGreaterThan(limitBytes);
        expect(await log.kept('gc.policies')).toHaveLength(1);
        expect(await log.kept('gc.policy-versions')).toHaveLength(1);
      }),
      runs(60),
    );
  });
});

describe('retention by time', () => {
  test.each(
    Object.values(TOPICS).flatMap(({ name, retentionMs }) =>
      retentionMs === 'forever' ? [] : [{ name, retentionMs }],
    ),
  )('$name holds a record until its time is over, and not longer', async ({ name, retentionMs }) => {
    const log = await file();
    await log.publish([{ topic: name, value: filled(0, 100) }]);
    log.pass(retentionMs);
    await log.clean(256 * MEBIBYTE);
    expect(await log.kept(name)).toEqual(['0']);
    log.pass(1);
    await log.clean(256 * MEBIBYTE);
    expect(await log.kept(name)).toEqual([]);
  });

  test('a deletion is held for a day, so that who was away for so long learns of it', async () => {
    const log = await file();
    await log.publish([
      { topic: 'gc.policies', value: filled(1, 100) },
      { topic: 'gc.policies', value: null },
    ]);
    log.pass(DAY_MS);
    await log.clean(256 * MEBIBYTE);
    expect(await log.kept('gc.policies')).toEqual(['(tombstone)']);
    log.pass(1);
    await log.clean(256 * MEBIBYTE);
    expect(await log.kept('gc.policies')).toEqual([]);
  });

  test('what is kept for ever stays, each last value of a compacted topic too', async () => {
    const log = await file();
    await log.publish([
      { topic: 'gc.policies', value: filled(1, 100) },
      { topic: 'gc.policies', value: filled(2, 100) },
      { topic: 'gc.policies', value: filled(3, 100), key: 'other' },
      { topic: 'gc.policy-versions', value: filled(4, 100) },
      { topic: 'gc.policy-versions', value: filled(5, 100) },
    ]);
    log.pass(1_000 * DAY_MS);
    await log.clean(1);
    expect(await log.kept('gc.policies')).toEqual(['2', '3']);
    expect(await log.kept('gc.policy-versions')).toEqual(['4', '5']);
  });
});

describe('where a group goes on', () => {
  const topic = 'gc.policies';
  const placeOf = async ({ database }: Awaited<ReturnType<typeof file>>, committed: number | null) => {
    const subscription = subscriptionOf({ topics: [topic], start: 'latest' });
    return await database.write((tables) => {
      const [end] = tables.partitions.ofTopic(topic);
      if (end && committed !== null) tables.groups.commit(subscription.group, end.id, committed);
      return writtenPositions(tables, subscription, START_MS).map(({ next }) => next);
    });
  };

  test.each([
    { what: 'at its committed place', committed: 1, next: 1 },
    { what: 'at the end, when that is its place', committed: 2, next: 2 },
    {
      what: 'at the beginning, when its place is beyond the end: the topic was made anew',
      committed: 3,
      next: 0,
    },
    { what: 'at the end, without a place', committed: null, next: 2 },
  ])('$what', async ({ committed, next }) => {
    const log = await file();
    await log.publish([
      { topic, value: filled(1, 100) },
      { topic, value: filled(2, 100) },
    ]);
    expect(await placeOf(log, committed)).toEqual([next]);
  });
});
