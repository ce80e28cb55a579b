import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { ConfigResourceTypes, ConfigSource, Kafka } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOPICS } from '../../schemas/events/topics.ts';
import { FleetStatus } from '../../schemas/reports/fleet-status.ts';
import { checked } from '../packages/audit/support/archives.ts';
import { type Broker, type SecureBroker, startBroker, startSecureBroker } from '../support/kafka/kafka.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { type Ended, fleetgc } from './fleetgc.ts';
import { spawnVerb } from './service-process.ts';

const PAUSES = "SELECT count(*) AS n FROM policies WHERE event->>'reason' = 'to be archived'";
/** One broker has no copies to spare. */
const ALONE = ['--kafka-replication-factor', '1'];

let broker: Broker;
let secure: SecureBroker;
beforeAll(async () => {
  [broker, secure] = await Promise.all([startBroker(), startSecureBroker()]);
});
afterAll(() => Promise.all([broker, secure].map((one) => one?.[Symbol.asyncDispose]())));

const run = (...args: readonly string[]): Promise<Ended> =>
  fleetgc([...args, '--kafka-brokers', broker.address]);

test('an operator sets a fleet up and steers it', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: web\nmode: dry-run\n');

  const missing = await run('topics', 'check');
  expect(missing.exitCode).toBe(1);
  const count = Object.keys(TOPICS).length;
  expect(missing.stderr).toContain(`check: ${count} topics differ from what this release declares:\n`);

  const created = await run('topics', 'create', ...ALONE);
  expect(created).toMatchObject({ exitCode: 0, stderr: '' });
  expect(created.stdout).toMatch(/^gc\.node\.commands +created$/m);
  expect(await run('topics', 'create', ...ALONE)).toMatchObject({ exitCode: 0 });
  expect(await run('topics', 'check', ...ALONE)).toMatchObject({ exitCode: 0, stderr: '' });

  expect((await run('policy', 'apply', policy)).stdout).toBe(
    'web: created as version 1, dry-run on all nodes\n',
  );
  expect((await run('policy', 'apply', policy)).stdout).toBe('web: unchanged, version 1\n');
  expect((await run('policy', 'list')).stdout).toMatch(/^NAME .*\nweb +1 +dry-run /);
  expect((await run('pause', '--cluster', 'prod')).stdout).toBe('paused: cluster prod\n');
  expect((await run('resume', '--all')).stdout).toBe('resumed: cluster prod\n');
  expect((await run('policy', 'delete', 'web')).stdout).toBe('web: deleted\n');
  expect((await run('policy', 'list')).stdout).toBe('');
  expect((await run('dead-letters', 'list')).stderr).toBe('There are no such dead letters.\n');
});

test('nothing is written where the broker would recompress it by a codec that FleetGC does not read', async () => {
  const policy = join(temporaryDirectory(), 'policy.yaml');
  writeFileSync(policy, 'name: lz4\nmode: dry-run\n');
  await run('topics', 'create', ...ALONE);
  await compressWith('lz4');
  const refused = await run('policy', 'apply', policy);
  await compressWith('producer');

  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toMatch(/Nothing was written:[\s\S]*gc\.policies has compression\.type=lz4/);
  expect((await run('policy', 'list')).stdout).toBe('');
  expect((await run('policy', 'apply', policy)).exitCode).toBe(0);
  expect((await run('policy', 'delete', 'lz4')).stdout).toBe('lz4: deleted\n');
});

/** What is altered this way replaces all that was set before, so that is given again. */
async function compressWith(value: string): Promise<void> {
  const topic = { type: ConfigResourceTypes.TOPIC, name: TOPICS.policies.name };
  const admin = new Kafka({ brokers: [broker.address], logLevel: 0 }).admin();
  await admin.connect();
  try {
    const { resources } = await admin.describeConfigs({ includeSynonyms: false, resources: [topic] });
    const set = resources
      .flatMap(({ configEntries }) => configEntries)
      .filter(({ configSource }) => configSource === ConfigSource.TOPIC_CONFIG)
      .map(({ configName, configValue }) => ({ name: configName, value: configValue }))
      .filter(({ name }) => name !== 'compression.type');
    const configEntries = [...set, { name: 'compression.type', value }];
    await admin.alterConfigs({ validateOnly: false, resources: [{ ...topic, configEntries }] });
  } finally {
    await admin.disconnect();
  }
}

