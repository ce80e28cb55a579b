import type { IncomingMessage, ServerResponse } from 'node:http';
import type { ApiAnswer, ApiConnection } from '../../../packages/kube-api/connection.ts';
import type { ApiRequest } from '../../../packages/kube-api/send.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { type HttpBounds, NO_PROXIES, openHttpServer } from '../../../packages/process/http-server.ts';
import { type Answer, refusal } from './answers.ts';
import type { SimulatedCluster } from './cluster.ts';
import { type ApiCall, ApiRequests } from './requests.ts';
import { type WatchRequest, watch } from './watch.ts';

/*
 * An API server of Kubernetes that is made up: objects in memory, over HTTP on this machine alone. It plays what a garbage
 * collector meets: aggregated discovery, lists in pages, watches with bookmarks, reads, creations, JSON merge patches as a compare
 * and swap, deletions with preconditions and propagation, finalizers, dry runs, and the refusals of all of them. One suite is
 * played with it and with a real one (test/lab/sim/api-server/contract.ts).
 *
 * It does not play: controllers and kubelets (so nothing makes or deletes anything by itself, no pod has a grace period, and a
 * deleted namespace stays for ever), rights (one token may do everything), admission, schemas and defaults of fields, selectors,
 * subresources but the status of policies, PUT, other patches, deletions of whole collections, watches without a resourceVersion, TLS.
 */

export interface SimulatedApiServer extends AsyncDisposable {
  readonly url: string;
}

interface ApiServerOptions {
  readonly cluster: SimulatedCluster;
  /** Whoever sends it may do everything; nobody else anything. */
  readonly token: string;
  readonly wait: Sleep;
}

const MAX_BODY_BYTES = 3 * 1024 * 1024;
const BOUNDS: HttpBounds = {
  // All of it comes from this machine: an agent has a connection for each kind that it watches.
  mostConnections: 2_000,
  mostOfAnAddress: 2_000,
  headersTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  // A watch may have nothing to tell for long.
  idleTimeoutMs: 24 * 60 * 60 * 1000,
  // Longer than clients keep a connection that nobody uses: one that ends as it is used again loses a request.
  keepAliveMs: 180_000,
  mostHeaderBytes: 16 * 1024,
};
/** A reader that is so far behind has to list again. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
const LOOPBACK = '127.0.0.1';

/** On a port that the system chooses. */
export async function startApiServer(options: ApiServerOptions): Promise<SimulatedApiServer> {
  const requests = new ApiRequests(options.cluster);
  const closing = new AbortController();
  const server = await openHttpServer({
    address: { host: LOOPBACK, port: 0 },
    advice: 'free a port of this machine',
    bounds: BOUNDS,
    tls: null,
    proxies: NO_PROXIES,
    onRefused: () => undefined,
  });
  server.serve((request, response) => {
    void serve(request, response, { ...options, requests, closing: closing.signal }).catch(() =>
      response.destroy(),
    );
  });
  return {
    url: `http://${LOOPBACK}:${server.address.port}`,
    [Symbol.asyncDispose]: () => {
      closing.abort();
      return server.close(0);
    },
  };
}

interface Serving extends ApiServerOptions {
  readonly requests: ApiRequests;
  readonly closing: AbortSignal;
}

async function serve(request: IncomingMessage, response: ServerResponse, serving: Serving): Promise<void> {
  if (request.headers.authorization !== `Bearer ${serving.token}`)
    return send(response, refusal('Unauthorized', 'the token is not known'));
  const body = await bodyOf(request);
  if (body === null) return send(response, refusal('RequestEntityTooLarge', 'the body is too large'));
  const answer = serving.requests.answer(callOf(request, body));
  if ('status' in answer) send(response, answer);
  else await stream(response, answer, serving);
}

const callOf = ({ method = '', url = '/', headers }: IncomingMessage, body: string): ApiCall => ({
  method,
  url: new URL(url, `http://${LOOPBACK}`),
  accept: headers.accept ?? '',
  contentType: headers['content-type'] ?? '',
  ifNoneMatch: headers['if-none-match'] ?? null,
  body,
});

