import { execFile } from 'node:child_process';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { z } from 'zod';
import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import { EventLogOptions, openEventLog } from '../../../../packages/log/open.ts';
import type { EventLog, LogRecord } from '../../../../packages/log/port.ts';
import { AnyDeciderName } from '../../../../schemas/events/deciders.ts';
import { TOPICS, type TopicId } from '../../../../schemas/events/topics.ts';
import { fleetgc } from '../../../cli/fleetgc.ts';
import { readTopic } from '../../../cli/read-topic.ts';
import { appliedPolicy } from '../../../fixtures/applied-policy.ts';
import { clusterPolicyRecord } from '../../../fixtures/cluster.ts';
import { silentContext } from '../../../packages/log/probe.ts';
import { type Broker, newFolder, startBroker } from '../../../support/kafka/kafka.ts';
import { emulateLambda } from '../../../support/lambda/emulator.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { contractEvents } from './support/contract-events.ts';
import { topicsReadBy } from './support/deciders.ts';
import { outgoing, sentEvent, structured } from './support/function-events.ts';
import { spawnFunction, spawnService } from './support/function-processes.ts';
import { lambdaEvent } from './support/lambda-events.ts';
import { askJson, BATCH, probe } from './support/served-function.ts';

const REPOSITORY = join(import.meta.dirname, '../../../..');
const FUNCTIONS = newFolder();
const DOCUMENT = join(newFolder(), 'policies.jsonl');
/** Ten thousand in all, of every topic that a decider reads. */
const COUNTS: ReadonlyMap<TopicId, number> = new Map([
  ['inventory', 2_500],
  ['diskStats', 2_500],
  ['results', 1_000],
  ['clusterOwnership', 1_000],
  ['clusterCensus', 500],
  ['clusterPods', 1_250],
  ['clusterExpiry', 1_250],
]);
const OUT = ['decisions', 'commands', 'observe', 'clusterDecisions', 'clusterCommands'] as const;
const DECIDE_MS = 60_000;
const MOST_BATCH_BYTES = 3_000_000;
const MOST_BATCH = 500;

let broker: Broker;
let log: EventLog;
/** As they lie on the broker, by topic. */
let lying: ReadonlyMap<TopicId, readonly LogRecord[]>;
/** What the services gave that read the broker, by decider. */
let fromKafka: ReadonlyMap<string, InOrder>;

beforeAll(async () => {
  broker = await startBroker();
  await promisify(execFile)(process.execPath, [join(REPOSITORY, 'bin/functions.ts'), '--into', FUNCTIONS]);
  const options = EventLogOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    clientId: 'test',
    replicationFactor: 1,
    compression: 'zstd',
  });
  log = await openEventLog(options, silentContext());
  await log.createTopics();
  await log.publish([outgoing('policies', appliedPolicy()), outgoing('policies', clusterPolicyRecord())]);
  for (const [topic, count] of COUNTS) {
    const events = contractEvents(topic, count);
    for (let from = 0; from < events.length; from += MOST_BATCH)
      await log.publish(events.slice(from, from + MOST_BATCH));
  }
  lying = new Map(
    await Promise.all(
      [...COUNTS.keys()].map(async (topic) => [topic, await readTopic(log, TOPICS[topic].name)] as const),
    ),
  );
  fromKafka = await decidedByServices();
  const exported = await fleetgc(['policy', 'export', '--file', DOCUMENT, '--kafka-brokers', broker.address]);
  expect(exported).toMatchObject({ exitCode: 0 });
}, 600_000);
afterAll(async () => {
  await log?.[Symbol.asyncDispose]();
  await broker?.[Symbol.asyncDispose]();
});

/** A record of the log, or an event of an answer, as far as it has to be equal. */
interface Given {
  readonly topic: string;
  readonly key: string | null;
  readonly type: string | undefined;
  readonly value: Buffer;
}

