import { chmodSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../support/container.ts';
import { type Launched, launchBroker, RUN_BROKER } from '../../support/kafka-launch.ts';
import { brokerProperties } from '../../support/kafka-properties.ts';
import { type NetworkProxy, openProxy } from './proxy.ts';

/** A real broker that everybody reaches through the proxy alone; its address outlives whatever happens to it. */
export interface ChaosBroker extends AsyncDisposable {
  readonly address: string;
  readonly proxy: NetworkProxy;
  /** Away by a power failure, or frozen. Resolves, once what was before is over, to what ends it. */
  outage(how: 'killed' | 'frozen'): Promise<() => Promise<void>>;
  /** Begins something that needs the broker, which is neither away then nor in the hands of another; resolves to what ends it. */
  inTurn(begin: () => Promise<() => Promise<void>>): Promise<() => Promise<void>>;
}

/** Groups notice soon that a member is gone, so that a round needs no minutes. */
const PROPERTIES = { 'group.initial.rebalance.delay.ms': '0' };

export async function startChaosBroker(directory: string): Promise<ChaosBroker> {
  await using starting = new AsyncDisposableStack();
  const files = join(directory, 'broker');
  mkdirSync(files);
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
      command: RUN_BROKER,
      properties: { ...brokerProperties(port, 'PLAINTEXT'), ...PROPERTIES },
    }),
  );
  const owned = starting.move();
  const inTurn = turns();
  const outage = outages(launched, inTurn);
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
  inTurn: ChaosBroker['inTurn'],
): ChaosBroker['outage'] {
  const ways = { killed: { begin: kill, end: start }, frozen: { begin: freeze, end: thaw } };
  return (how) =>
    inTurn(async () => {
      await ways[how].begin();
      return ways[how].end;
    });
}
