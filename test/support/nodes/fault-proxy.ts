import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import {
  Agent,
  createServer,
  request as httpRequest,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { request as httpsRequest, Agent as SecureAgent } from 'node:https';
import type { AddressInfo } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { stringify } from 'yaml';
import { z } from 'zod';
import { linesOf } from '../../../packages/process/lines.ts';

/** What becomes of the next line of each watch of a resource. */
export type WatchFault =
  /** Half of it comes, and then the connection breaks. */
  | { readonly kind: 'cut' }
  /** It is lost, and what comes in its place says that what happened is not known any more. */
  | { readonly kind: 'expired' }
  /** It is lost, and this comes in its place. */
  | { readonly kind: 'line'; readonly text: string };

/** A request as it came. */
export interface Asked {
  readonly method: string;
  readonly path: string;
  /** The plural of the kind that it is about; empty where it is about none. */
  readonly resource: string;
}

/** What becomes of a request. */
export type Fate =
  /** It is passed on, and so is its answer. */
  | { readonly kind: 'passed' }
  /** It does not arrive, and the connection breaks. */
  | { readonly kind: 'lost' }
  /** It arrives, and before its answer comes the connection breaks. */
  | { readonly kind: 'unanswered' }
  | {
      readonly kind: 'answered';
      readonly status: number;
      readonly body: object;
      readonly headers?: Readonly<Record<string, string>>;
    };

/** A way to an API server on which answers can be spoilt, one resource at a time, by the plural of its kind. */
export interface FaultProxy extends AsyncDisposable {
  /** Writes a kubeconfig by which the server is reached over this way, with the user of the given one. */
  writeKubeconfig(path: string): void;
  /** Path and query of all that was asked since the last call. */
  takeAsked(): readonly string[];
  spoilWatch(resource: string, fault: WatchFault): void;
  /** What watches of a resource tell waits until what is returned is called. */
  holdWatches(resource: string): () => void;
  /** The second page of each of the next lists has expired; so many times. */
  expireSecondPages(resource: string, times: number): void;
  /** Asked of each request, until what is returned is called. The first that does not let it pass counts. */
  intercept(fateOf: (asked: Asked) => Promise<Fate> | Fate): () => void;
  /** Breaks all connections. */
  cut(): void;
  /** From now on it leads to the server at this URL. */
  leadTo(server: string): void;
  /** Pages of lists are no longer than this; `null` as it is asked for. */
  pageObjects: number | null;
  /** Whether watches have no bookmarks. */
  withoutBookmarks: boolean;
  /** What watches tell comes so much later. */
  delayMs: number;
  /** So much later is the time that answers bear. */
  clockAheadMs: number;
}

const Kubeconfig = z.looseObject({
  clusters: z.tuple([
    z.looseObject({
      cluster: z.looseObject({ server: z.url(), 'certificate-authority-data': z.base64().optional() }),
    }),
  ]),
});
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const EXPIRED = {
  kind: 'Status',
  apiVersion: 'v1',
  status: 'Failure',
  reason: 'Expired',
  code: 410,
  message: 'what happened since then is not known any more',
};

export async function startFaultProxy(kubeconfig: unknown): Promise<FaultProxy> {
  const [{ cluster }] = Kubeconfig.parse(kubeconfig).clusters;
  const { server, 'certificate-authority-data': ca } = cluster;
  const proxy = new SpoilingProxy(server, ca === undefined ? null : Buffer.from(ca, 'base64'));
  await proxy.listen(kubeconfig);
  return proxy;
}

class SpoilingProxy implements FaultProxy {
  pageObjects: number | null = null;
  withoutBookmarks = false;
  delayMs = 0;
  clockAheadMs = 0;
  #upstream: URL;
  readonly #agent: Agent;
  readonly #request: typeof httpRequest;
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });
  readonly #watches = new Set<Watch>();
  readonly #held = new Map<string, Promise<void>>();
  readonly #expiring = new Map<string, number>();
  readonly #intercepting = new Set<(asked: Asked) => Promise<Fate> | Fate>();
  #asked: string[] = [];
  #kubeconfig: unknown;

  constructor(server: string, ca: Buffer | null) {
    this.#upstream = new URL(server);
    this.#agent = ca === null ? new Agent({ keepAlive: true }) : new SecureAgent({ ca, keepAlive: true });
    this.#request = ca === null ? httpRequest : httpsRequest;
  }

  async listen(kubeconfig: unknown): Promise<void> {
    this.#kubeconfig = kubeconfig;
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
  }

  writeKubeconfig(path: string): void {
    const { port } = this.#server.address() as AddressInfo;
    const written = Kubeconfig.parse(structuredClone(this.#kubeconfig));
    written.clusters[0].cluster.server = `http://127.0.0.1:${port}`;
    writeFileSync(path, stringify(written));
  }

  takeAsked(): readonly string[] {
    const asked = this.#asked;
    this.#asked = [];
    return asked;
  }

  spoilWatch(resource: string, fault: WatchFault): void {
    for (const watch of this.#watches) if (watch.resource === resource) watch.fault = fault;
  }

  holdWatches(resource: string): () => void {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#held.set(resource, promise);
    return () => {
      this.#held.delete(resource);
      resolve();
    };
  }

  expireSecondPages(resource: string, times: number): void {
    this.#expiring.set(resource, times);
  }

  intercept(fateOf: (asked: Asked) => Promise<Fate> | Fate): () => void {
    // Each call is ended by itself, also of the same function.
    const own = (asked: Asked): Promise<Fate> | Fate => fateOf(asked);
    this.#intercepting.add(own);
    return () => void this.#intercepting.delete(own);
  }

  cut(): void {
    this.#server.closeAllConnections();
  }

  leadTo(server: string): void {
    this.#upstream = new URL(server);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    this.#agent.destroy();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '/', this.#upstream);
    this.#asked.push(`${request.method} ${url.pathname}${url.search}`);
    const fate = await this.#fateOf(request.method ?? '', url.pathname);
    if (fate.kind === 'lost') response.destroy();
    else if (fate.kind === 'answered') answerWith(response, fate);
    else await this.#pass(request, response, { url, isAnswered: fate.kind === 'passed' });
  }

  async #pass(
    request: IncomingMessage,
    response: ServerResponse,
    { url, isAnswered }: { readonly url: URL; readonly isAnswered: boolean },
  ): Promise<void> {
    const resource = url.pathname.split('/').at(-1) ?? '';
    if (url.searchParams.has('limit') && this.pageObjects !== null)
      url.searchParams.set('limit', String(this.pageObjects));
    if (url.searchParams.has('continue') && this.#isExpired(resource))
      return answerWith(response, { status: 410, body: EXPIRED });
    const answer = await this.#ask(request, url);
    response.once('close', () => answer.destroy());
    if (!isAnswered) return void response.destroy();
    response.writeHead(answer.statusCode ?? 502, this.#timed(answer.headers));
    if (url.searchParams.get('watch') === 'true') await this.#tell(answer, response, resource);
    else answer.pipe(response);
  }

  #timed(headers: IncomingHttpHeaders): IncomingHttpHeaders {
    const { date } = headers;
    if (date === undefined || this.clockAheadMs === 0) return headers;
    return { ...headers, date: new Date(Date.parse(date) + this.clockAheadMs).toUTCString() };
  }

  #isExpired(resource: string): boolean {
    const left = this.#expiring.get(resource) ?? 0;
    if (left > 0) this.#expiring.set(resource, left - 1);
    return left > 0;
  }

  async #fateOf(method: string, path: string): Promise<Fate> {
    for (const fateOf of this.#intercepting) {
      const fate = await fateOf({ method, path, resource: resourceIn(path) });
      if (fate.kind !== 'passed') return fate;
    }
    return { kind: 'passed' };
  }

  async #ask(request: IncomingMessage, url: URL): Promise<IncomingMessage> {
    const body = await buffer(request);
    const { host: _, ...headers } = request.headers;
    const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
    this.#request(url, { method: request.method, headers, agent: this.#agent }, resolve)
      .on('error', reject)
      .end(body);
    return promise;
  }

  async #tell(answer: IncomingMessage, response: ServerResponse, resource: string): Promise<void> {
    const watch: Watch = { resource, fault: null };
    this.#watches.add(watch);
    response.flushHeaders();
    try {
      for await (const line of linesOf(answer, MAX_LINE_BYTES)) {
        if (this.withoutBookmarks && line.includes('"type":"BOOKMARK"')) continue;
        await this.#held.get(resource);
        if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
        if (watch.fault !== null) return spoil(response, watch.fault, line);
        response.write(`${line.toString('utf8')}\n`);
      }
      response.end();
    } finally {
      this.#watches.delete(watch);
      answer.destroy();
    }
  }
}

function answerWith(
  response: ServerResponse,
  {
    status,
    body,
    headers = {},
  }: Pick<Extract<Fate, { readonly kind: 'answered' }>, 'status' | 'body' | 'headers'>,
): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const IN_PATH =
  /^\/(?:api\/[^/]+|apis\/[^/]+\/[^/]+)\/(?:namespaces\/[^/]+\/(?<below>[^/]+)|(?<direct>[^/]+))/;

function resourceIn(path: string): string {
  const { below, direct } = IN_PATH.exec(path)?.groups ?? {};
  return below ?? direct ?? '';
}

interface Watch {
  readonly resource: string;
  fault: WatchFault | null;
}

function spoil(response: ServerResponse, fault: WatchFault, line: Buffer): void {
  switch (fault.kind) {
    case 'cut':
      response.write(line.subarray(0, line.length / 2), () => response.destroy());
      return;
    case 'expired':
      response.end(`${JSON.stringify({ type: 'ERROR', object: EXPIRED })}\n`);
      return;
    case 'line':
      response.end(`${fault.text}\n`);
  }
}
