import { beforeEach, describe, expect, test } from 'vitest';
import type { DeviationKind, GapKind } from '../../../../../packages/audit/verify/findings.ts';
import { sha256Hex } from '../../../../../packages/canonical/ids.ts';
import { imageGcHandler } from '../../../../../packages/deciders/image-gc/decider.ts';
import { pressureHandler } from '../../../../../packages/deciders/pressure/decider.ts';
import { nodeOutput } from '../../../../../packages/decision/handler.ts';
import { policySet } from '../../../../../packages/decision/policy-set.ts';
import { decisionId } from '../../../../../packages/decision/record.ts';
import { partitionOf } from '../../../../../packages/log/partition.ts';
import type { OutgoingRecord } from '../../../../../packages/log/port.ts';
import { Decision } from '../../../../../schemas/events/decision.ts';
import type { CompleteInventory, Inventory } from '../../../../../schemas/events/inventory.ts';
import type { Reclaim } from '../../../../../schemas/events/reclaim.ts';
import { TOPICS } from '../../../../../schemas/events/topics.ts';
import { appliedPolicy } from '../../../../fixtures/applied-policy.ts';
import { diskStats } from '../../../../fixtures/disk-stats.ts';
import { image, incompleteInventory, inventory } from '../../../../fixtures/inventory.ts';
import { HOUR, instant, MINUTE, SECOND } from '../../../../fixtures/time.ts';
import { decisionLog } from '../../../../support/logs/decision-log.ts';
import { onLog, outgoing } from '../../../../support/logs/log-record.ts';
import { outputHash } from '../../../../support/output-hash.ts';
import { pickedRecord, type Recording, recordingOf, replayed, without } from '../../support/recorded-log.ts';
import { named, verify } from '../../support/verify-recording.ts';

const TOPIC = TOPICS.inventory.name;
const POLICY = appliedPolicy({ imageMaximumGCAgeMs: HOUR });
const SET = policySet('node', [POLICY], []);
const PARTITION = partitionOf(TOPIC, 'prod/web-1');
/** A node that shares the partition. */
const NEIGHBOUR = Array.from({ length: 500 }, (_, number) => `web-${number + 2}`).find(
  (node) => partitionOf(TOPIC, `prod/${node}`) === PARTITION,
);

const taken = (minutes: number) => ({
  id: `look-${minutes}`,
  takenAt: instant({ sinceBootMs: 24 * HOUR + minutes * MINUTE }),
});
const fact = (event: Inventory): OutgoingRecord => outgoing(nodeOutput('inventory', event));
const look = (minutes: number, over: Partial<CompleteInventory> = {}): OutgoingRecord =>
  fact(inventory({ images: [image('old')], ...taken(minutes), ...over }));

const READINGS = [0, 1, 2].map((minutes) =>
  outgoing(nodeOutput('diskStats', { ...diskStats(), ...taken(minutes) })),
);

/** The reclaim that pressure begins on the second reading, at its images. */
function begunReclaim(): Reclaim {
  const event = { ...diskStats(), ...taken(1) };
  const sha256 = sha256Hex(READINGS[1]?.value ?? '');
  const position = { topic: TOPICS.diskStats.name, partition: PARTITION, offset: '1', sha256 };
  const { reclaim } = Decision.parse(pressureHandler(() => SET)({ event, position }).flat()[0]?.event);
  if (reclaim === null) throw new Error('pressure begins no reclaim');
  return { ...reclaim, step: 'images' };
}

