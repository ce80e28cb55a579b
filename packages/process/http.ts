import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { CHECK_CONNECTIONS_EVERY_MS, limitEachAddress } from './connection-limits.ts';
import { toFleetGcError } from './errors.ts';
import { listen } from './listen.ts';
import type { Metrics } from './metrics.ts';
import { http } from './node-http.ts';
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
  readonly metrics: Pick<Metrics, 'text' | 'contentType'>;
  /** Asked at every request. What is away makes a process unready, never dead: restarts would not help. */
  readonly checks: () => readonly Check[];
}

export interface HttpServer extends AsyncDisposable {
  /** With the port that was given by the system when 0 was asked for. */
  readonly address: Address;
}

export interface ProbeAnswer {
  readonly status: number;
  readonly text: string;
  readonly contentType?: string;
}

/** Probes and scrapes are small and quick; whatever is not may wait for its socket to close. */
const REQUEST_TIMEOUT_MS = 10_000;
const MAX_CONNECTIONS = 100;
const MAX_CONNECTIONS_OF_AN_ADDRESS = 20;

/** Serves `/livez`, `/readyz` (with `?verbose`) and `/metrics`. Throws `CONFIG_INVALID` when it cannot listen. */
export async function serveHttp(settings: HttpSettings): Promise<HttpServer> {
  const server = http.createServer({
    requestTimeout: REQUEST_TIMEOUT_MS,
    headersTimeout: REQUEST_TIMEOUT_MS,
    connectionsCheckingInterval: CHECK_CONNECTIONS_EVERY_MS,
  });
  server.maxConnections = MAX_CONNECTIONS;
  limitEachAddress(server, MAX_CONNECTIONS_OF_AN_ADDRESS);
  server.on('request', (request, response) => {
    void probeAnswer(request, settings)
      .catch(failed)
      .then((answered) => send(response, answered, request.method));
  });
  const address = await listen(
    server,
    settings.address,
    'choose another address with --http-address, or none',
  );
  return { address, [Symbol.asyncDispose]: () => close(server) };
}

async function probeAnswer(
  { method, url = '/' }: Pick<IncomingMessage, 'method' | 'url'>,
  settings: Omit<HttpSettings, 'address'>,
): Promise<ProbeAnswer> {
  if (method !== 'GET' && method !== 'HEAD') return { status: 405, text: 'only GET and HEAD\n' };
  const [path, query = ''] = url.split('?', 2);
  if (path === '/livez') return { status: 200, text: 'ok\n' };
  if (path === '/readyz') return readiness(settings.checks(), new URLSearchParams(query).has('verbose'));
  if (path === '/metrics') {
    const { metrics } = settings;
    return { status: 200, text: await metrics.text(), contentType: metrics.contentType };
  }
  return { status: 404, text: '/livez, /readyz, /readyz?verbose or /metrics\n' };
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
  return { status, text: `${(verbose ? [...details, verdict] : [verdict]).join('\n')}\n` };
}

const failed = (error: unknown): ProbeAnswer => ({ status: 500, text: `${toFleetGcError(error).message}\n` });

function send(response: ServerResponse, answered: ProbeAnswer, method: string | undefined): void {
  const { status, text, contentType = 'text/plain; charset=utf-8' } = answered;
  response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' });
  response.end(method === 'HEAD' ? undefined : text);
}

function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