/**
 * By topic and key. What is promised: of one subject the records of one topic lie in the order of the events that they follow from. No
 * order is promised of different subjects, nor of different topics, beside that a decision is on the log before what follows from it.
 */
type InOrder = Readonly<Record<string, readonly string[]>>;

/** What was written or came twice gave the same twice: then it counts where it came first. */
const inOrder = (outputs: readonly Given[]): InOrder =>
  Object.fromEntries(
    [...Map.groupBy(outputs, ({ topic, key }) => `${topic} ${key}`)].map(([place, all]) => [
      place,
      [...new Set(all.map(({ type, value }) => `${type} ${sha256Hex(value)}`))],
    ]),
  );

const counted = (given: InOrder): number => Object.values(given).flat().length;

/** By whom a record or what follows from it was given: their envelopes say it. */
const deciderOf = (source: string | undefined): string => source?.split('/').at(-1) ?? '';

async function decidedByServices(): Promise<ReadonlyMap<string, InOrder>> {
  await using _decide = spawnService('decide', '--kafka-brokers', broker.address, '--http-address', 'none');
  const groups = AnyDeciderName.options.map((name) => `fleetgc-${name}`);
  await waitUntil('the services to have decided on all of it', DECIDE_MS, async () => {
    const progress = await log.groups(groups);
    return progress.every(
      ({ members, lag, waiting }) => members === 1 && lag.size > 0 && waiting.length === 0,
    );
  });
  const records = (await Promise.all(OUT.map((topic) => readTopic(log, TOPICS[topic].name)))).flat();
  return new Map(
    [...Map.groupBy(records, ({ headers }) => deciderOf(headers.ce_source))].map(([decider, all]) => [
      decider,
      inOrder(all.map(givenIn)),
    ]),
  );
}

const givenIn = ({ topic, key, value, headers }: LogRecord): Given => ({
  ...{ topic, key, type: headers.ce_type },
  value: value ?? Buffer.alloc(0),
});

const Out = z.array(
  z.object({ fleetgctopic: z.string(), partitionkey: z.string(), type: z.string(), data_base64: z.base64() }),
);
const givenBy = (events: unknown): readonly Given[] =>
  Out.parse(events).map(({ fleetgctopic: topic, partitionkey: key, type, data_base64: base64 }) => ({
    ...{ topic, key, type },
    value: Buffer.from(base64, 'base64'),
  }));

/** In slices of a size that a call takes. */
function slicesOf(records: readonly LogRecord[]): readonly (readonly LogRecord[])[] {
  const slices: LogRecord[][] = [[]];
  let bytes = 0;
  for (const record of records) {
    const size = (record.value?.length ?? 0) * 2;
    if (bytes + size > MOST_BATCH_BYTES || (slices.at(-1)?.length ?? 0) >= MOST_BATCH) {
      slices.push([]);
      bytes = 0;
    }
    slices.at(-1)?.push(record);
    bytes += size;
  }
  return slices;
}

const recordsFor = (decider: AnyDeciderName): readonly LogRecord[] =>
  topicsReadBy(decider).flatMap((topic) => lying.get(topic) ?? []);

/** Of these kinds of events no decision is made. */
const UNDECIDED = /^fleetgc\.(node\.(object-result|command-result|pressure-unrelieved)|cluster\.census)\b/;
const isDecidedOn = ({ headers }: LogRecord): boolean => !UNDECIDED.test(headers.ce_type ?? '');

test('every topic that a decider reads has events here, and they are ten thousand', () => {
  const read = new Set(AnyDeciderName.options.flatMap(topicsReadBy));
  expect([...COUNTS.keys()].toSorted()).toEqual([...read].toSorted());
  // The producer may have written some of them twice.
  const ids = new Set([...lying.values()].flat().map(({ headers }) => headers.ce_id));
  expect(ids.size).toBe(10_000);
});

