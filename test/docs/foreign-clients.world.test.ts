import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, utimesSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv, type ValidateFunction } from 'ajv';
import { CloudEvent, Kafka } from 'cloudevents';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { stringify } from 'yaml';
import { z } from 'zod';
import { eventTypesOf } from '../../schemas/asyncapi/document.ts';
import { type EventOf, TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import { TOPIC_IDS } from '../../schemas/exchange/topics.ts';
import { FILES_OF_THE_LOG, HEADERS_FILE, schemaFileOf } from '../../schemas/generate.ts';
import { GENERATED_DIRECTORY } from '../../schemas/write.ts';
import { textOf } from '../deploy/files.ts';
import { ClusterFleet } from '../e2e/support/cluster/cluster-fleet.ts';
import { Part } from '../e2e/support/cluster/part.ts';
import { patiently } from '../support/patience.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { run } from '../support/toolchain/command.ts';
import { DEBIAN_PYTHON, ensureForeignClients } from '../support/toolchain/foreign-clients.ts';
import { waitUntil } from '../support/wait-until.ts';
import { codeBlocks } from './markdown.ts';

const BOUND_MS = patiently(120_000);
const HAPPENED_MS = 60_000;
const READ_MS = 30_000;
const STATEMENT_MS = 10_000;

let fleet: ClusterFleet;
beforeAll(async () => {
  [fleet] = await Promise.all([ClusterFleet.start(), ensureForeignClients()]);
}, BOUND_MS);
const others: Part[] = [];
afterAll(async () => {
  await Promise.all(others.map((part) => part[Symbol.asyncDispose]()));
  await fleet?.[Symbol.asyncDispose]();
});

const NO_EVENT = 'no event';

/** A part of the fleet that is no part of a cluster. */
async function started(...args: readonly string[]): Promise<void> {
  const part = new Part(args[0] ?? '', [...args, '--kafka-brokers', fleet.broker.address]);
  others.push(part);
  await part.start();
}

const has = async (topic: TopicId): Promise<boolean> => (await fleet.events(topic)).length > 0;

async function applyPolicies(): Promise<void> {
  await fleet.apply({
    mode: 'enforce',
    undo: 'manifest',
    collectors: [
      'garbage-collector-controller',
      'pod-garbage-collector-controller',
      'ttl-after-finished-controller',
    ],
  });
  const file = fleet.file('nodes.yaml');
  const thresholds = { imageGCHighThresholdPercent: 1, imageGCLowThresholdPercent: 0 };
  const ages = { imageMinimumGCAge: '0s', minimumCreatedContainerAge: '1s' };
  writeFileSync(file, stringify({ name: 'nodes', mode: 'enforce', ...thresholds, ...ages }));
  await fleet.cli('policy', 'apply', file, ...fleet.signedBy('operator'));
}

const SIMULATED = [
  ...['simulate-node', '--cluster', 'prod', '--node-name', 'web-1'],
  ...['--capacity', '2G', '--step', '50ms'],
];

/** Things that are left over in a cluster, each of which another decider decides on. */
async function leaveThingsOver(): Promise<void> {
  const owner = await fleet.configMaps.make('owner');
  await fleet.configMaps.make('left-over', [owner]);
  await fleet.configMaps.remove('owner');
  await fleet.configMaps.finishedJob('done', 1);
  await fleet.configMaps.unscheduledPod('nowhere');
}

/** What leaves something on every topic: a node whose disk is too full, a cluster, people, and somebody who writes no events. */
async function somethingHappens(): Promise<void> {
  const decide = fleet.decide();
  const parts = [fleet.agent(), fleet.executor(), decide];
  const [broken, key] = [fleet.file('broken'), 'prod/web-9'];
  writeFileSync(broken, NO_EVENT);
  await Promise.all([
    applyPolicies(),
    ...parts.map((part) => part.start()),
    started(...SIMULATED, ...fleet.trusting),
    kcat(['-P', '-t', TOPICS.inventory.name, '-k', key, '-p', '0', '-l', broken]),
  ]);
  await Promise.all([...parts.map((part) => part.ready()), leaveThingsOver(), pauseElsewhere()]);
  await untilSomethingLiesOn(TOPIC_IDS.filter((id) => id !== 'heads'));
  // Whoever signs decisions says at its end which it has written.
  expect(await decide.terminate()).toBe(0);
}

async function pauseElsewhere(): Promise<void> {
  const elsewhere = ['--cluster', 'elsewhere', ...fleet.signedBy('operator')];
  await fleet.cli('pause', ...elsewhere, '--reason', 'to be seen');
  await fleet.cli('resume', ...elsewhere);
}

async function untilSomethingLiesOn(topics: readonly TopicId[]): Promise<void> {
  let missing = topics;
  await waitUntil('something to lie on every topic', HAPPENED_MS, async () => {
    const found = await Promise.all(missing.map(has));
    missing = missing.filter((_, at) => !found[at]);
    return missing.length === 0;
  }).catch((cause) => {
    throw new Error(`nothing lies on ${missing.join(', ')}\n${fleet.said}`, { cause });
  });
}

const kcat = (args: readonly string[]): Promise<{ readonly stdout: string }> =>
  run('kcat', ['-b', fleet.broker.address, ...args], { usualMs: READ_MS });

/** A message as kcat prints it. */
const Printed = z.object({
  topic: z.string(),
  partition: z.int(),
  key: z.string().nullable(),
  payload: z.string().nullable(),
  headers: z.array(z.string()).default([]),
});
type Printed = z.infer<typeof Printed>;

/** The published document, by what a client of another language knows which topics there are and what lies on them. */
const Document = z.object({
  channels: z.record(z.string(), z.object({ address: z.string() })),
});
const addressesTold = (): readonly string[] =>
  Object.values(Document.parse(JSON.parse(textOf('schemas/asyncapi.json'))).channels).map(
    ({ address }) => address,
  );

const Metadata = z.object({ topics: z.array(z.object({ topic: z.string() })) });
/** Which topics the broker has, those of its own aside. */
async function addressesOnBroker(): Promise<readonly string[]> {
  const { stdout } = await kcat(['-L', '-J']);
  const { topics } = Metadata.parse(JSON.parse(stdout));
  return topics.map(({ topic }) => topic).filter((topic) => !topic.startsWith('__'));
}

const topicAt = (address: string): TopicId => {
  const id = TOPIC_IDS.find((each) => TOPICS[each].name === address);
  if (id === undefined) throw new Error(`the document names ${address}, which is no topic`);
  return id;
};

async function readWithKcat(id: TopicId): Promise<readonly Printed[]> {
  const { stdout } = await kcat(['-C', '-t', TOPICS[id].name, '-o', 'beginning', '-e', '-q', '-J']);
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => Printed.parse(JSON.parse(line)));
}

