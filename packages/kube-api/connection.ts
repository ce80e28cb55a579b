import type { Agent, IncomingHttpHeaders, IncomingMessage } from 'node:http';
import * as https from 'node:https';
import { FleetGcError } from '../process/errors.ts';
import { LinkedController } from '../process/linked-controller.ts';
import { http } from '../process/node-http.ts';
import { type ApiAccess, areSame, type Credentials, isSameTls } from './access.ts';
import { type ApiRequest, rejectionIn, type Sent, send } from './send.ts';
import type { ServerClock } from './server-clock.ts';

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

interface ConnectionOptions {
  readonly access: ApiAccess;
  readonly clock: ServerClock;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
  /** Says to the API server who asks. */
  readonly userAgent: string;
}

/**
 * The API server itself ends what takes longer.
 * @limit Timeout of a request to an API server.
 */
const TIMEOUT_MS = 65_000;
/**
 * A page of 500 objects of whole metadata: most have 2 to 20 KiB, one has 1.5 MiB at most.
 * @limit Size of a response of an API server.
 */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;

export function apiConnection(options: ConnectionOptions): ApiConnection {
  const { access } = options;
  const { credentials } = access;
  const agents = new Agents(access);
  const answered = (request: ApiRequest, as: Credentials, signal: AbortSignal): Promise<IncomingMessage> =>
    answeredAs({ request, as, signal }, { ...options, agents });
  return {
    clock: options.clock,
    call: async (request, signal) => {
      const as = await unlessAborted(credentials.current(), signal);
      using within = new LinkedController(...(signal === undefined ? [] : [signal]));
      const deadline = setTimeout(() => within.abort(tooSlow()), TIMEOUT_MS);
      try {
        const response = await answered(request, as, within.signal);
        const body = await bodyOf(response, access.server, request.mostAnswerBytes);
        return { status: statusOf(response), headers: response.headers, body };
      } finally {
        clearTimeout(deadline);
      }
    },
    stream: async (request, signal) => {
      const as = await unlessAborted(credentials.current(), signal);
      const within = new LinkedController(signal);
      const deadline = setTimeout(() => within.abort(tooSlow()), TIMEOUT_MS);
      try {
        const response = await answered(request, as, within.signal);
        response.once('close', () => within[Symbol.dispose]());
        return { status: statusOf(response), headers: response.headers, body: response };
      } catch (error) {
        within[Symbol.dispose]();
        throw error;
      } finally {
        clearTimeout(deadline);
      }
    },
    [Symbol.dispose]: () => {
      agents[Symbol.dispose]();
      credentials[Symbol.dispose]();
    },
  };
}

interface Asked {
  readonly request: ApiRequest;
  readonly as: Credentials;
  readonly signal: AbortSignal;
}

interface Asking extends ConnectionOptions {
  readonly agents: Agents;
}

/** Where the credentials are rejected, and there are others by now, it is asked once more: nothing was done of what was asked. */
async function answeredAs({ request, as, signal }: Asked, asking: Asking): Promise<IncomingMessage> {
  const { credentials } = asking.access;
  const first = await attempt({ request, as, signal }, asking);
  const because = rejectionIn(first);
  if (because === null) return answerIn(first);
  const newer = await credentials.insteadOf(as, because);
  if (areSame(newer, as)) return answerIn(first);
  if ('response' in first) first.response.destroy();
  return answerIn(await attempt({ request, as: newer, signal }, asking));
}

async function attempt(
  { request, as, signal }: Asked,
  { agents, access, clock, nowMs, userAgent }: Asking,
): Promise<Sent> {
  const sentAtMs = nowMs();
  const { server: base, proxy } = access;
  const { token } = as;
  const sent = await send({ request, token, agent: agents.for(as), base, proxy, userAgent, signal });
  if ('error' in sent) return sent;
  const dateMs = Date.parse(sent.response.headers.date ?? '');
  if (!Number.isNaN(dateMs) && isOfItself(request)) clock.told({ dateMs, sentAtMs, receivedAtMs: nowMs() });
  return sent;
}

/**
 * Whether the API server answers it itself. Of other groups it may pass on what another server says, its date too: one clock that is
 * wrong behind it would have nobody believe the right one.
 */
const isOfItself = ({ path }: ApiRequest): boolean => /^\/(api(\/|$|\?)|apis($|\?))/.test(path);

function answerIn(sent: Sent): IncomingMessage {
  if ('error' in sent) throw sent.error;
  return sent.response;
}

/** Who waits for credentials goes on when it is told to stop; others may still need them. */
async function unlessAborted(
  credentials: Promise<Credentials>,
  signal: AbortSignal | undefined,
): Promise<Credentials> {
  if (signal === undefined) return await credentials;
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  const stop = (): void =>
    reject(new FleetGcError('API_UNREACHABLE', 'stopped before the API server was asked'));
  signal.addEventListener('abort', stop, { once: true });
  if (signal.aborted) stop();
  try {
    return await Promise.race([credentials, aborted]);
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

const tooSlow = (): Error => new Error(`nothing came within ${TIMEOUT_MS / 1000} s`);

const statusOf = ({ statusCode }: IncomingMessage): number => statusCode ?? 0;

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

const KEEP_ALIVE = { keepAlive: true, timeout: 90_000 } as const;

/** The connections to one API server. Those that were opened with other certificates serve what they carry, and nothing more. */
class Agents implements Disposable {
  readonly #access: ApiAccess;
  readonly #isSecure: boolean;
  readonly #retired = new Set<Agent>();
  #present: { readonly agent: Agent; readonly credentials: Credentials } | null = null;

  constructor(access: ApiAccess) {
    this.#access = access;
    this.#isSecure = new URL(access.server).protocol === 'https:';
  }

  for(credentials: Credentials): Agent {
    if (this.#present !== null && isSameTls(this.#present.credentials, credentials))
      return this.#present.agent;
    if (this.#present !== null) this.#retire(this.#present.agent);
    const agent = this.#open(credentials);
    this.#present = { agent, credentials };
    return agent;
  }

  [Symbol.dispose](): void {
    this.#present?.agent.destroy();
    for (const agent of this.#retired) agent.destroy();
  }

  #open({ authority, clientCertificate }: Credentials): Agent {
    const { serverName, proxy } = this.#access;
    const through = proxy ?? undefined;
    if (!this.#isSecure)
      return new http.Agent({ ...KEEP_ALIVE, ...(through && { proxyEnv: { HTTP_PROXY: through } }) });
    return new https.Agent({
      ...KEEP_ALIVE,
      ...(through && { proxyEnv: { HTTPS_PROXY: through } }),
      ...(authority !== null && { ca: authority }),
      ...(serverName !== null && { servername: serverName }),
      ...(clientCertificate !== null && { cert: clientCertificate.certificate, key: clientCertificate.key }),
    });
  }

  /** A watch goes on to its end, which the API server sets at ten minutes at most. */
  #retire(agent: Agent): void {
    for (const each of this.#retired) if (Object.keys(each.sockets).length === 0) this.#retired.delete(each);
    agent.maxFreeSockets = 0;
    for (const socket of Object.values(agent.freeSockets).flat()) socket?.destroy();
    this.#retired.add(agent);
  }
}
