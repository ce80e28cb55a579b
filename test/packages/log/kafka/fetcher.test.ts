import { setImmediate } from 'node:timers/promises';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { FetchAnswer } from '../../../../packages/log/kafka/client/cluster.ts';
import { type Cursor, type FetchConnections, Fetcher } from '../../../../packages/log/kafka/fetcher.ts';
import type { FetchedMessage } from '../../../../packages/log/kafka/protocol/record-batches.ts';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { silentContext, until } from '../probe.ts';

const TOPIC = 'gc.node.results';

interface Asked {
  readonly node: string;
  readonly maxWaitTime: number | undefined;
  readonly partitions: readonly { readonly partition: number; readonly fetchOffset: string }[];
}
const LONG_WAIT_MS = 5000;
type Answer = (asked: Asked, number: number) => FetchAnswer | undefined;

const message = (offset: number, over: object = {}) => ({
  offset: `${offset}`,
  timestamp: '1000',
  key: Buffer.from('k'),
  value: Buffer.from(`v${offset}`),
  headers: {},
  ...over,
});

const answerOf = (partition: number, highWatermark: number, messages: readonly FetchedMessage[]) => ({
  responses: [{ topicName: TOPIC, partitions: [{ partition, highWatermark: `${highWatermark}`, messages }] }],
});

/** Brokers that answer by a script. What the script does not answer waits for ever, as a broker without data. */
function brokers(script: Answer) {
  const asked: Asked[] = [];
  /** Of both partitions, unless the second has one of its own. */
  const leader: { node: number; ofSecond?: number } = { node: 1 };
  const cluster: FetchConnections = {
    connect: async () => undefined,
    isConnected: () => true,
    nameOf: (topic) => topic,
    refreshMetadata: async () => undefined,
    removeBroker: () => undefined,
    fetchTopicsOffset: async ([first]) => [
      { topic: TOPIC, partitions: (first?.partitions ?? []).map((each) => ({ ...each, offset: '40' })) },
    ],
    findTopicPartitionMetadata: () =>
      [0, 1].map((partitionId) => ({
        partitionId,
        leader: partitionId === 1 ? (leader.ofSecond ?? leader.node) : leader.node,
        partitionErrorCode: 0,
        isr: [],
        replicas: [],
      })),
    findBroker: async ({ nodeId }) => ({
      fetch: async ({ topics, maxWaitTime }) => {
        const request = {
          node: nodeId,
          maxWaitTime,
          partitions: topics.flatMap((topic) => topic.partitions),
        };
        asked.push(request);
        return script(request, asked.length) ?? new Promise(() => undefined);
      },
    }),
  };
  return { cluster, asked, leader };
}

function cursorAt(
  partition: number,
  next: bigint,
  over: Partial<Cursor> = {},
): Cursor & { got: LogRecord[] } {
  const got: LogRecord[] = [];
  return {
    topic: TOPIC,
    partition,
    next,
    end: next,
    isEndTold: false,
    trust: 'full',
    isTolerant: false,
    onRewound: () => undefined,
    report: () => undefined,
    hasRoom: () => true,
    deliver: (records) => got.push(...records),
    got,
    ...over,
  };
}

function start(cluster: FetchConnections, cursors: readonly Cursor[]) {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  const reports: unknown[] = [];
  const fetcher = new Fetcher({
    cluster,
    context: silentContext({ random: () => 0 }),
    cursors: () => cursors,
    longWaitMs: () => LONG_WAIT_MS,
    maxPartitionBytes: 1024,
    maxInflatedBytes: 1024 * 1024,
    report: (error) => reports.push(error),
    signal: stop.signal,
  });
  fetcher.kick();
  return { fetcher, reports };
}

const offsets = (records: readonly LogRecord[]): bigint[] => records.map(({ offset }) => offset);

test('delivers from the offset asked for on; earlier records of the same batch and control records are not shown', async () => {
  const { cluster, asked } = brokers((_, number) =>
    number === 1
      ? answerOf(0, 9, [message(3), message(4), message(5), message(6, { isControlRecord: true })])
      : undefined,
  );
  const cursor = cursorAt(0, 4n);
  start(cluster, [cursor]);
  await until('the next request', () => asked.length === 2);
  expect(offsets(cursor.got)).toEqual([4n, 5n]);
  expect(asked[1]?.partitions[0]?.fetchOffset).toBe('7');
  expect(cursor.end).toBe(9n);
});

