import type { Agent, ClientRequest, IncomingHttpHeaders, IncomingMessage, RequestOptions } from 'node:http';
import * as https from 'node:https';
import { FleetGcError } from '../process/errors.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { http } from '../process/node-http.ts';
import type { ApiAccess } from './access.ts';
import type { ServerClock } from './server-clock.ts';

/*
 * Node's own client, as for the kubelet: undici would load 9 to 22 MB of code beside it, and gives nothing here that is missed.
 * HTTP/1.1, for which no number of streams is limited: a hundred watches and the lists do not wait for each other.
 */

export interface ApiRequest {
  readonly method: 'GET' | 'DELETE' | 'PATCH' | 'POST';
  /** With its query. */
  readonly path: string;
  readonly accept?: string;
  readonly contentType?: string;
  readonly ifNoneMatch?: string;
  readonly body?: string;
  /** A larger answer is not read; 128 MiB where it is not given. */
  readonly mostAnswerBytes?: number;
}

export interface ApiAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** One whose body comes as it is written. */
export interface ApiStream extends Omit<ApiAnswer, 'body'> {
  readonly body: AsyncIterable<Buffer>;
}

/**
 * An answer is a value, whatever its status. Rejects with `API_UNREACHABLE` where there was none, and with
 * `API_ANSWER_TOO_LARGE`.
 */
export interface ApiConnection extends Disposable {
  readonly clock: ServerClock;
  call(request: ApiRequest, signal?: AbortSignal): Promise<ApiAnswer>;
  /** Of what may stay open: the deadline is that of the first byte. */
  stream(request: ApiRequest, signal: AbortSignal): Promise<ApiStream>;
}

export interface ConnectionOptions {
  readonly access: ApiAccess;
  readonly clock: ServerClock;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  /** Says to the API server who asks. */
  readonly userAgent: string;
}

/** The API server itself ends what takes longer. */
const TIMEOUT_MS = 65_000;
/** A page of 500 objects of whole metadata: most have 2 to 20 KiB, one has 1.5 MiB at most. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
const KEEP_ALIVE = { keepAlive: true, timeout: 90_000 } as const;

export function apiConnection(options: ConnectionOptions): ApiConnection {
  const { access, clock, nowMs } = options;
  const base = new URL(access.server);
  const agent = agentFor(access, base);
  const once = async (request: ApiRequest, signal: AbortSignal): Promise<IncomingMessage> => {
    const sentAtMs = nowMs();
    const response = await send({ request, base, agent, signal }, options);
    const dateMs = Date.parse(response.headers.date ?? '');
    if (!Number.isNaN(dateMs)) clock.told({ dateMs, sentAtMs, receivedAtMs: nowMs() });
    return response;
  };
  return {
    clock,
    call: async (request, signal) => {
      using within = new LinkedController(...(signal === undefined ? [] : [signal]));
      const deadline = setTimeout(() => within.abort(tooSlow()), TIMEOUT_MS);
      try {
        const response = await once(request, within.signal);
        const body = await bodyOf(response, access.server, request.mostAnswerBytes);
        return { status: statusOf(response), headers: response.headers, body };
      } finally {
        clearTimeout(deadline);
      }
    },
    stream: async (request, signal) => {
      const within = new LinkedController(signal);
      const deadline = setTimeout(() => within.abort(tooSlow()), TIMEOUT_MS);
      try {
        const response = await once(request, within.signal);
        response.once('close', () => within[Symbol.dispose]());
        return { status: statusOf(response), headers: response.headers, body: response };
      } catch (error) {
        within[Symbol.dispose]();
        throw error;
      } finally {
        clearTimeout(deadline);
      }
    },
    [Symbol.dispose]: () => agent.destroy(),
  };
}

const tooSlow = (): Error => new Error(`nothing came within ${TIMEOUT_MS / 1000} s`);

const statusOf = ({ statusCode }: IncomingMessage): number => statusCode ?? 0;

function agentFor({ authority, serverName, clientCertificate }: ApiAccess, base: URL): Agent {
  if (base.protocol === 'http:') return new http.Agent(KEEP_ALIVE);
  return new https.Agent({
    ...KEEP_ALIVE,
    ...(authority !== null && { ca: authority }),
    ...(serverName !== null && { servername: serverName }),
    ...(clientCertificate !== null && { cert: clientCertificate.certificate, key: clientCertificate.key }),
  });
}

interface Sending {
  readonly request: ApiRequest;
  readonly base: URL;
  readonly agent: Agent;
  readonly signal: AbortSignal;
}

/** A connection that was kept open may end as it is used again; only what changes nothing is asked once more. */
async function send(sending: Sending, options: ConnectionOptions): Promise<IncomingMessage> {
  try {
    return await attempt(sending, options);
  } catch (error) {
    if (sending.request.method !== 'GET' || !isStaleConnection(error)) throw unreachable(sending, error);
  }
  return attempt(sending, options).catch((error) => {
    throw unreachable(sending, error);
  });
}

