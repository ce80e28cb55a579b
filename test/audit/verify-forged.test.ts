import { beforeAll, expect, test, vi } from 'vitest';
import { Decision, type DecisionInput } from '../../schemas/decision.ts';
import type { TopicId } from '../../schemas/topics.ts';
import { TOPICS } from '../../schemas/topics.ts';
import { type DeviationKind, type GapKind, placeOf } from '../../services/audit/verify/findings.ts';
import type { LogRecord } from '../../services/shared/event-log/port.ts';
import { MINUTE, SECOND } from '../fixtures/time.ts';
import { allEnded } from '../pipeline/support/accounts.ts';
import { oldImages, pressure } from '../pipeline/support/images.ts';
import { startPipeline, TEST_BOUND_MS } from '../pipeline/support/pipeline.ts';
import { outgoing, recordOf } from '../support/log-record.ts';
import {
  inserted,
  mapRecords,
  type Picking,
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

const contains =
  (...texts: readonly string[]): Picking =>
  (value) =>
    texts.every((text) => value.includes(text));
const any: Picking = () => true;
const imageCommand = contains('"kind":"image-removal"');
const removal = contains('"outcome":"removed"', '"kind":"image"');
const endOfCommand = contains('fleetgc.node.command-result', '"outcome":"done"', '"kind":"image-removal"');
const decided = (outcome: string, decider: string) =>
  contains(`"outcome":"${outcome}"`, `"name":"${decider}"`);

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

/** Another digit in place of the first one after a text. */
const anotherDigit = (after: string) => (text: string) => {
  const at = text.search(new RegExp(`(?<=${after}[^0-9]*)[0-9]`));
  return `${text.slice(0, at)}${text[at] === '1' ? '2' : '1'}${text.slice(at + 1)}`;
};
/** Another letter in the first place after a text. */
const anotherLetter = (after: string) => (text: string) => {
  const at = text.indexOf(after) + after.length;
  return `${text.slice(0, at)}${text[at] === 'b' ? 'c' : 'b'}${text.slice(at + 1)}`;
};

test.each<{
  name: string;
  topic: TopicId;
  pick: Picking;
  rewrite: (text: string) => string;
  kind: DeviationKind | GapKind;
  /** Whose record is named, when it is that of another topic. */
  named?: TopicId;
}>([
  {
    name: 'the size of an image in an inventory',
    topic: 'inventory',
    pick: any,
    rewrite: anotherDigit('sizeBytes'),
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'a space more in an inventory',
    topic: 'inventory',
    pick: any,
    rewrite: (text) => `${text} `,
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'free bytes in disk statistics',
    topic: 'diskStats',
    pick: any,
    rewrite: anotherDigit('availableBytes'),
    kind: 'input-changed',
    named: 'decisions',
  },
  {
    name: 'a rule in a record',
    topic: 'decisions',
    pick: decided('commanded', 'image-gc'),
    rewrite: anotherDigit('"rule":'),
    kind: 'decided-differently',
  },
  {
    name: 'the reason in a record',
    topic: 'decisions',
    pick: decided('nothing-to-do', 'container-gc'),
    rewrite: anotherLetter('"reason":"'),
    kind: 'decided-differently',
  },
  {
    name: 'the hash of the output in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('outputSha256'),
    kind: 'decided-differently',
  },
  {
    name: 'the decider in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"version":"'),
    kind: 'wrong-id',
  },
  {
    name: 'the policies in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('policySetHash'),
    kind: 'wrong-id',
  },
  {
    name: 'the id of a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"id":"decision-'),
    kind: 'wrong-id',
  },
  {
    name: 'the position of the input in a record',
    topic: 'decisions',
    pick: any,
    rewrite: anotherDigit('"offset":"'),
    kind: 'input-changed',
  },
  {
    name: 'an object in a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherLetter('"kind":"image","id":"sha256:'),
    kind: 'output-differs',
  },
  {
    name: 'the lifetime of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('lifetimeMs'),
    kind: 'output-differs',
  },
  {
    name: 'the id of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('"id":"command-'),
    kind: 'not-decided',
  },
  {
    name: 'the type of a command',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherLetter('fleetgc.node.'),
    kind: 'unreadable',
  },
  {
    name: 'the target of an order',
    topic: 'observe',
    pick: any,
    rewrite: anotherDigit('atLeast'),
    kind: 'output-differs',
  },
  {
    name: 'the round of an order by an executor',
    topic: 'observe',
    pick: contains('"round":2'),
    rewrite: (text) => text.replace('"round":2', '"round":3'),
    kind: 'not-decided',
  },
  {
    name: 'the object of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherLetter('"object":{"kind":"image","id":"sha256:'),
    kind: 'not-commanded',
  },
  {
    name: 'the id of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"id":"object-result-'),
    kind: 'result-differs',
  },
  {
    name: 'the command of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"commandId":"command-'),
    kind: 'not-commanded',
  },
  {
    name: 'the decision of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"decisionId":"decision-'),
    kind: 'result-differs',
  },
  {
    name: 'the rule of a result',
    topic: 'results',
    pick: removal,
    rewrite: anotherDigit('"rule":'),
    kind: 'result-differs',
  },
  {
    name: 'the count in the result of a command',
    topic: 'results',
    pick: endOfCommand,
    rewrite: anotherDigit('"removed":'),
    kind: 'result-missing',
  },
  {
    name: 'the id of the result of a command',
    topic: 'results',
    pick: endOfCommand,
    rewrite: anotherDigit('"id":"command-result-'),
    kind: 'result-differs',
  },
  {
    name: 'a threshold in the version of a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    rewrite: anotherDigit('imageGCHighThresholdPercent'),
    kind: 'policy-changed',
  },
  {
    name: 'a policy in a set of policies',
    topic: 'policyVersions',
    pick: contains('fleetgc.policy-set'),
    rewrite: anotherDigit('"name":"default","policyVersion":1,"hash":"'),
    kind: 'policy-changed',
  },
  {
    name: 'the version of an event',
    topic: 'decisions',
    pick: any,
    rewrite: (text) => text.replace('"version":1', '"version":9'),
    kind: 'unknown-version',
  },
])('one byte: $name', async ({ topic, pick, rewrite, kind, named: other }) => {
  const { offset } = pickedRecord(recording, topic, pick);
  const found = await verify(replayed(rewritten(recording, topic, pick, rewrite)));

  expect(named(found)).toContainEqual(
    other === undefined
      ? `${kind} ${TOPICS[topic].name}@${offset}`
      : expect.stringMatching(`^${kind} ${TOPICS[other].name}@`),
  );
});

