import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Wait } from 'testcontainers';
import { controlOf, freePort, started, TestContainer } from './container.ts';
import { answersAsBroker, type ClientSettings } from './kafka-answer.ts';
import { brokerProperties, INTERNAL_PORT, type SaslUsers, sslProperties } from './kafka-properties.ts';
import type { TestNetwork } from './network.ts';
import { createTlsFiles, type TlsFiles } from './tls-files.ts';
import { ensureToolchain } from './toolchain/toolchain.ts';
import { KAFKA_IMAGE } from './toolchain/versions.ts';
import { waitUntil } from './wait-until.ts';

const CONFIG = '/mnt/shared/config';
const CLUSTER_ID = 'Zmxl-WV0Z2MtdGVzdHMtMQ';
const START_MS = 90_000;
const READY_MS = 60_000;
export const BROKER_ALIAS = 'kafka';

export interface BrokerOptions {
  /** On this network containers reach the broker, without TLS, at `internalAddress`. */
  readonly network?: TestNetwork;
  /** Settings that are added to `server.properties` or replace ours. */
  readonly properties?: Readonly<Record<string, string>>;
}

/** A real broker in a container. What happens to it, its data, port and name stay until it is disposed. */
export interface Broker extends AsyncDisposable {
  /** host:port for this machine's processes; it does not change. */
  readonly address: string;
  /** host:port for containers of the same network. */
  readonly internalAddress: string;
  /** Orderly stop, as in a rolling restart. */
  stop(): Promise<void>;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** After `stop` or `kill`; resolves when the broker answers again. */
  start(): Promise<void>;
  restart(): Promise<void>;
  /** The broker goes silent: connections stay open, nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** A broker whose `address` asks for TLS and SASL. */
export interface SecureBroker extends Broker {
  readonly tls: TlsFiles;
  readonly users: SaslUsers;
  /** Files that hold the users' passwords. */
  readonly passwordFiles: { readonly plain: string; readonly scram: string };
}

/** Starts a broker with a PLAINTEXT listener; resolves when it answers. */
export async function startBroker(options: BrokerOptions = {}): Promise<Broker> {
  const port = await freePort();
  return launch({
    port,
    options,
    properties: brokerProperties(port, 'PLAINTEXT'),
    command: RUN,
    files: newFolder(),
  });
}

/** Starts a broker whose listener is SASL_SSL: PLAIN and SCRAM-SHA-512, each with a user of its own. */
export async function startSecureBroker(options: BrokerOptions = {}): Promise<SecureBroker> {
  const port = await freePort();
  const files = newFolder();
  const tls = await createTlsFiles(files, ['localhost', '127.0.0.1', BROKER_ALIAS]);
  const passwordFiles = { plain: join(files, 'plain-password'), scram: join(files, 'scram-password') };
  writeFileSync(passwordFiles.plain, `${USERS.plain.password}\n`);
  writeFileSync(passwordFiles.scram, `${USERS.scram.password}\n`);
  const properties = { ...brokerProperties(port, 'SASL_SSL'), ...sslProperties(CONFIG, USERS) };
  const client = { caFile: tls.authority, user: USERS.scram };
  const broker = await launch({ port, options, properties, command: formatWith(USERS), files, client });
  return { ...broker, tls, users: USERS, passwordFiles };
}

const USERS: SaslUsers = {
  plain: { username: 'plain-user', password: 'plain-secret' },
  scram: { username: 'scram-user', password: 'scram-secret' },
};

const RUN = 'exec /etc/kafka/docker/run';

/** SCRAM users live in the cluster's metadata, so they are written when the storage is formatted. */
function formatWith({ scram }: SaslUsers): string {
  const user = `SCRAM-SHA-512=[name=${scram.username},password=${scram.password}]`;
  return `/opt/kafka/bin/kafka-storage.sh format --cluster-id "$CLUSTER_ID" --config ${CONFIG}/server.properties --add-scram '${user}' --ignore-formatted && ${RUN}`;
}

interface Launch {
  readonly port: number;
  readonly options: BrokerOptions;
  readonly properties: Readonly<Record<string, string>>;
  readonly command: string;
  /** A folder that the container sees as its configuration. */
  readonly files: string;
  readonly client?: Omit<ClientSettings, 'address'>;
}

async function launch({ port, options, properties, command, files, client }: Launch): Promise<Broker> {
  await ensureToolchain(['kafka']);
  const lines = Object.entries({ ...properties, ...options.properties }).map(
    ([key, value]) => `${key}=${value}`,
  );
  writeFileSync(join(files, 'server.properties'), `${lines.join('\n')}\n`);
  const running = await started(container(port, files, command, options.network));
  const control = await controlOf(running.getId());
  const address = `127.0.0.1:${port}`;
  const start = async (): Promise<void> => {
    await control.start();
    await ready({ address, ...client });
  };
  const broker: Broker = {
    address,
    internalAddress: `${BROKER_ALIAS}:${INTERNAL_PORT}`,
    stop: control.stop,
    kill: control.kill,
    start,
    restart: async () => {
      await control.stop();
      await start();
    },
    freeze: control.freeze,
    thaw: control.thaw,
    [Symbol.asyncDispose]: async () => {
      await control.remove();
      rmSync(files, { recursive: true, force: true });
    },
  };
  await ready({ address, ...client }).catch(async (error) => {
    await broker[Symbol.asyncDispose]();
    throw error;
  });
  return broker;
}

function container(port: number, files: string, command: string, network?: TestNetwork): TestContainer {
  const broker = new TestContainer(KAFKA_IMAGE)
    .withEnvironment({ CLUSTER_ID, KAFKA_HEAP_OPTS: '-Xms256m -Xmx256m' })
    .withBindMounts([{ source: files, target: CONFIG, mode: 'ro' }])
    .withExposedPorts({ container: 9092, host: port })
    .withCommand(['bash', '-c', command])
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(START_MS);
  return network ? broker.withNetworkMode(network.name).withNetworkAliases(BROKER_ALIAS) : broker;
}

async function ready(settings: ClientSettings): Promise<void> {
  await waitUntil(`the broker at ${settings.address} to answer`, READY_MS, () => answersAsBroker(settings));
}

/** The broker runs as another user than we do, so the folder is open to all. */
function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'fleetgc-broker-'));
  chmodSync(folder, 0o755);
  return folder;
}