test('access rules cannot be added to brokers that keep none', async () => {
  expect(await run('topics', 'acls', '--apply', '--node-principal', 'User:nodes')).toMatchObject({
    exitCode: 1,
    stdout: '',
    stderr: expect.stringMatching(
      /^fleetgc topics acls: Kafka at .+: these brokers keep no access rules.+set authorizer\.class\.name/,
    ),
  });
});

test('status and nodes tell of brokers, services and nodes, and what is left to do', async () => {
  expect(await run('topics', 'create', ...ALONE)).toMatchObject({ exitCode: 0 });
  const at = ['--kafka-brokers', broker.address];
  const statusNow = async () =>
    FleetStatus.parse(JSON.parse((await run('status', '-o', 'json', ...ALONE)).stdout));
  expect((await statusNow()).services).toMatchObject([{ members: 0 }, { members: 0 }, { members: 0 }]);

  const node = spawnVerb('simulate-node', '--cluster', 'demo', '--node-name', 'node-1', ...at);
  const deciders = spawnVerb('decide', ...at);
  const busy = await waitUntil('each service to be there', 60_000, async () => {
    const found = await statusNow();
    return found.services.every(({ members, topics }) => members === 1 && topics !== null) && found;
  });
  const newestFactMs = expect.any(Number);
  expect(busy.log).toEqual({ kind: 'kafka', servers: [broker.address], topicProblems: [], newestFactMs });
  expect(busy.nodes).toEqual({ heard: 1, silent: 0, withoutPolicy: 1, warned: 0 });
  expect((await run('nodes')).stdout).toMatch(/demo +node-1 +\d+s ago +\d+ % +\(none\) +keeps all/);

  expect(await deciders.terminate()).toBe(0);
  const waiting = await waitUntil('messages that nobody takes', 120_000, async () => {
    const found = await statusNow();
    return found.services.some(({ members, lag }) => members === 0 && lag > 0) && found;
  });
  expect(waiting.problems[0]).toMatch(/^(pressure|container-gc|image-gc) does not run/);
  expect(await node.terminate()).toBe(0);
});

test('an archiver follows the log, and ends in order when told to', async () => {
  expect(await run('topics', 'create', ...ALONE)).toMatchObject({ exitCode: 0 });
  const directory = join(temporaryDirectory(), 'archive');
  const archiver = spawnVerb(
    ...['audit', 'archive', '--follow', '--every', '10s', '--to', directory],
    ...['--kafka-brokers', broker.address],
  );
  const archived = () => archiver.output.stderr.split('"msg":"archived"').length - 1;
  await waitUntil('the first pass', 60_000, () => archived() > 0);
  const before = archived();
  await run('pause', '--cluster', 'prod', '--reason', 'to be archived');
  await waitUntil('a pass with the pause', 60_000, () => archived() > before);

  expect((await archiver.get('/readyz')).status).toBe(200);
  expect(await archiver.terminate()).toBe(0);
  expect(await checked(directory)).toMatchObject({ deviations: [], unfinished: [] });
  const found = await fleetgc(['audit', 'query', PAUSES, '--archive', directory, '-o', 'ndjson']);
  expect(found).toMatchObject({ exitCode: 0, stdout: '{"n":"1"}\n' });
});

test('over TLS and SASL, with the password from a file', async () => {
  const connection = [
    ...['--kafka-brokers', secure.address, '--kafka-tls', '--kafka-ca-file', secure.tls.authority],
    ...['--kafka-sasl-mechanism', 'scram-sha-512', '--kafka-username', secure.users.scram.username],
  ];
  const create = (passwordFile: string): Promise<Ended> =>
    fleetgc(['topics', 'create', ...ALONE, ...connection, '--kafka-password-file', passwordFile]);

  expect(await create(secure.passwordFiles.scram)).toMatchObject({ exitCode: 0, stderr: '' });
  const refused = await create(secure.passwordFiles.plain);
  expect(refused).toMatchObject({ exitCode: 1, stdout: '' });
  expect(refused.stderr).toMatch(/^(Waiting for Kafka .*\n)*fleetgc topics create: [^\n]*\n$/);
  expect(refused.stderr).not.toContain('secret');
});
