import { describe, expect, test } from 'vitest';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createMetrics } from '../../../../packages/process/metrics.ts';
import { createDeadLetters } from '../../../../packages/records/dead-letters/dead-letters.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import {
  MOST_RECORD_HEADER_BYTES,
  MOST_RECORD_HEADERS,
  readLambdaEvent,
} from '../../../../services/deciders/functions/kafka-event.ts';
import { answerLambda } from '../../../../services/deciders/functions/lambda/answer-lambda.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { reclaim } from '../../../fixtures/reclaim.ts';
import { logLines } from '../../../support/log-lines.ts';
import { lying, unsignedDocument } from './support/function-events.ts';
import { lambdaEvent, lambdaRecord } from './support/lambda-events.ts';
import { KeptLog, openTestFunction, ScriptedSource } from './support/open-function.ts';

const imageGc = await loadFunction('image-gc');

const FULL = inventory({
  filesystems: filesystems({ availableBytes: '100' }),
  reclaim: reclaim(),
  images: [image('a')],
});
const at = (offset: bigint, over: Partial<LogRecord> = {}): LogRecord => ({
  ...lying('inventory', FULL, { offset }),
  ...over,
});
const BAD = { value: Buffer.from('{') };
const { signal } = new AbortController();
const READING = { topics: imageGc.topics, prefix: '', nowMs: 1_795_888_502_111 };

async function openLambda(log: KeptLog | null, first = unsignedDocument([appliedPolicy()], Date.now())) {
  const source = new ScriptedSource(first);
  const { open } = await openTestFunction(imageGc, { source, log });
  const deadLetters =
    log &&
    createDeadLetters({
      publisher: open.others,
      group: imageGc.group,
      metrics: createMetrics(),
      logger: createLogger({ service: 'test', level: 'info' }, logLines()),
      now: open.monotonicNow,
    });
  return { source, answer: (event: unknown) => answerLambda(event, { open, deadLetters, signal }) };
}

const topicsOf = ({ records }: KeptLog): readonly string[] => records.map(({ topic }) => topic);

test('what follows is published, what the set of policies was first, and the record before the command', async () => {
  const log = new KeptLog();
  const { answer } = await openLambda(log);
  expect(await answer(lambdaEvent([at(1n)]))).toEqual({ batchItemFailures: [] });
  expect(topicsOf(log)).toEqual(['gc.policy-versions', 'gc.node.decisions', 'gc.node.commands']);
});

test('what will never work is a dead letter, and what lies behind it goes on', async () => {
  const log = new KeptLog();
  const { answer } = await openLambda(log);
  expect(await answer(lambdaEvent([at(1n, BAD), at(2n)]))).toEqual({ batchItemFailures: [] });
  expect(topicsOf(log)).toContain('gc.dead-letters');
  expect(topicsOf(log)).toContain('gc.node.commands');
});

test('without an event log it comes again, with all that lies behind it in its partition, and other partitions go on', async () => {
  const { answer } = await openLambda(null);
  const answered = await answer(lambdaEvent([at(1n), at(2n, BAD), at(3n), at(9n, { partition: 5 })]));
  expect(answered.batchItemFailures).toEqual([
    { itemIdentifier: { partition: 'gc.node.inventory-3', offset: 2 } },
    { itemIdentifier: { partition: 'gc.node.inventory-3', offset: 3 } },
  ]);
  expect(answered.problems).toMatchObject([{ detail: 'the value is not JSON' }]);
  // A record and a command each, of the offsets 1 and 9.
  expect(answered.events).toHaveLength(4);
});

test('what will pass comes again from its first record on: while the event log takes nothing', async () => {
  const log = new KeptLog();
  log.failure = new FleetGcError('LOG_UNREACHABLE', 'nobody answers');
  const { answer } = await openLambda(log);
  const { batchItemFailures } = await answer(lambdaEvent([at(7n), at(8n)]));
  expect(batchItemFailures).toEqual([
    { itemIdentifier: { partition: 'gc.node.inventory-3', offset: 7 } },
    { itemIdentifier: { partition: 'gc.node.inventory-3', offset: 8 } },
  ]);
});

test('while policies cannot be read nothing is decided, and everything comes again', async () => {
  const { answer, source } = await openLambda(null, Buffer.from('half'));
  expect((await answer(lambdaEvent([at(1n)]))).batchItemFailures).toHaveLength(1);
  source.put(unsignedDocument([appliedPolicy()], Date.now()));
  expect((await answer(lambdaEvent([at(1n)]))).batchItemFailures).toEqual([]);
});

test('the same event again gives the same', async () => {
  const { answer } = await openLambda(null);
  const strip = async () =>
    JSON.stringify(
      (await answer(lambdaEvent([at(1n)]))).events?.map((event) => ({ ...event, time: '', traceparent: '' })),
    );
  expect(await strip()).toBe(await strip());
});

test.each<readonly [string, unknown]>([
  ['nothing', undefined],
  ['an event of another source', { eventSource: 'aws:sqs', Records: [] }],
  [
    'records of another partition',
    { eventSource: 'aws:kafka', records: { 'gc.node.inventory-4': [lambdaRecord(at(1n))] } },
  ],
  ['another topic', lambdaEvent([{ ...at(1n), topic: 'gc.node.commands' }])],
  [
    'a topic of others',
    { eventSource: 'aws:kafka', records: { 'orders-0': [{ ...lambdaRecord(at(1n)), topic: 'orders' }] } },
  ],
  [
    'a value that is no base64',
    {
      eventSource: 'aws:kafka',
      records: { 'gc.node.inventory-3': [{ ...lambdaRecord(at(1n)), value: '%' }] },
    },
  ],
])('%s is no event that it takes', async (_, event) => {
  const { answer } = await openLambda(null);
  await expect(answer(event)).rejects.toThrow(FleetGcError);
});

