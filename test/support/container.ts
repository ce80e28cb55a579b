import { createServer } from 'node:net';
import { GenericContainer, getContainerRuntimeClient, type StartedTestContainer } from 'testcontainers';
import { testLabels } from './cleanup.ts';
import { patiently } from './patience.ts';

/** A test's container: labelled for the sweep, its ports published on the loopback address alone. */
export class TestContainer extends GenericContainer {
  constructor(image: string) {
    super(image);
    this.withLabels(testLabels());
  }

  /** Devices that it may make and open, as in `docker run --device-cgroup-rule`. */
  withDeviceRules(rules: readonly string[]): this {
    this.hostConfig.DeviceCgroupRules = [...rules];
    return this;
  }

  protected override async beforeContainerCreated(): Promise<void> {
    for (const bindings of Object.values(this.hostConfig.PortBindings ?? {})) {
      for (const binding of bindings as { HostIp?: string }[]) binding.HostIp = '127.0.0.1';
    }
  }
}

const SHOWN_CHARACTERS = 4000;

/** Starts the container; when it does not come up, the error tells what it said last. */
export async function started(container: TestContainer): Promise<StartedTestContainer> {
  let said = '';
  container.withLogConsumer((stream) => {
    stream.on('data', (chunk) => {
      said = (said + String(chunk)).slice(-SHOWN_CHARACTERS);
    });
  });
  try {
    return await container.start();
  } catch (cause) {
    throw new Error(`the container did not come up (${cause}); it said last:\n${said}`, { cause });
  }
}

/** A machine at work lets a process of ours wait for this long before it may end itself. */
const STOP_SECONDS = patiently(10_000) / 1000;

/** Stops and starts a container that is kept, as the world does to a service. */
export interface ContainerControl {
  /** SIGTERM, then SIGKILL if it hangs; returns when it has ended. */
  stop(): Promise<void>;
  /** SIGKILL, as a power failure would; returns when it has ended. */
  kill(): Promise<void>;
  start(): Promise<void>;
  /** Freezes all of its processes: connections stay open and nothing answers. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
  /** Ends and removes it. Twice is safe. */
  remove(): Promise<void>;
  /** Of its first process, as this machine sees it. */
  processId(): Promise<number>;
}

export async function controlOf(containerId: string): Promise<ContainerControl> {
  const client = await getContainerRuntimeClient();
  const container = client.container.getById(containerId);
  return {
    stop: async () => void (await container.stop({ t: STOP_SECONDS })),
    kill: async () => {
      await container.kill();
      await container.wait({ condition: 'not-running' });
    },
    start: async () => void (await container.start()),
    freeze: () => freeze(container),
    thaw: async () => void (await container.unpause()),
    remove: async () => {
      await container.remove({ force: true, v: true }).catch(ignoreGone);
    },
    processId: async () => (await container.inspect()).State.Pid,
  };
}

function ignoreGone(error: unknown): void {
  const gone =
    error instanceof Error && 'statusCode' in error && (error.statusCode === 404 || error.statusCode === 409);
  if (!gone) throw error;
}

const LOWEST_PORT = 20_000;
const PORTS = 12_000;

/**
 * A free port of the loopback address. It lies below the range from which the system gives ports to outgoing
 * connections, so that nobody takes it while its server is stopped.
 */
export async function freePort(): Promise<number> {
  for (let tries = 0; tries < 100; tries += 1) {
    const port = LOWEST_PORT + Math.floor(Math.random() * PORTS);
    if (await isFree(port)) return port;
  }
  throw new Error(`no free port between ${LOWEST_PORT} and ${LOWEST_PORT + PORTS}`);
}

function isFree(port: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const server = createServer();
  server.once('error', () => resolve(false));
  server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)));
  return promise;
}

const FREEZE_TRIES = 5;

/** A kernel that is busy may not bring all processes to a halt in the time that the runtime gives it, which undoes it then. */
async function freeze(container: { pause(): Promise<unknown> }): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    const error = await container.pause().then(
      () => null,
      (problem: unknown) => problem,
    );
    if (error === null) return;
    if (tries === FREEZE_TRIES || !String(error).includes('unable to freeze')) throw error;
  }
}
