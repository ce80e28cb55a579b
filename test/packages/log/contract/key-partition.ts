import { expect, test } from 'vitest';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
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

  test('every reader gets every record, once each, and goes on when the others end', async (context) => {
    const { log, open, publishTexts } = tried();
    const key = uniqueKey();
    const [older, newer] = [collector(key), collector(key)];
    await serve(context, log, keyed(key, 60_000), older.handle);
    const other = await open();
    const second = await other.subscribe(keyed(key, 60_000), newer.handle);
    await publishTexts(key, ['to both'], 'gc.node.commands');
    await until(
      'the record, twice',
      () => older.records.length === 1 && newer.records.length === 1,
      PATIENCE_MS,
    );
    await second.stop();
    await publishTexts(key, ['to the other'], 'gc.node.commands');
    await until('the next record', () => older.records.length === 2, PATIENCE_MS);
    expect([older.texts(), newer.texts()]).toEqual([['to both', 'to the other'], ['to both']]);
  });

  test('a slice that fails comes again; what was handled does not', async (context) => {
    const { log, publishTexts } = tried();
    const key = uniqueKey();
    const seen: string[] = [];
    let failures = 0;
    const subscription = await serve(context, log, keyed(key, 60_000), async (records) => {
      const mine = records.filter((record) => record.key === key).map(text);
      if (mine.includes('2') && failures < 2) {
        failures += 1;
        throw new Error('no');
      }
      seen.push(...mine);
    });
    await publishTexts(key, ['1'], 'gc.node.commands');
    await until('the first record', () => seen.length === 1, PATIENCE_MS);
    await publishTexts(key, ['2', '3'], 'gc.node.commands');
    await until('all records', () => seen.includes('3'), PATIENCE_MS);
    expect(seen).toEqual(['1', '2', '3']);
    expect(failures).toBe(2);
    expect(subscription.state()).toMatchObject({ joined: true, problem: null });
  });
}
