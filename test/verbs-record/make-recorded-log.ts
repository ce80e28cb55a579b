/**
 * `node --import ./test/verbs-record/stopped-machine.ts test/verbs-record/make-recorded-log.ts` makes the recorded log anew: a
 * node whose life real agents, deciders and executors lived, a cluster that was decided on, and two messages of each kind of
 * other nodes and clusters. For when the form of events changes; a record of before then says nothing of after.
 */

import { boundlessRegistry, type Registry } from '../../lab/sim/runtime/objects.ts';
import { policySet } from '../../packages/decision/policy-set.ts';
import { partitionOf } from '../../packages/log/partition.ts';
import type { LogRecord, OutgoingRecord } from '../../packages/log/port.ts';
import { parseValue } from '../../packages/records/parse/parse-record.ts';
import { keyOf } from '../../packages/records/parse/record-key.ts';
import { readSigningKey } from '../../packages/records/trust/key-pair.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { signRecord } from '../../packages/records/trust/signature.ts';
import { policySetOutput } from '../../packages/service/decision-writing.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../schemas/exchange/topics.ts';
import { isPolicyFor } from '../../schemas/policy/policy.ts';
import { approval, approvedOwner } from '../fixtures/approval.ts';
import { clusterObject, clusterRemoved } from '../fixtures/cluster.ts';
import { imageRemoval } from '../fixtures/command.ts';
import { diskStats } from '../fixtures/disk-stats.ts';
import { NODE } from '../fixtures/inventory.ts';
import { ownership } from '../fixtures/ownership.ts';
import { keepList, pauseRecord } from '../fixtures/policy.ts';
import { instant, MINUTE, SECOND } from '../fixtures/time.ts';
import { certified, FLEET, revoked, rootsOf, signingWith } from '../fixtures/trust.ts';
import { readCorpus } from '../packages/audit/deciders/corpus.ts';
import { oldImages, pressure } from '../pipeline/support/images.ts';
import { type Pipeline, startPipeline } from '../pipeline/support/pipeline.ts';
import { recordedMessages } from '../schemas/compatibility/messages.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { type RecordedLog, withPositions, writeRecordedLog } from './recorded-log.ts';
import { seededPem } from './seeded-keys.ts';
import { machine } from './stopped-machine.ts';

/** The clock of the cluster in the fixtures shows it when its facts are taken. */
const { serverMs: ASKED_AT_MS } = ownership().takenAt;
const DAY_MS = 24 * 60 * MINUTE;

const keyNamed = (name: string) => readSigningKey(seededPem(name), name);
const root = keyNamed('root');
const decider = keyNamed('decider');
const operator = keyNamed('operator');
const lost = keyNamed('lost');

/** What a key may do is said a day before anything happens. */
const SAID = { issuedAtMs: ASKED_AT_MS - DAY_MS, notAfterMs: ASKED_AT_MS + 30 * DAY_MS } as const;

const withoutPlace = ({ topic, key, value, headers }: LogRecord): OutgoingRecord => ({
  topic,
  key: key ?? '',
  value,
  headers,
});

const STATEMENTS = [
  certified(root, decider, { ...SAID }),
  certified(root, operator, { ...SAID, role: 'operator' }),
  certified(root, lost, { ...SAID, role: 'operator' }),
  revoked(root, lost, { issuedAtMs: SAID.issuedAtMs + MINUTE }),
].map(withoutPlace);

/** Of half a gigabyte each; some share a base, and what is named `local/` cannot be pulled again. */
const registry: Registry = (reference) => ({
  ...boundlessRegistry(reference),
  sizeBytes: 500_000_000n,
  ...(reference.startsWith('local/') && { digest: '' }),
});

const pod = (name: string, image = 'app/live:1', namespace = 'default') => ({
  name,
  namespace,
  containers: { app: image },
});

