import { expect, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { LogRecord, ReadEvent, ReadRequest } from '../../../packages/log/port.ts';
import { readPartition } from '../../../packages/records/read-log.ts';
import type { Inventory } from '../../../schemas/events/inventory.ts';
import { TOPICS, type TopicId } from '../../../schemas/events/topics.ts';
import { diskStats } from '../../fixtures/disk-stats.ts';
import { inventory, NODE } from '../../fixtures/inventory.ts';
import { observe } from '../../fixtures/observe.ts';
import { command, decision } from '../../fixtures/outputs.ts';
import { onLog, outgoing } from '../../support/logs/log-record.ts';
import { timedLog } from '../audit/support/timed-log.ts';

const ALL: readonly TopicId[] = ['results', 'commands', 'decisions', 'observe', 'inventory', 'diskStats'];
const PARTITION = partitionOf(TOPICS.inventory.name, `${NODE.cluster}/${NODE.node}`);
const EVERYTHING = { fromMs: null, toMs: null };
const running = new AbortController().signal;

const stats = (id: string) => outgoing(nodeOutput('diskStats', diskStats({}, { id })));
const listed = (id: string, over: Partial<Inventory> = {}) =>
  outgoing(nodeOutput('inventory', inventory({ id, ...over, status: 'complete' })));
const ordered = (id: string) => outgoing(nodeOutput('observe', observe({ id })));
const decided = (id: string) => outgoing(nodeOutput('decisions', decision({ id })));
const commanded = (id: string) => outgoing(nodeOutput('commands', command({ id })));

async function idsOf(events: AsyncIterable<{ readonly record: LogRecord }>): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record } of events) ids.push(record.headers.ce_id ?? '');
  return ids;
}

test('topics of one partition come merged by the time of the log, causes first where times are equal', async () => {
  const { log, publishAt } = await timedLog();
  await publishAt(1_000, commanded('c1'), decided('d1'), listed('i1'), stats('s1'), ordered('o1'));
  await publishAt(2_000, decided('d2'));
  await publishAt(3_000, listed('i2'), listed('i3'));
  await publishAt(4_000, commanded('c2'));
  const reading = { topics: ALL, partition: PARTITION, range: EVERYTHING };

  expect(await idsOf(readPartition(log, reading, running))).toEqual([
    's1',
    'i1',
    'o1',
    'd1',
    'c1',
    'd2',
    'i2',
    'i3',
    'c2',
  ]);
});

test('other partitions and topics that nobody asked for are left alone', async () => {
  const { log, publishAt } = await timedLog();
  await publishAt(1_000, listed('here'), decided('unasked'), listed('elsewhere', { node: 'web-2' }));
  const reading = { topics: ['inventory'], partition: PARTITION, range: EVERYTHING } as const;

  expect(partitionOf(TOPICS.inventory.name, `${NODE.cluster}/web-2`)).not.toBe(PARTITION);
  expect(await idsOf(readPartition(log, reading, running))).toEqual(['here']);
});

test.each<{ name: string; fromMs: number | null; toMs: number | null; finds: string[] }>([
  { name: 'from a time on, that time included', fromMs: 2_000, toMs: null, finds: ['i2', 'd2', 'i3'] },
  { name: 'up to a time, that time not included', fromMs: null, toMs: 2_000, finds: ['i1', 'd1'] },
  { name: 'between two times', fromMs: 1_001, toMs: 3_000, finds: ['i2', 'd2'] },
  { name: 'after the last record', fromMs: 3_001, toMs: null, finds: [] },
  { name: 'before the first one', fromMs: null, toMs: 1_000, finds: [] },
])('a range: $name', async ({ fromMs, toMs, finds }) => {
  const { log, publishAt } = await timedLog();
  await publishAt(1_000, listed('i1'), decided('d1'));
  await publishAt(2_000, listed('i2'), decided('d2'));
  await publishAt(3_000, listed('i3'));
  const reading = { topics: ALL, partition: PARTITION, range: { fromMs, toMs } };

  expect(await idsOf(readPartition(log, reading, running))).toEqual(finds);
});

test('times that step back within a topic do not change its order', async () => {
  const times = { inventory: [5_000, 1_000, 6_000], commands: [2_000] };
  const reading = { topics: ['inventory', 'commands'], partition: 0, range: EVERYTHING } as const;
  const log = { read: (request: ReadRequest) => scripted(request, times) };

  expect(await idsOf(readPartition(log, reading, running))).toEqual([
    'commands-0',
    'inventory-0',
    'inventory-1',
    'inventory-2',
  ]);
});

test('effects are looked at before their causes, one after the other, and every reading is closed when the reader stops', async () => {
  const opened: string[] = [];
  const closed: string[] = [];
  const log = {
    read: async function* (request: ReadRequest) {
      opened.push(request.topic);
      try {
        yield* scripted(request, { inventory: [1, 2], decisions: [1], results: [3] });
      } finally {
        closed.push(request.topic);
      }
    },
  };
  const reading = { topics: ALL, partition: 0, range: EVERYTHING };
  for await (const { topicId } of readPartition(log, reading, running)) if (topicId === 'inventory') break;

  const names = ['results', 'commands', 'inventory', 'observe', 'decisions', 'diskStats'] as const;
  expect(opened).toEqual(names.map((topicId) => TOPICS[topicId].name));
  expect(closed.toSorted()).toEqual(opened.toSorted());
});

async function* scripted(
  { topic }: ReadRequest,
  times: { readonly [Id in TopicId]?: readonly number[] },
): AsyncGenerator<ReadEvent, void> {
  const given = Object.entries(times);
  for (const [topicId, timesMs] of given)
    for (const [index, timestampMs] of timesMs.entries()) {
      const record = onLog(stats(`${topicId}-${index}`), { timestampMs, offset: BigInt(index) });
      if (topic === topicNamed(topicId)) yield { kind: 'record', record };
    }
  yield { kind: 'caught-up' };
}

const topicNamed = (id: string): string =>
  Object.entries(TOPICS).find(([topicId]) => topicId === id)?.[1].name ?? '';
