import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { fullNode } from '../../lab/bench/inventories.ts';
import { differencesSince } from '../../packages/log/heard-of.ts';
import { KafkaOptions } from '../../packages/log/kafka/client/options.ts';
import { openEventLog } from '../../packages/log/open.ts';
import type { EventLog, OutgoingRecord } from '../../packages/log/port.ts';
import { startPolicySource } from '../../packages/policy/policies.ts';
import { createMetrics } from '../../packages/process/metrics.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { UNSIGNED } from '../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../packages/records/trust/trust.ts';
import { nodeKey } from '../../schemas/events/identity.ts';
import { type EventOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { startDecider } from '../../services/deciders/run.ts';
import { nodeSubscription } from '../../services/node/executor/run.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { collector, silentContext } from '../packages/log/probe.ts';
import { type BrokerCluster, startCluster } from '../support/kafka/kafka.ts';
import { outgoing } from '../support/logs/log-record.ts';
import { waitUntil } from '../support/wait-until.ts';

const NODES = 8;
const ROUNDS = 12;
const BETWEEN_MS = 300;
const PATIENCE_MS = 60_000;

let cluster: BrokerCluster;
beforeAll(async () => {
  cluster = await startCluster(3);
});
afterAll(() => cluster[Symbol.asyncDispose]());

test('one of three brokers is killed in the middle: no inventory is lost, none is answered twice, and the service goes on', async () => {
  await using stack = new AsyncDisposableStack();
  const open = async (): Promise<EventLog> => stack.use(await openEventLog(options(), silentContext()));
  const nodeLog = await open();
  expect(await differencesSince(nodeLog, { created: await nodeLog.createTopics() })).toEqual([]);
  const policy = appliedPolicy({});
  await nodeLog.publish([outgoing({ topic: 'policies', key: policy.policy.name, event: policy })]);
  await decideOn(await open(), stack);
  const nodes = Array.from({ length: NODES }, (_, index) =>
    fullNode(`node-${index}`, { images: 20, containers: 6 }),
  );
  const [first] = nodes;
  if (first === undefined) throw new Error('there is no node');
  const heard = collector(nodeKey(first));
  const topics = [TOPICS.commands.name];
  stack.use(await nodeLog.subscribe({ ...nodeSubscription(first), topics }, heard.handle));

  const sent: string[] = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    if (round === ROUNDS / 3) await cluster.brokers[1]?.kill();
    const records = nodes.map((node, index) => {
      const id = `inventory-${round}-${index}`;
      sent.push(id);
      return outgoing({ topic: 'inventory', key: nodeKey(node), event: { ...node, id } });
    });
    await publishAsNodesDo(nodeLog, records);
    await sleep(BETWEEN_MS);
  }

  const reader = await open();
  await waitUntil('a decision on each inventory', PATIENCE_MS, async () => {
    const decisions = await events(reader, 'decisions');
    const decided = new Set(decisions.map((event) => ('input' in event ? event.input.id : '')));
    return sent.every((id) => decided.has(id));
  });
  // A decision is acknowledged before its command is sent.
  await waitUntil('a command for each inventory', PATIENCE_MS, async () => {
    const commanded = new Set((await events(reader, 'commands')).map(({ inventoryId }) => inventoryId));
    return sent.every((id) => commanded.has(id));
  });
  const commands = await events(reader, 'commands');
  const byInventory = Map.groupBy(commands, ({ inventoryId }) => inventoryId);
  expect([...byInventory.keys()].toSorted()).toEqual(sent.toSorted());
  for (const answers of byInventory.values()) expect(new Set(answers.map(({ id }) => id)).size).toBe(1);
  const own = commands.filter((command) => nodeKey(command) === nodeKey(first)).map(({ id }) => id);
  await waitUntil('the node to hear its commands', PATIENCE_MS, () => heard.records.length >= own.length);
  expect(new Set(heard.records.map(({ headers }) => headers.ce_id))).toEqual(new Set(own));
});

const options = () => KafkaOptions.parse({ kind: 'kafka', brokers: cluster.addresses, clientId: 'three' });

async function decideOn(log: EventLog, stack: AsyncDisposableStack): Promise<void> {
  const { now, monotonicNow, random, wait, traceIds: ids } = systemSources;
  const { logger } = silentContext();
  const metrics = createMetrics();
  const sources = { now: monotonicNow, random, wait };
  const policies = stack.use(
    startPolicySource({
      trust: TRUST_OFF,
      seen: new SeenGenerations(),
      log,
      logger,
      metrics,
      recheckMs: null,
      sources,
    }),
  );
  await policies.caughtUp;
  const deps = {
    log,
    trust: TRUST_OFF,
    signer: UNSIGNED,
    heads: null,
    policies: policies.current.node,
    logger,
    metrics,
    ids,
    now,
    monotonicNow,
  };
  stack.use(await startDecider('image-gc', deps));
}

/** An outbox tries again until the log has acknowledged; what was acknowledged without a word lies there twice. */
async function publishAsNodesDo(log: EventLog, records: readonly OutgoingRecord[]): Promise<void> {
  await waitUntil('the log to take inventories', PATIENCE_MS, () =>
    log.publish(records).then(
      () => true,
      () => false,
    ),
  );
}

async function events<Id extends TopicId>(log: EventLog, topic: Id): Promise<EventOf<Id>[]> {
  const found: EventOf<Id>[] = [];
  for await (const event of log.read({ topic: TOPICS[topic].name, from: 'earliest', to: 'end' })) {
    if (event.kind !== 'record') continue;
    const parsed = parseRecord(topic, event.record);
    if (!parsed.ok) throw new Error(`on ${topic} lies what nobody can read: ${parsed.rejection.message}`);
    found.push(parsed.event);
  }
  return found;
}
