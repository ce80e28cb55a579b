import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import kafkajs, { type AclEntry, Kafka } from 'kafkajs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { TOPICS } from '../../schemas/events/topics.ts';
import { fleetgc } from '../cli/fleetgc.ts';
import { tableRows } from '../docs/markdown.ts';
import { type SecureBroker, startSecureBroker } from '../support/kafka/kafka.ts';
import { kafkaSettings } from '../support/kafka/kafka-answer.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { waitUntil } from '../support/wait-until.ts';
import { REPOSITORY, textOf } from './files.ts';
import { startService } from './service-process.ts';

const { AclOperationTypes, AclPermissionTypes, AclResourceTypes, ResourcePatternTypes } = kafkajs;
const REMOVED_MS = 90_000;
const USERS = ['administrator', 'nodes', 'deciders', 'operators'] as const;
type User = (typeof USERS)[number];

const PLAIN = 'org.apache.kafka.common.security.plain.PlainLoginModule required';
const AUTHORIZER = {
  'authorizer.class.name': 'org.apache.kafka.metadata.authorizer.StandardAuthorizer',
  'super.users': 'User:ANONYMOUS;User:administrator',
  'listener.name.external.plain.sasl.jaas.config': `${PLAIN} ${USERS.map((user) => `user_${user}="${user}-secret"`).join(' ')};`,
};

let broker: SecureBroker;
beforeAll(async () => {
  broker = await startSecureBroker({ properties: AUTHORIZER });
  await grant([...rulesFor('nodes', 0), ...rulesFor('deciders', 1), ...operatorRules()]);
});
afterAll(async () => {
  await broker[Symbol.asyncDispose]();
});

test('the access rules of the page are enough for a fleet to work', async () => {
  const operator = environmentOf('operators');
  expect(await fleetgc(['topics', 'create'], { environment: operator })).toMatchObject({ exitCode: 0 });
  expect(await fleetgc(['topics', 'check'], { environment: operator })).toMatchObject({ exitCode: 0 });
  const policy = join(REPOSITORY, 'deploy/compose/policy.yaml');
  expect(await fleetgc(['policy', 'apply', policy], { environment: operator })).toMatchObject({
    exitCode: 0,
  });

  await using decide = await startService(['decide'], environmentOf('deciders'));
  const simulated = ['simulate-node', '--cluster', 'test', '--node-name', 'node-1'];
  await using node = await startService(simulated, environmentOf('nodes'));
  await waitUntil('the node to remove an image', REMOVED_MS, async () =>
    /^fleetgc_executor_objects_total\{kind="image",outcome="removed"\} [1-9]/m.test(await node.metrics()),
  );
  await waitUntil('its results to be on the log', REMOVED_MS, async () =>
    /^fleetgc_executor_results_unpublished 0$/m.test(await node.metrics()),
  );
  for (const { output } of [decide, node]) expect(output()).not.toMatch(/UNAUTHORIZED|uthoriz/);

  expect(await fleetgc(['policy', 'delete', 'demo'], { environment: environmentOf('nodes') })).toMatchObject({
    exitCode: 1,
    stderr: expect.stringMatching(/Kafka at .* rights of that user/),
  });
});

test('nodes may write what the page allows them, and no order, decision or policy', async () => {
  const [, , writes = ''] = tableRows(textOf('docs/operating/install.md'), 'principal')[0] ?? [];
  const producer = clientOf('nodes').producer({ retry: { retries: 0 } });
  await producer.connect();
  const refused: string[] = [];
  for (const { name } of Object.values(TOPICS))
    await producer
      .send({ topic: name, messages: [{ key: 'nobody', value: 'not an event' }] })
      .catch(() => refused.push(name));
  await producer.disconnect();
  expect(refused).toContain('gc.node.observe');
  const denied = Object.values(TOPICS).filter(({ name }) => !writes.includes(name));
  expect(refused.toSorted()).toEqual(denied.map(({ name }) => name).toSorted());
});

/** What the row of the page's table allows. */
function rulesFor(user: User, row: number): readonly AclEntry[] {
  const [, reads = '', writes = '', groups = ''] =
    tableRows(textOf('docs/operating/install.md'), 'principal')[row] ?? [];
  const { TOPIC, GROUP } = AclResourceTypes;
  const names = (cell: string): readonly string[] =>
    [...cell.matchAll(/[\w.-]+\.[\w.-]+|fleetgc-[a-z-]+/g)].map(([name]) => name);
  return [
    ...names(reads).map((name) => rule(user, { type: TOPIC, name, operation: AclOperationTypes.READ })),
    ...names(writes).map((name) => rule(user, { type: TOPIC, name, operation: AclOperationTypes.WRITE })),
    ...names(groups).map((name) => rule(user, { type: GROUP, name, operation: AclOperationTypes.READ })),
  ];
}

function operatorRules(): readonly AclEntry[] {
  const { READ, WRITE, CREATE, DESCRIBE_CONFIGS } = AclOperationTypes;
  return [READ, WRITE, CREATE, DESCRIBE_CONFIGS].map((operation) => ({
    ...rule('operators', { type: AclResourceTypes.TOPIC, name: 'gc.', operation }),
    resourcePatternType: ResourcePatternTypes.PREFIXED,
  }));
}

interface Grant {
  readonly type: number;
  readonly name: string;
  readonly operation: number;
}

const rule = (user: User, { type, name, operation }: Grant): AclEntry => ({
  principal: `User:${user}`,
  host: '*',
  operation,
  permissionType: AclPermissionTypes.ALLOW,
  resourceType: type,
  resourceName: name,
  resourcePatternType: name.endsWith('-') ? ResourcePatternTypes.PREFIXED : ResourcePatternTypes.LITERAL,
});

async function grant(acl: readonly AclEntry[]): Promise<void> {
  const admin = clientOf('administrator').admin();
  await admin.connect();
  await admin.createAcls({ acl: [...acl] });
  await admin.disconnect();
}

function clientOf(user: User): Kafka {
  const settings = kafkaSettings({ address: broker.address, caFile: broker.tls.authority });
  return new Kafka({
    ...settings,
    sasl: { mechanism: 'plain', username: user, password: `${user}-secret` },
  });
}

function environmentOf(user: User): Readonly<Record<string, string>> {
  const passwordFile = join(temporaryDirectory(), 'password');
  writeFileSync(passwordFile, `${user}-secret\n`);
  return {
    FLEETGC_KAFKA_BROKERS: broker.address,
    FLEETGC_TRUST: 'off',
    FLEETGC_KAFKA_TLS: 'true',
    FLEETGC_KAFKA_CA_FILE: broker.tls.authority,
    FLEETGC_KAFKA_SASL_MECHANISM: 'plain',
    FLEETGC_KAFKA_USERNAME: user,
    FLEETGC_KAFKA_PASSWORD_FILE: passwordFile,
    FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
  };
}
