import fc from 'fast-check';
import pino from 'pino';
import { describe, expect, test } from 'vitest';
import { AROUND_MS } from '../../../../packages/audit/verify/coverage.ts';
import {
  decisionRanges,
  type KeptDecisions,
  type LostOffsets,
} from '../../../../packages/audit/verify/decision-heads.ts';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import { HeadedDecisions } from '../../../../packages/audit/verify/headed-decisions.ts';
import { NOTHING_HASHED, runningHash } from '../../../../packages/canonical/running-hash.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import type { LogPosition, LogRecord, OutgoingRecord } from '../../../../packages/log/port.ts';
import { parseRecord } from '../../../../packages/records/parse/parse-record.ts';
import { createPublisher } from '../../../../packages/records/publisher.ts';
import type { TimeRange } from '../../../../packages/records/read-log.ts';
import { UNSIGNED } from '../../../../packages/records/trust/signer.ts';
import { DecisionChain } from '../../../../packages/service/decision-chain.ts';
import type { DecisionRange } from '../../../../schemas/events/head.ts';
import { TOPICS } from '../../../../schemas/events/topics.ts';
import { decision } from '../../../fixtures/outputs.ts';
import { MINUTE, NOW } from '../../../fixtures/time.ts';
import { countedIds, outgoing, recordOf } from '../../../support/logs/log-record.ts';
import { madeUpPositions } from '../../../support/logs/made-up-positions.ts';

const EVERYTHING: TimeRange = { fromMs: null, toMs: null };
const DECISIONS = TOPICS.decisions.name;

