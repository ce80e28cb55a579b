import { Wait } from 'testcontainers';
import { type ContainerControl, controlOf, freePort, started, TestContainer } from './container.ts';
import type { TestNetwork } from './network.ts';
import { patiently } from './patience.ts';
import { run } from './toolchain/command.ts';
import { ensureToolchain } from './toolchain/toolchain.ts';
import { SERVICE_IMAGE } from './toolchain/versions.ts';
import { waitUntil } from './wait-until.ts';

const HTTP_PORT = 9640;
const START_MS = 60_000;
const READY_MS = 60_000;
const LOGS_MS = 30_000;

export interface ServiceOptions {
  readonly network: TestNetwork;
  /** The verb and its options: `['image-gc']`. */
  readonly command: readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** Folders of this machine that it may read, by where it finds them. */
  readonly mounts?: Readonly<Record<string, string>>;
  /** Where it may write; what it writes there ends with it. */
  readonly writable?: readonly string[];
}

/** One replica of a service, in a container from our own image. */
export interface Service extends AsyncDisposable, Omit<ContainerControl, 'remove'> {
  readonly containerId: string;
  /** What it wrote so far, stdout and stderr. */
  output(): Promise<string>;
  /** Where its /livez, /readyz and /metrics are for this machine's processes. */
  readonly httpAddress: string;
  /** Resolves when /readyz says so. */
  ready(): Promise<void>;
}

/** Starts a service and waits until it is alive; whether it is ready is for the test to ask. */
export async function startService({
  network,
  command,
  environment = {},
  mounts = {},
  writable = [],
}: ServiceOptions): Promise<Service> {
  await ensureToolchain(['service']);
  const port = await freePort();
  const running = await started(
    new TestContainer(SERVICE_IMAGE)
      .withCommand([...command])
      .withEnvironment({ ...environment, FLEETGC_HTTP_ADDRESS: `0.0.0.0:${HTTP_PORT}` })
      .withExposedPorts({ container: HTTP_PORT, host: port })
      .withNetworkMode(network.name)
      .withBindMounts(
        Object.entries(mounts).map(([target, source]) => ({ source, target, mode: 'ro' as const })),
      )
      .withTmpFs(Object.fromEntries(writable.map((path) => [path, 'rw,mode=1777'])))
      .withWaitStrategy(Wait.forHttp('/livez', HTTP_PORT))
      .withStartupTimeout(patiently(START_MS)),
  );
  const { remove, ...control } = await controlOf(running.getId());
  const httpAddress = `127.0.0.1:${port}`;
  return {
    ...control,
    containerId: running.getId(),
    httpAddress,
    output: async () => (await run('docker', ['logs', running.getId()], { usualMs: LOGS_MS })).output,
    ready: async () => {
      const isReady = async (): Promise<boolean> => (await fetch(`http://${httpAddress}/readyz`)).ok;
      await waitUntil(`'${command.join(' ')}' to be ready`, READY_MS, isReady);
    },
    [Symbol.asyncDispose]: remove,
  };
}
