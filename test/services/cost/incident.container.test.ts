import { randomUUID } from 'node:crypto';
import { Kafka } from 'kafkajs';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, LogRecord } from '../../../packages/log/port.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import { groupOf } from '../../../packages/read-model/status.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { NODE_PARTITIONS, TOPICS, type TopicName } from '../../../schemas/events/topics.ts';
import { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { EVERY_NODE, keepList } from '../../fixtures/policy.ts';
import { HOUR, instant } from '../../fixtures/time.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { kafkaSettings } from '../../support/kafka/kafka-answer.ts';
import { logLines } from '../../support/log-lines.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { waitUntil } from '../../support/wait-until.ts';

const many = <T>(count: number, make: (index: number) => T): T[] =>
  Array.from({ length: count }, (_, index) => make(index));

const GOOD = 'good';
const COSTLY = 'costly';
const DECIDED_MS = 120_000;

/** As many patterns as a policy may have, each of which is at many places of a name at once. */
const PATTERNS = many(1_000, (index) => `**a${'?'.repeat(index % 10)}${index}`);
const ofCluster = (cluster: string) => ({ ...EVERY_NODE, clusters: [cluster] });
const POLICIES = [
  appliedPolicy({
    name: COSTLY,
    mode: 'dry-run',
    selector: ofCluster(COSTLY),
    keep: keepList({ patterns: PATTERNS }),
  }),
  appliedPolicy({
    name: 'names',
    mode: 'dry-run',
    priority: 1,
    selector: {
      ...ofCluster(COSTLY),
      nodeNames: many(200, (index) => `*a${'?'.repeat(index % 10)}${index}z`),
    },
  }),
  appliedPolicy({ name: GOOD, selector: ofCluster(GOOD), imageMaximumGCAgeMs: HOUR }),
];

/** Names of other registries, as long as a reference may be. */
const costlyInventory = (node: string, images: number, names: number): CompleteInventory =>
  inventory({
    id: `inventory-${node.slice(-10)}`,
    cluster: COSTLY,
    node,
    images: many(images, (at) =>
      image(`i${at}`, {
        repoTags: many(names, (name) => `r.example/${'ab'.repeat(200)}${at}-${name}:1`),
      }),
    ),
    takenAt: instant({ sinceBootMs: 24 * HOUR }),
  });

const context = {
  logger: createLogger({ service: 'test', level: 'error' }, logLines()),
  now: Date.now,
  random: Math.random,
  newId: randomUUID,
};
let broker: Broker;
let log: EventLog;
const options = () =>
  KafkaOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    clientId: 'incident',
    replicationFactor: 1,
  });
beforeAll(async () => {
  broker = await startBroker();
  log = await openKafkaLog(options(), context);
  await log.createTopics();
});
afterAll(async () => {
  await log?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
});

/** With a connection of its own. That both share a processor here is worse than what two processes have. */
async function startReplica() {
  const own = await openKafkaLog(options(), context);
  const consumer = await startDecider('image-gc', {
    log: own,
    policies: () => policySet('node', POLICIES, []),
    trust: TRUST_OFF,
    signer: UNSIGNED,
    heads: null,
    logger: context.logger,
    metrics: createMetrics(),
    ids: randomTraceIds,
    now: Date.now,
    monotonicNow: () => performance.now(),
  });
  onTestFinished(async () => {
    await consumer.stop();
    await own[Symbol.asyncDispose]();
  });
  return consumer;
}

/** A member that Kafka has put out of its group comes back under another id. */
async function memberIds(): Promise<readonly string[]> {
  const admin = new Kafka(kafkaSettings({ address: broker.address })).admin();
  await admin.connect();
  try {
    const { groups } = await admin.describeGroups([groupOf('image-gc')]);
    return groups.flatMap(({ members }) => members.map(({ memberId }) => memberId)).toSorted();
  } finally {
    await admin.disconnect();
  }
}

async function recordsOf(topic: TopicName): Promise<readonly LogRecord[]> {
  const records: LogRecord[] = [];
  for await (const event of log.read({ topic, from: 'earliest', to: 'end' }))
    if (event.kind === 'record') records.push(event.record);
  return records;
}
const decisions = async (): Promise<readonly Decision[]> =>
  (await recordsOf(TOPICS.decisions.name)).map(({ value }) => Decision.parse(JSON.parse(String(value))));

test('[P10] costly inventories and policies of one cluster keep no other cluster waiting: it is decided, no member loses the group, and nothing good becomes a dead letter', async () => {
  for (const record of POLICIES) expect(PolicyRecord.safeParse(record).error).toBeUndefined();
  const replicas = [await startReplica(), await startReplica()];
  const assigned = (): readonly (readonly string[])[] => replicas.map((each) => each.state().assigned);
  await waitUntil('two members that share the partitions', DECIDED_MS, () =>
    assigned().every(({ length }) => length === NODE_PARTITIONS / 2),
  );
  const [before, membersBefore] = [assigned(), await memberIds()];
  expect(membersBefore).toHaveLength(2);

  const partition = partitionOf(TOPICS.inventory.name, `${GOOD}/web-1`);
  // In the partition of the good one, so that it waits behind them, and in others.
  const nodes = many(1_000, (index) => `a${'a'.repeat(200)}-${index}`);
  const isBeside = (node: string): boolean =>
    partitionOf(TOPICS.inventory.name, `${COSTLY}/${node}`) === partition;
  const chosen = [
    ...nodes.filter(isBeside).slice(0, 4),
    ...nodes.filter((node) => !isBeside(node)).slice(0, 8),
  ];
  for (const [at, node] of chosen.entries()) {
    const costly = at % 2 === 0 ? costlyInventory(node, 10, 300) : costlyInventory(node, 1, 40);
    expect(CompleteInventory.safeParse(costly).error).toBeUndefined();
    await log.publish([outgoing(nodeOutput('inventory', costly))]);
  }
  const good = inventory({
    id: 'inventory-good',
    cluster: GOOD,
    node: 'web-1',
    images: [image('old')],
    takenAt: instant({ sinceBootMs: 24 * HOUR }),
  });
  await log.publish([outgoing(nodeOutput('inventory', good))]);
  await waitUntil('a decision on each', DECIDED_MS, async () => (await decisions()).length > chosen.length);

  const said = await decisions();
  expect(said.filter(({ cluster }) => cluster === GOOD).map(({ outcome }) => outcome)).toEqual(['commanded']);
  const ofCostly = said.filter(({ cluster }) => cluster === COSTLY);
  expect(ofCostly.filter(({ outcome }) => outcome === 'too-costly').length).toBeGreaterThanOrEqual(6);
  expect(ofCostly.flatMap(({ verdicts }) => verdicts).filter(({ action }) => action === 'remove')).toEqual(
    [],
  );
  expect([assigned(), await memberIds()]).toEqual([before, membersBefore]);
  expect(await recordsOf(TOPICS.deadLetters.name)).toEqual([]);
});