test('each request begins with another partition: an answer is filled in the order asked for', async () => {
  const { cluster, asked } = brokers((_, number) =>
    number <= 3 ? answerOf(0, 90, [message(number)]) : undefined,
  );
  start(cluster, [cursorAt(0, 1n), cursorAt(1, 0n)]);
  await until('the last request', () => asked.length === 4);
  expect(asked.map(({ partitions }) => partitions.map(({ partition }) => partition))).toEqual([
    [0, 1],
    [1, 0],
    [0, 1],
    [1, 0],
  ]);
});

test.each([
  { name: 'a partition without anything new', answer: answerOf(0, 4, []), isTold: true },
  { name: 'a partition whose end it does not know', answer: answerOf(0, -1, []), isTold: false },
  { name: 'no partition, as one that throttles', answer: { responses: [] }, isTold: false },
])('an answer that tells of $name: whether its end is told is $isTold', async ({ answer, isTold }) => {
  const { cluster, asked } = brokers((_, number) => (number === 1 ? answer : undefined));
  const cursor = cursorAt(0, 4n);
  start(cluster, [cursor]);
  await until('the next request', () => asked.length === 2);
  expect(cursor.isEndTold).toBe(isTold);
});

describe('an answer without any record', () => {
  test('proves that nothing lies before the end it tells', async () => {
    const { cluster, asked } = brokers((_, number) => (number === 1 ? answerOf(0, 9, []) : undefined));
    const cursor = cursorAt(0, 4n);
    start(cluster, [cursor]);
    await until('the next request', () => asked.length === 2);
    expect(cursor.next).toBe(9n);
  });

  test('proves nothing when the broker throttles and tells of no partition', async () => {
    const { cluster, asked } = brokers((_, number) => (number === 1 ? { responses: [] } : undefined));
    const cursor = cursorAt(0, 4n, { end: 9n });
    start(cluster, [cursor]);
    await until('the next request', () => asked.length === 2);
    expect(cursor.next).toBe(4n);
  });

  test('proves nothing while another partition filled the answer', async () => {
    const { cluster, asked } = brokers((_, number) =>
      number === 1
        ? { responses: [...answerOf(0, 9, []).responses, ...answerOf(1, 1, [message(0)]).responses] }
        : undefined,
    );
    const [empty, full] = [cursorAt(0, 4n), cursorAt(1, 0n)];
    start(cluster, [empty, full]);
    await until('the next request', () => asked.length === 2);
    expect([empty.next, full.next]).toEqual([4n, 1n]);
  });
});

test('a partition without room is left out, and the broker does not wait for the others, so that it comes back soon', async () => {
  let room = false;
  const { cluster, asked } = brokers((_, number) => {
    if (number > 2) return undefined;
    room = number === 2;
    return answerOf(1, 0, []);
  });
  start(cluster, [cursorAt(0, 0n, { hasRoom: () => room }), cursorAt(1, 0n)]);
  await until('three requests', () => asked.length === 3);
  expect(asked.map(({ partitions }) => partitions.map(({ partition }) => partition))).toEqual([
    [1],
    [1],
    [0, 1],
  ]);
  expect(asked.map(({ maxWaitTime }) => maxWaitTime === 0)).toEqual([true, true, false]);
});

test('while one has no room and the others have nothing, a broker is not asked again and again, and at once when there is room', async () => {
  let room = false;
  const { cluster, asked } = brokers(() => (room ? undefined : answerOf(1, 0, [])));
  const { fetcher } = start(cluster, [cursorAt(0, 0n, { hasRoom: () => room }), cursorAt(1, 0n)]);
  await until('a request', () => asked.length === 1);
  for (let turn = 0; turn < 100; turn += 1) await setImmediate();
  expect(asked.length).toBeLessThan(10);
  room = true;
  fetcher.kick();
  await until('one for both', () => asked.at(-1)?.partitions.length === 2);
});

test('one that rests after what could not be decoded does not keep the broker from waiting for the others', async () => {
  const { cluster, asked } = brokers(() => undefined);
  start(cluster, [cursorAt(0, 0n, { trust: 'resting' }), cursorAt(1, 0n)]);
  await until('a request', () => asked.length === 1);
  expect(asked).toMatchObject([{ maxWaitTime: LONG_WAIT_MS, partitions: [{ partition: 1 }] }]);
});

