import type { IncomingMessage, ServerResponse } from 'node:http';
import { linesText } from '../text/lines-text.ts';
import { toFleetGcError } from './errors.ts';
import { type HttpBounds, NO_PROXIES, openHttpServer } from './http-server.ts';
import type { Metrics } from './metrics.ts';
import type { Address } from './options/options.ts';

/** Something that must be well for the process to be ready. */
export interface Check {
  readonly name: string;
  /** Why it is not well, in a sentence; `null` when it is. */
  problem(): string | null;
  /** What is well, and will not stay so unless somebody does something, in a sentence; `null` or not there for nothing. */
  notice?(): string | null;
}

export interface HttpSettings {
  readonly address: Address;
  /** By which option it is said; `--http-address` where not given. */
  readonly addressOption?: string;
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Asked at every request. What is away makes a process unready, never dead: restarts would not help. */
  readonly checks: () => readonly Check[];
}

export interface ProbeServer extends AsyncDisposable {
  /** With the port that was given by the system when 0 was asked for. */
  readonly address: Address;
}

interface ProbeAnswer {
  readonly status: number;
  readonly body: string | Buffer;
  readonly contentType?: string;
}

/**
 * Probes and scrapes are small and quick; whatever is not may wait for its connection to end.
 * @limit Connections and timeouts of the HTTP address of a process.
 */
const BOUNDS: HttpBounds = {
  mostConnections: 100,
  mostOfAnAddress: 20,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 30_000,
  keepAliveMs: 5_000,
  mostHeaderBytes: 16 * 1024,
};

/** Serves `/livez`, `/readyz` (with `?verbose`) and `/metrics`. Throws `CONFIG_INVALID` when it cannot listen. */
export async function serveHttp({
  address,
  addressOption = '--http-address',
  metrics,
  checks,
}: HttpSettings): Promise<ProbeServer> {
  const server = await openHttpServer({
    address,
    advice: `choose another address with ${addressOption}, or none`,
    bounds: BOUNDS,
    tls: null,
    proxies: NO_PROXIES,
    onRefused: () => undefined,
  });
  const rendered = sharedRendering(() => metrics.text());
  const asked = { checks, rendered, contentType: metrics.contentType };
  server.serve((request, response) => {
    void probeAnswer(request, asked)
      .catch(failed)
      .then((answered) => send(response, answered, request.method));
  });
  return server;
}

interface Probed {
  readonly checks: HttpSettings['checks'];
  readonly rendered: () => Promise<Buffer>;
  readonly contentType: string;
}

async function probeAnswer(
  { method, url = '/' }: IncomingMessage,
  { checks, rendered, contentType }: Probed,
): Promise<ProbeAnswer> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, body: 'only GET and HEAD\n' };
  const [path, query = ''] = url.split('?', 2);
  if (path === '/livez') return { status: 200, body: 'ok\n' };
  if (path === '/readyz') return readiness(checks(), new URLSearchParams(query).has('verbose'));
  if (path === '/metrics') return { status: 200, body: await rendered(), contentType };
  return { status: 404, body: '/livez, /readyz, /readyz?verbose or /metrics\n' };
}

/**
 * One rendering for all who ask in the same turn of the event loop or while it is rendered. The next one begins no sooner than after a rest
 * as long as the last one took: however many ask, rendering takes half of the processor time at the most.
 */
function sharedRendering(render: () => Promise<string>): () => Promise<Buffer> {
  const shared: { current: Promise<Buffer> | null; restsUntilMs: number } = {
    current: null,
    restsUntilMs: 0,
  };
  const renderOnce = async (): Promise<Buffer> => {
    await new Promise((resolve) => setTimeout(resolve, Math.max(0, shared.restsUntilMs - performance.now())));
    const beganMs = performance.now();
    try {
      return Buffer.from(await render());
    } finally {
      const endedMs = performance.now();
      shared.restsUntilMs = endedMs + (endedMs - beganMs);
      shared.current = null;
    }
  };
  return () => (shared.current ??= renderOnce());
}

function readiness(checks: readonly Check[], verbose: boolean): ProbeAnswer {
  const results = checks.map((check) => ({
    name: check.name,
    problem: check.problem(),
    notice: check.notice?.() ?? null,
  }));
  const failed = results.filter(({ problem }) => problem !== null);
  const status = failed.length === 0 ? 200 : 503;
  const verdict = status === 200 ? 'ready' : `not ready: ${failed.map(({ name }) => name).join(', ')}`;
  const details = results.map(({ name, problem, notice }) => {
    if (problem !== null) return `[-] ${name}: ${problem}`;
    return notice === null ? `[+] ${name}` : `[!] ${name}: ${notice}`;
  });
  return { status, body: linesText(verbose ? [...details, verdict] : [verdict]) };
}

const failed = (error: unknown): ProbeAnswer => ({
  status: 500,
  body: linesText(toFleetGcError(error).lines),
});

function send(response: ServerResponse, answered: ProbeAnswer, method: string | undefined): void {
  const { status, body, contentType = 'text/plain; charset=utf-8' } = answered;
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(method === 'HEAD' ? undefined : body);
}
