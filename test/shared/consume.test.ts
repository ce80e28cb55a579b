import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { DiskStats } from '../../schemas/disk-stats.ts';
import { type ConsumerSettings, startConsumer } from '../../services/shared/consume.ts';
import { createDeadLetters } from '../../services/shared/dead-letters.ts';
import { FleetGcError } from '../../services/shared/errors.ts';
import type { LogRecord } from '../../services/shared/event-log/port.ts';
import { type Handler, type Input, nodeOutput, type Outputs } from '../../services/shared/handler.ts';
import { sha256Hex } from '../../services/shared/ids.ts';
import { createLogger } from '../../services/shared/logger.ts';
import { createMetrics } from '../../services/shared/metrics.ts';
import { createPublisher } from '../../services/shared/publisher.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { NODE } from '../fixtures/inventory.ts';
import { observe } from '../fixtures/observe.ts';
import { command, decision } from '../fixtures/outputs.ts';
import { logLines } from '../support/log-lines.ts';
import { countedIds, NOW_MS, recordOf, TRACEPARENT } from '../support/log-record.ts';
import { ScriptedLog } from '../support/scripted-log.ts';

const MINUTE_MS = 60_000;

/** A decision and an order, in this sequence. */
const decide: Handler<DiskStats> = ({ event }) => [
  [nodeOutput('decisions', decision({ id: `decision-of-${event.id}` }))],
  [nodeOutput('observe', observe({ id: `observe-of-${event.id}` }))],
];

async function consumer(over: Partial<ConsumerSettings> = {}, handle: Handler<DiskStats> = decide) {
  const log = new ScriptedLog();
  const metrics = createMetrics();
  const out = logLines();
  const clock = { nowMs: NOW_MS };
  const now = () => clock.nowMs;
  const logger = createLogger({ service: 'test', level: 'info' }, out);
  const publisher = createPublisher({ log, source: '/fleetgc/test', now, ids: countedIds() });
  const deadLetters = createDeadLetters({ publisher, group: 'g', metrics, logger, now });
  const running = await startConsumer({
    name: 'test',
    log,
    group: 'g',
    start: 'earliest',
    assignment: { kind: 'shared' },
    handlers: { diskStats: handle },
    publisher,
    deadLetters,
    logger,
    metrics,
    now,
    monotonicNow: now,
    ...over,
  });
  /** Ids of what was published, one list a publish. */
  const published = () => log.published.map((records) => records.map(({ headers }) => headers.ce_id));
  const deadCauses = () =>
    log.published
      .flat()
      .filter(({ topic }) => topic === 'gc.dead-letters')
      .map(({ value }) => JSON.parse(String(value)).cause);
  return { log, metrics, out, clock, running, published, deadCauses };
}

const message = (id: string, over: Partial<DiskStats> = {}, record: Partial<LogRecord> = {}): LogRecord =>
  recordOf(nodeOutput('diskStats', diskStats({}, { id, ...over })), record);

const garbage = (key: string, over: Partial<LogRecord> = {}): LogRecord => ({
  ...message('x'),
  key,
  value: Buffer.from('garbage'),
  ...over,
});

const unreachable = () => new FleetGcError('LOG_UNREACHABLE', 'no broker answers');

describe('subscribing', () => {
  test('is to the topics of the handlers', async () => {
    const { log } = await consumer({
      handlers: { commands: () => [], inventory: () => [] },
      maxSliceRecords: 7,
    });
    expect(log.subscription).toEqual({
      group: 'g',
      topics: ['gc.node.inventory', 'gc.node.commands'],
      start: 'earliest',
      assignment: { kind: 'shared' },
      maxSliceRecords: 7,
    });
  });

  test('says why nothing is processed', async () => {
    const { log, running } = await consumer();
    expect(running.problem()).toBeNull();
    log.state = { ...log.state, joined: false };
    expect(running.problem()).toBe('has not joined its group yet');
    log.state = { ...log.state, problem: 'no broker answers' };
    expect(running.problem()).toBe('no broker answers');
  });
});

