import { copyFileSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { openKafkaLog } from '../../../packages/log/kafka.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import { type SecureBroker, startSecureBroker } from '../../support/kafka/kafka.ts';
import { BROKER_ALIAS } from '../../support/kafka/kafka-launch.ts';
import { createTlsFiles, renewClient, renewServer } from '../../support/kafka/tls-files.ts';
import { logLines } from '../../support/log-lines.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { outgoing, readAll, silentContext, subscriptionOf, uniqueKey, until } from './probe.ts';

const BOUND_MS = 600_000;
const PATIENCE_MS = 20_000;
const HOUR_S = 3600;

let broker: SecureBroker;
beforeAll(async () => {
  broker = await startSecureBroker();
}, BOUND_MS);
afterAll(() => broker[Symbol.asyncDispose]());

const folder = (): string => dirname(broker.tls.authority);

/** A client with files of its own, which are not those of the broker. */
async function openOwn({ sasl = 'scram', certificate = false } = {}) {
  const own = temporaryDirectory();
  const file = (name: string): string => join(own, name);
  const copy = (): void => {
    copyFileSync(broker.tls.authority, file('ca.pem'));
    copyFileSync(broker.tls.clientCertificate, file('client.pem'));
    copyFileSync(broker.tls.clientKey, file('client.key'));
    copyFileSync(broker.passwordFiles[sasl === 'scram' ? 'scram' : 'plain'], file('password'));
  };
  copy();
  const options = KafkaOptions.parse({
    kind: 'kafka',
    brokers: [broker.address],
    clientId: 'rotation',
    replicationFactor: 1,
    ssl: {
      caFile: file('ca.pem'),
      ...(certificate && { certFile: file('client.pem'), keyFile: file('client.key') }),
    },
    sasl:
      sasl === 'scram'
        ? {
            mechanism: 'scram-sha-512',
            username: broker.users.scram.username,
            passwordFile: file('password'),
          }
        : { mechanism: 'plain', username: broker.users.plain.username, passwordFile: file('password') },
  });
  const destination = logLines();
  const { lines } = destination;
  const logger = createLogger({ service: 'test', level: 'info' }, destination);
  const log = await openKafkaLog(options, { ...silentContext(), logger });
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return { log, lines, file, copy };
}

/** Reads in every way that a process does; what it got is known by key. */
async function reading(log: EventLog) {
  const followed = new Set<string | null>();
  const served = new Set<string | null>();
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  void (async () => {
    for await (const event of log.read(
      { topic: 'gc.node.results', from: 'earliest', to: 'forever' },
      stop.signal,
    ))
      if (event.kind === 'record') followed.add(event.record.key);
  })();
  await log.subscribe(subscriptionOf(), async (records) => {
    for (const { key } of records) served.add(key);
  });
  return { followed, served };
}

const publishes = async (log: EventLog): Promise<boolean> =>
  await log.publish([outgoing({ key: 'probe' })]).then(
    () => true,
    () => false,
  );

/** How long ago the certificate that the broker is shown has ended; by the clock that both have. */
const SHORT_S = 15;
const ENDED_S = -1;
const SERVER_NAMES = ['localhost', '127.0.0.1', BROKER_ALIAS];

const RENEWALS: readonly {
  readonly name: string;
  readonly certificate: boolean;
  /** Before the client opens. */
  readonly prepare: () => Promise<void>;
  /** What the client has is not taken any more. */
  readonly spoil: () => Promise<void>;
  readonly mend: () => Promise<void>;
}[] = [
  {
    name: 'the authority of the brokers was replaced',
    certificate: false,
    prepare: async () => undefined,
    spoil: async () => {
      await createTlsFiles(folder(), SERVER_NAMES);
      await broker.restart();
    },
    mend: async () => undefined,
  },
  {
    name: "this client's certificate has ended",
    certificate: true,
    prepare: () => renewClient(folder(), SHORT_S),
    spoil: async () => {
      const endsAtMs = Date.now() + SHORT_S * 1000;
      await until('the end of the certificate', () => Date.now() > endsAtMs, PATIENCE_MS);
      await broker.restart();
    },
    mend: () => renewClient(folder(), HOUR_S),
  },
  {
    name: "the brokers' certificate has ended",
    certificate: false,
    prepare: async () => undefined,
    spoil: async () => {
      await renewServer(folder(), SERVER_NAMES, ENDED_S);
      await broker.stop();
      // Nobody gets an answer from it, so nobody waits for one.
      broker.start().catch(() => undefined);
    },
    mend: async () => {
      await renewServer(folder(), SERVER_NAMES, HOUR_S);
      await broker.restart();
    },
  },
];

test.each(RENEWALS)(
  '$name: health says whom it concerns, and with new files all goes on without a restart',
  { timeout: BOUND_MS },
  async ({ certificate, prepare, spoil, mend }) => {
    await prepare();
    const { log, copy } = await openOwn({ certificate });
    const { followed, served } = await reading(log);
    const [before, after] = [uniqueKey(), uniqueKey()];
    await log.publish([outgoing({ key: before })]);
    await until('what was published before', () => followed.has(before) && served.has(before), PATIENCE_MS);
    expect(log.health()).toEqual({ connected: true, problem: null });

    await spoil();
    await expect(publishes(log)).resolves.toBe(false);
    await until('health to tell', () => /certificate/.test(log.health().problem ?? ''), PATIENCE_MS);
    expect(log.health().connected).toBe(false);

    await mend();
    copy();
    await until('a publish to be taken', () => publishes(log), PATIENCE_MS);
    await log.publish([outgoing({ key: after })]);
    await until('what was published after', () => followed.has(after) && served.has(after), PATIENCE_MS);
    await until('health to be well', () => log.health().connected, PATIENCE_MS);
  },
);

test('the password was replaced: the producer is refused until the file has the new one', {
  timeout: BOUND_MS,
}, async () => {
  const { log, file } = await openOwn({ sasl: 'plain' });
  await expect(publishes(log)).resolves.toBe(true);
  const properties = join(folder(), 'server.properties');
  writeFileSync(properties, readFileSync(properties, 'utf8').replace('plain-secret', 'other-secret'));
  await broker.restart();

  await expect(publishes(log)).resolves.toBe(false);
  expect(log.health().problem).toMatch(/password/);
  writeFileSync(file('password'), 'other-secret');
  await until('a publish to be taken', () => publishes(log), PATIENCE_MS);
  expect(log.health()).toEqual({ connected: true, problem: null });
});

test('files are replaced while all is well: connections are made anew once the brokers take what is new', {
  timeout: BOUND_MS,
}, async () => {
  await renewClient(folder(), HOUR_S);
  const { log, lines, file, copy } = await openOwn({ certificate: true });
  await log.publish([outgoing({ key: uniqueKey() })]);
  copyFileSync(broker.tls.otherAuthority, file('client.pem'));
  await until('what is new to be tried', () => !log.health().connected, PATIENCE_MS);
  expect(log.health().problem).toMatch(/^new certificate or password: /);
  await expect(publishes(log)).resolves.toBe(true);
  expect(lines.join('')).not.toContain('connections are made anew');

  await renewClient(folder(), HOUR_S);
  copy();
  await until(
    'connections to be made anew',
    () => lines.join('').includes('connections are made anew'),
    PATIENCE_MS,
  );
  await until('health to be well', () => log.health().connected, PATIENCE_MS);
  const key = uniqueKey();
  await until('a publish to be taken', () => publishes(log), PATIENCE_MS);
  await log.publish([outgoing({ key })]);
  expect(await readAll(log, key)).toHaveLength(1);
});