/** `null` for one that is too large. */
async function bodyOf(request: IncomingMessage): Promise<string | null> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    const part: Buffer = Buffer.from(chunk);
    bytes += part.length;
    if (bytes > MAX_BODY_BYTES) return null;
    chunks.push(part);
  }
  return Buffer.concat(chunks).toString('utf8');
}

const JSON_TYPE = { 'content-type': 'application/json' };

function send(response: ServerResponse, { status, body, etag }: Answer): void {
  response.writeHead(status, { ...JSON_TYPE, ...(etag !== undefined && { etag }) });
  response.end(status === NOT_MODIFIED ? undefined : JSON.stringify(body));
}
const NOT_MODIFIED = 304;

async function stream(
  response: ServerResponse,
  request: WatchRequest,
  { cluster: { store }, wait, closing }: Serving,
): Promise<void> {
  const stop = new AbortController();
  const end = (): void => stop.abort();
  response.once('close', end);
  closing.addEventListener('abort', end, { once: true });
  response.writeHead(200, JSON_TYPE);
  response.flushHeaders();
  const write = (line: string): void => {
    response.write(line);
    if (response.writableLength > MAX_UNREAD_BYTES) response.destroy();
  };
  await watch(request, { store, write, wait }, stop.signal);
  closing.removeEventListener('abort', end);
  response.end();
}

type Tell = (line: string) => void;

/** A watch that is told what happens. */
export interface OpenWatch extends Disposable {
  readonly tell: Tell;
}

interface DirectlyServed {
  readonly cluster: SimulatedCluster;
  /** Epoch milliseconds, by the clock of the API server. */
  readonly serverNowMs: () => number;
  /** Milliseconds that only grow, by the clock of who asks. */
  readonly nowMs: () => number;
  readonly wait: Sleep;
  /** Stands between the server and each watch, which `write` reaches; nobody when not given. */
  readonly openWatch?: (write: Tell) => OpenWatch;
}

/** A simulated API server without a socket in between. */
export function directConnection(served: DirectlyServed): ApiConnection {
  const { cluster, serverNowMs, nowMs } = served;
  const clock = new ServerClock();
  const requests = new ApiRequests(cluster);
  const answered = ({ method, path, accept, contentType, ifNoneMatch, body }: ApiRequest) => {
    const dateMs = Math.floor(serverNowMs() / 1_000) * 1_000;
    clock.told({ dateMs, sentAtMs: nowMs(), receivedAtMs: nowMs() });
    return requests.answer({
      method,
      url: new URL(path, 'http://x'),
      accept: accept ?? 'application/json',
      contentType: contentType ?? '',
      ifNoneMatch: ifNoneMatch ?? null,
      body: body ?? '',
    });
  };
  return {
    clock,
    call: async (request, signal): Promise<ApiAnswer> => {
      if (signal?.aborted) throw signal.reason;
      const answer = answered(request);
      if (!('status' in answer)) throw new FleetGcError('INTERNAL', 'a watch is no call');
      const { status, body, etag } = answer;
      return { status, headers: { ...(etag !== undefined && { etag }) }, body: JSON.stringify(body) };
    },
    stream: async (request, signal) => {
      const answer = answered(request);
      return 'status' in answer
        ? { status: answer.status, headers: {}, body: oneLine(`${JSON.stringify(answer.body)}\n`) }
        : { status: 200, headers: {}, body: watched(answer, served, signal) };
    },
    [Symbol.dispose]: () => undefined,
  };
}

async function* oneLine(line: string): AsyncGenerator<Buffer> {
  yield Buffer.from(line);
}

const straight = (tell: Tell): OpenWatch => ({ tell, [Symbol.dispose]: () => undefined });

async function* watched(
  request: WatchRequest,
  { cluster: { store }, wait, openWatch = straight }: DirectlyServed,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const lines: string[] = [];
  let wake = (): void => undefined;
  let isOver = false;
  using open = openWatch((line) => {
    lines.push(line);
    wake();
  });
  const end = (): void => {
    isOver = true;
    wake();
  };
  void watch(request, { store, write: open.tell, wait }, signal).finally(end);
  while (!isOver || lines.length > 0) {
    for (let line = lines.shift(); line !== undefined; line = lines.shift()) yield Buffer.from(line);
    if (isOver) break;
    await new Promise<void>((resolve) => {
      wake = resolve;
    });
  }
  if (signal.aborted) throw signal.reason;
}