/** A node that lives through what nodes live through, an hour of its time. */
async function liveNode(pipeline: Pipeline): Promise<void> {
  const { node, time, log } = pipeline;
  const { kubelet, runtime, faults } = node;
  const keepVersions = (): Promise<unknown> =>
    log.publish(
      pipeline
        .policies()
        .policies.map((event) => signed(outgoing({ topic: 'policyVersions', key: event.hash, event }))),
    );
  const pull = async (...images: readonly string[]): Promise<void> => {
    for (const image of images) await runtime.pullImage(image);
  };
  await keepVersions();
  pipeline.writeLocalFile('keepPatterns: ["**/held/by-node:1"]\n');
  await pipeline.startNode();
  const live = await kubelet.startPod(pod('live'));
  await kubelet.startPod(pod('two', 'shop/cart:1', 'shop'));
  await pull('kept/base:1', 'local/built:1');
  await oldImages(pipeline, ['app/a:1', 'app/b:1', 'app/c:1', 'held/by-node:1', 'app/stuck:1']);
  faults.refusedRemovals.set(runtime.findImage('app/stuck:1')?.id ?? '', 'device or resource busy');
  kubelet.deletePod(await kubelet.startPod(pod('dead')));
  pressure(pipeline, 95n);
  await time.pass(4 * MINUTE);
  pressure(pipeline, 50n);
  for (let crash = 0; crash < 3; crash += 1) {
    kubelet.crashPod(live);
    await kubelet.restartContainers(live);
    await time.pass(20 * SECOND);
  }
  await time.pass(5 * MINUTE);
  // Somebody pulls again what went, and somebody else removes what was there.
  await pull('app/a:1', 'app/other:1');
  await time.pass(4 * MINUTE);
  await runtime.removeImage(runtime.findImage('app/other:1')?.id ?? '');
  await time.pass(4 * MINUTE);
  await pipeline.applyPolicy({
    ...POLICY,
    mode: 'dry-run',
    imageGCHighThresholdPercent: 70,
    imageGCLowThresholdPercent: 60,
  });
  await keepVersions();
  pressure(pipeline, 80n);
  await time.pass(4 * MINUTE);
  await pipeline.applyPolicy({ ...POLICY, imageGCHighThresholdPercent: 75, imageGCLowThresholdPercent: 60 });
  await keepVersions();
  await oldImages(pipeline, ['app/d:1', 'app/e:1', 'app/f:1']);
  faults.afterCall('removeImage', () => pipeline.pause());
  pressure(pipeline, 90n);
  await time.pass(4 * MINUTE);
  await pipeline.resume();
  await time.pass(4 * MINUTE);
  // More than all that may go.
  pressure(pipeline, 99n);
  await time.pass(6 * MINUTE);
  pressure(pipeline, 60n);
  await time.pass(ASKED_AT_MS - 4 * MINUTE - time.now().wallTimeMs);
  const event = imageRemoval([runtime.findImage('app/live:1')?.id ?? ''], {
    id: 'forged',
    takenAt: time.now(),
  });
  await log.publish([outgoing({ topic: 'commands', key: nodeKey(NODE), event })]);
  for (const text of ['no JSON', '{"type":"fleetgc.node.inventory","version":1}'])
    await log.publish([
      { topic: TOPICS.inventory.name, key: nodeKey(NODE), value: Buffer.from(text), headers: {} },
    ]);
  await time.pass(2 * MINUTE);
  await pipeline.deciders.stop();
}

const POLICY = {
  keep: keepList({ patterns: ['docker.io/kept/*'] }),
};

const signed = (record: OutgoingRecord): OutgoingRecord =>
  signRecord(record, { fleet: FLEET, key: operator, generation: machine.nowMs() });

async function recordsOfNode(): Promise<readonly LogRecord[]> {
  await using pipeline = await startPipeline({
    policy: POLICY,
    node: { registry, hasContainerdApi: true },
    statements: STATEMENTS,
    operator: signed,
    trust: {
      kind: 'required',
      roots: rootsOf(root),
      signing: signingWith(decider),
      facts: 'off',
      seen: new SeenGenerations(),
      learnsFrom: null,
    },
  });
  const { time } = pipeline;
  time.stepWall(ASKED_AT_MS - 60 * MINUTE - time.now().wallTimeMs);
  machine.nowMs = () => time.now().wallTimeMs;
  await liveNode(pipeline);
  const records: LogRecord[] = [];
  for (const id of TOPIC_IDS) records.push(...(await pipeline.records(id)));
  return records;
}

/** Facts of a cluster, each with policies of its own, that were recorded for the deciders. */
const DECIDED_TOPICS = ['clusterOwnership', 'clusterPods', 'clusterExpiry'] as const;
const CASES_OF_EACH = 8;

/** The history of a cluster, as its deciders decided. */
async function recordsOfCluster(): Promise<readonly LogRecord[]> {
  // It lies before the time at which it is loaded.
  const {
    livedCluster,
    ofTenant,
    POLICY: HELD_BY,
  } = await import('../services/dashboard/support/cluster-log.ts');
  const { commandIn } = await import('../packages/audit/support/cluster-history.ts');
  const log = livedCluster();
  for (const topic of DECIDED_TOPICS)
    for (const { name, event, ...recorded } of readCorpus()
      .filter((each) => each.topic === topic)
      .slice(0, CASES_OF_EACH)) {
      const records = recorded.policies.filter((record) => isPolicyFor('cluster', record));
      const set = policySet('cluster', records, recorded.pauses, recorded.approvals);
      for (const record of [...records, ...recorded.pauses, ...(recorded.approvals ?? [])])
        log.add({ topic: 'policyVersions', key: keyOf('policyVersions', record), event: record });
      log.add(policySetOutput(set));
      const parsed = parseValue(topic, { ...Object(event), id: name });
      if (!parsed.ok) throw new Error(parsed.rejection.message);
      const { command } = log.decide(parsed.event, set);
      // The last ones are still carried out.
      if (command !== null && !name.endsWith('8')) log.carryOut(commandIn(command));
    }
  log.decide(
    ownership({ id: 'fact-last', candidates: [...ofTenant('acme', 8)] }),
    policySet('cluster', [HELD_BY], []),
  );
  return log.records;
}

