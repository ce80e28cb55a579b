import { describe, expect, test } from 'vitest';
import type { Input, Outputs } from '../../../packages/decision/handler.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { consumer, decide, garbage, message, unreachable } from './consumer-under-test.ts';

const MINUTE_MS = 60_000;

describe('a handler that fails', () => {
  const failing = (error: () => unknown, times = Number.POSITIVE_INFINITY) => {
    const tried: string[] = [];
    const handle = (input: Input<DiskStats>): Outputs | Promise<Outputs> => {
      if (input.event.id !== 'bad') return decide(input);
      tried.push(input.event.id);
      if (tried.length <= times) throw error();
      return decide(input);
    };
    return { tried, handle };
  };

  test('for a reason that will pass leaves the slice to come again, and nothing is a dead letter', async () => {
    const { tried, handle } = failing(() => new FleetGcError('POLICIES_UNREADABLE', 'not read yet'));
    const { log } = await consumer({}, handle);
    await expect(log.deliver([message('a'), message('bad')])).rejects.toMatchObject({
      code: 'POLICIES_UNREADABLE',
    });
    expect(tried).toHaveLength(1);
    expect(log.published).toEqual([]);
  });

  test.each<[string, () => unknown]>([
    ['a defect', () => new TypeError('x is not a function')],
    ['a failure that no retry mends', () => new FleetGcError('EVENT_REJECTED', 'impossible')],
    ['something that is no error', () => 'text'],
  ])('because of %s is tried three times, then the message is a dead letter', async (_name, error) => {
    const { tried, handle } = failing(error);
    const { log, out, published, deadCauses } = await consumer({}, handle);
    await log.deliver([message('a'), message('bad'), message('b')]);
    expect(tried).toHaveLength(3);
    expect(published().slice(0, 2)).toEqual([
      ['decision-of-a', 'decision-of-b'],
      ['observe-of-a', 'observe-of-b'],
    ]);
    expect(deadCauses()).toEqual(['handler-failed']);
    expect(out.lines.map((line) => JSON.parse(line).level)).toEqual(['error']);
  });

  test('twice and then not is fine', async () => {
    const { handle } = failing(() => new Error('once more'), 2);
    const { log, deadCauses } = await consumer({}, handle);
    await log.deliver([message('bad')]);
    expect(deadCauses()).toEqual([]);
    expect(log.published).toHaveLength(2);
  });

  test('asynchronously is no different', async () => {
    const { log, deadCauses } = await consumer({}, () => Promise.reject(new Error('late')));
    await log.deliver([message('a')]);
    expect(deadCauses()).toEqual(['handler-failed']);
  });

  test('by making an event that has no JSON form becomes a dead letter too', async () => {
    const { log, deadCauses } = await consumer({}, ({ event }) => {
      const facts: Record<string, unknown> = {};
      facts.self = facts;
      return [[{ topic: 'diskStats', key: 'k', event: Object.assign(structuredClone(event), { facts }) }]];
    });
    await log.deliver([message('a')]);
    expect(deadCauses()).toEqual(['handler-failed']);
  });

  test('by making more than the log takes does not hold up the others', async () => {
    const { log, published, deadCauses } = await consumer();
    log.beforePublish = (records) => {
      if (records.some(({ headers }) => headers.ce_id === 'observe-of-bad')) {
        throw new FleetGcError('LOG_RECORD_TOO_LARGE', 'an event is too large');
      }
    };
    await log.deliver([message('a'), message('bad'), message('b')]);
    expect(published().flat()).toEqual(expect.arrayContaining(['observe-of-a', 'observe-of-b']));
    expect(published().flat()).not.toContain('observe-of-bad');
    expect(deadCauses()).toEqual(['handler-failed']);
  });
});

describe('a flood of bad messages', () => {
  const badKeys = (count: number) =>
    Array.from({ length: count }, (_, index) => garbage(`prod/bad-${index}`));

  test('from one node stops nobody else', async () => {
    const { log, running, published, deadCauses } = await consumer();
    for (let i = 0; i < 50; i++) {
      await log.deliver(
        Array.from({ length: 20 }, (_, n) => garbage('prod/bad', { offset: BigInt(i * 20 + n) })),
      );
      await log.deliver([message(`good-${i}`)]);
    }
    expect(running.problem()).toBeNull();
    expect(
      published()
        .flat()
        .filter((id) => id?.startsWith('observe-of-good-')),
    ).toHaveLength(50);
    // Ten in the minute whole, and one of each slice for the others in it.
    expect(deadCauses()).toHaveLength(10 + 50);
  });

  test('from all nodes pauses the consumer, which tries again once a minute and goes on by itself', async () => {
    const { log, metrics, clock, running, published } = await consumer();
    await log.deliver(badKeys(5));
    expect(running.problem()).toMatch(/^paused: messages of 5 keys/);
    expect(await metrics.text()).toContain('fleetgc_consumer_paused{consumer="test"} 1');

    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'FLOODED', retry: true });
    clock.nowMs += MINUTE_MS;
    await log.deliver(badKeys(1));
    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'FLOODED' });
    clock.nowMs += MINUTE_MS;
    await log.deliver([message('a')]);

    expect(running.problem()).toBeNull();
    expect(published().at(-1)).toEqual(['observe-of-a']);
    expect(await metrics.text()).toContain('fleetgc_consumer_paused{consumer="test"} 0');
  });

  test('that was not written down counts again when it comes again, not twice', async () => {
    const { log, running } = await consumer();
    log.beforePublish = () => {
      throw unreachable();
    };
    for (let i = 0; i < 5; i++) {
      await expect(log.deliver([garbage(`prod/bad-${i}`)])).rejects.toMatchObject({
        code: 'LOG_UNREACHABLE',
      });
    }
    expect(running.problem()).toBeNull();
  });
});