const headersOf = ({ headers }: Printed): Readonly<Record<string, string>> =>
  Object.fromEntries(headers.flatMap((name, at) => (at % 2 === 0 ? [[name, headers[at + 1] ?? '']] : [])));

/** The published schemas, by file, as any validator reads them. */
function publishedSchemas(): ReadonlyMap<string, ValidateFunction> {
  const ajv = new Ajv({ strict: true, allowUnionTypes: true, formats: { uuid: true } });
  return new Map(
    FILES_OF_THE_LOG.map((file) => [
      file,
      ajv.compile(JSON.parse(readFileSync(new URL(file, GENERATED_DIRECTORY), 'utf8'))),
    ]),
  );
}

const Data = z.looseObject({ type: z.string(), version: z.int(), id: z.string() });

/** What a client finds that knows CloudEvents and the published schemas alone; the type of the event. */
function understood(message: Printed, schemas: ReadonlyMap<string, ValidateFunction>): string {
  const headers = headersOf(message);
  const asRead = { key: message.key ?? '', value: message.payload ?? '', headers, body: '' };
  const event = Kafka.toEvent(asRead);
  if (!(event instanceof CloudEvent)) throw new Error(`${message.topic}: no single CloudEvent`);
  event.validate();
  const data = Data.parse(event.data);
  expect(event).toMatchObject({ specversion: '1.0', id: data.id, type: `${data.type}.v${data.version}` });
  for (const [file, value] of [
    [HEADERS_FILE, headers],
    [schemaFileOf(event.type), event.data],
  ] as const) {
    const validate = schemas.get(file);
    expect(validate?.(value), `${file}: ${JSON.stringify(validate?.errors?.slice(0, 3))}`).toBe(true);
  }
  return event.type;
}