/** What becomes of a publish: whether its writer hears that all is well, and which of its records lie on the log, how often. */
const OUTCOMES = ['well', 'twice', 'lost', 'came without a word', 'half came'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** A log in memory, and replicas that write to it. */
function scene() {
  const records: LogRecord[] = [];
  let nowMs = NOW;
  let outcome: Outcome = 'well';
  const append = (sending: readonly OutgoingRecord[]): void => {
    for (const record of sending) {
      const partition = partitionOf(record.topic, record.key);
      const offset = records.filter(
        (one) => one.topic === record.topic && one.partition === partition,
      ).length;
      records.push({ ...record, partition, offset: BigInt(offset), timestampMs: nowMs });
    }
  };
  const publish = async (sending: readonly OutgoingRecord[]): Promise<readonly LogPosition[]> => {
    if (outcome !== 'lost') append(outcome === 'half came' ? sending.slice(0, sending.length / 2) : sending);
    if (outcome === 'twice') append(sending);
    if (outcome !== 'well' && outcome !== 'twice') throw new Error(outcome);
    return madeUpPositions(sending);
  };
  const replica = (name: string): DecisionChain =>
    new DecisionChain({
      log: { publish },
      publisher: createPublisher({
        log: { publish },
        source: '/fleetgc/test',
        now: () => nowMs,
        ids: countedIds(),
        signer: UNSIGNED,
      }),
      decider: 'image-gc',
      heads: {
        newId: () => name,
        statements: () => new Map(),
        problem: () => null,
        wait: () => new Promise(() => {}),
      },
      logger: pino({ level: 'silent' }),
      now: () => nowMs,
    });
  return {
    records,
    replica,
    pass: (ms: number): void => {
      nowMs += ms;
    },
    becomes: (next: Outcome): void => {
      outcome = next;
    },
  };
}

let ids = 0;
const decided = (node = 'web-1', count = 1): OutgoingRecord[] =>
  Array.from({ length: count }, () => {
    ids += 1;
    return outgoing(nodeOutput('decisions', { ...decision({ node }), id: `decision-${ids}` }));
  });

interface Asked {
  readonly range?: TimeRange;
  readonly kept?: KeptDecisions;
  readonly lost?: readonly LostOffsets[];
  readonly requiredBeforeMs?: number | null;
}

/** What is asked for, and all of that. */
const wholly = ({ fromMs, toMs }: TimeRange): KeptDecisions => ({
  expectedFromMs: fromMs ?? 0,
  certainFromMs: 0,
  readToMs: (toMs ?? Number.POSITIVE_INFINITY) + AROUND_MS,
});
const since = (expectedFromMs: number, certainFromMs = expectedFromMs): KeptDecisions => ({
  ...wholly(EVERYTHING),
  expectedFromMs,
  certainFromMs,
});

/** What is read of a partition, and whether it lies in the range. */
function decisionsIn(records: readonly LogRecord[], partition: number, range: TimeRange) {
  const [fromMs, toMs] = [range.fromMs ?? 0, range.toMs ?? Number.POSITIVE_INFINITY];
  const isIn = ({ timestampMs }: LogRecord, aroundMs: number): boolean =>
    timestampMs >= fromMs - aroundMs && timestampMs < toMs + aroundMs;
  return records
    .filter((record) => record.topic === DECISIONS && record.partition === partition)
    .filter((record) => isIn(record, AROUND_MS))
    .map((record) => ({ record, isAsked: isIn(record, 0) }));
}

/** What `verify` says of the decisions among these records by the heads among them. */
async function verified(
  records: readonly LogRecord[],
  { range = EVERYTHING, kept = wholly(range), lost = [], requiredBeforeMs = null }: Asked = {},
) {
  const { found, ...findings } = createCollector();
  const heads = records.flatMap((record) => {
    const parsed = record.topic === TOPICS.heads.name ? parseRecord('heads', record) : null;
    return parsed?.ok ? [{ event: parsed.event, record }] : [];
  });
  for (let partition = 0; partition < TOPICS.decisions.partitions; partition += 1) {
    const ranges = await decisionRanges(heads, { topicId: 'decisions', partition, range });
    const check = new HeadedDecisions(
      { topicId: 'decisions', ranges, kept, lost, requiredBeforeMs },
      findings,
    );
    for (const { record, isAsked } of decisionsIn(records, partition, range)) check.take(record, isAsked);
    check.finish();
  }
  const { deviations, unverified, counts } = found();
  return {
    deviations: deviations.first.map(({ kind }) => kind),
    gaps: unverified.first.map(({ kind }) => kind),
    messages: [...deviations.first, ...unverified.first].map(({ message }) => message),
    headed: counts.headed,
    headedInPart: counts.headedInPart,
    withoutHead: counts.withoutHead,
  };
}

/** As somebody would leave it who wants nothing to be seen: offsets go on without a hole. */
function renumbered(records: readonly LogRecord[]): LogRecord[] {
  const next = new Map<string, bigint>();
  return records.map((record) => {
    const name = `${record.topic}/${record.partition}`;
    const offset = next.get(name) ?? 0n;
    next.set(name, offset + 1n);
    return { ...record, offset };
  });
}

interface Step {
  readonly replica: 0 | 1 | 2;
  readonly act: 'decide' | 'head' | 'new life';
  readonly node: string;
  readonly count: number;
  readonly outcome: Outcome;
  readonly afterMs: number;
}

const arbitrarySteps: fc.Arbitrary<Step[]> = fc.array(
  fc.record<Step>({
    replica: fc.constantFrom<Step['replica'][]>(0, 1, 2),
    act: fc.constantFrom<Step['act'][]>('decide', 'decide', 'decide', 'head', 'new life'),
    node: fc.constantFrom('web-1', 'web-2', 'web-3'),
    count: fc.integer({ min: 1, max: 4 }),
    outcome: fc.constantFrom<Outcome[]>('well', 'well', 'well', ...OUTCOMES),
    afterMs: fc.integer({ min: 0, max: 20 * MINUTE }),
  }),
  { minLength: 4, maxLength: 30 },
);

/** What lies on the log when replicas have done these steps, and said at the end what they have written. */
async function written(steps: readonly Step[]): Promise<readonly LogRecord[]> {
  const { records, replica, pass, becomes } = scene();
  const replicas = [replica('a-0'), replica('b-0'), replica('c-0')];
  for (const [index, { act, node, count, outcome, afterMs, ...step }] of steps.entries()) {
    const at = replicas[step.replica];
    pass(afterMs);
    becomes(outcome);
    if (act === 'decide') await at?.publish(decided(node, count)).catch(() => undefined);
    if (act === 'head') await at?.publishHead();
    if (act === 'new life') replicas[step.replica] = replica(`${step.replica}-${index}`);
  }
  becomes('well');
  for (const one of replicas) await one.publishHead();
  return records;
}

test('whatever fails, comes twice, begins anew or was deleted by retention is no deviation', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps, fc.nat(300), async (steps, minutes) => {
      const records = await written(steps);
      expect(await verified(records)).toMatchObject({ deviations: [], gaps: [] });
      const keptFromMs = NOW + minutes * MINUTE;
      const kept = records.filter(
        ({ topic, timestampMs }) => topic !== DECISIONS || timestampMs >= keptFromMs,
      );
      expect(await verified(kept, { kept: since(keptFromMs) })).toMatchObject({ deviations: [], gaps: [] });
    }),
  );
});

