import { expect, test } from 'vitest';
import { partitionOf } from '../../../../services/shared/event-log/partition.ts';
import type { LogRecord } from '../../../../services/shared/event-log/port.ts';
import { collector, keyElsewhere, text, uniqueKey, until } from '../probe.ts';
import { PATIENCE_MS, serve, type TriedLog } from './subject.ts';

export function keyPartitionContract(tried: () => TriedLog): void {
  const keyed = (key: string, lookBackMs: number) => ({
    group: `executor-${key}`,
    topics: ['gc.node.commands', 'gc.node.observe'] as const,
    start: 'earliest' as const,
    assignment: { kind: 'key' as const, key, lookBackMs },
  });

  test('only that partition of each topic is read', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const foreign = keyElsewhere(key, 'gc.node.commands', partitionOf);
    const slices: LogRecord[] = [];
    const subscription = await serve(context, log, keyed(key, 60_000), async (records) => {
      slices.push(...records);
    });
    await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
    const partition = partitionOf('gc.node.commands', key);
    expect(subscription.state().assigned.toSorted()).toEqual([
      `gc.node.commands/${partition}`,
      `gc.node.observe/${partition}`,
    ]);
    await publishTexts(foreign, ['foreign'], 'gc.node.commands');
    await publishTexts(key, ['command'], 'gc.node.commands');
    await publishTexts(key, ['order'], 'gc.node.observe');
    const mine = () => slices.filter((record) => record.key === key).map(text);
    await until('both records', () => mine().length === 2, PATIENCE_MS);
    expect(mine().toSorted()).toEqual(['command', 'order']);
    expect(slices.map((record) => record.key)).not.toContain(foreign);
  });

  test('begins so long before now by the time of the log, whatever was committed', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    await publishTexts(key, ['1'], 'gc.node.commands');
    const seen = collector(key);
    const first = await log.subscribe(keyed(key, 60_000), seen.handle);
    await until('the record', () => seen.records.length === 1, PATIENCE_MS);
    await first.stop();
    const again = collector(key);
    const second = await log.subscribe(keyed(key, 60_000), again.handle);
    await until('the same record', () => again.records.length === 1, PATIENCE_MS);
    await second.stop();

    const time = seen.records[0]?.timestampMs ?? 0;
    await until('two seconds later', () => Date.now() > time + 2000);
    await publishTexts(key, ['2', '3'], 'gc.node.commands');
    const late = collector(key);
    await serve(context, log, keyed(key, 1000), late.handle);
    await until('the new records', () => late.records.length > 1, PATIENCE_MS);
    expect(late.texts()).toEqual(['2', '3']);
  });

  test('the newest member owns it; the older stands by and gets it back', async (context) => {
    const { log, open, publishTexts } = tried();
    const key = uniqueKey();
    const [older, newer] = [collector(key), collector(key)];
    const first = await serve(context, log, keyed(key, 0), older.handle);
    await until('the first member', () => first.state().assigned.length > 0, PATIENCE_MS);
    const other = await open();
    const second = await other.subscribe(keyed(key, 0), newer.handle);
    await until('the takeover', () => second.state().assigned.length > 0, PATIENCE_MS);
    await until(
      'the stand-by',
      () => first.state().assigned.length === 0 && first.state().joined,
      PATIENCE_MS,
    );
    await publishTexts(key, ['to the newer'], 'gc.node.commands');
    await until('the record', () => newer.records.length === 1, PATIENCE_MS);
    await second.stop();
    await until('the return', () => first.state().assigned.length > 0, PATIENCE_MS);
    await publishTexts(key, ['to the older'], 'gc.node.commands');
    await until('the next record', () => older.texts().includes('to the older'), PATIENCE_MS);
    expect(newer.texts()).toEqual(['to the newer']);
  });
}
