import fc from 'fast-check';
import pino from 'pino';
import { expect, test } from 'vitest';
import { nodeOutput } from '../../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../../packages/event-log/partition.ts';
import type { LogRecord, OutgoingRecord } from '../../../../../packages/event-log/port.ts';
import { parseRecord } from '../../../../../packages/pipeline/parse/parse-record.ts';
import { createPublisher } from '../../../../../packages/pipeline/publisher.ts';
import type { TimeRange } from '../../../../../packages/pipeline/read-log.ts';
import { DecisionChain } from '../../../../../packages/service/decision-chain.ts';
import { UNSIGNED } from '../../../../../packages/trust/signer.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { createCollector } from '../../../../../services/audit/verify/collected-findings.ts';
import { decisionRanges } from '../../../../../services/audit/verify/heads/decision-ranges.ts';
import { HeadedDecisions } from '../../../../../services/audit/verify/heads/headed-decisions.ts';
import { decision } from '../../../../fixtures/outputs.ts';
import { MINUTE, NOW } from '../../../../fixtures/time.ts';
import { countedIds, outgoing } from '../../../../support/logs/log-record.ts';

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
  const publish = async (sending: readonly OutgoingRecord[]): Promise<void> => {
    if (outcome !== 'lost') append(outcome === 'half came' ? sending.slice(0, sending.length / 2) : sending);
    if (outcome === 'twice') append(sending);
    if (outcome !== 'well' && outcome !== 'twice') throw new Error(outcome);
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
      heads: { newId: () => name, statements: () => new Map() },
      logger: pino({ level: 'silent' }),
      now: () => nowMs,
      monotonicNow: () => 0,
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

/** What `verify` says of the decisions among these records by the heads among them. */
async function verified(records: readonly LogRecord[], range = EVERYTHING, readFromMs = range.fromMs ?? 0) {
  const { found, ...findings } = createCollector();
  const heads = records.flatMap((record) => {
    const parsed = record.topic === TOPICS.heads.name ? parseRecord('heads', record) : null;
    return parsed?.ok ? [{ event: parsed.event, record }] : [];
  });
  for (let partition = 0; partition < TOPICS.decisions.partitions; partition += 1) {
    const ranges = await decisionRanges(heads, { partition, range });
    const check = new HeadedDecisions({ partition, ranges, findings, readFromMs });
    for (const record of records)
      if (record.topic === DECISIONS && record.partition === partition) check.take(record);
    check.finish();
  }
  const { deviations, unverified, counts } = found();
  return {
    deviations: deviations.first.map(({ kind }) => kind),
    gaps: unverified.first.map(({ kind }) => kind),
    messages: deviations.first.map(({ message }) => message),
    headed: counts.headed,
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
      expect((await verified(kept, EVERYTHING, keptFromMs)).deviations).toEqual([]);
    }),
  );
});

test('what lies before or behind the time that is verified is no deviation', async () => {
  await fc.assert(
    fc.asyncProperty(arbitrarySteps, fc.nat(200), fc.nat(200), async (steps, after, before) => {
      const range = { fromMs: NOW + after * MINUTE, toMs: NOW + (after + before) * MINUTE };
      const read = (await written(steps)).filter(
        ({ topic, timestampMs }) =>
          topic !== DECISIONS || (timestampMs >= range.fromMs && timestampMs < range.toMs),
      );
      expect((await verified(read, range)).deviations).toEqual([]);
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
  expect((await verified(keptAfter(1n, 1n))).deviations).toEqual([]);
  for (const taken of [3n, 4n, 5n])
    expect((await verified(keptAfter(1n, taken))).deviations).toEqual(['decisions-cut']);
});

test('a later head that says something else of the same decisions does not hide a change', async () => {
  const records = await twelveDecisions();
  const changed = records.map((record) =>
    record.topic === DECISIONS && record.offset === 7n ? { ...record, value: Buffer.from('{}') } : record,
  );
  const forged = changed
    .filter(({ topic }) => topic === TOPICS.heads.name)
    .map((record) => ({ ...record, value: withOtherHash(record) }));
  expect((await verified([...changed, ...forged])).deviations).toEqual(['decisions-rewritten']);
});

const withOtherHash = ({ value }: LogRecord): Buffer =>
  Buffer.from(String(value).replaceAll(/"sha256":"[0-9a-f]+"/g, `"sha256":"${'0'.repeat(64)}"`));