test('when no partition has room nothing is asked, until it is told that there is some', async () => {
  let room = false;
  const { cluster, asked } = brokers(() => undefined);
  const { fetcher } = start(cluster, [cursorAt(0, 0n, { hasRoom: () => room })]);
  fetcher.kick();
  expect(asked).toEqual([]);
  room = true;
  fetcher.kick();
  await until('a request', () => asked.length === 1);
});

test('an offset that retention took away: reading goes on with the oldest kept', async () => {
  const { cluster, asked } = brokers((_, number) => {
    if (number > 1) return undefined;
    throw Object.assign(new Error('out of range'), {
      name: 'KafkaJSOffsetOutOfRange',
      topic: TOPIC,
      partition: 0,
    });
  });
  start(cluster, [cursorAt(0, 4n)]);
  await until('the next request', () => asked.length === 2);
  expect(asked[1]?.partitions[0]?.fetchOffset).toBe('40');
});

test.each([
  { oldest: 'before', next: 41n, rewound: 1 },
  { oldest: 'after', next: 39n, rewound: 0 },
])(
  'when the oldest is $oldest what was asked for, the partition was rewound: $rewound',
  async ({ next, rewound }) => {
    const { cluster, asked } = brokers((_, number) => {
      if (number > 1) return undefined;
      throw Object.assign(new Error('out of range'), {
        name: 'KafkaJSOffsetOutOfRange',
        topic: TOPIC,
        partition: 0,
      });
    });
    let told = 0;
    start(cluster, [
      cursorAt(0, next, {
        onRewound: () => {
          told += 1;
        },
      }),
    ]);
    await until('the next request', () => asked.length === 2);
    expect(told).toBe(rewound);
  },
);

test('a new leader is asked after the old one failed, and the failure is told while it lasts', async () => {
  const failure = Object.assign(new Error('not the leader'), { name: 'KafkaJSProtocolError' });
  const { cluster, asked, leader } = brokers(({ node }, number) => {
    if (node === '1') {
      leader.node = 2;
      throw failure;
    }
    return number === 2 ? answerOf(0, 5, [message(4)]) : undefined;
  });
  const cursor = cursorAt(0, 4n);
  const { reports } = start(cluster, [cursor]);
  await until('the record', () => cursor.got.length === 1);
  expect(asked.map(({ node }) => node)).toEqual(['1', '2', '2']);
  expect(reports).toEqual([failure, null]);
});

test('a partition that moved is asked for at its new leader, though the old one still leads others and has nothing', async () => {
  const failure = Object.assign(new Error('not the leader'), { name: 'KafkaJSProtocolError' });
  const { cluster, leader } = brokers(({ node, partitions }, number) => {
    if (number === 1) {
      leader.ofSecond = 2;
      throw failure;
    }
    return node === '2' && partitions[0]?.fetchOffset === '4' ? answerOf(1, 5, [message(4)]) : undefined;
  });
  const [stays, moves] = [cursorAt(0, 4n), cursorAt(1, 4n)];
  start(cluster, [stays, moves]);
  await until('the record', () => moves.got.length === 1);
  expect(stays.got).toEqual([]);
});

test('a partition that cannot be decoded is found out, rests, and holds up no other', async () => {
  const undecodable = Object.assign(new Error('Snappy compression not implemented'), {
    name: 'KafkaJSNotImplemented',
  });
  let offset = 0;
  const { cluster, asked } = brokers(({ partitions }) => {
    if (partitions.some(({ partition }) => partition === 0)) throw undecodable;
    offset += 1;
    return offset > 3 ? undefined : answerOf(1, offset, [message(offset - 1)]);
  });
  const reported: unknown[] = [];
  const bad = cursorAt(0, 0n, { report: (error) => reported.push(error) });
  const good = cursorAt(1, 0n);
  const { reports } = start(cluster, [bad, good]);
  await until('the records of the other', () => good.got.length === 3);
  expect(asked.slice(0, 3).map(({ partitions }) => partitions.map(({ partition }) => partition))).toEqual([
    [0, 1],
    [1],
    [0],
  ]);
  expect(reported).toEqual([undecodable]);
  expect(bad.trust).toBe('resting');
  expect(reports.every((report) => report === null)).toBe(true);
});