test('with a prefix only topics that have it are taken, and records are known without it', () => {
  const reading = { ...READING, prefix: 'acme.' };
  const eventOf = (topic: string) => ({
    eventSource: 'aws:kafka',
    records: { [`${topic}-3`]: [{ ...lambdaRecord(at(1n)), topic }] },
  });
  expect(readLambdaEvent(eventOf('acme.gc.node.inventory'), reading)).toMatchObject([
    { name: 'acme.gc.node.inventory-3', records: [{ topic: 'gc.node.inventory', partition: 3 }] },
  ]);
  for (const other of ['gc.node.inventory', 'other.gc.node.inventory', 'acme.gc.node.results'])
    expect(readLambdaEvent(eventOf(other), reading)).toBe(
      `this function takes events of acme.gc.node.inventory, not of ${other}`,
    );
});

test('headers are bytes, which pollers write as numbers with a sign', () => {
  const headers = [{ ce_subject: [-61, -68] }, { ce_subject: [...Buffer.from('ü2')] }];
  const event = {
    eventSource: 'SelfManagedKafka',
    records: { 'gc.node.inventory-3': [{ ...lambdaRecord(at(1n)), headers }] },
  };
  expect(readLambdaEvent(event, READING)).toMatchObject([{ records: [{ headers: { ce_subject: 'ü2' } }] }]);
});

/** Numbers, as pollers write bytes. */
const bytesOf = (count: number): readonly number[] => Array.from({ length: count }, () => 97);
const named = (count: number) => Array.from({ length: count }, (_, index) => ({ [`x-${index}`]: [97] }));
type WithHeaders = (own: ReturnType<typeof lambdaRecord>['headers']) => unknown;

test.each<readonly [string, WithHeaders]>([
  ['too many of them', (own) => [...own, ...named(MOST_RECORD_HEADERS)]],
  ['too many in one map', (own) => [...own, Object.assign({}, ...named(MOST_RECORD_HEADERS))]],
  ['a large one', (own) => [...own, { large: bytesOf(MOST_RECORD_HEADER_BYTES) }]],
  ['a long name', (own) => [...own, { ['x'.repeat(MOST_RECORD_HEADER_BYTES)]: [] }]],
])(
  'a record with more headers than are read is a dead letter, and what lies behind it goes on: %s',
  async (_, headers) => {
    const log = new KeptLog();
    const { answer } = await openLambda(log);
    const first = lambdaRecord(at(1n));
    const records = [{ ...first, headers: headers(first.headers) }, lambdaRecord(at(2n))];
    const event = { eventSource: 'aws:kafka', records: { 'gc.node.inventory-3': records } };
    expect(await answer(event)).toEqual({ batchItemFailures: [] });
    expect(topicsOf(log).filter((topic) => topic === 'gc.dead-letters')).toHaveLength(1);
    expect(topicsOf(log)).toContain('gc.node.commands');

    const alone = await openLambda(null);
    expect((await alone.answer(event)).problems).toMatchObject([{ offset: 1, detail: expect.any(String) }]);
  },
);

test('a header without a value, and a time that is none, keep no record from being read', async () => {
  const { answer } = await openLambda(null);
  const first = lambdaRecord(at(1n));
  const record = { ...first, headers: [...first.headers, { empty: null }], timestamp: 2 ** 63 };
  const event = { eventSource: 'aws:kafka', records: { 'gc.node.inventory-3': [record] } };
  expect((await answer(event)).batchItemFailures).toEqual([]);
  expect(readLambdaEvent(event, READING)).toMatchObject([
    { records: [{ timestampMs: READING.nowMs, headers: { empty: '' } }] },
  ]);
});

test.each([
  ['CREATE_TIME', 1],
  ['LOG_APPEND_TIME', 1],
  ['LOG_APPEND_TIME', -1],
  ['LOG_APPEND_TIME', 0],
  ['LOG_APPEND_TIME', READING.nowMs + 1],
  ['anything', 1],
])(
  'a record counts as dated by its writer at the time of the call, also where the caller says %s %s',
  (timestampType, timestamp) => {
    const event = {
      eventSource: 'aws:kafka',
      records: { 'gc.node.inventory-3': [{ ...lambdaRecord(at(1n)), timestampType, timestamp }] },
    };
    expect(readLambdaEvent(event, READING)).toMatchObject([
      { records: [{ isDatedByWriter: true, timestampMs: READING.nowMs }] },
    ]);
  },
);

describe('numbers as decimal text', () => {
  const named = (partition: unknown, offset: unknown, timestamp: unknown) => ({
    eventSource: 'aws:kafka',
    records: { 'gc.node.inventory-3': [{ ...lambdaRecord(at(1n)), partition, offset, timestamp }] },
  });

  test.each([
    ['3', 7, 1],
    [3, '7', 1],
    [3, 7, '1795888502111'],
    ['3', '7', '-1'],
    ['3', '7', '9223372036854775807'],
  ])('partition %j, offset %j, time %j', (partition, offset, timestamp) => {
    expect(readLambdaEvent(named(partition, offset, timestamp), READING)).toMatchObject([
      { records: [{ partition: 3, offset: 7n }] },
    ]);
  });

  test.each([
    ['', 7],
    ['03', 7],
    ['+3', 7],
    ['3.0', 7],
    ['0x3', 7],
    [' 3', 7],
    ['-3', 7],
    [3, '-1'],
    [3, '9007199254740992'],
    [3, '7e3'],
    [3, '99999999999999999999'],
  ])('not partition %j, offset %j', (partition, offset) => {
    expect(readLambdaEvent(named(partition, offset, 1), READING)).toEqual(expect.any(String));
  });
});
