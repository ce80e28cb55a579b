import { describe, expect, test } from 'vitest';
import {
  decisionRanges,
  keptOnLog,
  openDecisionHeads,
} from '../../../../packages/audit/verify/decision-heads.ts';
import { createVerifier, type PartitionProgress } from '../../../../packages/audit/verify/partition.ts';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import type { LogReader, LogRecord, ReadEvent, ReadRequest } from '../../../../packages/log/port.ts';
import { type TimeRange, TOPICS_OF_SUBJECTS } from '../../../../packages/records/read-log.ts';
import type { InventoryImage } from '../../../../schemas/events/inventory.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../../schemas/events/topics.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { image, inventory } from '../../../fixtures/inventory.ts';
import { ownership } from '../../../fixtures/ownership.ts';
import { objectResult, refusedCommand } from '../../../fixtures/results.ts';
import { DAY, HOUR, MINUTE, NOW, SECOND } from '../../../fixtures/time.ts';
import { newKey, rootsOf } from '../../../fixtures/trust.ts';
import { recordOf } from '../../../support/logs/log-record.ts';
import { logOf } from '../support/archives.ts';
import { begun } from '../support/cluster-history.ts';
import { at } from './support.ts';

const NOTHING_KNOWN = {
  policies: { policySetOf: () => null, whyUnknown: () => '', mayBeWritten: () => false, problems: [] },
  inForce: { problemOf: () => null },
  findDecider: async () => null,
};

interface Asked {
  readonly range?: TimeRange;
  readonly nowMs?: number;
  readonly deletes?: boolean;
  readonly headed?: Parameters<typeof createVerifier>[0]['headed'];
  readonly onProgress?: (progress: PartitionProgress) => void;
}

const verified = (
  log: LogReader,
  {
    range = { fromMs: null, toMs: null },
    nowMs = NOW,
    deletes = true,
    headed = null,
    onProgress = () => undefined,
  }: Asked = {},
  partition = 0,
) =>
  createVerifier({ ...NOTHING_KNOWN, log, range, nowMs, deletes, headed })(
    partition,
    onProgress,
    new AbortController().signal,
  );

/** How often each topic is read from its very beginning, and from when else, by the log's time; earliest first. */
async function readings(asked: Asked) {
  const whole: Record<string, number> = {};
  const begun: Partial<Record<TopicName, readonly number[]>> = {};
  const log = {
    read: async function* ({ topic, from }: ReadRequest): AsyncGenerator<ReadEvent, void> {
      if (from === 'earliest') whole[topic] = (whole[topic] ?? 0) + 1;
      if (typeof from === 'object' && 'timestampMs' in from)
        begun[topic] = [...(begun[topic] ?? []), from.timestampMs].toSorted((a, b) => a - b);
      yield { kind: 'caught-up' };
    },
  };
  await verified(log, asked);
  return { whole, begun };
}

const readFrom = async (asked: Asked) => (await readings(asked)).begun;

describe('what is read', () => {
  const range = { fromMs: NOW, toMs: NOW + DAY };

  const asked = { roots: rootsOf(newKey()), keepsAsDeclared: true, areRequired: false, range, nowMs: NOW };
  const headed = openDecisionHeads(logOf([]), asked);

  test('of the whole log is everything once, after a look at where each topic begins', async () => {
    for (const heads of [{}, { headed }]) {
      const { whole, begun } = await readings(heads);
      expect(begun).toEqual({});
      expect(whole).toEqual(Object.fromEntries(TOPICS_OF_SUBJECTS.map((id) => [TOPICS[id].name, 2])));
    }
  });

  test('before a range are the causes of what lies in it', async () => {
    const begun = await readFrom({ range });
    expect(begun).toMatchObject({
      [TOPICS.decisions.name]: [NOW - 10 * MINUTE, NOW],
      [TOPICS.clusterDecisions.name]: [NOW - 10 * MINUTE, NOW],
      [TOPICS.observe.name]: [NOW - DAY, NOW],
      [TOPICS.commands.name]: [NOW - DAY, NOW],
      [TOPICS.clusterCommands.name]: [NOW - DAY, NOW],
      [TOPICS.inventory.name]: [NOW],
      [TOPICS.results.name]: [NOW],
      [TOPICS.clusterResults.name]: [NOW],
    });
  });

  test('never begins before all time', async () => {
    const begun = await readFrom({ range: { fromMs: MINUTE, toMs: null } });
    expect(begun[TOPICS.commands.name]).toEqual([0, MINUTE]);
    expect(begun[TOPICS.decisions.name]).toEqual([0, MINUTE]);
  });

  test('on both sides of a range are decisions, where heads name them with those in it', async () => {
    const begun = await readFrom({ range, headed });
    for (const { name } of [TOPICS.decisions, TOPICS.clusterDecisions])
      expect(begun[name]).toEqual([NOW - 20 * MINUTE, NOW - 10 * MINUTE, NOW, NOW + DAY]);
    expect(begun[TOPICS.observe.name]).toEqual([NOW - DAY, NOW]);
    const none = await readFrom({ range, headed: async () => [] });
    expect(none[TOPICS.decisions.name]).toEqual([NOW - 10 * MINUTE, NOW]);
  });
});

