import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import kafkajs, { type Admin, Kafka } from 'kafkajs';
import pino from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { Consumer } from '../../../packages/log/kafka/client/consumer.ts';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import { partitionOf } from '../../../packages/log/partition.ts';
import type { EventLog, EventLogContext, LogRecord } from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { type Broker, startBroker } from '../../support/kafka/kafka.ts';
import { kafkaSettings } from '../../support/kafka/kafka-answer.ts';
import {
  collector,
  deferred,
  outgoing,
  readAll,
  silentContext,
  subscriptionOf,
  text,
  uniqueGroup,
  uniqueKey,
  until,
  within,
} from './probe.ts';

const PATIENCE_MS = 40_000;

let broker: Broker;
beforeAll(async () => {
  broker = await startFurnished();
});
afterAll(() => broker?.[Symbol.asyncDispose]());

/** A broker with all topics. */
async function startFurnished(): Promise<Broker> {
  await using starting = new AsyncDisposableStack();
  const started = starting.use(await startBroker());
  await using log = await openEventLog(optionsFor(started), silentContext());
  await log.createTopics();
  starting.move();
  return started;
}

const optionsFor = ({ address }: Broker, over: object = {}): EventLogOptions =>
  EventLogOptions.parse({
    kind: 'kafka',
    brokers: [address],
    clientId: 'traps',
    replicationFactor: 1,
    ...over,
  });
const options = (over: object = {}): EventLogOptions => optionsFor(broker, over);

