import { beforeAll, expect, test, vi } from 'vitest';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { Decision } from '../../../../../schemas/events/decision.ts';
import { TOPICS, type TopicId } from '../../../../../schemas/events/topics.ts';
import { HOUR } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { type Recording, replayed } from '../../support/recorded-log.ts';
import { recordedReclaims } from '../../support/recorded-reclaims.ts';
import { named, verify } from '../../support/verify-recording.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

const INPUTS = ['inventory', 'diskStats'] as const satisfies readonly TopicId[];

let recording: Recording;
let endsAtMs = 0;
beforeAll(async () => {
  recording = await recordedReclaims();
  endsAtMs = Math.max(
    ...Object.values(recording).flatMap((all) => all.map(({ timestampMs }) => timestampMs)),
  );
});

/** The topic as it is after it was deleted and made anew, with so many messages since, from this time on. */
const madeAnew = (topicId: TopicId, count: number, fromMs: number): Recording => ({
  ...recording,
  [topicId]: recording[topicId].slice(-count).map((record, index) => ({
    ...record,
    offset: BigInt(index),
    timestampMs: fromMs + index,
    value: Buffer.from(String(record.value).replace(/"id":"[^"]*"/, `"id":"anew-${index}"`)),
  })),
});

const decisionsOn = (topicId: TopicId): readonly LogRecord[] =>
  recording.decisions.filter(({ value }) => {
    const parsed = Decision.safeParse(JSON.parse(String(value)));
    return parsed.success && parsed.data.input.topic === TOPICS[topicId].name;
  });

/** With nothing from before: what came first after a topic was made anew has nothing to do with the past. */
const emptied = (topicId: TopicId, fromMs: number): Recording => {
  const [first] = recording[topicId];
  if (first === undefined) throw new Error(`nothing was recorded on ${topicId}`);
  const value = Buffer.from('{}');
  const partitions = [...new Set(recording[topicId].map(({ partition }) => partition))];
  return {
    ...recording,
    [topicId]: partitions.map((partition) => ({
      ...first,
      partition,
      offset: 0n,
      timestampMs: fromMs,
      value,
    })),
  };
};

test('what was decided under policies that went with gc.policies is named, and nothing deviates', async () => {
  const found = await verify(replayed(madeAnew('policies', 1, endsAtMs + HOUR)));

  expect(found.deviations.byKind).toEqual({});
  expect(found.unverified.byKind['topic-recreated']).toBe(recording.decisions.length);
  expect(found.unverified.first[0]?.message).toMatch(
    /^it was decided under policies of before gc\.policies began at /,
  );
});

test('of two topics of policies that were made anew nothing deviates either', async () => {
  const anew = { ...madeAnew('policies', 1, endsAtMs + HOUR) };
  const policyVersions = recording.policyVersions.map((record) => ({
    ...record,
    timestampMs: endsAtMs + HOUR,
  }));
  const found = await verify(replayed({ ...anew, policyVersions }));

  expect(found.deviations.byKind).toEqual({});
  expect(found.unverified.byKind['topic-recreated']).toBe(recording.decisions.length);
});

test('what was decided before any policy was applied does not hide behind that', async () => {
  const anew = madeAnew('policies', 1, endsAtMs + HOUR);
  const [first, ...sets] = recording.policyVersions;
  if (first === undefined) throw new Error('nobody applied a policy');
  const policyVersions = [first, ...sets.map((record) => ({ ...record, timestampMs: endsAtMs + HOUR }))];
  const found = await verify(replayed({ ...anew, policyVersions }));

  expect(found.unverified.byKind['topic-recreated']).toBeUndefined();
  expect(found.deviations.byKind).toEqual({ 'policies-never-held': recording.decisions.length });
});

const ofKind = (all: readonly string[], kind: string): readonly string[] =>
  all.filter((text) => text.startsWith(`${kind} `));

test.each(INPUTS.flatMap((topicId) => [1, 3].map((count) => ({ topicId, count }))))(
  'a topic $topicId that was made anew, with $count messages since, is named, and nothing about it is told as forged',
  async ({ topicId, count }) => {
    const found = await verify(replayed(madeAnew(topicId, count, endsAtMs + HOUR)));

    expect(found.deviations.byKind).not.toMatchObject({ 'input-changed': expect.anything() });
    expect(found.deviations.byKind).not.toMatchObject({ 'input-never-was': expect.anything() });
    expect(found.unverified.byKind['topic-recreated']).toBe(decisionsOn(topicId).length);
    expect(found.unverified.first.find(({ kind }) => kind === 'topic-recreated')?.message).toMatch(
      /begins after this was decided: the topic was deleted and made anew/,
    );
  },
);

test.each(INPUTS)('what was decided after $0 was made anew does not hide behind that', async (topicId) => {
  const decisions = decisionsOn(topicId);
  const middleMs = decisions.at(Math.floor(decisions.length / 2))?.timestampMs ?? 0;
  const all = named(await verify(replayed(madeAnew(topicId, recording[topicId].length, middleMs))));
  const later = decisions.filter(({ timestampMs }) => timestampMs >= middleMs);

  expect(later.length).toBeGreaterThan(0);
  const told = [...ofKind(all, 'input-changed'), ...ofKind(all, 'input-never-was')];
  expect(new Set(told.map((text) => text.split('@')[1]))).toEqual(
    new Set(later.map(({ offset }) => String(offset))),
  );
});

test('a decision on what nobody had written yet is told as forged, for the topic began before it', async () => {
  const [decision] = decisionsOn('inventory').slice(-1);
  if (decision === undefined) throw new Error('nothing was decided on an inventory');
  const { input } = Decision.parse(JSON.parse(String(decision.value)));
  const forged: Recording = {
    ...recording,
    inventory: recording.inventory.map((record) =>
      String(record.offset) === input.offset && record.partition === input.partition
        ? { ...record, timestampMs: endsAtMs + HOUR, value: Buffer.from(`${record.value} `) }
        : record,
    ),
  };
  const found = await verify(replayed(forged));

  expect(found.unverified.byKind['topic-recreated']).toBeUndefined();
  expect(found.deviations.first).toContainEqual(
    expect.objectContaining({
      kind: 'input-changed',
      message: expect.stringContaining('was logged after the record'),
    }),
  );
});

const EFFECTS = ['commands', 'observe', 'results', 'decisions'] as const satisfies readonly TopicId[];

test.each(EFFECTS)(
  'what is gone with a topic $0 that was made anew is named, and nothing deviates',
  async (topicId) => {
    const found = await verify(replayed(emptied(topicId, endsAtMs + HOUR)));

    const { unreadable = 0, ...others } = found.deviations.byKind;
    expect(others).toEqual({});
    // What the test put there itself.
    expect(unreadable).toBe(emptied(topicId, 0)[topicId].length);
    expect(found.unverified.first).toContainEqual(
      expect.objectContaining({
        kind: 'topic-recreated',
        message: expect.stringMatching(/was deleted and made anew, and what/),
      }),
    );
  },
);

test.each(EFFECTS)(
  'what is missing on a topic $0 that was there before deviates as ever',
  async (topicId) => {
    const anew = emptied(topicId, 0);
    const found = await verify(replayed(anew));

    const { unreadable: _, ...others } = found.deviations.byKind;
    expect(Object.keys(others)).not.toEqual([]);
    expect(found.unverified.byKind['topic-recreated']).toBeUndefined();
  },
);

test('commands from before an archive began are no deviation, though it has all inventories', async () => {
  const late: Recording = { ...recording, commands: recording.commands.filter(({ offset }) => offset > 0n) };
  const found = await verify(replayed(late), undefined, undefined, false);

  expect(late.commands.length).toBeGreaterThan(0);
  expect(found.deviations.byKind).toEqual({});
  expect(found.counts.outOfRange).toBeGreaterThan(0);
});
