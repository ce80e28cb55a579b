import { beforeAll, describe, expect, test, vi } from 'vitest';
import { Command } from '../../schemas/command.ts';
import { Decision, type DecisionInput } from '../../schemas/decision.ts';
import { nodeKey } from '../../schemas/identity.ts';
import type { TopicId } from '../../schemas/topics.ts';
import { TOPICS } from '../../schemas/topics.ts';
import { placeOf } from '../../services/audit/verify/findings.ts';
import type { LogRecord } from '../../services/shared/event-log/port.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { allEnded } from '../pipeline/support/accounts.ts';
import { oldImages, pressure } from '../pipeline/support/images.ts';
import { startPipeline, TEST_BOUND_MS } from '../pipeline/support/pipeline.ts';
import { outgoing, recordOf } from '../support/log-record.ts';
import { CHAIN_ADDED, CHAIN_CHANGED, CHAIN_GONE, LATE_ANSWERS_CHANGED } from './forged/chain-cases.ts';
import {
  anotherDigit,
  anotherLetter,
  contains,
  decided,
  endOfCommand,
  imageCommand,
  removal,
} from './forged/forgeries.ts';
import { POLICIES_CHANGED, POLICIES_GONE } from './forged/policy-cases.ts';
import { GOING_ON, type Reclaiming } from './forged/reclaim-cases.ts';
import { NEVER_WAS, RECORDS_CHANGED, RECORDS_GONE } from './forged/record-cases.ts';
import {
  inserted,
  mapRecords,
  pickedRecord,
  type Recording,
  recordingOf,
  replayed,
  rewritten,
  without,
} from './support/recorded-log.ts';
import { named, verify } from './support/verify-recording.ts';

vi.setConfig({ testTimeout: TEST_BOUND_MS, hookTimeout: TEST_BOUND_MS });

let recording: Recording;