test(
  'kcat reads every topic of the AsyncAPI document, which are all, and the SDK of CloudEvents and a validator of JSON Schema understand every message',
  async () => {
    await somethingHappens();
    const schemas = publishedSchemas();
    const told = addressesTold();
    expect(told.toSorted()).toEqual((await addressesOnBroker()).toSorted());
    const types = await Promise.all(
      told.map(topicAt).map(async (id) => {
        const events = (await readWithKcat(id)).filter(({ payload }) => payload?.trim() !== NO_EVENT);
        const understoodTypes = events.map((message) => understood(message, schemas));
        expect(understoodTypes.length, id).toBeGreaterThan(0);
        expect(eventTypesOf(id), id).toEqual(expect.arrayContaining(understoodTypes));
        return understoodTypes;
      }),
    );
    expect(new Set(types.flat()).size).toBeGreaterThanOrEqual(20);
  },
  BOUND_MS,
);

const page = textOf('docs/reference/own-node.md');
const [program = ''] = codeBlocks(page, 'python');

/** One of two goes at once, and then the node would look again. */
const FILE_BYTES = 5_000;
const LONG_AGO = new Date('2026-01-01');
/** Containers go first, so the node looks twice. Then a command would follow, were there a version of commands that it takes. */
const wouldRemoveFiles = (event: EventOf<'decisions'>): boolean =>
  event.type === 'fleetgc.node.decision' &&
  event.node === 'models-1' &&
  event.decider.name === 'image-gc' &&
  event.outcome === 'no-common-version';

const COUNT_STATEMENTS = `import ast, sys
print(sum(isinstance(part, ast.stmt) for part in ast.walk(ast.parse(open(sys.argv[1]).read()))))`;

test(
  'the node of the page has twenty statements, is decided on, and is sent no command',
  async () => {
    const folder = temporaryDirectory();
    const file = join(folder, 'node.py');
    writeFileSync(file, program);
    const { stdout } = await run(DEBIAN_PYTHON, ['-c', COUNT_STATEMENTS, file], { usualMs: STATEMENT_MS });
    expect(Number(stdout)).toBe(20);

    const models = join(folder, 'models');
    mkdirSync(models);
    for (const name of ['small', 'large']) {
      writeFileSync(join(models, name), name.repeat(FILE_BYTES / name.length));
      utimesSync(join(models, name), LONG_AGO, LONG_AGO);
    }
    const decide = fleet.decide();
    await decide.startReady();
    const node = spawn(DEBIAN_PYTHON, [file], {
      env: {
        PATH: process.env.PATH ?? '',
        ...{ BROKERS: fleet.broker.address, CLUSTER: 'prod', NODE: 'models-1' },
        ...{ INSTANCE: randomUUID(), FOLDER: models },
      },
    });
    let said = '';
    node.stderr.setEncoding('utf8').on('data', (text: string) => {
      said += text;
    });
    try {
      const decided = await waitUntil('it to be decided that the files may go', HAPPENED_MS, async () => {
        if (node.exitCode !== null) throw new Error(`it ended with ${node.exitCode}: ${said}`);
        return (await fleet.events('decisions')).find(wouldRemoveFiles) ?? null;
      });
      expect(decided).toMatchObject({ policy: { name: 'nodes' }, estimatedBytes: FILE_BYTES });
      expect(decided).toMatchObject({ verdicts: [{ kind: 'image' }, { kind: 'image' }] });
      const commands = await fleet.events('commands');
      expect(commands.filter((command) => command.node === 'models-1')).toEqual([]);
    } finally {
      node.kill('SIGKILL');
    }
  },
  BOUND_MS,
);