test.each(AnyDeciderName.options)(
  '%s gives the same bytes by HTTP as it gave on the event log',
  async (decider) => {
    await using served = await spawnFunction(decider, '--policy', DOCUMENT);
    const found: Given[] = [];
    for (const slice of slicesOf(recordsFor(decider))) {
      const { status, body } = await askJson(
        served.address,
        BATCH,
        slice.map((record) => structured(sentEvent(record))),
      );
      expect({ status, text: status === 200 ? '' : body.toString('utf8') }).toEqual({
        status: 200,
        text: '',
      });
      found.push(...givenBy(JSON.parse(body.toString('utf8'))));
    }
    const given = inOrder(found);
    expect(counted(given)).toBeGreaterThanOrEqual(recordsFor(decider).filter(isDecidedOn).length);
    expect(given).toEqual(fromKafka.get(decider));
  },
);

const LambdaAnswered = z.object({ batchItemFailures: z.array(z.unknown()).length(0), events: z.unknown() });

test.each(AnyDeciderName.options)('%s gives the same bytes in the emulator of Lambda', async (decider) => {
  const file = join(FUNCTIONS, decider, 'index.mjs');
  expect(statSync(file).size).toBeLessThan(2 * 1024 * 1024);
  await using lambda = await emulateLambda(file, { FLEETGC_TRUST: 'off', FLEETGC_POLICY: DOCUMENT });
  const found: Given[] = [];
  for (const slice of slicesOf(recordsFor(decider))) {
    const answered = LambdaAnswered.parse(JSON.parse(await lambda.invoke(lambdaEvent(slice))));
    found.push(...givenBy(answered.events));
  }
  expect(inOrder(found)).toEqual(fromKafka.get(decider));
});

test('what followed was more than records: commands and orders of every decider', () => {
  const topics = [...fromKafka.values()]
    .flatMap((given) => Object.keys(given))
    .map((place) => place.split(' ')[0]);
  expect(new Set(topics)).toEqual(new Set(OUT.map((topic) => TOPICS[topic].name)));
});

/** The ids of all records of a decider that lie on the broker. */
const decisionsOf = async (decider: AnyDeciderName): Promise<readonly (string | undefined)[]> =>
  (await readTopic(log, TOPICS.clusterDecisions.name))
    .filter(({ headers }) => deciderOf(headers.ce_source) === decider)
    .map(({ headers }) => headers.ce_id);

test('what follows is published to the broker by HTTP and by Lambda, once more and with the same ids', async () => {
  const before = await decisionsOf('pod-gc');
  const expectOnceMore = async (times: number): Promise<void> => {
    const now = await decisionsOf('pod-gc');
    expect(now).toHaveLength(before.length + times);
    expect(new Set(now)).toEqual(new Set(before));
  };
  const [record] = recordsFor('pod-gc');
  if (record === undefined) throw new Error('there is no record');
  await using served = await spawnFunction(
    'pod-gc',
    '--policy',
    'topic',
    '--publish',
    '--kafka-brokers',
    broker.address,
  );
  await waitUntil(
    'it to be ready',
    DECIDE_MS,
    async () => (await probe(served.probes, '/readyz')).status === 200,
  );
  expect((await askJson(served.address, BATCH, [structured(sentEvent(record))])).status).toBe(204);
  await expectOnceMore(1);
  await using lambda = await emulateLambda(join(FUNCTIONS, 'pod-gc', 'index.mjs'), {
    FLEETGC_TRUST: 'off',
    FLEETGC_POLICY: DOCUMENT,
    FLEETGC_PUBLISH: 'true',
    FLEETGC_KAFKA_BROKERS: broker.address,
  });
  const unreadable = { ...record, value: Buffer.from('{') };
  expect(JSON.parse(await lambda.invoke(lambdaEvent([record, unreadable])))).toEqual({
    batchItemFailures: [],
  });
  await expectOnceMore(2);
  const letters = await readTopic(log, TOPICS.deadLetters.name);
  expect(letters.map(({ headers }) => headers.ce_type)).toEqual(['fleetgc.dead-letter.v1']);
});
