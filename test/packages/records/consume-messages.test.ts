import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import { type Input, nodeOutput } from '../../../packages/decision/handler.ts';
import type { DiskStats } from '../../../schemas/events/disk-stats.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { command, decision } from '../../fixtures/outputs.ts';
import { NOW_MS, recordOf, TRACEPARENT } from '../../support/logs/log-record.ts';
import { consumer, garbage, message, unreachable } from './consumer-under-test.ts';

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
        signedBy: null,
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
