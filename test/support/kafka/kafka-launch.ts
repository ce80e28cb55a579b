import { chmodSync, copyFileSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { Wait } from 'testcontainers';
import { type ContainerControl, controlOf, started, TestContainer } from '../container.ts';
import type { TestNetwork } from '../network.ts';
import { patiently } from '../patience.ts';
import { cacheDirectory } from '../toolchain/cache.ts';
import { ensureToolchain } from '../toolchain/toolchain.ts';
import { KAFKA_IMAGE } from '../toolchain/versions.ts';
import { waitUntil } from '../wait-until.ts';
import { answersAsBroker, type ClientSettings } from './kafka-answer.ts';
import { DATA_FOLDER } from './kafka-properties.ts';

/** Where the broker's container sees its configuration, read-only. */
export const CONFIG_FOLDER = '/mnt/shared/config';
/** The broker's name on its network. */
export const BROKER_ALIAS = 'kafka';
/** How the image starts its broker. */
export const RUN_BROKER = 'exec /etc/kafka/docker/run';

const CLUSTER_ID = 'Zmxl-WV0Z2MtdGVzdHMtMQ';
const START_MS = 90_000;
const READY_MS = 60_000;

export interface Launch {
  /** Published on the loopback address. */
  readonly port: number;
  /** Published beside it, for listeners of their own. */
  readonly morePorts?: readonly { readonly container: number; readonly host: number }[];
  readonly network?: TestNetwork | undefined;
  /** Its name on that network, when not the usual one. */
  readonly alias?: string;
  readonly properties: Readonly<Record<string, string>>;
  /** A shell's command line. */
  readonly command: string;
  /**
   * A folder of this machine that the container sees as its configuration; removed with the broker. The topics lie in it too:
   * they outlive the broker's process, and where our temporary files are in memory, creating them waits for no disk.
   */
  readonly files: string;
  /** A folder of this machine for the topics alone, with a disk of its own; it is left as it is. */
  readonly data?: string;
  /** How to reach the listener on `port`. */
  readonly client: ClientSettings;
  readonly heapMegabytes?: number | undefined;
}

/** Enough for the topics of a test. */
const HEAP_MEGABYTES = 256;

/** A running broker's container; `start` resolves when the broker answers. */
export interface Launched extends Omit<ContainerControl, 'remove'>, AsyncDisposable {
  /** Of its Java machine, as this machine sees it. */
  processId(): Promise<number>;
}

/** Starts a broker's container and waits until it answers a client. */
export async function launchBroker(launch: Launch): Promise<Launched> {
  await ensureToolchain(['kafka']);
  await using stack = new AsyncDisposableStack();
  stack.defer(() => rmSync(launch.files, { recursive: true, force: true }));
  writeFileSync(join(launch.files, 'server.properties'), propertiesFile(launch.properties));
  const data = launch.data ?? join(launch.files, 'data');
  mkdirSync(data, { recursive: true });
  chmodSync(data, 0o777);
  giveIdentity(data, launch);
  const running = await started(brokerContainer(launch, data));
  const { remove, ...control } = await controlOf(running.getId());
  stack.defer(remove);
  await ready(launch.client);
  keepIdentity(data, launch);
  const owned = stack.move();
  return {
    ...control,
    start: async () => {
      await control.start();
      await ready(launch.client);
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  };
}

/** Of a storage: who the broker is and what its cluster began with. Nothing of it changes. */
const IDENTITY = ['meta.properties', 'bootstrap.checkpoint'] as const;

const identityDirectory = (): string =>
  cacheDirectory(`storage-of-${basename(KAFKA_IMAGE).replace(':', '-')}`);

/** Whether its storage is formatted as that of every broker that is alone. */
const isUsual = ({ command, properties }: Launch): boolean =>
  command === RUN_BROKER &&
  properties['node.id'] === '1' &&
  !properties['controller.quorum.voters']?.includes(',');

/** Formatting takes a Java machine of its own, so a storage gets the files that the first broker was formatted with. */
function giveIdentity(data: string, launch: Launch): void {
  const known = identityDirectory();
  if (!isUsual(launch) || !IDENTITY.every((name) => existsSync(join(known, name)))) return;
  for (const name of IDENTITY) {
    copyFileSync(join(known, name), join(data, name));
    chmodSync(join(data, name), 0o666);
  }
}

function keepIdentity(data: string, launch: Launch): void {
  if (!isUsual(launch)) return;
  for (const name of IDENTITY) {
    const kept = join(identityDirectory(), name);
    if (existsSync(kept)) continue;
    const begun = `${kept}.${process.pid}`;
    copyFileSync(join(data, name), begun);
    renameSync(begun, kept);
  }
}

function brokerContainer(launch: Launch, data: string): TestContainer {
  const { port, morePorts = [], files, command, network, alias, heapMegabytes } = launch;
  const heap = `${heapMegabytes ?? HEAP_MEGABYTES}m`;
  const broker = new TestContainer(KAFKA_IMAGE)
    .withEnvironment({ CLUSTER_ID, KAFKA_HEAP_OPTS: `-Xms${heap} -Xmx${heap}` })
    .withBindMounts([
      { source: files, target: CONFIG_FOLDER, mode: 'ro' },
      { source: data, target: DATA_FOLDER, mode: 'rw' },
    ])
    .withExposedPorts({ container: 9092, host: port }, ...morePorts)
    // The broker is another user than we are, who are to remove what it wrote.
    .withCommand(['bash', '-c', `umask 000; ${command}`])
    .withWaitStrategy(Wait.forLogMessage(/Kafka Server started/))
    .withStartupTimeout(patiently(START_MS));
  return network ? broker.withNetworkMode(network.name).withNetworkAliases(alias ?? BROKER_ALIAS) : broker;
}

function propertiesFile(properties: Readonly<Record<string, string>>): string {
  const lines = Object.entries(properties).map(([key, value]) => `${key}=${value}`);
  return `${lines.join('\n')}\n`;
}

async function ready(client: ClientSettings): Promise<void> {
  await waitUntil(`the broker at ${client.address} to answer`, READY_MS, () => answersAsBroker(client));
}
