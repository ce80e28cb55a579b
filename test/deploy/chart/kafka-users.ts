import { copyFileSync } from 'node:fs';
import type { Brokers } from '../../e2e/support/fleet/fleet-log.ts';
import {
  type GuardedBroker,
  type ScramUser,
  startGuardedBroker,
} from '../../support/kafka/guarded-broker.ts';
import type { TestNetwork } from '../../support/network.ts';
import type { Shell } from './shell.ts';

/** As the pages call them, and who may add rules. */
type UserName = 'administrator' | 'nodes' | 'deciders' | 'operators' | 'policies-prod';

const user = (username: UserName): ScramUser => ({
  username,
  password: `${username}-secret`,
  mechanism: 'SCRAM-SHA-512',
});

/** A broker that denies all that no rule allows, and knows the users of the pages. */
export const startUsersBroker = (network: TestNetwork): Promise<GuardedBroker> =>
  startGuardedBroker(
    user('administrator'),
    (['nodes', 'deciders', 'operators', 'policies-prod'] as const).map(user),
    network,
  );

/** Writes the files that the pages make Secrets of, and those of whoever types. */
export function writePasswords(shell: Shell, broker: GuardedBroker): void {
  copyFileSync(broker.tls.authority, shell.file('ca.pem'));
  for (const name of ['nodes', 'deciders', 'operators', 'administrator'] as const)
    shell.writes(`${name}-password`, user(name).password);
  shell.writes('password', user('policies-prod').password);
}

/** What `fleetgc` gets from the environment of whoever types, who is this user of Kafka. */
export const loginOf = (name: 'administrator' | 'operators', shell: Shell, broker: GuardedBroker) => ({
  FLEETGC_KAFKA_BROKERS: broker.saslAddress,
  FLEETGC_KAFKA_TLS: 'true',
  FLEETGC_KAFKA_CA_FILE: shell.file('ca.pem'),
  FLEETGC_KAFKA_SASL_MECHANISM: 'scram-sha-512',
  FLEETGC_KAFKA_USERNAME: name,
  FLEETGC_KAFKA_PASSWORD_FILE: shell.file(`${name}-password`),
  FLEETGC_KAFKA_REPLICATION_FACTOR: '1',
  FLEETGC_TRUST_ROOTS: shell.file('roots.yaml'),
});

/** The same for who follows the log beside. */
export const brokersFor = (shell: Shell, broker: GuardedBroker): Brokers => ({
  brokers: [broker.saslAddress],
  ssl: { caFile: broker.tls.authority },
  sasl: {
    mechanism: 'scram-sha-512',
    username: 'administrator',
    passwordFile: shell.file('administrator-password'),
  },
});
