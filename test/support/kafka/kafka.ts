import { chmodSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../container.ts';
import { createNetwork, type TestNetwork } from '../network.ts';
import { BROKER_ALIAS, CONFIG_FOLDER, type Launched, launchBroker, RUN_BROKER } from './kafka-launch.ts';
import {
  brokerProperties,
  clusterProperties,
  INTERNAL_PORT,
  type SaslUsers,
  sslProperties,
} from './kafka-properties.ts';
import { createTlsFiles, type TlsFiles } from './tls-files.ts';

export interface BrokerOptions {
  /** On this network containers reach the broker, without TLS, at `internalAddress`. */
  readonly network?: TestNetwork;
  /** Settings that are added to `server.properties` or replace ours. */
  readonly properties?: Readonly<Record<string, string>>;
  readonly heapMegabytes?: number;
}

/**
 * A real broker in a container. Whatever happens to it, its data, port and name stay until it is disposed. It can be
 * stopped as in a rolling restart, killed, frozen (connections stay open, nothing answers), and started again, which
 * resolves when it answers.
 */
export interface Broker extends Launched {
  /** host:port for this machine's processes; it does not change. */
  readonly address: string;
  /** host:port for containers of the same network. */
  readonly internalAddress: string;
  /** `stop` and `start`. */
  restart(): Promise<void>;
}

/** A broker whose `address` asks for TLS and SASL. */
export interface SecureBroker extends Broker {
  readonly tls: TlsFiles;
  readonly users: SaslUsers;
  /** Files that hold the users' passwords. */
  readonly passwordFiles: { readonly plain: string; readonly scram: string };
}

/** Starts a broker with a PLAINTEXT listener; resolves when it answers. */
export async function startBroker({
  network,
  properties,
  heapMegabytes,
}: BrokerOptions = {}): Promise<Broker> {
  const port = await freePort();
  const client = { address: `127.0.0.1:${port}` };
  const launched = await launchBroker({
    port,
    network,
    client,
    files: newFolder(),
    command: RUN_BROKER,
    heapMegabytes,
    properties: { ...brokerProperties(port, 'PLAINTEXT'), ...properties },
  });
  return brokerOf(launched, client.address);
}

/** Starts a broker whose listener is SASL_SSL: PLAIN and SCRAM-SHA-512, each with a user of its own. */
export async function startSecureBroker({ network, properties }: BrokerOptions = {}): Promise<SecureBroker> {
  const port = await freePort();
  const files = newFolder();
  const tls = await createTlsFiles(files, ['localhost', '127.0.0.1', BROKER_ALIAS]);
  const passwordFiles = { plain: join(files, 'plain-password'), scram: join(files, 'scram-password') };
  writeFileSync(passwordFiles.plain, `${USERS.plain.password}\n`);
  writeFileSync(passwordFiles.scram, `${USERS.scram.password}\n`);
  const client = { address: `127.0.0.1:${port}`, caFile: tls.authority, user: USERS.scram };
  const launched = await launchBroker({
    port,
    network,
    client,
    files,
    command: formatFor(USERS),
    properties: {
      ...brokerProperties(port, 'SASL_SSL'),
      ...sslProperties(CONFIG_FOLDER, USERS),
      ...properties,
    },
  });
  return { ...brokerOf(launched, client.address), tls, users: USERS, passwordFiles };
}

const USERS: SaslUsers = {
  plain: { username: 'plain-user', password: 'plain-secret' },
  scram: { username: 'scram-user', password: 'scram-secret' },
};

/** SCRAM users live in the cluster's metadata, so they are written when the storage is formatted. */
function formatFor({ scram }: SaslUsers): string {
  const user = `SCRAM-SHA-512=[name=${scram.username},password=${scram.password}]`;
  const config = `${CONFIG_FOLDER}/server.properties`;
  const format = `/opt/kafka/bin/kafka-storage.sh format --cluster-id "$CLUSTER_ID" --config ${config}`;
  return `${format} --add-scram '${user}' --ignore-formatted && ${RUN_BROKER}`;
}

/** So many brokers that hold each other's copies. */
export interface BrokerCluster extends AsyncDisposable {
  readonly brokers: readonly Broker[];
  readonly addresses: readonly string[];
}

/** Starts brokers that are all controllers as well; any minority of them may go away. */
export async function startCluster(
  size: number,
  { heapMegabytes, properties }: Omit<BrokerOptions, 'network'> = {},
): Promise<BrokerCluster> {
  await using stack = new AsyncDisposableStack();
  const network = stack.use(await createNetwork());
  const names = Array.from({ length: size }, (_, index) => `${BROKER_ALIAS}-${index + 1}`);
  const starting = names.map(async (alias, index) => {
    const port = await freePort();
    const client = { address: `127.0.0.1:${port}` };
    const launched = await launchBroker({
      port,
      network,
      alias,
      client,
      files: newFolder(),
      command: RUN_BROKER,
      heapMegabytes,
      properties: { ...clusterProperties(index + 1, port, names), ...properties },
    });
    return stack.use(brokerOf(launched, client.address));
  });
  const brokers = await Promise.all(starting);
  const owned = stack.move();
  return {
    brokers,
    addresses: brokers.map(({ address }) => address),
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

function brokerOf(launched: Launched, address: string): Broker {
  return {
    ...launched,
    address,
    internalAddress: `${BROKER_ALIAS}:${INTERNAL_PORT}`,
    restart: async () => {
      await launched.stop();
      await launched.start();
    },
  };
}

/** The broker runs as another user than we do, so the folder is open to all. */
export function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-broker-'));
  chmodSync(folder, 0o755);
  return folder;
}