test('what lies before or behind the time that is verified is no deviation', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps, fc.nat(200), fc.nat(200), async (steps, after, before) => {
      const range = { fromMs: NOW + after * MINUTE, toMs: NOW + (after + before) * MINUTE };
      expect(await verified(await written(steps), { range })).toMatchObject({ deviations: [], gaps: [] });
    }),
  );
});

const nameOf = ({ headers: { ce_fleetgcchain: chain, ce_fleetgcsequence: number }, partition }: LogRecord) =>
  `${partition} ${chain} ${number}`;

test('no decision that a head names can be taken away or changed unseen', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps, fc.nat(), fc.boolean(), async (steps, pick, isRemoved) => {
      const records = await written(steps);
      const first = records.filter(
        (record, at) =>
          record.topic === DECISIONS && records.findIndex((other) => nameOf(other) === nameOf(record)) === at,
      );
      const victim = first[pick % Math.max(1, first.length)];
      fc.pre(victim !== undefined);
      const without = renumbered(records.filter((record) => nameOf(record) !== nameOf(victim)));
      // One that no head names is nobody's loss.
      fc.pre((await verified(without)).headed < (await verified(records)).headed);
      const changed = records.map((record) =>
        record === victim ? { ...record, value: Buffer.from('{}') } : record,
      );
      const { deviations, gaps } = await verified(isRemoved ? without : changed);
      expect([...deviations, ...gaps]).not.toEqual([]);
    }),
  );
});

/** Ten decisions under two heads, and two that no head names yet. */
async function twelveDecisions() {
  const { records, replica, pass } = scene();
  const writer = replica('a');
  for (const count of [6, 4]) {
    await writer.publish(decided('web-1', count));
    await writer.publishHead();
    pass(20 * MINUTE);
  }
  await writer.publish(decided('web-1', 2));
  return records;
}

test('a forged decision that bears a number which a head names is told of, and one that came twice is not', async () => {
  const records = await twelveDecisions();
  const decisions = records.filter(({ topic }) => topic === DECISIONS);
  const [, second] = decisions;
  if (second === undefined) throw new Error('there are twelve');
  const behind = { offset: BigInt(decisions.length), timestampMs: NOW + 45 * MINUTE };
  const forged = { ...second, ...behind, value: Buffer.from('{}') };
  expect(await verified([...records, { ...second, ...behind }])).toMatchObject({ deviations: [], gaps: [] });
  expect(await verified([...records, forged])).toMatchObject({
    deviations: ['decisions-rewritten'],
    messages: [expect.stringContaining('bears the number of another one')],
    headed: 10,
    withoutHead: 2,
  });
});

test('decisions that were put in another order are told of as that: none of them is gone', async () => {
  const records = await twelveDecisions();
  const decisions = records.filter(({ topic }) => topic === DECISIONS);
  const others = records.filter(({ topic }) => topic !== DECISIONS);
  const [first, second, third, ...rest] = decisions;
  if (first === undefined || second === undefined || third === undefined) throw new Error('there are twelve');
  expect(await verified(renumbered([third, first, second, ...rest, ...others]))).toMatchObject({
    deviations: ['decisions-rewritten'],
    messages: [expect.stringContaining('in another order')],
  });
  expect(await verified(renumbered([first, third, ...rest, ...others]))).toMatchObject({
    deviations: ['decisions-cut'],
  });
});

/** A head of somebody who has the key and the name of a chain, as it lies before all others. */
const forgedHead = (range: Partial<DecisionRange>): LogRecord => ({
  ...recordOf({
    topic: 'heads',
    key: 'a',
    event: {
      type: 'fleetgc.decision-head',
      version: 1,
      id: 'forged',
      chain: 'a',
      decider: 'image-gc',
      statements: {},
      ranges: [
        {
          partition: 0,
          first: 0,
          records: 1,
          sha256: 'a'.repeat(64),
          firstAtMs: NOW,
          lastAtMs: NOW,
          ...range,
        },
      ],
    },
  }),
});

test('a head that takes the place of one which comes later is told of: it would leave the rest unproved', async () => {
  const records = await twelveDecisions();
  const [first] = records.filter(({ topic }) => topic === DECISIONS);
  if (first === undefined) throw new Error('there are twelve');
  const { partition } = first;
  const sha256 = runningHash(NOTHING_HASHED, first);
  const found = await verified([forgedHead({ partition, sha256 }), ...records]);
  expect(found).toMatchObject({
    deviations: ['heads-contradict'],
    messages: [expect.stringMatching(/^1 head of the chain a names decisions otherwise/)],
  });
});

