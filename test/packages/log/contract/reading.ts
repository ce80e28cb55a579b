import { expect, test } from 'vitest';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { EventLog } from '../../../../packages/log/port.ts';
import { leftAt } from '../../../support/left-at-signal.ts';
import { readAll, text, uniqueKey, until, within } from '../probe.ts';
import { PATIENCE_MS, type TriedLog } from './subject.ts';

export function readingContract(tried: () => TriedLog): void {
  test('from the start to the end, marked when caught up', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1', '2']);
    const events = [];
    for await (const event of log.read({ topic: 'gc.node.results', from: 'earliest', to: 'end' }))
      events.push(event);
    expect(events.at(-1)).toEqual({ kind: 'caught-up' });
    expect(events.filter((event) => event.kind === 'caught-up')).toHaveLength(1);
    expect((await readAll(log, key)).map(text)).toEqual(['1', '2']);
    expect((await readAll(log, key)).map(text)).toEqual(['1', '2']);
  });

  test('it leaves nothing at a signal that outlives it, whether it comes to its end or is given up', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1', '2']);
    const { signal } = new AbortController();
    const read = (to: 'end' | 'forever') =>
      log.read({ topic: 'gc.node.results', from: 'earliest', to }, signal);
    for await (const _ of read('end'));
    for await (const _ of read('forever')) break;
    expect(leftAt(signal)).toBe(0);
  });

  test('an empty topic is caught up at once', async () => {
    const { log } = tried();
    const events = [];
    for await (const event of log.read({ topic: 'gc.policy-versions', from: 'earliest', to: 'end' }))
      events.push(event);
    expect(events).toEqual([{ kind: 'caught-up' }]);
  });

  test('from an offset, and one partition only', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const partition = partitionOf('gc.node.results', key);
    await publishTexts(key, ['1', '2', '3']);
    const [, second] = await readAll(log, key);
    const from = { offset: second?.offset ?? -1n };
    expect((await readAll(log, key, { partition, from })).map(text)).toEqual(['2', '3']);
    expect(await readAll(log, key, { partition: (partition + 1) % 32 })).toEqual([]);
  });

  test('up to an offset, or to the end where that is sooner', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1', '2', '3']);
    const [first, , third] = await readAll(log, key);
    const to = (before: bigint) => ({ partition: first?.partition ?? -1, to: { before } });
    const last = third?.offset ?? -1n;
    expect((await readAll(log, key, to(last))).map(text)).toEqual(['1', '2']);
    expect((await readAll(log, key, to(last + 9n))).map(text)).toEqual(['1', '2', '3']);
    expect(await readAll(log, key, to(0n))).toEqual([]);
  });

  test('from a time of the log', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1']);
    const [first] = await readAll(log, key);
    await until('a later millisecond', () => Date.now() > (first?.timestampMs ?? 0) + 1);
    await publishTexts(key, ['2']);
    const [, second] = await readAll(log, key);
    const times = [first?.timestampMs ?? 0, second?.timestampMs ?? 0];
    expect((await readAll(log, key, { from: { timestampMs: times[0] ?? 0 } })).map(text)).toEqual(['1', '2']);
    expect((await readAll(log, key, { from: { timestampMs: (times[0] ?? 0) + 1 } })).map(text)).toEqual([
      '2',
    ]);
    expect(await readAll(log, key, { from: { timestampMs: (times[1] ?? 0) + 1 } })).toEqual([]);
    // A clock that measures finer than the log.
    expect((await readAll(log, key, { from: { timestampMs: (times[0] ?? 0) + 0.5 } })).map(text)).toEqual([
      '2',
    ]);
  });

  test('to the end as it was when reading began; for ever goes on after it, until aborted', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1']);
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = followKey(log, key, seen, stop.signal);
    await until('the mark', () => seen.includes('caught up'), PATIENCE_MS);
    await publishTexts(key, ['2']);
    await until('the next record', () => seen.includes('2'), PATIENCE_MS);
    stop.abort();
    await within('the end of the reading', reading, 3000);
    expect(seen.filter((each) => each !== 'still')).toEqual(['1', 'caught up', '2']);
  });

  test('one for ever is told again and again that it has everything, also after what came last', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const stop = new AbortController();
    const seen: string[] = [];
    const reading = followKey(log, key, seen, stop.signal);
    await until('the mark', () => seen.includes('caught up'), PATIENCE_MS);
    await publishTexts(key, ['1']);
    await until('the record', () => seen.includes('1'), PATIENCE_MS);
    await until('a mark after it', () => seen.at(-1) === 'still', PATIENCE_MS);
    stop.abort();
    await within('the end of the reading', reading, 3000);
  });

  test('one that is to end and is aborted before throws, so that a part does not pass for the whole', async () => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1']);
    const request = { topic: 'gc.node.results', from: 'earliest', to: 'end' } as const;
    const kindsUntilStopped = async (stop: AbortSignal): Promise<readonly string[]> => {
      const kinds: string[] = [];
      for await (const { kind } of log.read(request, stop)) kinds.push(kind);
      return kinds;
    };
    await expect(kindsUntilStopped(AbortSignal.abort())).rejects.toMatchObject({ code: 'INTERRUPTED' });
    const stops = new AbortController();
    const inTheMiddle = async (): Promise<string | undefined> => {
      let last: string | undefined;
      for await (const { kind } of log.read(request, stops.signal)) {
        last = kind;
        stops.abort();
      }
      return last;
    };
    // Who was given everything meanwhile has the whole.
    await expect(inTheMiddle().catch(({ code }) => code)).resolves.toMatch(/^(INTERRUPTED|caught-up)$/);
    const endless = { ...request, to: 'forever' } as const;
    for await (const _ of log.read(endless, AbortSignal.abort())) expect.unreachable();
  });

  test('a partition that does not exist is refused', async () => {
    const { log } = tried();
    await expect(readAll(log, 'x', { partition: 32 })).rejects.toMatchObject({ code: 'USAGE' });
  });
}

async function followKey(log: EventLog, key: string, seen: string[], signal: AbortSignal): Promise<void> {
  for await (const event of log.read({ topic: 'gc.node.results', from: 'earliest', to: 'forever' }, signal)) {
    if (event.kind === 'caught-up') seen.push('caught up');
    else if (event.kind === 'still-caught-up') seen.push('still');
    else if (event.record.key === key) seen.push(text(event.record));
  }
}
