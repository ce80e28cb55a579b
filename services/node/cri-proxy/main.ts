import type { Logger } from 'pino';
import { type OfferedSocket, serveReadingProxy } from '../../../packages/cri/proxy/reading-proxy.ts';
import { serveHttp } from '../../../packages/process/http.ts';
import { untilAborted } from '../../../packages/process/loops.ts';
import { addProcessMetrics, type Build, createMetrics } from '../../../packages/process/metrics.ts';
import type { Address } from '../../../packages/process/options/options.ts';

interface CriProxySettings {
  readonly build: Build;
  readonly socket: OfferedSocket;
  /** The runtime's own: `unix://…` or a path. */
  readonly runtimeEndpoint: string;
  /** `null`: no health and no metrics over HTTP. */
  readonly httpAddress: Address | null;
  readonly logger: Logger;
}

/** Lets reading calls through to the runtime, and no others, until the signal aborts. */
export async function runCriProxy(settings: CriProxySettings, signal: AbortSignal): Promise<void> {
  const { build, socket, runtimeEndpoint, httpAddress, logger } = settings;
  await using proxy = await serveReadingProxy({
    socket,
    endpoint: runtimeEndpoint,
    onDenied: deniedCalls(logger),
    onRefused: refusedConnections(logger),
  });
  logger.info(
    { version: build.version, socket: socket.path, runtimeEndpoint },
    'offering a socket for reading',
  );
  const metrics = createMetrics();
  addProcessMetrics(metrics, build);
  const checks = () => [{ name: 'runtime', problem: proxy.problem }];
  await using http = httpAddress && (await serveHttp({ address: httpAddress, metrics, checks }));
  if (http) logger.info({ ...http.address }, 'serving health and metrics');
  await untilAborted(signal);
}

/** Whoever asks may make up any number of names, of any length. */
const MOST_TOLD = 100;
const MOST_CHARACTERS = 200;

/** Tells of each denied call once. */
function deniedCalls(logger: Logger): (path: string) => void {
  const told = new Set<string>();
  return (path) => {
    const call = path.slice(0, MOST_CHARACTERS);
    if (told.has(call) || told.size >= MOST_TOLD) return;
    told.add(call);
    logger.warn({ call }, 'denied a call that is no reading call; the same one is not told again');
  };
}

/** Told once: who opens so many goes on with it. */
function refusedConnections(logger: Logger): () => void {
  let isTold = false;
  return () => {
    if (isTold) return;
    isTold = true;
    logger.warn(
      'refused a connection: as many as this socket takes are open. An agent has two; check which other processes of its group use the socket. Further ones are not told',
    );
  };
}
