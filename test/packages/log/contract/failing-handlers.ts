import { expect, test } from 'vitest';
import { partitionOf } from '../../../../packages/log/partition.ts';
import { collector, keyElsewhere, subscriptionOf, text, uniqueKey, until } from '../probe.ts';
import { PATIENCE_MS, serve, type TriedLog } from './subject.ts';

export function failingHandlerContract(tried: () => TriedLog): void {
  const failures: readonly [string, () => Error][] = [
    ['Error', () => new Error('no')],
    ['TypeError', () => new TypeError('x is not a function')],
    ['SyntaxError', () => new SyntaxError('Unexpected token')],
    ['an error that calls itself not retriable', () => Object.assign(new Error('no'), { retriable: false })],
  ];
  test.for(failures)(
    'a handler that throws %s gets its slice again, and the consumer lives on',
    async ([, make], context) => {
      const { log, publishTexts } = tried();
      const key = uniqueKey();
      const seen: string[] = [];
      let left = 3;
      const subscription = await serve(
        context,
        log,
        subscriptionOf({ start: 'earliest' }),
        async (records) => {
          const mine = records.filter((record) => record.key === key).map(text);
          if (mine.length > 0 && left > 0) {
            left -= 1;
            throw make();
          }
          seen.push(...mine);
        },
      );
      await publishTexts(key, ['1']);
      await until('the record in the end', () => seen.includes('1'), PATIENCE_MS);
      await publishTexts(key, ['2']);
      await until('the next record', () => seen.includes('2'), PATIENCE_MS);
      expect(seen).toEqual(['1', '2']);
      expect(left).toBe(0);
      expect(subscription.state().problem).toBeNull();
    },
  );

  test('a poison message holds up its own partition only, with backoff, and shows as a problem', async (context) => {
    const { log, publishTexts } = tried();
    const poison = uniqueKey();
    const well = keyElsewhere(poison, 'gc.node.results', partitionOf);
    const seen = collector(well);
    let tries = 0;
    const subscription = await serve(
      context,
      log,
      subscriptionOf({ start: 'latest' }),
      async (records, signal, inHand) => {
        if (records.some((record) => record.key === poison)) {
          tries += 1;
          throw new Error('poisoned');
        }
        await seen.handle(records, signal, inHand);
      },
    );
    await until('a member', () => subscription.state().assigned.length > 0, PATIENCE_MS);
    await publishTexts(poison, ['p']);
    await until('some tries', () => tries >= 3, PATIENCE_MS);
    for (const value of ['1', '2', '3']) await publishTexts(well, [value]);
    await until('the records of other partitions', () => seen.records.length === 3, PATIENCE_MS);
    expect(subscription.state().problem).toMatch(/poisoned/);
    expect(tries).toBeLessThan(30);
  });
}
