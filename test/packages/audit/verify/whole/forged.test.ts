import { beforeAll, describe, expect, test, vi } from 'vitest';
import { placeOf } from '../../../../../packages/audit/events/log-position.ts';
import { valueSha256 } from '../../../../../packages/canonical/ids.ts';
import type { LogRecord } from '../../../../../packages/log/port.ts';
import { Command } from '../../../../../schemas/events/command.ts';
import { Decision } from '../../../../../schemas/events/decision.ts';
import { nodeKey } from '../../../../../schemas/events/identity.ts';
import type { LatestFact } from '../../../../../schemas/events/latest-fact.ts';
import { TOPICS, type TopicId } from '../../../../../schemas/events/topics.ts';
import { MINUTE } from '../../../../fixtures/time.ts';
import { TEST_BOUND_MS } from '../../../../pipeline/support/pipeline.ts';
import { recordOf } from '../../../../support/logs/log-record.ts';
import {
  appended,
  lastRecord,
  pickedRecord,
  type Recording,
  replayed,
  rewritten,
  without,
} from '../../support/recorded-log.ts';
import { recordedReclaims } from '../../support/recorded-reclaims.ts';
import { named, verify } from '../../support/verify-recording.ts';
import { CHAIN_ADDED, CHAIN_CHANGED, CHAIN_GONE } from '../forged/chain-cases.ts';
import { anotherLetter, decided, imageCommand } from '../forged/forgeries.ts';
import { POLICIES_CHANGED, POLICIES_GONE } from '../forged/policy-cases.ts';
import { GOING_ON, type Reclaiming } from '../forged/reclaim-cases.ts';
import { NEVER_WAS, RECORDS_CHANGED, RECORDS_GONE } from '../forged/record-cases.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

let recording: Recording;

beforeAll(async () => {
  recording = await recordedReclaims();
});

test('untouched, all of it is verified', async () => {
  const found = await verify(replayed(recording));

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({
    verified: found.counts.decisions,
    open: 0,
    outOfRange: 0,
    expired: 0,
  });
  expect(found.counts.removals).toBeGreaterThan(2);
});

test.each([...RECORDS_CHANGED, ...CHAIN_CHANGED, ...POLICIES_CHANGED])(
  'one byte: $name',
  async ({ topic, pick, rewrite, kind, named: other }) => {
    const { offset } = pickedRecord(recording, topic, pick);
    const found = await verify(replayed(rewritten(recording, topic, pick, rewrite)));

    expect(named(found)).toContainEqual(
      other === undefined
        ? `${kind} ${TOPICS[topic].name}@${offset}`
        : expect.stringMatching(`^${kind} ${TOPICS[other].name}@`),
    );
  },
);

describe('where the latest fact of a node lies', () => {
  /** The last position of the log, as that of the last sample, with other members. */
  const withLast = (members: Partial<LatestFact>, value?: null): Recording => {
    const last = lastRecord(recording, 'latestFacts');
    const fact = lastRecord(recording, 'diskStats');
    const [loggedAtMs, offset] = [fact.timestampMs, String(fact.offset)];
    const sha256 = valueSha256(fact.value ?? Buffer.alloc(0));
    const said = { ...JSON.parse(String(last.value)), loggedAtMs, offset, sha256, ...members };
    const record = {
      ...last,
      timestampMs: loggedAtMs + 1,
      value: value ?? Buffer.from(JSON.stringify(said)),
    };
    return {
      ...recording,
      latestFacts: [...recording.latestFacts.slice(0, -1), value === null ? { ...record, value } : record],
    };
  };

  test('named as it is, nothing is wrong', async () => {
    expect(named(await verify(replayed(withLast({}))))).toEqual([]);
  });

  test.each([
    ['another fact', withLast, { sha256: '0'.repeat(64) }, /another record of gc\.node\.disk-stats lies at/],
    ['no fact', withLast, { offset: '9007199254740993' }, /no record of gc\.node\.disk-stats has the offset/],
    ['put back', withLast, { loggedAtMs: 1 }, /is not true: /],
    ['in another partition', withLast, { partition: 63 }, /is not true: /],
    ['deleted', () => withLast({}, null), {}, /is not true: /],
  ])('%s', async (_, change, members, message) => {
    const { offset, key } = lastRecord(recording, 'latestFacts');
    const found = await verify(replayed(change(members)));
    expect(named(found)).toEqual([`wrong-position ${TOPICS.latestFacts.name}@${offset}`]);
    expect(found.deviations.first).toMatchObject([
      { node: String(key).split(' ')[1], message: expect.stringMatching(message) },
    ]);
  });
});