/** A node whose images go in two reclaims, and a container that dies in between. */
beforeAll(async () => {
  await using pipeline = await startPipeline();
  const { node, time, log } = pipeline;
  await log.publish(
    pipeline
      .policies()
      .policies.map((event) => outgoing({ topic: 'policyVersions', key: event.hash, event })),
  );
  await pipeline.startNode();
  const pod = { namespace: 'default', containers: { app: 'app/live:1' } };
  const uid = await node.kubelet.startPod({ ...pod, name: 'live' });
  await oldImages(pipeline, ['app/a:1', 'app/b:1', 'app/c:1', 'app/d:1']);
  pressure(pipeline, 95n);
  await time.passUntil('images to go', 3 * MINUTE, () => node.runtime.images.size < 5);
  node.kubelet.crashPod(uid);
  pressure(pipeline, 50n);
  await time.pass(30 * SECOND);
  await oldImages(pipeline, ['app/e:1', 'app/f:1']);
  await node.runtime.pullImage('app/live:1');
  pressure(pipeline, 95n);
  await time.passUntil('images to go again', 3 * MINUTE, () => node.runtime.images.size < 3);
  pressure(pipeline, 50n);
  await time.pass(6 * MINUTE);
  await time.passUntil('every command to end', MINUTE, () => allEnded(pipeline));
  recording = await recordingOf(log, 30 * SECOND);
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
  const forged = inserted(recording, topic, pick, rewrite);
  const { offset } = pickedRecord(recording, topic, pick);
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

test.each(GOING_ON)('as if an executor went on: $name', async ({ topic, make, kind }) => {
  const event = make(lastOfReclaim());
  const { partition = 0, offset = 0n, timestampMs = 0 } = recording[topic].at(-1) ?? {};
  const place = { partition, offset: offset + 1n, timestampMs };
  const more = [...recording[topic], recordOf({ topic, key: nodeKey(event), event }, place)];

  expect(named(await verify(replayed({ ...recording, [topic]: more })))).toEqual(
    kind === null ? [] : [`${kind} ${TOPICS[topic].name}@${place.offset}`],
  );
});

test('an inventory of a reclaim that no order has is named in an archive; elsewhere the order may be gone', async () => {
  const pick = contains('"trigger":"order"');
  const { offset } = pickedRecord(recording, 'inventory', pick);
  const old = longAgo(rewritten(recording, 'inventory', pick, anotherDigit('"id":"reclaim-')));
  const about = `not-decided ${TOPICS.inventory.name}@${offset}`;

  expect(named(await verify(replayed(old), undefined, undefined, false))).toContain(about);
  expect(named(await verify(replayed(old)))).not.toContain(about);
});

/** Begins right after the first command for images, so all its results lie in the range. */
const afterImageCommand = () => ({
  fromMs: pickedRecord(recording, 'commands', imageCommand).timestampMs + 1,
  toMs: null,
});

test.each(LATE_ANSWERS_CHANGED)(
  'one byte, of an answer to a command from before --from: $name',
  async ({ topic, pick, rewrite, kind }) => {
    const { offset } = pickedRecord(recording, topic, pick);
    const found = await verify(replayed(rewritten(recording, topic, pick, rewrite)), afterImageCommand());

    expect(named(found)).toEqual([`${kind} ${TOPICS[topic].name}@${offset}`]);
  },
);

test('a removal of an object that a command from before --from does not name, beside the others', async () => {
  const forged = inserted(recording, 'results', removal, (text) =>
    anotherLetter('"object":{"kind":"image","id":"sha256:')(anotherDigit('"id":"object-result-')(text)),
  );
  const { offset } = pickedRecord(recording, 'results', removal);
  const found = await verify(replayed(forged), afterImageCommand());

  expect(named(found)).toEqual([`not-commanded ${TOPICS.results.name}@${offset + 1n}`]);
});

test('answers to a command from before --from agree with it: it is neither verified, nor open, nor expired', async () => {
  const whole = await verify(replayed(recording), afterImageCommand());
  const unended = await verify(replayed(without(recording, 'results', endOfCommand)), afterImageCommand());

  for (const found of [whole, unended]) {
    expect(found.deviations.first).toEqual([]);
    expect(found.counts).toMatchObject({ open: 0, expired: 0, commands: recording.commands.length - 1 });
  }
  expect(whole.counts.outOfRange).toBe(unended.counts.outOfRange + 1);
});

test('a command that lies there again after --from is the one from before', async () => {
  const command = pickedRecord(recording, 'commands', imageCommand);
  const ending = pickedRecord(recording, 'results', endOfCommand);
  const again = { ...command, offset: command.offset + 1n, timestampMs: ending.timestampMs };
  const commands = recording.commands.flatMap((record) => {
    if (record === command) return [record, again];
    return [record.offset > command.offset ? { ...record, offset: record.offset + 1n } : record];
  });
  const range = { fromMs: ending.timestampMs, toMs: null };
  const found = await verify(replayed({ ...recording, commands }), range);

  expect(named(found)).toEqual([]);
  expect(found.counts).toMatchObject({ open: 0, expired: 0 });
});

test('a command from before --from is remembered for a day: later answers are counted, and not checked', async () => {
  const hoursLate = (hours: number) => (record: LogRecord) => ({
    ...record,
    timestampMs: record.timestampMs + hours * 60 * MINUTE,
  });
  const rewrite = anotherLetter('"object":{"kind":"image","id":"sha256:');
  const answer = pickedRecord(rewritten(recording, 'results', removal, rewrite), 'results', removal);
  const only = {
    ...recording,
    inventory: [],
    observe: [],
    decisions: [],
    commands: [pickedRecord(recording, 'commands', imageCommand)],
    diskStats: recording.diskStats.slice(-1).map(hoursLate(25)),
  };
  const after = async (hours: number) =>
    (await verify(replayed({ ...only, results: [hoursLate(hours)(answer)] }), afterImageCommand()))
      .deviations;

  expect((await after(23)).byKind).toEqual({ 'not-commanded': 1 });
  expect((await after(26)).byKind).toEqual({});
});

test('a command that names what its decision kept says so, with both positions', async () => {
  const command = pickedRecord(recording, 'commands', imageCommand);
  const rewrite = anotherLetter('"kind":"image","id":"sha256:');
  const { deviations } = await verify(replayed(rewritten(recording, 'commands', imageCommand, rewrite)));
  const kept = deviations.first.find(({ kind }) => kind === 'kept-object');

  expect(kept?.message).toMatch(/^it names image sha256:\S+, which its decision did not say to remove$/);
  expect(kept?.places).toEqual([placeOf(command), expect.objectContaining({ topic: TOPICS.decisions.name })]);
});

/** Times between which records came, evenly spread. */
const someTimes = (): readonly number[] => {
  const times = [
    ...new Set(Object.values(recording).flatMap((all) => all.map(({ timestampMs }) => timestampMs))),
  ];
  return times.toSorted((a, b) => a - b).filter((_, index) => index % 6 === 3);
};

test('from and to any time: nothing deviates, and what lies outside is counted at the most', async () => {
  for (const timeMs of someTimes())
    for (const range of [
      { fromMs: timeMs, toMs: null },
      { fromMs: null, toMs: timeMs },
    ]) {
      const found = await verify(replayed(recording), range);
      expect(named(found)).toEqual([]);
      expect(found.counts.verified).toBe(found.counts.decisions);
    }
});

test('a log whose beginning was deleted: no deviation, and only inputs are missing', async () => {
  for (const timeMs of someTimes()) {
    const found = await verify(replayed(keptSince(timeMs)));
    expect(found.deviations.first).toEqual([]);
    expect(Object.keys(found.unverified.byKind).filter((kind) => kind !== 'input-gone')).toEqual([]);
  }
});

test.each([
  { topic: 'commands', rewrite: anotherDigit('"id":"command-'), kind: 'not-decided' },
  {
    topic: 'results',
    rewrite: (text: string) =>
      anotherDigit('"commandId":"command-')(anotherDigit('"id":"object-result-')(text)),
    kind: 'not-commanded',
  },
] as const)(
  'one of the $topic too many is named in an archive, however old it is',
  async ({ topic, rewrite, kind }) => {
    const pick = topic === 'commands' ? imageCommand : removal;
    const old = longAgo(inserted(recording, topic, pick, rewrite));

    expect((await verify(replayed(old), undefined, undefined, false)).deviations.byKind).toEqual({
      [kind]: 1,
    });
    // Of a log that deletes nobody knows what it still had then.
    expect((await verify(replayed(old))).deviations.total).toBe(0);
  },
);

test('an archive that began late: no deviation, and only inputs are missing', async () => {
  for (const timeMs of someTimes()) {
    const found = await verify(replayed(longAgo(keptSince(timeMs))), undefined, undefined, false);
    expect(found.deviations.first).toEqual([]);
    expect(Object.keys(found.unverified.byKind).filter((gap) => gap !== 'input-gone')).toEqual([]);
  }
});

const LONG_MS = 200 * 24 * 60 * MINUTE;
const longAgo = (recent: Recording): Recording =>
  mapRecords(recent, (record) => ({ ...record, timestampMs: record.timestampMs - LONG_MS }));

/** As after retention; what is known of policies stays. */
const keptSince = (timeMs: number): Recording => {
  let kept = recording;
  for (const id of ['diskStats', 'inventory', 'observe', 'decisions', 'commands', 'results'] as const)
    kept = { ...kept, [id]: kept[id].filter((record) => record.timestampMs >= timeMs) };
  return kept;
};

test('a node that never answers: its commands expired or may still be answered, and nothing deviates', async () => {
  const found = await verify(
    replayed({ ...recording, results: [], observe: ordersOf(['pressure', 'container-gc']) }),
  );

  expect(found.deviations.first).toEqual([]);
  expect(found.counts.expired + found.counts.open).toBe(found.counts.commands);
  expect(found.counts.expired).toBeGreaterThan(0);
});

const ordersOf = (deciders: readonly string[]): Recording['observe'] =>
  recording.observe.filter(({ headers }) =>
    deciders.some((name) => headers.ce_source === `/fleetgc/${name}`),
  );

test('objects that went with a result are not told as not ours, and without one they are', async () => {
  const told = await verify(replayed(recording));
  const untold = await verify(replayed({ ...recording, results: [] }));
  const images = ({ notOurs }: typeof told): number => notOurs.byKind.image ?? 0;

  expect(images(told)).toBe(0);
  expect(images(untold)).toBe(told.counts.removals - (untold.notOurs.byKind.container ?? 0));
});

test('the last result of a command is gone: not verified where its node lived on, and open where it did not', async () => {
  const ended = recording.results.findLast(({ value }) => endOfCommand(String(value)));
  const cutMs = ended?.timestampMs ?? 0;
  const commands = recording.commands.filter(({ timestampMs }) => timestampMs < cutMs);
  const results = recording.results.filter((record) => record !== ended && record.timestampMs <= cutMs);
  const heardLater = (minutes: number): Recording => ({
    ...recording,
    observe: [],
    decisions: [],
    diskStats: [],
    commands,
    results,
    inventory: recording.inventory
      .slice(0, 1)
      .map((record) => ({ ...record, timestampMs: cutMs + minutes * MINUTE })),
  });
  const gaps = async (minutes: number) =>
    (await verify(replayed(heardLater(minutes)))).unverified.byKind['answer-missing'];

  expect(await gaps(11)).toBe(1);
  expect(await gaps(9)).toBeUndefined();
});

test('the result of a command is lost where a later one was carried out, and not where a later one was refused', async () => {
  const isOfObject = ({ value }: LogRecord): boolean =>
    value?.includes('fleetgc.node.object-result') === true;
  const [first] = recording.results.filter(isOfObject).map(commandIdOf);
  const last = recording.results.findLast(({ value }) => endOfCommand(String(value)));
  const refusal = String(last?.value).replace(
    /"result":\{.*\}/,
    '"result":{"outcome":"refused","reason":"superseded","message":""}}',
  );
  const ofObjects = recording.results.filter(isOfObject);
  const ofFirst = ofObjects.filter((record) => commandIdOf(record) === first);
  const refused = last === undefined ? [] : [{ ...last, value: Buffer.from(refusal) }];
  const lost = async (results: Recording['results']) =>
    (await verify(replayed({ ...recording, results }))).deviations.first
      .filter(({ kind }) => kind === 'result-missing' || kind === 'unreadable')
      .map(({ message }) => message);

  expect(await lost(ofObjects)).toContainEqual(expect.stringContaining('carried out later commands'));
  expect(refusal).toContain('superseded');
  expect(await lost([...ofFirst, ...refused])).toEqual([]);
});

const commandIdOf = ({ value }: LogRecord): string | undefined =>
  /"commandId":"([^"]+)"/.exec(String(value))?.[1];