test.each([
  { name: 'reaches into another one', over: { first: 4, records: 3 } },
  { name: 'says other times', over: { records: 6, lastAtMs: 0 } },
  { name: 'is about all that follows', over: { first: 5, records: 1_000_000 } },
])('a head that $name is told of', async ({ over }) => {
  const records = await twelveDecisions();
  const { partition } = records.find(({ topic }) => topic === DECISIONS) ?? { partition: 0 };
  const { deviations } = await verified([forgedHead({ partition, ...over }), ...records]);
  expect(deviations).toContain('heads-contradict');
});

test('a head that comes twice contradicts nothing', async () => {
  const records = await twelveDecisions();
  const heads = records.filter(({ topic }) => topic === TOPICS.heads.name);
  expect(await verified([...records, ...heads])).toMatchObject({ deviations: [], gaps: [], headed: 10 });
});

test('a number that no head names, and one far ahead, do not hide what heads name', async () => {
  const records = await twelveDecisions();
  const [first] = records;
  if (first === undefined) throw new Error('there are twelve');
  const forged = (number: string): LogRecord => ({
    ...first,
    value: Buffer.from('{}'),
    headers: { ...first.headers, ce_fleetgcsequence: number },
  });
  expect(await verified(renumbered([forged('500'), ...records, forged('11')]))).toMatchObject({
    deviations: [],
    headed: 10,
    withoutHead: 4,
  });
});

test('decisions are counted by whether a head names them', async () => {
  expect(await verified(await twelveDecisions())).toMatchObject({
    headed: 10,
    withoutHead: 2,
    deviations: [],
  });
});

test('a cut tail is named with its numbers, and what is younger than the newest head may go', async () => {
  const records = await twelveDecisions();
  const upTo = (count: number) =>
    records.filter(({ topic, offset }) => topic !== DECISIONS || offset < BigInt(count));
  expect(await verified(upTo(10))).toMatchObject({ deviations: [] });
  const cut = await verified(upTo(9));
  expect(cut.deviations).toEqual(['decisions-cut']);
  expect(cut.messages[0]).toMatch(/^1 decision of 4 \(chain a, numbers 6 to 9\) in gc\.node\.decisions\/\d+/);
  expect((await verified(upTo(5))).deviations).toEqual(['decisions-cut', 'decisions-cut']);
  expect((await verified(upTo(0))).deviations).toEqual(['decisions-cut', 'decisions-cut']);
});

test('a changed decision is told between which records it is', async () => {
  const records = await twelveDecisions();
  const changed = records.map((record) =>
    record.topic === DECISIONS && record.offset === 7n ? { ...record, value: Buffer.from('{}') } : record,
  );
  expect((await verified(changed)).deviations).toEqual(['decisions-rewritten']);
});

test('a topic that was made anew is no deviation, and is told', async () => {
  const records = await twelveDecisions();
  const anew = records.filter(({ topic, offset }) => topic !== DECISIONS || offset >= 10n);
  expect(await verified(renumbered(anew))).toMatchObject({
    deviations: [],
    gaps: ['topic-recreated', 'topic-recreated'],
  });
});

const without = (records: readonly LogRecord[], isGone: (decision: LogRecord) => boolean): LogRecord[] =>
  records.filter((record) => record.topic !== DECISIONS || !isGone(record));

describe('decisions that are gone from the beginning', () => {
  const gone = async () => without(await twelveDecisions(), ({ offset }) => offset < 8n);
  const LATER = NOW + 60 * MINUTE;

  test.each([
    { name: 'older than they are kept', expected: LATER, certain: LATER, says: {} },
    {
      name: 'too young for that',
      expected: NOW - 60 * MINUTE,
      certain: NOW - 60 * MINUTE,
      says: { deviations: 2 },
    },
    {
      name: 'too young, where nobody knows how long they are kept',
      expected: NOW - 60 * MINUTE,
      certain: Number.POSITIVE_INFINITY,
      says: { gaps: 2 },
    },
  ])('$name', async ({ expected, certain, says: { deviations = 0, gaps = 0 } }) => {
    const found = await verified(await gone(), { kept: since(expected, certain) });
    expect(found).toMatchObject({
      deviations: Array.from({ length: deviations }, () => 'decisions-cut'),
      gaps: Array.from({ length: gaps }, () => 'decisions-gone'),
      // Of the range that is there in part nobody can compare the rest.
      headedInPart: 2,
      headed: 0,
      withoutHead: 2,
    });
  });

  test('are no deviation of a partition that an archive has nothing of', async () => {
    const nothing = without(await twelveDecisions(), () => true);
    expect(await verified(nothing, { kept: since(LATER) })).toMatchObject({ deviations: [], gaps: [] });
  });
});