test.each<{ name: string; topic: TopicId; pick: Picking; kind: DeviationKind | GapKind; named: TopicId }>([
  { name: 'an inventory', topic: 'inventory', pick: any, kind: 'input-gone', named: 'decisions' },
  { name: 'disk statistics', topic: 'diskStats', pick: any, kind: 'input-gone', named: 'decisions' },
  {
    name: 'a record that kept everything',
    topic: 'decisions',
    pick: decided('nothing-to-do', 'container-gc'),
    kind: 'undecided',
    named: 'inventory',
  },
  {
    name: 'a record that commanded',
    topic: 'decisions',
    pick: decided('commanded', 'image-gc'),
    kind: 'not-decided',
    named: 'commands',
  },
  {
    name: 'a record that ordered',
    topic: 'decisions',
    pick: decided('ordered', 'pressure'),
    kind: 'not-decided',
    named: 'observe',
  },
  { name: 'a command', topic: 'commands', pick: imageCommand, kind: 'output-missing', named: 'decisions' },
  { name: 'an order', topic: 'observe', pick: any, kind: 'output-missing', named: 'decisions' },
  {
    name: 'the result of an object',
    topic: 'results',
    pick: removal,
    kind: 'result-missing',
    named: 'results',
  },
  {
    name: 'the result of a command',
    topic: 'results',
    pick: endOfCommand,
    kind: 'result-missing',
    named: 'commands',
  },
  {
    name: 'a policy',
    topic: 'policyVersions',
    pick: contains('"fleetgc.policy"'),
    kind: 'unknown-policy-set',
    named: 'decisions',
  },
])('one record gone: $name', async ({ topic, pick, kind, named: other }) => {
  const found = await verify(replayed(without(recording, topic, pick)));

  expect(named(found)).toContainEqual(expect.stringMatching(`^${kind} ${TOPICS[other].name}@`));
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

test.each<{
  name: string;
  topic: TopicId;
  pick: Picking;
  rewrite: (text: string) => string;
  kind: DeviationKind;
}>([
  {
    name: 'a removal of an object that no command names',
    topic: 'results',
    pick: removal,
    rewrite: (text) =>
      anotherLetter('"object":{"kind":"image","id":"sha256:')(anotherDigit('"id":"object-result-')(text)),
    kind: 'not-commanded',
  },
  {
    name: 'a removal by a command that nobody gave',
    topic: 'results',
    pick: removal,
    rewrite: (text) => anotherDigit('"commandId":"command-')(anotherDigit('"id":"object-result-')(text)),
    kind: 'not-commanded',
  },
  {
    name: 'a command that no decision lists',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('"id":"command-'),
    kind: 'not-decided',
  },
  {
    name: 'an order that nobody gave',
    topic: 'observe',
    pick: any,
    rewrite: anotherDigit('"id":"observe-'),
    kind: 'not-decided',
  },
  {
    name: 'a command with the id of another one',
    topic: 'commands',
    pick: imageCommand,
    rewrite: anotherDigit('lifetimeMs'),
    kind: 'id-reused',
  },
])('one record more: $name', async ({ topic, pick, rewrite, kind }) => {
  const forged = inserted(recording, topic, pick, rewrite);
  const { offset } = pickedRecord(recording, topic, pick);
  const found = await verify(replayed(forged));

  expect(named(found)).toEqual([`${kind} ${TOPICS[topic].name}@${offset + 1n}`]);
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

test('a message that was given up is no gap in the decisions', async () => {
  const pick = decided('nothing-to-do', 'container-gc');
  const { input } = Decision.parse(JSON.parse(String(pickedRecord(recording, 'decisions', pick).value)));
  const letter = deadLetterOf(input, 'fleetgc-container-gc');
  const other = deadLetterOf(input, 'fleetgc-image-gc');
  const given = without(recording, 'decisions', pick);
  const kinds = async (records: Recording['deadLetters']): Promise<readonly string[]> =>
    Object.keys((await verify(replayed({ ...given, deadLetters: records }))).deviations.byKind);

  expect(await kinds([letter])).toEqual([]);
  expect(await kinds([other])).toEqual(['undecided']);
});

function deadLetterOf({ topic, partition, offset }: DecisionInput, group: string): LogRecord {
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
    suppressedBefore: 0,
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