/** Messages that nobody can read, one each second. */
const messages = (count: number): LogRecord[] =>
  Array.from({ length: count }, (_, index) => at('diskStats', index, index * SECOND));

describe('progress', () => {
  const told = async (asked: Asked): Promise<PartitionProgress[]> => {
    const all: PartitionProgress[] = [];
    await verified(logOf(messages(401)), { ...asked, onProgress: (progress) => all.push(progress) });
    return all;
  };

  test('is told every two hundred records, by the part of the time that went by', async () => {
    expect(await told({ nowMs: NOW + 398 * SECOND })).toEqual([
      { records: 200, part: 0.5 },
      { records: 400, part: 1 },
    ]);
  });

  test('of a range goes by its end', async () => {
    expect(await told({ range: { fromMs: null, toMs: NOW + 796 * SECOND } })).toEqual([
      { records: 200, part: 0.25 },
      { records: 400, part: 399 / 796 },
    ]);
  });

  test('stays within the whole, whatever the clocks say', async () => {
    expect((await told({ nowMs: NOW - DAY })).map(({ part }) => part)).toEqual([1, 1]);
  });
});

test('what was read is counted, by what it is', async () => {
  const outputs: readonly Output[] = [
    nodeOutput('diskStats', diskStats({}, { id: 's' })),
    nodeOutput('inventory', inventory({ id: 'i' })),
    nodeOutput('commands', imageRemoval(['a', 'b'], { id: 'c' })),
    nodeOutput('results', objectResult({ id: 'r' })),
    nodeOutput('results', objectResult({ id: 'q', result: { outcome: 'not-found' } })),
    nodeOutput('results', refusedCommand({ id: 'f' })),
  ];
  const records = outputs.map((output, index) =>
    recordOf(output, { offset: BigInt(index), timestampMs: NOW + index * SECOND }),
  );
  const empty = at('observe', 9, 9 * SECOND, { value: null });
  const found = await verified(logOf([...records, records[3], empty].flatMap((record) => record ?? [])));
  expect(found.counts).toMatchObject({
    records: 8,
    bytes: [...records, records[3]].reduce((sum, record) => sum + (record?.value?.length ?? 0), 0),
    diskStats: 1,
    inventories: 1,
    commands: 1,
    results: 3,
    duplicates: 1,
    removals: 1,
  });
  expect([found.firstRecordMs, found.lastRecordMs]).toEqual([NOW, NOW + 9 * SECOND]);
});

test('what went from a node is waited for to be told of, since its result may come later than the next look', async () => {
  const look = (id: string, images: readonly InventoryImage[]) =>
    nodeOutput('inventory', inventory({ id, images: [...images] }));
  const gone = objectResult({ object: { kind: 'image', id: 'a' } });
  const steps = [
    [0, look('i1', [image('a'), image('b')])],
    [MINUTE, look('i2', [image('b')])],
    [3 * MINUTE, nodeOutput('diskStats', diskStats({}, { id: 's' }))],
    [4 * MINUTE, nodeOutput('results', gone)],
  ] as const;
  const records = steps.map(([afterMs, output], index) =>
    recordOf(output, { offset: BigInt(index), timestampMs: NOW + afterMs }),
  );
  expect((await verified(logOf(records))).notOurs.total).toBe(0);
  expect((await verified(logOf(records.slice(0, 3)))).notOurs.total).toBe(1);
});