const recorded = (
  records: readonly (OutgoingRecord & { readonly timestampMs: number })[],
): RecordedLog['records'] =>
  records.map(({ topic, key, value, headers, timestampMs }) => ({
    topic,
    key,
    value: value?.toString('base64') ?? null,
    headers: { ...headers },
    timestampMs,
  }));

/** Of the nodes and clusters that others are about, so that none of it is about those that lived. */
const elsewhere = (event: unknown): unknown =>
  JSON.parse(
    JSON.stringify(event)
      .replaceAll('"node":"web-1"', '"node":"web-2"')
      .replaceAll('"cluster":"c1"', '"cluster":"c2"'),
  );

/** Two of each type that this release reads; none of them changes the policies of those that lived. */
function* messagesOfOthers(): Iterable<OutgoingRecord> {
  const others = recordedMessages().filter(({ topic }) => topic !== 'policies');
  const messages = Map.groupBy(others, ({ topic, type }) => `${topic} ${type}`);
  for (const { topic, event } of [...messages.values()].flatMap((each) => each.slice(0, 2)))
    yield* written(topic, elsewhere(event));
}

function* written(topic: TopicId, event: unknown): Iterable<OutgoingRecord> {
  const parsed = parseValue(topic, event);
  if (parsed.ok) yield outgoing({ topic, key: keyOf(topic, parsed.event), event: parsed.event });
}

/** Nodes that are full, of other releases, and in other pools. */
function* nodesHeard(agoMs: number, isOne: (index: number) => boolean): Iterable<OutgoingRecord> {
  for (let index = 10; index < 22; index += 1) {
    if (!isOne(index)) continue;
    const takenAt = instant({ wallTimeMs: ASKED_AT_MS - agoMs });
    const available = (index - 10) * 80;
    const over = {
      id: `stats-${index}`,
      node: `db-${index}`,
      cluster: index % 4 === 0 ? 'test' : NODE.cluster,
      takenAt,
      nodeLabels: { 'fleetgc.io/pool': index % 2 === 0 ? 'gpu' : 'spot' },
      fleetgcVersion: index % 5 === 0 ? '0.0.9' : '0.1.0',
    };
    yield* written('diskStats', diskStats({ availableBytes: String(available) }, over));
  }
}

/** What people said of clusters and of nodes at the end. */
function* saidAtLast(): Iterable<OutgoingRecord> {
  yield* written('policies', approval(approvedOwner('tenant', 8), { untilMs: ASKED_AT_MS + 60 * MINUTE }));
  yield* written(
    'clusterRemoved',
    clusterRemoved({
      id: 'saved',
      commandId: 'saved',
      object: clusterObject({ uid: 'saved', name: 'saved' }),
      saved: {
        as: 'manifest',
        manifest: JSON.stringify({
          apiVersion: 'v1',
          kind: 'ConfigMap',
          metadata: { name: 'saved', namespace: 'ns' },
          data: { a: 'b' },
        }),
      },
    }),
  );
  yield* written(
    'policies',
    pauseRecord({ selector: { clusters: ['test'], nodeLabels: {}, nodeNames: [], pools: ['gpu'] } }),
  );
}

machine.nowMs = () => ASKED_AT_MS - 60 * MINUTE;
const ofNode = await recordsOfNode();
machine.nowMs = () => ASKED_AT_MS - 2 * MINUTE;
const ofCluster = await recordsOfCluster();
machine.nowMs = () => ASKED_AT_MS - MINUTE;
// Decisions name the places of what they are about: nothing may come between the records of a partition.
const isSilent = (index: number): boolean => index % 3 === 0;
const silent = [...nodesHeard(40 * MINUTE, isSilent)].map((record) => ({
  ...record,
  timestampMs: ASKED_AT_MS - 40 * MINUTE,
}));
const lived = partitionOf(TOPICS.diskStats.name, nodeKey(NODE));
const inOrder = [...ofNode, ...ofCluster]
  .map((record) => ({ ...withoutPlace(record), timestampMs: record.timestampMs }))
  .concat(silent.filter(({ topic, key }) => partitionOf(topic, key) !== lived))
  .toSorted((one, other) => one.timestampMs - other.timestampMs);
const others = [
  ...messagesOfOthers(),
  ...nodesHeard(MINUTE, (index) => !isSilent(index)),
  ...saidAtLast(),
].map((record, index) => ({
  ...record,
  timestampMs: ASKED_AT_MS - MINUTE + index,
}));
writeRecordedLog(withPositions({ askedAtMs: ASKED_AT_MS, records: recorded([...inOrder, ...others]) }));
process.stdout.write(`${inOrder.length + others.length} records\n`);
