import { randomBytes } from 'node:crypto';
import { expect, test } from 'vitest';
import { partitionOf } from '../../../../packages/log/partition.ts';
import {
  collector,
  keyElsewhere,
  outgoing,
  readAll,
  subscriptionOf,
  text,
  uniqueKey,
  until,
} from '../probe.ts';
import { PATIENCE_MS, serve, type TriedLog } from './subject.ts';

const MEBIBYTE = 1024 * 1024;

export function recordContract(tried: () => TriedLog): void {
  test('a record comes back as it was published', async () => {
    const { log } = tried();
    const key = uniqueKey();
    const value = randomBytes(1000);
    const headers = { ce_id: 'ä-1', traceparent: '00-x', empty: '' };
    const before = Date.now();
    await log.publish([outgoing({ key, value, headers })]);

    const [record, ...more] = await readAll(log, key);
    expect(more).toEqual([]);
    expect(record).toEqual({
      topic: 'gc.node.results',
      partition: partitionOf('gc.node.results', key),
      offset: expect.any(BigInt),
      key,
      value,
      headers,
      timestampMs: expect.any(Number),
    });
    expect(record?.timestampMs).toBeGreaterThanOrEqual(before - 1000);
  });

  test('a publish resolves to where each record lies, in the order in which they were given', async () => {
    const { log } = tried();
    const a = uniqueKey();
    const b = keyElsewhere(a, 'gc.node.results', partitionOf);
    const given = [a, b, a, a, b].map((key, index) => outgoing({ key, value: Buffer.from(`${index}`) }));
    const positions = [...(await log.publish(given)), ...(await log.publish(given.slice(0, 2)))];
    expect(positions).toHaveLength(7);
    for (const [index, { partition, offset, timestampMs }] of positions.entries()) {
      const key = given[index % given.length]?.key ?? '';
      expect(partition).toBe(partitionOf('gc.node.results', key));
      const found = (await readAll(log, key)).find((record) => record.offset === offset);
      expect(found).toMatchObject({ key, partition, timestampMs });
      expect(`${found?.value}`).toBe(`${index % given.length}`);
    }
    expect(await log.publish([])).toEqual([]);
  });

  test('records of one key keep their order, within a publish and over several', async (context) => {
    const { log } = tried();
    const key = uniqueKey();
    const seen = collector(key);
    await serve(context, log, subscriptionOf(), seen.handle);
    const texts = Array.from({ length: 120 }, (_unused, index) => `${index}`);
    for (let at = 0; at < texts.length; at += 40) {
      const noise = Array.from({ length: 20 }, () => outgoing());
      await log.publish([
        ...noise,
        ...texts.slice(at, at + 40).map((value) => outgoing({ key, value: Buffer.from(value) })),
      ]);
    }
    await until('all records', () => seen.records.length >= texts.length, PATIENCE_MS);
    expect(seen.texts()).toEqual(texts);
    const offsets = seen.records.map((record) => record.offset);
    expect(offsets).toEqual(offsets.toSorted((a, b) => Number(a - b)));
  });

  test('a slice is consecutive records of one partition, no more than asked for', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(
      key,
      Array.from({ length: 25 }, (_unused, index) => `${index}`),
    );
    const seen = collector(key);
    await serve(context, log, subscriptionOf({ maxSliceRecords: 7 }), seen.handle);
    await until('all records', () => seen.records.length === 25, PATIENCE_MS);

    for (const slice of seen.slices) {
      expect(slice.length).toBeLessThanOrEqual(7);
      expect(new Set(slice.map((record) => record.partition)).size).toBe(1);
    }
    expect(seen.texts()).toEqual(Array.from({ length: 25 }, (_unused, index) => `${index}`));
  });

  test('a tombstone is a record without a value; the last of each key is the state', async () => {
    const { log } = tried();
    const [a, b] = [uniqueKey(), uniqueKey()];
    const record = (key: string, value: string | null) =>
      outgoing({ topic: 'gc.policies', key, value: value === null ? null : Buffer.from(value) });
    await log.publish([record(a, '1'), record(b, '1'), record(a, '2')]);
    await log.publish([record(b, null)]);
    const state = new Map<string, string>();
    for await (const event of log.read({ topic: 'gc.policies', from: 'earliest', to: 'end' })) {
      if (event.kind === 'record' && event.record.key !== null)
        state.set(event.record.key, text(event.record));
    }
    expect([state.get(a), state.get(b)]).toEqual(['2', '(tombstone)']);
  });
}

export function sizeContract(tried: () => TriedLog): void {
  test('a record of 4 MiB that does not compress passes', async (context) => {
    const { log } = tried();
    const key = uniqueKey();
    const value = randomBytes(4 * MEBIBYTE);
    const seen = collector(key);
    await serve(context, log, subscriptionOf({ start: 'latest' }), seen.handle);
    await log.publish([outgoing({ key, value })]);
    expect((await readAll(log, key))[0]?.value?.equals(value)).toBe(true);
  });

  test('a larger one is refused, unless it compresses', async () => {
    const { log } = tried();
    const key = uniqueKey();
    const refused = log.publish([outgoing({ key, value: randomBytes(4 * MEBIBYTE + 100_000) })]);
    await expect(refused).rejects.toMatchObject({ code: 'LOG_RECORD_TOO_LARGE', retry: false });
    await log.publish([outgoing({ key, value: Buffer.alloc(12 * MEBIBYTE, 'abc') })]);
    expect((await readAll(log, key)).map((record) => record.value?.length)).toEqual([12 * MEBIBYTE]);
  });

  test('a publish of many records passes whole and in order', async () => {
    const { log } = tried();
    const key = uniqueKey();
    const values = Array.from({ length: 600 }, (_, index) =>
      Buffer.concat([Buffer.from(`${index} `), randomBytes(5000)]),
    );
    await log.publish(values.map((value) => outgoing({ key, value })));
    const found = await readAll(log, key);
    expect(found.map((record) => record.value?.toString('latin1').split(' ')[0])).toEqual(
      values.map((_, i) => `${i}`),
    );
  });

  test('an empty publish is nothing', async () => {
    const { log } = tried();
    await log.publish([]);
  });
}
