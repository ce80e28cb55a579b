import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { EventLogOptions, openEventLog } from '../../../packages/log/open.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { type SecureBroker, startSecureBroker } from '../../support/kafka/kafka.ts';
import { outgoing, readAll, silentContext, subscriptionOf, uniqueKey, until } from './probe.ts';

const PATIENCE_MS = 30_000;
let broker: SecureBroker;
beforeAll(async () => {
  broker = await startSecureBroker();
});
afterAll(() => broker[Symbol.asyncDispose]());

async function open(over: object): Promise<EventLog> {
  const options = EventLogOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    clientId: 'access',
    replicationFactor: 1,
    ssl: { caFile: broker.tls.authority },
    ...over,
  });
  const log = await openEventLog(options, silentContext());
  onTestFinished(() => log[Symbol.asyncDispose]());
  return log;
}

const plain = () => ({
  sasl: { mechanism: 'plain', username: 'plain-user', passwordFile: broker.passwordFiles.plain },
});

test('PLAIN lets in, also with a certificate of the client', async () => {
  const { authority, clientCertificate, clientKey } = broker.tls;
  const ssl = { caFile: authority, certFile: clientCertificate, keyFile: clientKey };
  const log = await open({ ...plain(), ssl });
  await log.createTopics();
  const key = uniqueKey();
  await log.publish([outgoing({ key })]);
  expect(await readAll(log, key)).toHaveLength(1);
});

test('a wrong password is said clearly, and ends the consumer instead of trying for ever', async () => {
  const wrong = { mechanism: 'plain', username: 'plain-user', passwordFile: broker.passwordFiles.scram };
  const log = await open({ sasl: wrong });
  const refusal = {
    code: 'LOG_UNAUTHORIZED',
    message: expect.stringMatching(/Check the user, its password file/),
  };
  await expect(log.publish([outgoing()])).rejects.toMatchObject(refusal);
  const member = await log.subscribe(subscriptionOf(), async () => undefined);
  await expect(member.finished).rejects.toMatchObject(refusal);
  expect(log.health()).toMatchObject({ connected: false });
});

test.each([
  {
    name: 'a certificate of an authority that is not trusted',
    over: () => ({ ...plain(), ssl: { caFile: broker.tls.otherAuthority } }),
  },
  {
    name: 'a broker that speaks TLS while the client does not',
    over: () => ({ ...plain(), ssl: undefined }),
  },
])('$name: a clear problem while it is tried again', async ({ over }) => {
  const log = await open(over());
  const member = await log.subscribe(subscriptionOf(), async () => undefined);
  await until('the problem', () => member.state().problem !== null, PATIENCE_MS);
  expect(member.state().problem).toMatch(/^Kafka at .+: .+ Check that the brokers run.+TLS/);
  expect(member.state().joined).toBe(false);
});

test('nothing listens there: a clear problem', async () => {
  const log = await open({ brokers: ['127.0.0.1:1'] });
  await expect(log.publish([outgoing()])).rejects.toMatchObject({
    code: 'LOG_UNREACHABLE',
    message: expect.stringContaining('127.0.0.1:1'),
  });
});