/** Two writers in one partition, an hour between what they wrote. */
async function twoWriters() {
  const { records, replica, pass } = scene();
  const [one, other] = [replica('a'), replica('b')];
  for (const writer of [one, other, one]) {
    await writer.publish(decided('web-1', 4));
    await writer.publishHead();
    pass(60 * MINUTE);
  }
  return records;
}

test('a record that was dated anew hides nothing that is missing in the middle', async () => {
  const left = without(
    await twoWriters(),
    ({ offset, headers }) => offset === 0n || headers.ce_fleetgcchain === 'b',
  );
  const dated = left.map((record) =>
    record === left.find(({ topic }) => topic === DECISIONS)
      ? { ...record, timestampMs: NOW + 1_000_000 * MINUTE }
      : record,
  );
  const kept = since(NOW, Number.POSITIVE_INFINITY);
  for (const records of [left, dated, renumbered(dated)])
    expect((await verified(records, { kept })).deviations).toEqual(['decisions-cut']);
});

test('what was changed right after the beginning of the time that is verified is found', async () => {
  const records = await twelveDecisions();
  const range = { fromMs: NOW + MINUTE, toMs: NOW + 15 * MINUTE };
  const written = records.map((record, index) =>
    record.topic === DECISIONS ? { ...record, timestampMs: NOW + index * 2 * MINUTE } : record,
  );
  const found = await verified(written, { range });
  expect(found).toMatchObject({ deviations: [], headed: 6, headedInPart: 0, withoutHead: 0 });
  const changed = written.map((record) =>
    record.topic === DECISIONS && record.offset === 2n ? { ...record, value: Buffer.from('{}') } : record,
  );
  expect((await verified(changed, { range })).deviations).toEqual(['decisions-rewritten']);
});

/** Decisions of a writer whose clock is ahead, as the log took them. */
async function aheadBy(minutes: number) {
  const { records, replica } = scene();
  const writer = replica('a');
  await writer.publish(decided('web-1', 4));
  await writer.publishHead();
  return records.map((record) => ({ ...record, timestampMs: record.timestampMs - minutes * MINUTE }));
}

test.each([
  { ahead: 25, gaps: [] },
  { ahead: 120, gaps: ['decisions-gone'] },
])('the clock of a writer that is $ahead minutes ahead makes no deviation', async ({ ahead, gaps }) => {
  const range = { fromMs: NOW - 8 * MINUTE - (ahead > 60 ? 60 * MINUTE : 0), toMs: null };
  expect(await verified(await aheadBy(ahead), { range })).toMatchObject({ deviations: [], gaps });
});

test('the clock of a writer that is behind makes no deviation of what was written behind the range', async () => {
  const records = await aheadBy(-60);
  const range = { fromMs: null, toMs: NOW + 5 * MINUTE };
  expect(await verified(records, { range })).toMatchObject({ deviations: [], gaps: ['decisions-gone'] });
});