describe('a message', () => {
  test('is handled with its position, its bytes and its trace', async () => {
    const inputs: Input<DiskStats>[] = [];
    const { log } = await consumer({}, (input) => {
      inputs.push(input);
      return [];
    });
    const record = message('a', {}, { partition: 7, offset: 2n ** 60n });
    await log.deliver([record]);
    expect(inputs).toEqual([
      {
        event: diskStats({}, { id: 'a' }),
        position: {
          topic: 'gc.node.disk-stats',
          partition: 7,
          offset: '1152921504606846976',
          sha256: sha256Hex(record.value ?? ''),
        },
        bytes: record.value,
        trace: {
          traceparent: expect.stringMatching(/^00-0af7651916cd43dd8448eb211c80319c-[0-9a-f]{16}-01$/),
        },
      },
    ]);
  });

  test('passes its trace on to what follows, with one new span', async () => {
    const { log } = await consumer();
    await log.deliver([message('a')]);
    const [first, second] = log.published.flat().map(({ headers }) => headers.traceparent);
    expect(first).toMatch(/^00-0af7651916cd43dd8448eb211c80319c-/);
    expect(first).not.toBe(TRACEPARENT);
    expect(second).toBe(first);
  });

  test('is counted, with its age when it was done with', async () => {
    const { log, metrics } = await consumer();
    await log.deliver([message('a', {}, { timestampMs: NOW_MS - 250 })]);
    const text = await metrics.text();
    expect(text).toContain(
      'fleetgc_events_consumed_total{consumer="test",topic="gc.node.disk-stats",outcome="processed"} 1',
    );
    expect(text).toContain(
      'fleetgc_event_to_output_seconds_sum{consumer="test",topic="gc.node.disk-stats"} 0.25',
    );
  });

  test('that comes twice has the same outputs twice', async () => {
    const { log, published } = await consumer();
    await log.deliver([message('a')]);
    await log.deliver([message('a')]);
    expect(published()).toEqual([['decision-of-a'], ['observe-of-a'], ['decision-of-a'], ['observe-of-a']]);
  });
});