async function open(over: Partial<EventLogContext> = {}, settings: object = {}): Promise<EventLog> {
  const log = await openEventLog(options(settings), silentContext(over));
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

async function asAdmin<T>(work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = new Kafka(kafkaSettings(broker)).admin();
  await admin.connect();
  try {
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

const publishText = (log: EventLog, key: string, value: string) =>
  log.publish([outgoing({ key, value: Buffer.from(value) })]);

const keysOf = (records: readonly LogRecord[]): ReadonlySet<string | null> =>
  new Set(records.map(({ key }) => key));

const placeOf = ({ partition, offset }: LogRecord): string => `${partition}@${offset}`;

/** One key for each of some partitions. */
function keysApart(count: number): string[] {
  const byPartition = new Map<number, string>();
  while (byPartition.size < count) {
    const key = uniqueKey();
    byPartition.set(partitionOf('gc.node.results', key), key);
  }
  return [...byPartition.values()];
}

describe('a rebalance', () => {
  test('repeats nothing of the partitions that stay; what moves is aborted here and comes to the new member', async () => {
    const keys = keysApart(12);
    const spec = subscriptionOf({ start: 'earliest' });
    const gate = deferred();
    const isMine = ({ key }: LogRecord): boolean => keys.includes(key ?? '');
    const begun: LogRecord[] = [];
    const aborted: LogRecord[] = [];
    const ended: LogRecord[] = [];
    const [a, b] = [await open(), await open()];
    const first = await a.subscribe(spec, async (records, signal) => {
      const mine = records.filter(isMine);
      if (mine.length === 0) return;
      begun.push(...mine);
      const stopped = new Promise((resolve) => signal.addEventListener('abort', resolve));
      await Promise.race([gate.promise, stopped]);
      (signal.aborted ? aborted : ended).push(...mine);
    });
    await Promise.all(keys.map((key) => publishText(a, key, 'x')));
    await until('all slices to be in hand', () => keysOf(begun).size === keys.length, PATIENCE_MS);

    const taken: LogRecord[] = [];
    const second = await b.subscribe(spec, async (records) => {
      taken.push(...records.filter(isMine));
    });
    await until('the new member', () => second.state().assigned.length === 16, PATIENCE_MS);
    const [topic] = spec.topics;
    if (topic === undefined) throw new Error('the subscription has no topic');
    const owned = new Set(second.state().assigned);
    const moving = keys.filter((key) => owned.has(`${topic}/${partitionOf(topic, key)}`));
    const staying = keys.filter((key) => !moving.includes(key));
    const allOf = (some: readonly string[], those: readonly LogRecord[]) =>
      some.every((key) => keysOf(those).has(key));
    await until('what moves to be aborted here', () => allOf(moving, aborted), PATIENCE_MS);
    await until('what moves to come there', () => allOf(moving, taken), PATIENCE_MS);
    gate.resolve();
    await until('what stays', () => allOf(staying, ended), PATIENCE_MS);

    // By position: a publish that was tried again may have appended its record twice.
    expect(begun.length).toBe(new Set(begun.map(placeOf)).size);
    expect([...keysOf(ended)].toSorted()).toEqual(staying.toSorted());
    expect([...keysOf(taken)].toSorted()).toEqual(moving.toSorted());
    expect(first.state().assigned).toHaveLength(16);
  });
});

/** Each has a broker of its own, since most of it is waiting for sessions to end. */
describe.concurrent('a broker that goes away and comes back', () => {
  test('publishing says so and works again, consuming goes on, nothing is lost, and little is logged', async () => {
    const lines: { level: number; msg: string; group?: string; code?: string; times?: number }[] = [];
    const logger = pino({ level: 'warn' }, { write: (line) => lines.push(JSON.parse(line)) });
    await using own = await startFurnished();
    await using log = await openEventLog(optionsFor(own), silentContext({ logger }));
    const key = uniqueKey();
    const seen = collector(key);
    const member = await log.subscribe(subscriptionOf(), seen.handle);
    const seenOfOne = collector(key);
    const assignment = { kind: 'key', key, lookBackMs: 60_000 } as const;
    const reader = await log.subscribe(subscriptionOf({ assignment }), seenOfOne.handle);
    await publishText(log, key, 'before');
    const counts = () => [seen.records.length, seenOfOne.records.length];
    await until('the first record', () => counts().every((count) => count === 1), PATIENCE_MS);

    await own.stop();
    await expect(publishText(log, key, 'lost?')).rejects.toMatchObject({
      code: 'LOG_UNREACHABLE',
      retry: true,
    });
    expect(log.health()).toEqual({ connected: false, problem: expect.stringContaining(own.address) });
    await until('the consumer to say so', () => member.state().problem !== null, PATIENCE_MS);
    await until('the reader to say so', () => reader.state().problem !== null, PATIENCE_MS);
    await own.start();

    await until(
      'publishing to work',
      () =>
        publishText(log, key, 'after').then(
          () => true,
          () => false,
        ),
      PATIENCE_MS,
    );
    await until('the record after it', () => seen.texts().includes('after'), PATIENCE_MS);
    await until('the problem to end', () => member.state().problem === null, PATIENCE_MS);
    // Each client comes back in its own time.
    await until('all clients to be well', () => log.health().problem === null, PATIENCE_MS);
    expect(log.health()).toEqual({ connected: true, problem: null });
    const lasting = (await readAll(log, key)).map(text);
    expect(seen.texts().filter((value, index, all) => all.indexOf(value) === index)).toEqual(
      lasting.filter((value, index, all) => all.indexOf(value) === index),
    );
    await until('all of it for the reader', () => seenOfOne.records.length === lasting.length, PATIENCE_MS);
    expect(seenOfOne.texts()).toEqual(lasting);
    await until('the problem of the reader to end', () => reader.state().problem === null, PATIENCE_MS);
    const loud = lines.filter(({ level }) => level >= 40);
    // How many reminders there are depends on how long it was away.
    const causes = loud.flatMap(({ group, code, msg, times }) =>
      times === undefined ? [`${group} ${code ?? msg}`] : [],
    );
    expect(causes.filter((cause, index) => causes.indexOf(cause) !== index)).toEqual([]);
    expect(causes.length).toBeGreaterThan(0);
  });

  test('one that freezes for longer than a session: the member joins again', async () => {
    await using own = await startFurnished();
    await using log = await openEventLog(optionsFor(own), silentContext());
    const key = uniqueKey();
    const seen = collector(key);
    await log.subscribe(subscriptionOf(), seen.handle);
    await publishText(log, key, 'before');
    await until('the first record', () => seen.records.length === 1, PATIENCE_MS);
    await own.freeze();
    await new Promise((resolve) => setTimeout(resolve, 12_000));
    await own.thaw();
    await until(
      'publishing to work',
      () =>
        publishText(log, key, 'after').then(
          () => true,
          () => false,
        ),
      PATIENCE_MS,
    );
    await until('the record after it', () => seen.texts().includes('after'), PATIENCE_MS);
  });

  test('while it is away, a log can be opened, and closed within seconds', async () => {
    await using own = await startFurnished();
    await own.stop();
    const log = await openEventLog(optionsFor(own), silentContext());
    const member = await log.subscribe(subscriptionOf(), async () => undefined);
    await until('the consumer to say so', () => /Kafka at/.test(member.state().problem ?? ''), PATIENCE_MS);
    expect(member.state().joined).toBe(false);
    const reading = readAll(log, 'any');
    await expect(reading).rejects.toMatchObject({ code: 'LOG_UNREACHABLE' });
    await within('the end', Promise.resolve(log[Symbol.asyncDispose]()), 8000);
  });
});

test('a member that fell out of its group without a word is taken out of it, so that nobody waits for its session', async () => {
  const groupId = uniqueGroup();
  const consumer = new Kafka(kafkaSettings(broker)).consumer({ groupId, heartbeatInterval: 20_000 });
  onTestFinished(() => consumer.disconnect());
  const joined = new Promise<string>((resolve) =>
    consumer.on(consumer.events.GROUP_JOIN, ({ payload }) => resolve(payload.memberId)),
  );
  await consumer.subscribe({ topics: ['gc.node.results'] });
  await consumer.run({ eachMessage: async () => undefined });
  const members = () =>
    asAdmin(async (admin) =>
      (await admin.describeGroups([groupId])).groups.flatMap((group) =>
        group.members.map(({ memberId }) => memberId),
      ),
    );
  const memberId = await within('joining', joined, PATIENCE_MS);
  expect(await members()).toEqual([memberId]);

  const context = silentContext();
  const settings = KafkaOptions.parse(options());
  const next = new Consumer(settings, context, { group: groupId, topics: ['gc.node.results'] });
  onTestFinished(() => next.disconnect());
  await next.connect();
  const former = { memberId };
  await next.leaveAs(former);
  expect(await members()).toEqual([]);
  expect(former.memberId).toBeNull();

  await next.leaveAs({ memberId });
});

describe('what kafkajs does without a word', () => {
  test('it drops records for a partition that is gone: publishing says so', async () => {
    const log = await open();
    const topic = 'gc.dead-letters';
    const key = keysApart(3).find((candidate) => partitionOf(topic, candidate) !== 0) ?? '';
    await log.publish([outgoing({ topic, key })]);
    await asAdmin(async (admin) => {
      await admin.deleteTopics({ topics: [topic] });
      await until(
        'the topic to be gone',
        async () => !(await admin.listTopics()).includes(topic),
        PATIENCE_MS,
      );
      // kafkajs would ask for leaders at once, and fail where the broker has not heard of the topic yet.
      await admin.createTopics({
        waitForLeaders: false,
        topics: [{ topic, numPartitions: 1, replicationFactor: 1 }],
      });
    });
    const outcome = async () =>
      log.publish([outgoing({ topic, key })]).then(
        () => 'sent',
        (error) => error.code,
      );
    await until('the refusal', async () => (await outcome()) === 'TOPICS_DIFFER', PATIENCE_MS);
    expect(await outcome()).toBe('TOPICS_DIFFER');
    expect(await log.checkTopics()).toContainEqual(
      expect.objectContaining({ topic, kind: 'partitions', found: '1 partitions' }),
    );
  });

  test('it warns on the terminal: nothing is written there', async () => {
    const program = fileURLToPath(new URL('./member-process.ts', import.meta.url));
    const group = uniqueGroup();
    const child = spawn(process.execPath, [program, JSON.stringify(options()), group], {
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let [output, errors] = ['', ''];
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => {
      errors += chunk;
    });
    const log = await open();
    await publishText(log, uniqueKey(), 'for the child');
    await until('the child to take a record', () => output.includes('took'), PATIENCE_MS);
    child.kill('SIGKILL');
    expect(errors).toBe('');
  });
});

/** With the broker's own settings, but for one that keeps what is written here long enough. */
const configureAnew = (name: TopicName): Promise<void> =>
  asAdmin((admin) =>
    admin.alterConfigs({
      validateOnly: false,
      resources: [
        {
          type: kafkajs.ConfigResourceTypes.TOPIC,
          name,
          configEntries: [{ name: 'retention.ms', value: '100000' }],
        },
      ],
    }),
  );

test('a record says whether the broker dated it, to whoever reads and to whoever follows', async () => {
  const log = await open();
  const key = uniqueKey();
  const topic = 'gc.node.commands';
  const byWriter = ({ isDatedByWriter }: LogRecord): boolean => isDatedByWriter ?? false;
  const write = () => log.publish([outgoing({ topic, key })]);
  await write();
  await configureAnew(topic);
  const readOnes = () => readAll(log, key, { topic });
  // A broker takes its time to learn it.
  await until(
    'a record with the time of its writer',
    async () => {
      await write();
      return (await readOnes()).some(byWriter);
    },
    PATIENCE_MS,
  );
  const read = await readOnes();
  expect([read[0], read.at(-1)].map((record) => record && byWriter(record))).toEqual([false, true]);
  const seen = collector(key);
  await log.subscribe(subscriptionOf({ topics: [topic] }), seen.handle);
  await until('all records', () => seen.records.length === read.length, PATIENCE_MS);
  expect(seen.records.map(byWriter)).toEqual(read.map(byWriter));
});

test('a topic that is configured otherwise is reported', async () => {
  const log = await open();
  await configureAnew('gc.node.observe');
  const found = (await log.checkTopics()).filter(({ topic }) => topic === 'gc.node.observe');
  expect(found.map(({ kind, found: value }) => `${kind} ${value}`)).toEqual(
    expect.arrayContaining(['config retention.ms=100000', 'config message.timestamp.type=CreateTime']),
  );
});

test('reading leaves no group behind, nor does the partition of one key', async () => {
  const log = await open();
  const key = uniqueKey();
  const seen = collector(key);
  const groups = () =>
    asAdmin(async (admin) => (await admin.listGroups()).groups.map(({ groupId }) => groupId));
  const before = await groups();
  await readAll(log, 'any');
  const assignment = { kind: 'key', key, lookBackMs: 60_000 } as const;
  await log.subscribe(subscriptionOf({ assignment }), seen.handle);
  await publishText(log, key, 'for one');
  await until('the record', () => seen.records.length === 1, PATIENCE_MS);
  expect((await groups()).toSorted()).toEqual(before.toSorted());
});

test('records compressed with gzip are read beside those with zstd', async () => {
  const key = uniqueKey();
  const [zstd, gzip] = [await open(), await open({}, { compression: 'gzip' })];
  const value = 'long enough to be worth it '.repeat(1000);
  await publishText(zstd, key, `zstd ${value}`);
  await publishText(gzip, key, `gzip ${value}`);
  expect((await readAll(zstd, key)).map((record) => text(record).slice(0, 4))).toEqual(['zstd', 'gzip']);
});