/** What a node and its neighbour published while nobody decided; the place in this list is the offset. */
const BACKLOG: readonly OutgoingRecord[] = [
  look(0),
  look(1, { node: NEIGHBOUR ?? '' }),
  fact({ ...incompleteInventory, ...taken(2) }),
  look(3, { reclaim: begunReclaim() }),
  look(4, { nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d' }),
  { ...look(5), value: Buffer.from('garbage') },
  { ...look(6), value: null },
  look(7),
  look(8),
];
const NEWEST = BACKLOG.length - 1;

/** Of all tests; the first one makes it. */
let recorded: Recording | null = null;
let recording: Recording;

beforeEach(async () => {
  recorded ??= await caughtUp();
  recording = recorded;
});

async function caughtUp(): Promise<Recording> {
  const { deps, start, records } = await decisionLog(() => SET);
  await deps.log.publish([
    outgoing({ topic: 'policies', key: POLICY.policy.name, event: POLICY }),
    outgoing({ topic: 'policyVersions', key: POLICY.hash, event: POLICY }),
    ...BACKLOG,
    ...READINGS,
  ]);
  await start('image-gc');
  await start('container-gc');
  await start('pressure');
  await records('decisions', 2 * (BACKLOG.length - 2) + READINGS.length);
  await records('deadLetters', 4);
  return await recordingOf(deps.log, SECOND);
}

const isOf = (offset: number) => (text: string) =>
  text.includes('"name":"image-gc"') &&
  text.includes(`"input":{"id":"look-${offset}","offset":"${offset}","partition":${PARTITION},"sha256"`);
const decisionOf = (offset: number): Decision =>
  Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', isOf(offset)).value)));

/** The same log with another record of the first inventory, whose id and hash are as they should be. */
function forged(change: (decision: Decision) => Decision): Recording {
  const { outputSha256: _, ...changed } = change(decisionOf(0));
  const { decider, input, policySetHash, overtakenBy } = changed;
  const id = decisionId({
    decider,
    input: { event: { id: input.id }, position: { sha256: input.sha256 } },
    policies: { hash: policySetHash },
    overtakenBy,
  });
  const event = { ...changed, id, outputSha256: outputHash([{ ...changed, id }]) };
  const original = pickedRecord(recording, 'decisions', isOf(0));
  const record = onLog(outgoing(nodeOutput('decisions', event)), {
    partition: original.partition,
    offset: original.offset,
    timestampMs: original.timestampMs,
  });
  return {
    ...recording,
    decisions: recording.decisions.map((one) => (one === original ? record : one)),
  };
}

const kindsOf = async (log: Recording): Promise<string[]> =>
  named(await verify(replayed(log))).map((text) => text.split(' ')[0] ?? '');

test('what was passed over is verified', async () => {
  const readings = recording.decisions
    .map((record) => Decision.parse(JSON.parse(String(record.value))))
    .filter(({ decider }) => decider.name === 'pressure')
    .map(({ outcome }) => outcome);
  const outcomes = BACKLOG.flatMap(({ value }, offset) =>
    value === null || offset === 5 ? [] : [`${offset} ${decisionOf(offset).outcome}`],
  );
  const found = await verify(replayed(recording));

  expect(outcomes).toEqual([
    '0 overtaken',
    '1 commanded',
    '2 overtaken',
    '3 commanded',
    '4 commanded',
    '7 overtaken',
    '8 commanded',
  ]);
  expect(readings).toEqual(['overtaken', 'ordered', 'ordered']);
  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({
    inventories: 9,
    decisions: 17,
    verified: 17,
    deadLettered: 4,
    commands: 4,
  });
});

const overtakenBy = (offset: number | string, over: Partial<Decision['overtakenBy']> = {}) => ({
  topic: TOPIC,
  partition: PARTITION,
  offset: `${offset}`,
  id: `look-${offset}`,
  ...over,
});

describe('a forged record that names', () => {
  test.each<{ name: string; by: Decision['overtakenBy']; why: string }>([
    { name: 'nothing', by: undefined, why: 'does not say by what' },
    { name: 'itself', by: overtakenBy(0), why: 'does not lie after it' },
    { name: 'another node', by: overtakenBy(1), why: 'does not make it needless' },
    { name: 'an incomplete inventory', by: overtakenBy(2), why: 'does not make it needless' },
    { name: 'an inventory that answers an order', by: overtakenBy(3), why: 'does not make it needless' },
    { name: 'another installation', by: overtakenBy(4), why: 'does not make it needless' },
    { name: 'garbage', by: overtakenBy(5), why: 'nothing that can be decided on' },
    { name: 'a record without a value', by: overtakenBy(6), why: 'nothing that can be decided on' },
    { name: 'a record that is not there', by: overtakenBy(9), why: 'is not on the log' },
    { name: 'an offset that is none', by: overtakenBy('last'), why: 'does not lie after it' },
    { name: 'another id', by: overtakenBy(NEWEST, { id: 'look-7' }), why: 'lies look-8, not look-7' },
    {
      name: 'another partition',
      by: overtakenBy(NEWEST, { partition: (PARTITION + 1) % 32 }),
      why: 'does not lie after it',
    },
    {
      name: 'another topic',
      by: overtakenBy(NEWEST, { topic: TOPICS.diskStats.name }),
      why: 'does not lie after it',
    },
  ])('$name is a deviation', async ({ by, why }) => {
    const { deviations } = await verify(replayed(forged((record) => ({ ...record, overtakenBy: by }))));
    expect(deviations.first).toMatchObject([
      { kind: 'wrongly-overtaken', message: expect.stringContaining(why) },
    ]);
  });

  test('an earlier inventory is a deviation, although that was taken later', async () => {
    const putBack = forged((record) => ({
      ...record,
      input: { ...record.input, offset: '9' },
      overtakenBy: overtakenBy(7),
    }));
    const inventory = putBack.inventory
      .map((record) => (record.offset === 0n ? { ...record, offset: 9n } : record))
      .toSorted((a, b) => Number(a.offset - b.offset));
    const { deviations } = await verify(replayed({ ...putBack, inventory }));
    expect(deviations.first).toContainEqual(
      expect.objectContaining({
        kind: 'wrongly-overtaken',
        message: expect.stringContaining('does not lie after it'),
      }),
    );
  });

  test('another one that would do is none', async () => {
    expect(await kindsOf(forged((record) => ({ ...record, overtakenBy: overtakenBy(7) })))).toEqual([]);
  });
});

describe('a forged record of an overtaken inventory', () => {
  test('under a set of policies that nobody knows is not verified', async () => {
    expect(await kindsOf(forged((record) => ({ ...record, policySetHash: 'no such set' })))).toEqual([
      'unknown-policy-set',
    ]);
  });

  test.each<{ name: string; change: Partial<Decision>; kinds: (DeviationKind | GapKind)[] }>([
    {
      name: 'that lists a command which is not there',
      change: { outputIds: ['command-1'] },
      kinds: ['decided-differently'],
    },
    {
      name: 'that judges an image',
      change: {
        verdicts: [{ kind: 'image', position: 0, action: 'remove', rule: 'E3', facts: {} }],
      },
      kinds: ['decided-differently'],
    },
    {
      name: 'that is of another node',
      change: { nodeInstance: '3d3c1f0e-7a61-4c3f-9a55-0d7a4e5a1b2d' },
      kinds: ['decided-differently'],
    },
    {
      name: 'that gives another reason',
      change: { reason: 'nothing to see here' },
      kinds: ['decided-differently'],
    },
    {
      name: 'that says that something was decided',
      change: { outcome: 'nothing-to-do' },
      kinds: ['decided-differently'],
    },
    {
      name: 'that is of a decider that passes over nothing',
      change: { decider: { name: 'pressure', version: '1' } },
      kinds: ['wrongly-overtaken'],
    },
    {
      name: 'that is of a decider that nobody knows',
      change: { decider: { name: 'image-gc', version: '99' } },
      kinds: ['unknown-decider'],
    },
  ])('$name is told', async ({ change, kinds }) => {
    expect(await kindsOf(forged((record) => ({ ...record, ...change })))).toEqual(
      expect.arrayContaining(kinds),
    );
  });

  test('whose command lies on the log all the same: nobody decided it', async () => {
    const [command] = recording.commands.filter(({ value }) => value?.includes('"inventoryId":"look-8"'));
    if (command === undefined) throw new Error('there is no command');
    const text = String(command.value)
      .replaceAll('look-8', 'look-0')
      .replaceAll('"id":"command-', '"id":"command-0');
    const id = String(JSON.parse(text).id);
    const sent = {
      ...command,
      value: Buffer.from(text),
      headers: { ...command.headers, ce_id: id },
      offset: BigInt(recording.commands.length),
    };
    const listing = forged((record) => ({ ...record, outputIds: [id] }));
    const found = await kindsOf({ ...listing, commands: [...listing.commands, sent] });
    expect(found).toContain('decided-differently');
    expect(await kindsOf({ ...recording, commands: [...recording.commands, sent] })).toEqual(['not-decided']);
  });
});

describe('the inventories', () => {
  const rewritten = (offset: number, value: Buffer): Recording => ({
    ...recording,
    inventory: recording.inventory.map((record) =>
      record.offset === BigInt(offset) ? { ...record, value } : record,
    ),
  });

  test('one that was passed over was changed', async () => {
    expect(await kindsOf(rewritten(0, Buffer.from('{}')))).toContain('input-changed');
  });

  test('the newer one was changed so that nobody could decide on it', async () => {
    const kinds = await kindsOf(rewritten(NEWEST, Buffer.from('{}')));
    expect(new Set(kinds)).toEqual(new Set(['input-changed', 'wrongly-overtaken']));
  });

  test('those that retention took are missing, and nothing deviates', async () => {
    const kept = (first: number): Recording => ({
      ...recording,
      inventory: recording.inventory.filter(({ offset }) => offset >= BigInt(first)),
    });
    expect(new Set(await kindsOf(kept(1)))).toEqual(new Set(['input-gone']));
    expect(new Set(await kindsOf(kept(8)))).toEqual(new Set(['input-gone']));
  });

  test('a newer one that was deleted from the middle is missing, and nothing deviates', async () => {
    const gone = forged((record) => ({ ...record, overtakenBy: overtakenBy(7) }));
    const without7 = { ...gone, inventory: gone.inventory.filter(({ offset }) => offset !== 7n) };
    expect(new Set(await kindsOf(without7))).toEqual(new Set(['input-gone', 'records-missing']));
  });
});

describe('twice is safe', () => {
  test('one inventory was passed over, and decided on in another delivery', async () => {
    const original = pickedRecord(recording, 'inventory', (text) => text.includes('look-7'));
    const position = {
      topic: TOPIC,
      partition: PARTITION,
      offset: '7',
      sha256: sha256Hex(original.value ?? ''),
    };
    const event = inventory({ images: [image('old')], ...taken(7) });
    const [recorded = [], following = []] = imageGcHandler(() => SET)({ event, position });
    const timestampMs = Math.max(...recording.decisions.map((one) => one.timestampMs)) + SECOND;
    const again = (offset: number) => ({ partition: PARTITION, offset: BigInt(offset), timestampMs });
    const found = await verify(
      replayed({
        ...recording,
        decisions: [...recording.decisions, ...recorded.map((one) => onLog(outgoing(one), again(17)))],
        commands: [...recording.commands, ...following.map((one) => onLog(outgoing(one), again(4)))],
      }),
    );

    expect(named(found)).toEqual([]);
    expect(found.counts).toMatchObject({ decisions: 18, verified: 18, commands: 5 });
  });

  test('the record lies there twice', async () => {
    const [first, ...others] = recording.decisions;
    if (first === undefined) throw new Error('there is no decision');
    const records = [first, ...[first, ...others].map((one) => ({ ...one, offset: one.offset + 1n }))];
    const found = await verify(replayed({ ...recording, decisions: records }));

    expect(named(found)).toEqual([]);
    expect(found.counts).toMatchObject({ duplicates: 1, verified: 17 });
  });

  test('a record is gone: the inventory was passed over without a word', async () => {
    expect(await kindsOf(without(recording, 'decisions', isOf(0)))).toContain('undecided');
  });
});
