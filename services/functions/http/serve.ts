import type { IncomingMessage, Server, ServerOptions, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { waitAtMost } from '../../../packages/event-log/stopping.ts';
import { CHECK_CONNECTIONS_EVERY_MS, limitEachAddress } from '../../../packages/process/connection-limits.ts';
import { FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';
import { listen } from '../../../packages/process/listen.ts';
import { http } from '../../../packages/process/node-http.ts';
import type { Address } from '../../../packages/process/options/options.ts';
import { type Answer, problemAnswer } from './answer.ts';
import { BodyRoom } from './body.ts';
import type { FunctionBounds } from './bounds.ts';
import { type CallerSettings, objectionToCaller } from './callers.ts';
import { Refused, refused } from './problem.ts';
import { type ContentMode, contentModeOf } from './read-events.ts';
import type { Status } from './statuses.ts';

/** What a request to decide brings, within its bounds. */
export interface Asked {
  readonly mode: ContentMode;
  readonly body: Buffer;
  readonly contentType: string;
  readonly rawHeaders: readonly string[];
  /** Several events are wanted in the answer, however many there are. */
  readonly wantsBatch: boolean;
}

export interface ServeSettings {
  readonly callers: CallerSettings;
  readonly bounds: FunctionBounds;
  readonly answer: (asked: Asked) => Promise<Answer>;
  /** Told the status of each answer to a request to decide. */
  readonly onAnswered: (status: Status) => void;
  /** Told of each connection that was one too many of its address. */
  readonly onConnectionRefused: () => void;
  readonly logger: Logger;
}

const REQUEST_TIMEOUT_MS = 30_000;
const HEADERS_TIMEOUT_MS = 10_000;
/** Nothing was sent or read for so long. */
const IDLE_TIMEOUT_MS = 120_000;
/** Requests in hand may end; then nobody waits any longer. */
const STOP_GRACE_MS = 5_000;
const MOST_CONNECTIONS = 200;
/** Behind a proxy all callers have one address. */
export const MOST_CONNECTIONS_OF_AN_ADDRESS = 50;
const MOST_HEADER_BYTES = 32 * 1024;
const MOST_HEADERS = 200;

export interface Serving extends AsyncDisposable {
  /** With the port that the system gave where 0 was asked for. */
  readonly address: Address;
}

/** Throws `CONFIG_INVALID` when it cannot listen, or when certificate and key are none. */
export async function serveFunction(settings: ServeSettings): Promise<Serving> {
  const { callers } = settings;
  const room = new BodyRoom();
  const server = serverOf(callers);
  server.maxConnections = MOST_CONNECTIONS;
  limitEachAddress(server, MOST_CONNECTIONS_OF_AN_ADDRESS, settings.onConnectionRefused);
  server.setTimeout(IDLE_TIMEOUT_MS);
  server.on('request', (request, response) => void respond(request, response, { settings, room }));
  const address = await listen(server, callers.address, 'choose another address with --http');
  return {
    address,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise<void>((resolve) => void server.close(() => resolve()));
      server.closeIdleConnections();
      await waitAtMost(closed, STOP_GRACE_MS);
      server.closeAllConnections();
      await closed;
    },
  };
}

const LIMITS: ServerOptions = {
  requestTimeout: REQUEST_TIMEOUT_MS,
  headersTimeout: HEADERS_TIMEOUT_MS,
  connectionsCheckingInterval: CHECK_CONNECTIONS_EVERY_MS,
  maxHeaderSize: MOST_HEADER_BYTES,
};

function serverOf({ tls }: CallerSettings): Server {
  if (tls === null) return http.createServer(LIMITS);
  const { cert, key, callerCa } = tls;
  try {
    return process.getBuiltinModule('node:https').createServer({
      ...LIMITS,
      handshakeTimeout: HEADERS_TIMEOUT_MS,
      cert,
      key,
      minVersion: 'TLSv1.2',
      ...(callerCa !== null && { ca: callerCa, requestCert: true, rejectUnauthorized: true }),
    });
  } catch (cause) {
    const { message } = toFleetGcError(cause);
    throw new FleetGcError('CONFIG_INVALID', `certificate and key cannot be used together: ${message}`, {
      cause,
    });
  }
}

interface Around {
  readonly settings: ServeSettings;
  readonly room: BodyRoom;
}

async function respond(request: IncomingMessage, response: ServerResponse, around: Around): Promise<void> {
  const { onAnswered, logger } = around.settings;
  try {
    const answer = await decided(request, around);
    onAnswered(answer.status);
    send(request, response, answer);
  } catch (thrown) {
    if (request.destroyed && !request.complete) return;
    logger.error({ err: toFleetGcError(thrown) }, 'a request could not be answered');
    onAnswered(500);
    if (response.headersSent) response.destroy();
    else send(request, response, problemAnswer({ kind: 'internal', detail: INTERNAL }));
  }
}

const INTERNAL = 'it could not be answered; the logger output of the function says why';

async function decided(request: IncomingMessage, { settings, room }: Around): Promise<Answer> {
  const asked = askedOf(request, settings);
  if (asked instanceof Refused) return problemAnswer(asked.problem);
  const { eventBytes, bodyBytes } = settings.bounds;
  const most = asked.mode === 'binary' ? eventBytes : bodyBytes;
  const answer = await room.with(request, most, (body) => settings.answer({ ...asked, body }));
  return answer instanceof Refused ? problemAnswer(answer.problem) : answer;
}

/** What is told by the headers alone, before anything of the body is read. */
function askedOf(request: IncomingMessage, { callers }: ServeSettings): Omit<Asked, 'body'> | Refused {
  const { method, url = '/', headers, rawHeaders } = request;
  if (method !== 'POST') return refused('not-allowed', 'events are sent with POST');
  if (url !== '/') return refused('not-found', 'events are taken at / alone');
  if (rawHeaders.length / 2 > MOST_HEADERS)
    return refused('too-many-headers', `the request has more than ${MOST_HEADERS} headers`);
  const objection = objectionToCaller(request, callers);
  if (objection !== null) return objection;
  if (headers['content-encoding'] !== undefined && headers['content-encoding'] !== 'identity')
    return refused('unknown-content-type', 'nothing that is compressed is read');
  const contentType = headers['content-type'] ?? '';
  const mode = contentModeOf({ contentType, rawHeaders });
  if (mode instanceof Refused) return mode;
  const wantsBatch = mode === 'batch' || /cloudevents-batch\+json/i.test(headers.accept ?? '');
  return { mode, contentType, rawHeaders, wantsBatch };
}

/** Of whoever is refused before the end of what they send nothing more is read. */
function send(request: IncomingMessage, response: ServerResponse, { status, headers, body }: Answer): void {
  const isCut = !request.complete;
  response.writeHead(status, {
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    ...headers,
    ...(status !== 204 && { 'content-length': String(body.length) }),
    ...(isCut && { connection: 'close' }),
  });
  response.end(request.method === 'HEAD' || status === 204 ? undefined : body);
}
