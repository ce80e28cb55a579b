import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { eventLogOptions, readEventLogSettings } from '../../../cli/options/event-log-options.ts';
import type { Role } from '../../../packages/log/access/access-rules.ts';
import type { KafkaOptions } from '../../../packages/log/kafka/client/options.ts';
import { readTextFile } from '../../../packages/process/options/named-file.ts';
import { startTokenServer, type TokenServer } from '../../support/kafka/bearer-tokens.ts';
import {
  type GuardedBroker,
  type ScramUser,
  startGuardedBroker,
} from '../../support/kafka/guarded-broker.ts';
import { createClient } from '../../support/kafka/tls-files.ts';
import { loadOptions } from '../../support/load-options.ts';
import { UNSIGNED_FLEET } from '../../support/program.ts';

/** What a process is given to log in. */
export type Environment = Readonly<Record<string, string>>;

/** Somebody the brokers know, with or without rules. */
export type Who = Role | 'administrator' | 'stranger';

export const PRINCIPALS: Readonly<Record<Role, string>> = {
  node: 'User:O=example,CN=nodes',
  cluster: 'User:clusters',
  decider: 'User:deciders',
  operator: 'User:operators',
  dashboard: 'User:dashboards',
  'policy-controller': 'User:policy-controllers',
  archiver: 'User:archivers',
  reader: 'User:readers',
  notifier: 'User:notifiers',
};

export interface GuardedFleet extends AsyncDisposable {
  readonly broker: GuardedBroker;
  readonly tokenServer: TokenServer;
  readonly environments: Readonly<Record<Who, Environment>>;
}

/** The fleet shares its broker with one that has none. */
export const PREFIX = 'acme.';

/** So short that a test outlives it: connections log in anew meanwhile. */
const DECIDER_TOKEN_SECONDS = 25;
const HOUR_S = 3600;

const scram = (username: string, mechanism: ScramUser['mechanism']): ScramUser => ({
  username,
  password: `${username}-secret`,
  mechanism,
});
const ADMINISTRATOR = scram('administrator', 'SCRAM-SHA-512');
const CLUSTERS = scram('clusters', 'SCRAM-SHA-512');
const OPERATORS = scram('operators', 'SCRAM-SHA-512');
const DASHBOARDS = scram('dashboards', 'SCRAM-SHA-256');
const POLICY_CONTROLLERS = scram('policy-controllers', 'SCRAM-SHA-512');
const READERS = scram('readers', 'SCRAM-SHA-256');
const NOTIFIERS = scram('notifiers', 'SCRAM-SHA-512');
const STRANGER = scram('stranger', 'SCRAM-SHA-512');

/** A broker, and for each role a login of another kind. */
export async function startGuardedFleet(): Promise<GuardedFleet> {
  await using stack = new AsyncDisposableStack();
  const broker = stack.use(
    await startGuardedBroker(ADMINISTRATOR, [
      CLUSTERS,
      OPERATORS,
      DASHBOARDS,
      POLICY_CONTROLLERS,
      READERS,
      NOTIFIERS,
      STRANGER,
    ]),
  );
  const { folder, signer } = broker;
  const tokenServer = stack.use(
    await startTokenServer({
      signer,
      keyFile: join(folder, 'server.key'),
      certificateFile: join(folder, 'server.pem'),
      clientId: 'deciders',
      secret: 'deciders-secret',
      validSeconds: DECIDER_TOKEN_SECONDS,
    }),
  );
  const file = (name: string, text: string): string => {
    const path = join(folder, name);
    writeFileSync(path, text);
    return path;
  };
  const certificate = await createClient(folder, 'nodes', '/CN=nodes/O=example');
  const withPassword = ({ mechanism, username, password }: ScramUser): Environment => ({
    ...commonOf(broker),
    FLEETGC_KAFKA_SASL_MECHANISM: mechanism.toLowerCase(),
    FLEETGC_KAFKA_USERNAME: username,
    FLEETGC_KAFKA_PASSWORD_FILE: file(`${username}-password`, `${password}\n`),
  });
  const environments = {
    node: {
      ...commonOf(broker),
      ...UNSIGNED_FLEET,
      FLEETGC_KAFKA_BROKERS: broker.certificateAddress,
      FLEETGC_KAFKA_CERTIFICATE_FILE: certificate.certificate,
      FLEETGC_KAFKA_KEY_FILE: certificate.key,
    },
    cluster: withPassword(CLUSTERS),
    decider: {
      ...commonOf(broker),
      FLEETGC_KAFKA_SASL_MECHANISM: 'oauthbearer',
      FLEETGC_KAFKA_TOKEN_URL: tokenServer.url,
      FLEETGC_KAFKA_TOKEN_CA_FILE: broker.tls.authority,
      FLEETGC_KAFKA_USERNAME: 'deciders',
      FLEETGC_KAFKA_PASSWORD_FILE: file('deciders-secret', 'deciders-secret\n'),
    },
    operator: withPassword(OPERATORS),
    dashboard: withPassword(DASHBOARDS),
    'policy-controller': withPassword(POLICY_CONTROLLERS),
    archiver: {
      ...commonOf(broker),
      FLEETGC_KAFKA_SASL_MECHANISM: 'oauthbearer',
      FLEETGC_KAFKA_TOKEN_FILE: file(
        'archivers-token',
        signer.token({ subject: 'archivers', validSeconds: HOUR_S }),
      ),
    },
    reader: withPassword(READERS),
    notifier: withPassword(NOTIFIERS),
    administrator: withPassword(ADMINISTRATOR),
    stranger: withPassword(STRANGER),
  };
  const owned = stack.move();
  return { broker, tokenServer, environments, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

const commonOf = ({ saslAddress, tls }: GuardedBroker): Environment => ({
  ...UNSIGNED_FLEET,
  FLEETGC_KAFKA_BROKERS: saslAddress,
  FLEETGC_KAFKA_PREFIX: PREFIX,
  FLEETGC_KAFKA_TLS: 'true',
  FLEETGC_KAFKA_CA_FILE: tls.authority,
  FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
});

/** The settings that the product makes of it. */
export function settingsOf(environment: Environment): KafkaOptions {
  const options = loadOptions(z.object(eventLogOptions('kafka')), { flags: {}, environment, file: null });
  const settings = readEventLogSettings(options, { clientId: 'attempts', readTextFile });
  if (settings.kind !== 'kafka') throw new Error('not on Kafka');
  return { ...settings, waits: 'short' };
}
