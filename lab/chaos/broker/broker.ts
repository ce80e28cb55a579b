import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../../test/support/container.ts';
import { type Launched, launchBroker, RUN_BROKER } from '../../../test/support/kafka/kafka-launch.ts';
import { brokerProperties } from '../../../test/support/kafka/kafka-properties.ts';
import { fillUp, smallFilesystem } from '../fleet/small-filesystem.ts';
import { type NetworkProxy, openProxy } from './proxy.ts';

/** A real broker that everybody reaches through the proxy alone; its address outlives whatever happens to it. */
export interface ChaosBroker extends AsyncDisposable {
  readonly address: string;
  readonly proxy: NetworkProxy;
  /**
   * Away by a power failure, frozen, or without any space on its disk, which ends it when it writes next. Resolves, once what
   * was before is over, to what ends it.
   */
  outage(how: Outage): Promise<() => Promise<void>>;
  /** Begins something that needs the broker, which is neither away then nor in the hands of another; resolves to what ends it. */
  inTurn(begin: () => Promise<() => Promise<void>>): Promise<() => Promise<void>>;
}

type Outage = 'killed' | 'frozen' | 'full';

/** The topics of many rounds. */
const DISK_BYTES = 512 * 1024 * 1024;

/** Groups notice soon that a member is gone, so that a round needs no minutes. */
const PROPERTIES = { 'group.initial.rebalance.delay.ms': '0' };

export async function startChaosBroker(directory: string): Promise<ChaosBroker> {
  await using starting = new AsyncDisposableStack();
  const files = join(directory, 'broker');
  const data = join(directory, 'topics');
  mkdirSync(files);
  starting.use(await smallFilesystem(data, DISK_BYTES));
  chmodSync(directory, 0o755);
  chmodSync(files, 0o755);
  const [port, brokerPort] = [await freePort(), await freePort()];
  const proxy = starting.use(await openProxy(port, brokerPort));
  const address = `127.0.0.1:${port}`;
  const launched = starting.use(
    await launchBroker({
      port: brokerPort,
      client: { address },
      files,
      data,
      command: RUN_BROKER,
      properties: { ...brokerProperties(port, 'PLAINTEXT'), ...PROPERTIES },
    }),
  );
  const owned = starting.move();
  const inTurn = turns();
  const outage = outages(launched, data, inTurn);
  return { address, proxy, inTurn, outage, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/** One after the other: what is away cannot be frozen, and answers nobody. */
function turns(): ChaosBroker['inTurn'] {
  let last = Promise.resolve();
  return async (begin) => {
    const before = last;
    const over = Promise.withResolvers<void>();
    last = over.promise;
    await before;
    try {
      const end = await begin();
      return () => end().finally(over.resolve);
    } catch (error) {
      over.resolve();
      throw error;
    }
  };
}

function outages(
  { kill, start, freeze, thaw }: Launched,
  data: string,
  inTurn: ChaosBroker['inTurn'],
): ChaosBroker['outage'] {
  const began: Readonly<Record<Outage, () => Promise<() => Promise<void>>>> = {
    killed: async () => {
      await kill();
      return start;
    },
    frozen: async () => {
      await freeze();
      return thaw;
    },
    full: async () => {
      const free = fillUp(data);
      return async () => {
        free();
        // Where nothing was written it did not end by itself.
        await kill().catch(unlessEnded);
        await start();
      };
    },
  };
  return (how) => inTurn(began[how]);
}

function unlessEnded(error: unknown): void {
  if (!(error instanceof Error && 'statusCode' in error && error.statusCode === 409)) throw error;
}