test('a message that was given up, or counted in the next dead letter, is no gap in the decisions', async () => {
  const pick = decided('nothing-to-do', 'container-gc');
  const { input } = Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', pick).value)));
  const letter = deadLetterOf(input, 'fleetgc-container-gc');
  const other = deadLetterOf(input, 'fleetgc-image-gc');
  const given = without(recording, 'decisions', pick);
  const kinds = async (records: Recording['deadLetters']): Promise<readonly string[]> =>
    Object.keys((await verify(replayed({ ...given, deadLetters: records }))).deviations.byKind);

  expect(await kinds([letter])).toEqual([]);
  expect(await kinds([other])).toEqual(['undecided']);

  const next = { ...input, offset: String(BigInt(input.offset) + 1n) };
  const counted = (suppressedBefore: number) => deadLetterOf(next, 'fleetgc-container-gc', suppressedBefore);
  expect(await kinds([counted(1)])).toEqual([]);
  expect(await kinds([counted(0)])).toEqual(['undecided']);
});

function deadLetterOf(
  { topic, partition, offset }: DecisionInput,
  group: string,
  suppressedBefore = 0,
): LogRecord {
  const event = {
    type: 'fleetgc.dead-letter',
    version: 1,
    id: 'dead-letter-1',
    cause: 'handler-failed',
    message: 'it failed three times',
    group,
    topic,
    partition,
    offset,
    timestampMs: 0,
    key: Buffer.from('prod/web-1').toString('base64'),
    value: null,
    headers: {},
    omittedBytes: 0,
    suppressedBefore,
  } as const;
  const input = recording.inventory.find((record) => String(record.offset) === offset);
  const place = { partition, timestampMs: input?.timestampMs ?? 0 };
  return recordOf({ topic: 'deadLetters', key: 'prod/web-1', event }, place);
}

test('every record twice: counted, and nothing wrong', async () => {
  const ids: readonly TopicId[] = ['observe', 'decisions', 'commands', 'results'];
  let twice = recording;
  for (const id of ids) twice = { ...twice, [id]: doubled(recording[id]) };
  const found = await verify(replayed(twice));

  expect(named(found)).toEqual([]);
  expect(found.counts.duplicates).toBe(ids.flatMap((id) => recording[id]).length);
});

const doubled = (records: Recording[TopicId]): Recording[TopicId] =>
  records.flatMap((record) => [
    { ...record, offset: record.offset * 2n },
    { ...record, offset: record.offset * 2n + 1n },
  ]);