describe('a slice', () => {
  test('publishes stage by stage, all its messages together', async () => {
    const { log, published } = await consumer();
    await log.deliver([message('a'), message('b'), message('c')]);
    expect(published()).toEqual([
      ['decision-of-a', 'decision-of-b', 'decision-of-c'],
      ['observe-of-a', 'observe-of-b', 'observe-of-c'],
    ]);
  });

  test('sends no order when its record was not acknowledged, and is not acknowledged itself', async () => {
    const { log, published } = await consumer();
    log.beforePublish = () => {
      throw unreachable();
    };
    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE', retry: true });
    expect(published()).toEqual([]);
  });

  test('is not acknowledged when the order was not', async () => {
    const { log, published } = await consumer();
    log.beforePublish = (records) => {
      if (records.some(({ topic }) => topic === 'gc.node.observe')) throw unreachable();
    };
    await expect(log.deliver([message('a')])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
    expect(published()).toEqual([['decision-of-a']]);
  });

  test('of a partition that was lost publishes nothing, and handles no further message', async () => {
    const lost = new AbortController();
    const handled: string[] = [];
    const { log } = await consumer({}, (input) => {
      handled.push(input.event.id);
      if (input.event.id === 'last') lost.abort();
      return decide(input);
    });
    await log.deliver([message('a')], AbortSignal.abort());
    expect(handled).toEqual([]);
    await log.deliver([message('b'), message('last')], lost.signal);
    await log.deliver([message('c')], lost.signal);
    expect(handled).toEqual(['b', 'last']);
    expect(log.published).toEqual([]);
  });

  describe('slices of several partitions', () => {
    /** Each message takes 10 ms. */
    async function slow(onHandled: (id: string) => void = () => undefined) {
      const order: string[] = [];
      const started = await consumer({}, (input) => {
        started.clock.nowMs += 10;
        order.push(input.event.id);
        onHandled(input.event.id);
        return decide(input);
      });
      started.log.beforePublish = () => void order.push('published');
      const deliver = (signals: readonly AbortSignal[]) =>
        Promise.all(
          signals.map((signal, partition) =>
            started.log.deliver(
              [1, 2, 3].map((number) => message(`${partition}-${number}`, {}, { partition })),
              signal,
            ),
          ),
        );
      return { order, deliver };
    }
    const signal = new AbortController().signal;

    test('are decided one after another: the first is published before the last is decided', async () => {
      const { order, deliver } = await slow();
      await deliver([signal, signal, signal]);
      expect(order.filter((what) => what !== 'published')).toEqual(
        [0, 1, 2].flatMap((partition) => [1, 2, 3].map((number) => `${partition}-${number}`)),
      );
      expect(order.indexOf('published')).toBeLessThan(order.indexOf('2-1'));
    });

    test('let heartbeats out in between, however much there is to decide', async () => {
      const beats: string[] = [];
      let beatsBeforeLast: readonly string[] = [];
      const { deliver } = await slow((id) => {
        if (id === '1-3') beatsBeforeLast = [...beats];
        else setImmediate(() => beats.push(id));
      });
      await deliver([signal, signal]);
      expect(beatsBeforeLast).toEqual(['0-1', '0-2', '0-3', '1-1', '1-2']);
    });

    test('one that is lost while it waits is not decided', async () => {
      const lost = new AbortController();
      const { order, deliver } = await slow(() => lost.abort());
      await deliver([signal, lost.signal]);
      expect(order.filter((what) => what.startsWith('1-'))).toEqual([]);
    });

    test('one that fails holds up no other', async () => {
      const { log, published } = await consumer({}, (input) => {
        if (input.event.id === 'bad') throw unreachable();
        return decide(input);
      });
      const failing = expect(log.deliver([message('bad')])).rejects.toMatchObject({
        code: 'LOG_UNREACHABLE',
      });
      await log.deliver([message('good', {}, { partition: 1 })]);
      await failing;
      expect(published()).toEqual([['decision-of-good'], ['observe-of-good']]);
    });
  });

  describe('read for one key', () => {
    const key = `${NODE.cluster}/${NODE.node}`;
    const forOneKey = () => consumer({ assignment: { kind: 'key', key, lookBackMs: 0 } });

    test('leaves the others alone, bad ones included', async () => {
      const { log, metrics, published } = await forOneKey();
      await log.deliver([
        message('other', { node: 'web-2' }, { key: 'prod/web-2' }),
        garbage('prod/web-3'),
        message('of a name like ours', { node: `${NODE.node}0` }, { key: `${key}0` }),
        message('of another that is not its own', { node: 'web-2' }, { key: 'prod/web-3' }),
        { ...message('deleted'), key: 'prod/web-4', value: null },
        message('own'),
      ]);
      expect(published()).toEqual([['decision-of-own'], ['observe-of-own']]);
      expect(await metrics.text()).toContain('fleetgc_events_of_other_keys_total{consumer="test"} 5');
      await log.deliver([garbage(key)]);
      expect(published().flat()).toHaveLength(3);
    });

    test.each<{ name: string; record: LogRecord; cause: string }>([
      { name: 'without a key', record: { ...message('none'), key: null }, cause: 'key-mismatch' },
      {
        name: 'without a key or a value',
        record: { ...message('x'), key: null, value: null },
        cause: 'not-json',
      },
      { name: 'with a key that names no node', record: garbage('!'), cause: 'not-json' },
      {
        name: 'with a key of three parts',
        record: message('x', {}, { key: `${key}/x` }),
        cause: 'key-mismatch',
      },
      {
        name: 'with the key of another node, but about this one',
        record: message('x', {}, { key: 'prod/web-2' }),
        cause: 'key-mismatch',
      },
      {
        name: 'with the key of another node, about this one, and malformed',
        record: {
          ...message('x'),
          key: 'prod/web-2',
          value: Buffer.from(JSON.stringify({ ...NODE, type: 'no' })),
        },
        cause: 'wrong-schema',
      },
    ])('a record $name becomes a dead letter, and is not handled', async ({ record, cause }) => {
      const { log, metrics, published, deadCauses } = await forOneKey();
      await log.deliver([record, message('own')]);
      expect(deadCauses()).toEqual([cause]);
      expect(published().slice(0, 2)).toEqual([['decision-of-own'], ['observe-of-own']]);
      expect(await metrics.text()).toContain('fleetgc_events_of_other_keys_total{consumer="test"} 0');
    });

    test('of such records ten in a minute are kept in all, whatever their keys, and they never pause the consumer', async () => {
      const { log, running, published, deadCauses } = await forOneKey();
      await log.deliver(Array.from({ length: 30 }, () => ({ ...message('none'), key: null })));
      await log.deliver(Array.from({ length: 30 }, (_, index) => garbage(`no-node-${index}`)));
      expect(deadCauses()).toHaveLength(10);
      expect(running.problem()).toBeNull();
      await log.deliver([message('own')]);
      expect(published().slice(-2)).toEqual([['decision-of-own'], ['observe-of-own']]);
    });

    test('its slice comes again while their dead letters cannot be written', async () => {
      const { log, deadCauses } = await forOneKey();
      const nobodys = { ...message('none'), key: null };
      log.beforePublish = () => {
        throw unreachable();
      };
      await expect(log.deliver([nobodys])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
      log.beforePublish = () => undefined;
      await log.deliver([nobodys]);
      expect(deadCauses()).toEqual(['key-mismatch']);
    });
  });
});

describe('a message that is no event', () => {
  test('becomes a dead letter, and the others of its slice are processed', async () => {
    const { log, published, deadCauses } = await consumer();
    await log.deliver([message('a'), garbage('prod/web-1', { offset: 1n }), message('b')]);
    expect(published().slice(0, 2)).toEqual([
      ['decision-of-a', 'decision-of-b'],
      ['observe-of-a', 'observe-of-b'],
    ]);
    expect(deadCauses()).toEqual(['not-json']);
  });

  test('keeps its slice unacknowledged while its dead letter cannot be written', async () => {
    const { log, deadCauses } = await consumer();
    log.beforePublish = () => {
      throw unreachable();
    };
    await expect(log.deliver([garbage('k')])).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
    log.beforePublish = () => undefined;
    await log.deliver([garbage('k')]);
    expect(deadCauses()).toEqual(['not-json']);
  });

  test('can be answered beside its dead letter, with its trace', async () => {
    const answers: unknown[] = [];
    const { log, published } = await consumer({
      handlers: { commands: () => [] },
      onRejection: (topic, rejection) => {
        answers.push([topic, rejection]);
        return [[nodeOutput('decisions', decision({ id: 'refusal' }))]];
      },
    });
    const value = { ...command(), version: 9 };
    const record = recordOf(nodeOutput('commands', command()), { value: Buffer.from(JSON.stringify(value)) });
    await log.deliver([record]);
    const unknown = { cause: 'unknown-version', message: expect.any(String), value };
    expect(answers).toEqual([['commands', unknown]]);
    expect(published()).toEqual([['refusal'], [expect.stringMatching(/^dead-letter-/)]]);
  });

  test('whose answer fails is a dead letter all the same', async () => {
    const { log, deadCauses } = await consumer({
      onRejection: () => {
        throw new TypeError('not foreseen');
      },
    });
    await log.deliver([garbage('k')]);
    expect(deadCauses()).toEqual(['not-json']);
  });
});

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
    expect(deadCauses()).toHaveLength(10);
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

test('whatever comes is processed, or is a dead letter with its bytes', async () => {
  const anything = fc.record({
    key: fc.option(fc.string()),
    value: fc.option(
      fc.oneof(
        fc.uint8Array({ maxLength: 50 }).map((bytes) => Buffer.from(bytes)),
        fc.jsonValue().map((json) => Buffer.from(JSON.stringify(json))),
        fc.constant(message('a').value),
      ),
    ),
    headers: fc.oneof(fc.constant(message('a').headers), fc.dictionary(fc.string(), fc.string())),
  });
  await fc.assert(
    fc.asyncProperty(anything, async (given) => {
      const { log } = await consumer();
      await log.deliver([{ ...message('a'), ...given }]);
      const [first] = log.published.flat();
      if (first?.topic !== 'gc.dead-letters') return;
      const { value } = JSON.parse(String(first.value));
      expect(value === null ? null : Buffer.from(value, 'base64')).toEqual(given.value);
    }),
  );
});