class StaleConnection extends Error {}
const isStaleConnection = (error: unknown): boolean => error instanceof StaleConnection;

function attempt(
  { request, base, agent, signal }: Sending,
  { access, userAgent }: ConnectionOptions,
): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const { request: begin } = base.protocol === 'https:' ? https : http;
  const token = access.token();
  const settings: RequestOptions = {
    method: request.method,
    agent,
    signal,
    headers: {
      'user-agent': userAgent,
      accept: request.accept ?? 'application/json',
      ...(token !== null && { authorization: `Bearer ${token}` }),
      ...(request.ifNoneMatch !== undefined && { 'if-none-match': request.ifNoneMatch }),
      ...(request.body !== undefined && {
        'content-type': request.contentType ?? 'application/json',
        'content-length': Buffer.byteLength(request.body),
      }),
    },
  };
  const sent: ClientRequest = begin(urlOf(base, request.path), settings, resolve);
  sent.on('error', (error: Error & { code?: string }) => {
    const isStale = sent.reusedSocket && (error.code === 'ECONNRESET' || error.code === 'EPIPE');
    reject(isStale ? new StaleConnection(error.message, { cause: error }) : error);
  });
  sent.end(request.body);
  return promise;
}

/** The server's address may have a path of its own, as behind a proxy of clusters. */
const urlOf = (base: URL, path: string): URL => new URL(`${base.pathname.replace(/\/$/, '')}${path}`, base);

const unreachable = ({ base, request }: Sending, cause: unknown): FleetGcError =>
  cause instanceof FleetGcError
    ? cause
    : new FleetGcError(
        'API_UNREACHABLE',
        `the API server at ${base.origin} gave no answer to ${request.method} ${request.path.slice(0, 200)}: ${whyOf(cause)}`,
        { cause },
      );

/** What was aborted says why in its cause. */
const whyOf = (cause: unknown): string => {
  if (!(cause instanceof Error)) return String(cause);
  return cause.cause instanceof Error ? cause.cause.message : cause.message;
};

async function bodyOf(
  response: IncomingMessage,
  server: string,
  mostBytes = MAX_ANSWER_BYTES,
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  try {
    for await (const chunk of response) {
      const part: Buffer = Buffer.from(chunk);
      bytes += part.length;
      if (bytes > mostBytes) throw tooLarge(server, mostBytes);
      chunks.push(part);
    }
  } catch (cause) {
    if (cause instanceof FleetGcError) throw cause;
    throw new FleetGcError('API_UNREACHABLE', `the API server at ${server} broke off its answer`, { cause });
  }
  return Buffer.concat(chunks).toString('utf8');
}

const tooLarge = (server: string, mostBytes: number): FleetGcError =>
  new FleetGcError(
    'API_ANSWER_TOO_LARGE',
    `an answer of the API server at ${server} has more than ${mostBytes} bytes and was not read`,
  );
