import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { nodeOutput } from '../../../packages/decision/handler.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { randomTraceIds } from '../../../packages/process/system-sources.ts';
import type { Consumer } from '../../../packages/records/consume.ts';
import { UNSIGNED } from '../../../packages/records/trust/signer.ts';
import { TRUST_OFF } from '../../../packages/records/trust/trust.ts';
import { Command } from '../../../schemas/events/command.ts';
import { Decision } from '../../../schemas/events/decision.ts';
import type { DeciderName } from '../../../schemas/events/object-kinds.ts';
import { NODE_PARTITIONS, TOPICS } from '../../../schemas/events/topics.ts';
import { startDecider } from '../../../services/deciders/run.ts';
import { startLoad } from '../../e2e/support/load.ts';
import { appliedPolicy } from '../../fixtures/applied-policy.ts';
import { image, inventory } from '../../fixtures/inventory.ts';
import { HOUR, instant, MINUTE } from '../../fixtures/time.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { logLines } from '../../support/log-lines.ts';
import { outgoing } from '../../support/logs/log-record.ts';
import { waitUntil } from '../../support/wait-until.ts';

const SHARED_MS = 60_000;
const DECIDED_MS = 60_000;
/** Messages for all services together; a quiet machine never has so many. */
const MOST_UNDECIDED = 600;
const SET = policySet('node', [appliedPolicy({ imageMaximumGCAgeMs: HOUR })], []);
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

/** By decider and message: its records of it, and those that judged it; by inventory: what image-gc said of it, and the commands upon it. */
let decided: Map<string, Set<string>>;
let judged: Map<string, Set<string>>;
let outcomes: Map<string, Set<string>>;
let commanded: Map<string, Set<string>>;
beforeEach(() => {
  [decided, judged, outcomes, commanded] = [new Map(), new Map(), new Map(), new Map()];
  const stopping = new AbortController();
  onTestFinished(() => stopping.abort());
  void follow(TOPICS.decisions.name, stopping.signal, (value) => {
    const { id, decider, input, outcome } = Decision.parse(value);
    note(decided, by(decider.name, input.id), id);
    if (outcome !== 'overtaken') note(judged, by(decider.name, input.id), id);
    if (decider.name === 'image-gc') note(outcomes, input.id, outcome);
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

const by = (decider: DeciderName, id: string): string => `${decider} ${id}`;

const note = (of: Map<string, Set<string>>, name: string, one: string): void =>
  void of.set(name, (of.get(name) ?? new Set()).add(one));

/** Of each decision service one consumer. */
interface Replica extends AsyncDisposable {
  readonly consumers: ReadonlyMap<DeciderName, Consumer>;
}

const ALL: readonly DeciderName[] = ['pressure', 'container-gc', 'image-gc'];

/** Pressure hears of disks and of results. */
const TOPICS_OF: Readonly<Record<DeciderName, number>> = { pressure: 2, 'container-gc': 1, 'image-gc': 1 };

/** A replica with connections of its own, as another process has. */
async function startReplica(names: readonly DeciderName[] = ALL): Promise<Replica> {
  const own = await open();
  const deps = {
    log: own,
    policies: () => SET,
    trust: TRUST_OFF,
    signer: UNSIGNED,
    heads: null,
    logger: context.logger,
    metrics: createMetrics(),
    ids: randomTraceIds,
    now: Date.now,
    monotonicNow: () => performance.now(),
  };
  const consumers = await Promise.all(
    names.map(async (name) => [name, await startDecider(name, deps)] as const),
  );
  let ending: Promise<void> | null = null;
  const end = async (): Promise<void> => {
    await Promise.all(consumers.map(([, consumer]) => consumer.stop()));
    await own[Symbol.asyncDispose]();
  };
  const replica = { consumers: new Map(consumers), [Symbol.asyncDispose]: () => (ending ??= end()) };
  onTestFinished(() => replica[Symbol.asyncDispose]());
  return replica;
}

/** Waits until of each service each serves as many partitions as the others, all are served, and none by two. */
const untilEven = (replicas: readonly Replica[]): Promise<true> =>
  waitUntil(`${replicas.length} replicas to share all partitions evenly`, SHARED_MS, () =>
    ALL.every((name) => {
      const assigned = replicas.map(({ consumers }) => consumers.get(name)?.state().assigned ?? []);
      const partitions = NODE_PARTITIONS * TOPICS_OF[name];
      const isEven = assigned.every(({ length }) => length === partitions / replicas.length);
      return isEven && new Set(assigned.flat()).size === partitions;
    }),
  );

test('replicas of each service are added and removed under load: partitions are spread evenly, each message is decided on once by each, none commands two things', async () => {
  const load = startLoad(log, {
    nodes: 64,
    inventoriesPerSecond: 40,
    diskStats: true,
    isEnough: () => due().length - decided.size > MOST_UNDECIDED,
  });
  onTestFinished(() => load.stop());
  /** Everything that is to be decided on. */
  const due = (): readonly string[] => [
    ...load.publishedDiskStats().map((id) => by('pressure', id)),
    ...load.published().flatMap((id) => [by('container-gc', id), by('image-gc', id)]),
  ];
  const replicas: Replica[] = [];
  for (const count of [1, 2, 4, 8, 4, 2, 1]) {
    while (replicas.length < count) replicas.push(await startReplica());
    await Promise.all(replicas.splice(count).map((replica) => replica[Symbol.asyncDispose]()));
    await untilEven(replicas);
    const since = new Set(due());
    await waitUntil('decisions of each service upon what came since', DECIDED_MS, () =>
      ALL.every((name) => due().some((one) => one.startsWith(name) && !since.has(one) && decided.has(one))),
    );
  }
  await load.stop();
  await waitUntil('a decision of each service on each message', DECIDED_MS, () =>
    due().every((one) => decided.has(one)),
  );
  const published = load.published();
  const saidOf = (id: string): readonly string[] => [...(outcomes.get(id) ?? [])];
  // Replicas that fell behind on a busy machine pass over what newer inventories have overtaken.
  expect(published.filter((id) => saidOf(id).some((one) => !/^(commanded|overtaken)$/.test(one)))).toEqual(
    [],
  );
  const obeyed = published.filter((id) => saidOf(id).includes('commanded'));
  await waitUntil('a command upon each inventory that asks for one', DECIDED_MS, () =>
    obeyed.every((id) => commanded.has(id)),
  );

  expect(due().filter((one) => (judged.get(one)?.size ?? 0) > 1)).toEqual([]);
  expect(published.filter((id) => (commanded.get(id)?.size ?? 0) > 1)).toEqual([]);
  expect(obeyed.length).toBeGreaterThan(0);
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
  const hasRecord = (id: string): boolean => decided.has(by('image-gc', id));
  const first = await startReplica(['image-gc']);
  await waitUntil('the first records', DECIDED_MS, () => ids.some(hasRecord));
  await Promise.all([startReplica(['image-gc']), first[Symbol.asyncDispose]()]);
  await waitUntil('a record of each inventory', DECIDED_MS, () => ids.every(hasRecord));

  const newest = nodes.map((node) => `${node}-59`);
  for (const id of newest) expect(outcomes.get(id)).toEqual(new Set(['commanded']));
  await waitUntil('commands upon the newest', DECIDED_MS, () => newest.every((id) => commanded.has(id)));
  const passedOver = ids.filter((id) => outcomes.get(id)?.has('overtaken'));
  expect(passedOver.length).toBeGreaterThan(0);
  expect(passedOver.filter((id) => commanded.has(id) && outcomes.get(id)?.size === 1)).toEqual([]);
});
