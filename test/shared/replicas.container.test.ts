import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { Command } from '../../schemas/command.ts';
import { Decision } from '../../schemas/decision.ts';
import { NODE_PARTITIONS, TOPICS } from '../../schemas/topics.ts';
import { startImageGc } from '../../services/image-gc/main.ts';
import type { Consumer } from '../../services/shared/consume.ts';
import { KafkaOptions } from '../../services/shared/event-log/kafka/options.ts';
import { openKafkaLog } from '../../services/shared/event-log/kafka.ts';
import { partitionOf } from '../../services/shared/event-log/partition.ts';
import type { EventLog } from '../../services/shared/event-log/port.ts';
import { nodeOutput } from '../../services/shared/handler.ts';
import { createLogger } from '../../services/shared/logger.ts';
import { createMetrics } from '../../services/shared/metrics.ts';
import { policySet } from '../../services/shared/policy-set.ts';
import { randomTraceIds } from '../../services/shared/trace-ids.ts';
import { startLoad } from '../e2e/support/load.ts';
import { appliedPolicy } from '../fixtures/applied-policy.ts';
import { image, inventory } from '../fixtures/inventory.ts';
import { HOUR, instant, MINUTE } from '../fixtures/time.ts';
import { type Broker, startBroker } from '../support/kafka.ts';
import { logLines } from '../support/log-lines.ts';
import { outgoing } from '../support/log-record.ts';
import { waitUntil } from '../support/wait-until.ts';

const SHARED_MS = 60_000;
const DECIDED_MS = 60_000;
const SET = policySet([appliedPolicy({ imageMaximumGCAgeMs: HOUR })], []);
const context = {
  logger: createLogger({ service: 'test', level: 'error' }, logLines()),
  now: Date.now,
  random: Math.random,
  newId: randomUUID,
};

let broker: Broker;
let log: EventLog;
const open = () =>
  openKafkaLog(
    KafkaOptions.parse({
      kind: 'kafka',
      brokers: [broker.address],
      clientId: 'replicas',
      replicationFactor: 1,
    }),
    context,
  );
beforeAll(async () => {
  broker = await startBroker();
  log = await open();
  await log.createTopics();
});
afterAll(async () => {
  await log?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
});

/** By inventory: what image-gc said of it, and the commands upon it. */
let decided: Map<string, Set<string>>;
let outcomes: Map<string, Set<string>>;
let commanded: Map<string, Set<string>>;
beforeEach(() => {
  [decided, outcomes, commanded] = [new Map(), new Map(), new Map()];
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  void follow(TOPICS.decisions.name, stopping.signal, (value) => {
    const { id, input, outcome } = Decision.parse(value);
    note(decided, input.id, id);
    note(outcomes, input.id, outcome);
  });
  void follow(TOPICS.commands.name, stopping.signal, (value) => {
    const { id, inventoryId } = Command.parse(value);
    note(commanded, inventoryId, id);
  });
});

async function follow(
  topic: typeof TOPICS.decisions.name | typeof TOPICS.commands.name,
  signal: AbortSignal,
  look: (value: unknown) => void,
): Promise<void> {
  for await (const event of log.read({ topic, from: 'earliest', to: 'forever' }, signal))
    if (event.kind === 'record') look(JSON.parse(String(event.record.value)));
}

const note = (of: Map<string, Set<string>>, name: string, one: string): void =>
  void of.set(name, (of.get(name) ?? new Set()).add(one));

interface Replica extends AsyncDisposable {
  readonly consumer: Consumer;
}

/** A replica with connections of its own, as another process has. */
async function startReplica(): Promise<Replica> {
  const own = await open();
  const consumer = await startImageGc({
    log: own,
    policies: () => SET,
    logger: context.logger,
    metrics: createMetrics(),
    ids: randomTraceIds,
    now: Date.now,
    monotonicNow: () => performance.now(),
  });
  let ending: Promise<void> | null = null;
  const end = async (): Promise<void> => {
    await consumer.stop();
    await own[Symbol.asyncDispose]();
  };
  const replica = { consumer, [Symbol.asyncDispose]: () => (ending ??= end()) };
  onTestFinished(() => replica[Symbol.asyncDispose]());
  return replica;
}

/** Waits until each serves as many partitions as the others, all are served, and none by two. */
const untilEven = (replicas: readonly Replica[]): Promise<true> =>
  waitUntil(`${replicas.length} replicas to share all partitions evenly`, SHARED_MS, () => {
    const assigned = replicas.map(({ consumer }) => consumer.state().assigned);
    const isEven = assigned.every(({ length }) => length === NODE_PARTITIONS / replicas.length);
    return isEven && new Set(assigned.flat()).size === NODE_PARTITIONS;
  });

test('replicas are added and removed under load: partitions are spread evenly, each inventory is decided on, none commands two things', async () => {
  const load = startLoad(log, { nodes: 64, inventoriesPerSecond: 40 });
  onTestFinished(() => load.stop());
  const replicas: Replica[] = [];
  for (const count of [1, 2, 4, 8, 4, 2, 1]) {
    while (replicas.length < count) replicas.push(await startReplica());
    await Promise.all(replicas.splice(count).map((replica) => replica[Symbol.asyncDispose]()));
    await untilEven(replicas);
    const since = load.published().length;
    await waitUntil('decisions upon what came since', DECIDED_MS, () =>
      load
        .published()
        .slice(since)
        .some((id) => decided.has(id)),
    );
  }
  await load.stop();
  await waitUntil('a decision on each inventory', DECIDED_MS, () =>
    load.published().every((id) => decided.has(id) && commanded.has(id)),
  );

  expect(load.published().filter((id) => decided.get(id)?.size !== 1)).toEqual([]);
  expect(load.published().filter((id) => commanded.get(id)?.size !== 1)).toEqual([]);
});

test('a partition changes hands in the middle of a backlog: each inventory has its record, and the newest of each node is obeyed', async () => {
  const partition = 5;
  const nodes = Array.from({ length: 1000 }, (_, number) => `back-${number}`)
    .filter((node) => partitionOf(TOPICS.inventory.name, `prod/${node}`) === partition)
    .slice(0, 20);
  const looks = Array.from({ length: 60 }, (_, number) =>
    nodes.map((node) =>
      inventory({
        node,
        id: `${node}-${number}`,
        images: [image('old')],
        takenAt: instant({ sinceBootMs: 24 * HOUR + number * MINUTE }),
      }),
    ),
  );
  for (const look of looks) await log.publish(look.map((event) => outgoing(nodeOutput('inventory', event))));
  const ids = looks.flat().map(({ id }) => id);
  const first = await startReplica();
  await waitUntil('the first records', DECIDED_MS, () => ids.some((id) => decided.has(id)));
  await Promise.all([startReplica(), first[Symbol.asyncDispose]()]);
  await waitUntil('a record of each inventory', DECIDED_MS, () => ids.every((id) => decided.has(id)));

  const newest = nodes.map((node) => `${node}-59`);
  for (const id of newest) expect(outcomes.get(id)).toEqual(new Set(['commanded']));
  await waitUntil('commands upon the newest', DECIDED_MS, () => newest.every((id) => commanded.has(id)));
  const passedOver = ids.filter((id) => outcomes.get(id)?.has('overtaken'));
  expect(passedOver.length).toBeGreaterThan(0);
  expect(passedOver.filter((id) => commanded.has(id) && outcomes.get(id)?.size === 1)).toEqual([]);
});