test('a record that no consumer takes is told by its topic and node, and with why', async () => {
  const forged = rewritten(recording, 'commands', imageCommand, anotherLetter('fleetgc.node.'));
  const { deviations } = await verify(replayed(forged));
  expect(deviations.first.find(({ kind }) => kind === 'unreadable')).toMatchObject({
    node: pickedRecord(recording, 'commands', imageCommand).key,
    message: expect.stringMatching(/^no consumer of gc\.node\.commands takes it: ./),
  });
});

test.each([...RECORDS_GONE, ...CHAIN_GONE, ...POLICIES_GONE])(
  'one record gone: $name',
  async ({ topic, pick, kind, named: other }) => {
    const found = await verify(replayed(without(recording, topic, pick)));

    expect(named(found)).toContainEqual(expect.stringMatching(`^${kind} ${TOPICS[other].name}@`));
  },
);

describe('an input that cannot have been there', () => {
  test.each(NEVER_WAS)('$name is a deviation, on a log and in an archive', async (forgery) => {
    const { topic, pick, rewrite, kind } = forgery;
    const { offset } = pickedRecord(recording, topic, pick);
    const forged = replayed(rewritten(recording, topic, pick, rewrite));

    for (const deletes of [true, false])
      expect(named(await verify(forged, undefined, undefined, deletes))).toContain(
        `${kind} ${TOPICS[topic].name}@${offset}`,
      );
  });

  const withoutLast = (topic: 'inventory' | 'diskStats'): Recording => ({
    ...recording,
    [topic]: recording[topic].slice(0, -1),
  });
  const inputsOf = async (recorded: Recording, deletes: boolean): Promise<string[]> => {
    const all = named(await verify(replayed(recorded), undefined, undefined, deletes));
    return [...new Set(all.map((text) => text.split(' ')[0] ?? ''))].filter((kind) =>
      kind.startsWith('input-'),
    );
  };

  test.each([
    { topic: 'inventory', deletes: true, kind: 'input-never-was' },
    { topic: 'inventory', deletes: false, kind: 'input-never-was' },
    { topic: 'diskStats', deletes: true, kind: 'input-never-was' },
    // They are kept for a day: an archive that is made each week lacks the last ones of a node that left.
    { topic: 'diskStats', deletes: false, kind: 'input-gone' },
  ] as const)('the last of $topic, where retention deletes ($deletes): $kind', async (theCase) => {
    expect(await inputsOf(withoutLast(theCase.topic), theCase.deletes)).toEqual([theCase.kind]);
  });

  test('disk statistics behind the end of an archive that has later ones are a deviation', async () => {
    const pick = decided('nothing-to-do', 'pressure');
    const forged = rewritten(recording, 'decisions', pick, (text) =>
      text.replace(/(?<="input":{[^}]*"offset":")\d+/, '999999'),
    );
    const { timestampMs } = pickedRecord(recording, 'decisions', pick);
    const later = (record: LogRecord, after: number): LogRecord => ({
      ...record,
      timestampMs: timestampMs + after,
    });
    const endingAt = (after: number): Recording => ({
      ...forged,
      diskStats: [
        ...forged.diskStats.slice(0, -1),
        ...forged.diskStats.slice(-1).map((one) => later(one, after)),
      ],
    });

    expect(await inputsOf(endingAt(11 * MINUTE), false)).toEqual(['input-never-was']);
  });

  test('where nothing is left of the topic, nobody knows', async () => {
    for (const deletes of [true, false])
      expect(await inputsOf({ ...recording, inventory: [] }, deletes)).toEqual(['input-gone']);
  });
});

test('without its inventory, a command that names more than its decision removes is told', async () => {
  const pick = decided('commanded', 'image-gc');
  const { input } = Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', pick).value)));
  const kept = {
    ...recording,
    inventory: recording.inventory.filter(({ offset }) => offset > BigInt(input.offset)),
  };
  const forged = rewritten(kept, 'decisions', pick, (text) =>
    text.replace('"action":"remove"', '"action":"keep"'),
  );
  const { offset } = pickedRecord(recording, 'commands', imageCommand);

  expect((await verify(replayed(kept))).deviations.first).toEqual([]);
  expect((await verify(replayed(forged))).deviations.first).toMatchObject([
    {
      kind: 'kept-object',
      message: expect.stringMatching(/^it names \d+ of kind image, and its decision says to remove \d+$/),
      places: [{ offset: String(offset) }, {}],
    },
  ]);
});

test('sets of policies that nobody recorded: their decisions are not verified, and nothing is wrong', async () => {
  const policyVersions = recording.policyVersions.filter(
    ({ value }) => !value?.includes('fleetgc.policy-set'),
  );
  const { deviations, unverified, counts } = await verify(replayed({ ...recording, policyVersions }));

  expect(deviations.total).toBe(0);
  expect(counts.verified).toBe(0);
  expect(unverified.byKind['unknown-policy-set']).toBe(counts.decisions);
});

test.each(CHAIN_ADDED)('one record more: $name', async ({ topic, pick, rewrite, kind }) => {
  const forged = appended(recording, topic, pick, rewrite);
  const { offset } = lastRecord(recording, topic);
  const found = await verify(replayed(forged));

  expect(named(found)).toEqual([`${kind} ${TOPICS[topic].name}@${offset + 1n}`]);
});

/** The last one for images: nobody went on from it. */
function lastOfReclaim(): Reclaiming {
  const commands = recording.commands.map(({ value }) => Command.parse(JSON.parse(String(value))));
  const last = commands.findLast(({ kind, reclaim }) => kind === 'image-removal' && reclaim !== null);
  if (last?.reclaim == null) throw new Error('there is no such command');
  return { ...last, reclaim: last.reclaim };
}

test.each(GOING_ON)('as if an executor went on: $name', async ({ make, kind }) => {
  const topic = 'results';
  const event = make(lastOfReclaim());
  const { partition = 0, offset = 0n, timestampMs = 0 } = recording[topic].at(-1) ?? {};
  const place = { partition, offset: offset + 1n, timestampMs };
  const more = [...recording[topic], recordOf({ topic, key: nodeKey(event), event }, place)];

  expect(named(await verify(replayed({ ...recording, [topic]: more })))).toEqual(
    kind === null ? [] : [`${kind} ${TOPICS[topic].name}@${place.offset}`],
  );
});

test('a command that names what its decision kept says so, with both positions', async () => {
  const command = pickedRecord(recording, 'commands', imageCommand);
  const rewrite = anotherLetter('"id":"sha256:');
  const { deviations } = await verify(replayed(rewritten(recording, 'commands', imageCommand, rewrite)));
  const kept = deviations.first.find(({ kind }) => kind === 'kept-object');

  expect(kept?.message).toMatch(/^it names image sha256:\S+, which its decision did not say to remove$/);
  expect(kept?.places).toEqual([placeOf(command), expect.objectContaining({ topic: TOPICS.decisions.name })]);
});

test('every record twice: counted, and nothing wrong', async () => {
  const ids: readonly TopicId[] = ['observe', 'decisions', 'commands', 'results'];
  let twice = recording;
  for (const id of ids) twice = { ...twice, [id]: doubled(recording[id]) };
  const found = await verify(replayed(twice));

  expect(named(found)).toEqual([]);
  expect(found.counts.duplicates).toBe(ids.flatMap((id) => recording[id]).length);
});

test('every record twice, with its members in another order, as an executor writes what it finds in its journal after a kill: nothing wrong', async () => {
  const ids: readonly TopicId[] = ['observe', 'commands', 'results'];
  let twice = recording;
  for (const id of ids)
    twice = {
      ...twice,
      [id]: doubled(recording[id]).map((record, at) =>
        at < recording[id].length ? record : reordered(record),
      ),
    };
  const found = await verify(replayed(twice));

  expect(named(found)).toEqual([]);
  expect(found.counts.duplicates).toBe(ids.flatMap((id) => recording[id]).length);
});

function reordered(record: Recording[TopicId][number]): Recording[TopicId][number] {
  const members = Object.entries(JSON.parse(String(record.value)));
  return { ...record, value: Buffer.from(JSON.stringify(Object.fromEntries(members.toReversed()))) };
}

const doubled = (records: Recording[TopicId]): Recording[TopicId] =>
  records.concat(records.map((record) => ({ ...record, offset: record.offset + BigInt(records.length) })));