describe('what heads say of decisions', () => {
  const range = { fromMs: NOW, toMs: NOW + HOUR };
  const HALF = 30 * MINUTE;
  /** Names two decisions in this partition, from within the range. */
  const event: Extract<EventOf<'heads'>, { readonly type: 'fleetgc.decision-head' }> = {
    type: 'fleetgc.decision-head',
    version: 1,
    id: 'head',
    chain: 'image-gc',
    decider: 'image-gc',
    statements: {},
    ranges: [
      {
        partition: 0,
        first: 0,
        records: 2,
        sha256: 'a'.repeat(64),
        firstAtMs: NOW + HALF,
        lastAtMs: NOW + HALF,
      },
    ],
  };
  const record = recordOf({ topic: 'heads', key: 'image-gc', event }, { timestampMs: NOW + HALF });
  const head = { event, record };
  const asked =
    (heads: readonly (typeof head)[]): NonNullable<Asked['headed']> =>
    async (partition) => [
      {
        topicId: 'decisions',
        ranges: await decisionRanges(heads, { topicId: 'decisions', partition, range }),
        kept: keptOnLog(range, { nowMs: NOW + HOUR, keepsAsDeclared: true }),
        lost: [],
        requiredBeforeMs: null,
      },
    ];

  test('is compared in the end with those that are there', async () => {
    const found = await verified(logOf([]), { range, headed: asked([head]) });
    expect([found.deviations.byKind, found.unverified.byKind]).toEqual([{ 'decisions-cut': 1 }, {}]);
    expect((await verified(logOf([]), { range, headed: asked([]) })).deviations.byKind).toEqual({});
  });

  test('counts those of the range alone, though it is compared with those beside it too', async () => {
    const records = [-1, 0, HOUR - 1, HOUR].map((afterMs, offset) => at('decisions', offset, afterMs));
    const found = await verified(logOf(records), { range, headed: asked([]) });
    expect(found.counts.withoutHead).toBe(2);
  });
});

test('of a message that is no JSON nothing is told: it is for its deciders to refuse', async () => {
  const broken = (topicId: TopicId, offset: number) =>
    at(topicId, offset, 0, { value: Buffer.from('{"a":1,"a":2') });
  const records = [broken('diskStats', 0), broken('inventory', 1), broken('clusterOwnership', 2)];
  expect((await verified(logOf(records))).deviations.total).toBe(0);
});

test('a reading that went back for what was decided on ends', async () => {
  const history = begun();
  history.decide(ownership({ id: 'fact-1' }));
  const { decision } = history.decide(ownership({ id: 'fact-2' }));
  let open = 0;
  const log = logOf(history.records);
  const read = async function* (request: ReadRequest): AsyncGenerator<ReadEvent, void> {
    open += 1;
    try {
      yield* log.read(request);
    } finally {
      open -= 1;
    }
  };
  const range = { fromMs: decision.timestampMs, toMs: null };
  const found = await verified({ read }, { range }, decision.partition);
  expect([found.counts.decisions, open]).toEqual([1, 0]);
});

describe('an answer whose command is not there', () => {
  /** The oldest record that the log has of a topic, and an answer some time later. */
  const answered = (oldest: LogRecord, afterMs: number): LogReader => {
    const output = nodeOutput('results', objectResult({ commandId: 'gone' }));
    const place = { partition: 0, offset: 9n, timestampMs: NOW + afterMs };
    return logOf([oldest, recordOf(output, place)]);
  };
  const TOLD = { told: 1, unknown: 0, counted: 0 };
  const COUNTED = { told: 0, unknown: 0, counted: 1 };
  const UNKNOWN = { told: 0, unknown: 1, counted: 0 };
  const found = async (log: LogReader, deletes: boolean) => {
    const { deviations, unverified, counts } = await verified(log, { deletes, nowMs: NOW + 3 * DAY });
    const [told, unknown] = [deviations.byKind['not-commanded'], unverified.byKind['topic-recreated']];
    return { told: told ?? 0, unknown: unknown ?? 0, counted: counts.outOfRange };
  };

  test.each([
    {
      name: 'an archive of which it may lie before the first inventory',
      topicId: 'inventory',
      deletes: false,
    },
    { name: 'an archive that began with later commands', topicId: 'commands', deletes: false },
    { name: 'a log whose first inventories retention took', topicId: 'inventory', deletes: true },
  ] as const)('is only counted, in $name', async ({ topicId, deletes }) => {
    expect(await found(answered(at(topicId, 5), DAY - 1), deletes)).toEqual(COUNTED);
    expect(await found(answered(at(topicId, 5), DAY), deletes)).toEqual(TOLD);
  });

  test('deviates, where the log has every command from the first on', async () => {
    for (const deletes of [true, false])
      expect(await found(answered(at('commands', 0), 1), deletes)).toEqual(TOLD);
  });

  test('deviates, where retention took commands that were not yet old', async () => {
    expect(await found(answered(at('commands', 5), HOUR), true)).toEqual(TOLD);
  });

  test('cannot be verified, where the topic of commands was made anew since', async () => {
    expect(await found(answered(at('commands', 0, DAY), HOUR), true)).toEqual(UNKNOWN);
    expect(await found(answered(at('commands', 0, HOUR), HOUR), true)).toEqual(TOLD);
  });
});

test.each<{ topicId: TopicId; missing: number }>([
  { topicId: 'latestFacts', missing: 0 },
  { topicId: 'diskStats', missing: 1 },
])('of $topicId, $missing records are missing where offsets are left out', async ({ topicId, missing }) => {
  const found = await verified(logOf([0, 1, 7].map((offset) => at(topicId, offset, offset))));
  expect(found.unverified.byKind['records-missing'] ?? 0).toBe(missing);
});