describe('where heads are required', () => {
  const required = async (records: readonly LogRecord[], requiredBeforeMs = NOW + 1_000 * MINUTE) => {
    const { deviations, gaps } = await verified(records, { requiredBeforeMs });
    return { deviations, gaps };
  };
  const ofHeads = ({ topic }: LogRecord): boolean => topic === TOPICS.heads.name;

  test('what services leave that live on is right', async () => {
    expect(await required(await twoWriters())).toEqual({ deviations: [], gaps: [] });
  });

  test('what no head can name yet is right', async () => {
    const records = await twelveDecisions();
    expect(await required(records, NOW + 30 * MINUTE)).toEqual({ deviations: [], gaps: [] });
    expect(await required(records)).toEqual({ deviations: [], gaps: ['without-head'] });
  });

  test('what comes long after the last head of its writer deviates', async () => {
    const { records, replica, pass } = scene();
    const writer = replica('a');
    await writer.publish(decided('web-1', 4));
    await writer.publishHead();
    pass(21 * MINUTE);
    await writer.publish(decided('web-1', 4));
    expect(await required(records)).toEqual({ deviations: ['no-heads'], gaps: [] });
  });

  test('one head of one writer is none of the others', async () => {
    const { records, replica, pass } = scene();
    const [signing, silent] = [replica('a'), replica('b')];
    for (const _ of [1, 2, 3]) {
      await signing.publish(decided('web-1', 2));
      await silent.publish(decided('web-1', 2));
      await signing.publishHead();
      pass(11 * MINUTE);
    }
    expect(await required(records)).toEqual({ deviations: ['no-heads'], gaps: [] });
  });

  test('a writer that ended before its first head leaves what is not verified', async () => {
    const { records, replica, pass } = scene();
    await replica('a').publish(decided('web-1', 2));
    pass(60 * MINUTE);
    const second = replica('b');
    await second.publish(decided('web-1', 2));
    await second.publishHead();
    expect(await required(records)).toEqual({ deviations: [], gaps: ['without-head'] });
  });

  test('without numbers, and without any heads, all deviate', async () => {
    const records = await twelveDecisions();
    const unnumbered = records
      .filter((record) => !ofHeads(record))
      .map((record) => ({ ...record, headers: {} }));
    expect(await required(unnumbered)).toEqual({ deviations: ['no-heads'], gaps: [] });
    expect(await required(records.filter((record) => !ofHeads(record)))).toEqual({
      deviations: ['no-heads'],
      gaps: [],
    });
  });

  test('what the brokers did not say that they took is not verified', async () => {
    const { records, replica, becomes } = scene();
    const writer = replica('a');
    for (const outcome of ['well', 'came without a word', 'well'] as const) {
      becomes(outcome);
      await writer.publish(decided('web-1', 2)).catch(() => undefined);
    }
    await writer.publishHead();
    expect(await required(records)).toEqual({ deviations: [], gaps: ['without-head'] });
  });

  test('nor is it right before what the next head names', async () => {
    const { records, replica, becomes, pass } = scene();
    const writer = replica('a');
    for (const outcome of ['well', 'came without a word', 'well'] as const) {
      becomes(outcome);
      await writer.publish(decided('web-1', 2)).catch(() => undefined);
      becomes('well');
      await writer.publishHead();
      if (outcome === 'well') pass(60 * MINUTE);
    }
    expect(await required(records)).toEqual({ deviations: [], gaps: ['without-head'] });
  });
});

test('what an archive notes as lost before it was archived is no deviation', async () => {
  const left = without(await twoWriters(), ({ offset }) => offset > 4n && offset < 10n);
  const lost = (first: bigint, last: bigint) => [{ partition: 0, first, last }];
  expect((await verified(left)).deviations).not.toEqual([]);
  expect(await verified(left, { lost: lost(5n, 9n) })).toMatchObject({
    deviations: [],
    gaps: ['records-missing', 'records-missing'],
  });
  expect((await verified(left, { lost: lost(20n, 21n) })).deviations).toHaveLength(1);
});

test('a hole between two decisions is none that retention made', async () => {
  const { records, replica, pass } = scene();
  const writer = replica('a');
  for (const _ of [1, 2]) {
    await writer.publish(decided('web-1', 4));
    await writer.publishHead();
    pass(MINUTE);
  }
  const keptAfter = (first: bigint, taken: bigint) =>
    records.filter(({ topic, offset }) => topic !== DECISIONS || (offset > first && offset !== taken));
  const kept = since(NOW);
  expect(await verified(keptAfter(1n, 1n), { kept })).toMatchObject({ deviations: [], gaps: [] });
  for (const taken of [3n, 4n, 5n])
    expect((await verified(keptAfter(1n, taken), { kept })).deviations).toEqual(['decisions-cut']);
});

test('a later head that says something else of the same decisions does not hide a change', async () => {
  const records = await twelveDecisions();
  const changed = records.map((record) =>
    record.topic === DECISIONS && record.offset === 7n ? { ...record, value: Buffer.from('{}') } : record,
  );
  const forged = changed
    .filter(({ topic }) => topic === TOPICS.heads.name)
    .map((record) => ({ ...record, value: withOtherHash(record) }));
  expect((await verified([...changed, ...forged])).deviations).toEqual([
    'heads-contradict',
    'decisions-rewritten',
  ]);
});

const withOtherHash = ({ value }: LogRecord): Buffer =>
  Buffer.from(String(value).replaceAll(/"sha256":"[0-9a-f]+"/g, `"sha256":"${'0'.repeat(64)}"`));
