import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import type { OutgoingRecord } from '../../../../packages/log/port.ts';
import { toFleetGcError } from '../../../../packages/process/errors.ts';
import { type HttpBounds, openHttpServer, type Peer } from '../../../../packages/process/http-server.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import { type OutgoingEvent, outgoingEvent, structuredOutgoing } from '../outgoing-event.ts';
import type { FunctionBounds } from './bounds.ts';
import { type CallerSettings, objectionToCaller } from './callers.ts';
import { encodedHeader } from './event-record.ts';
import {
  PROBLEM_TYPES,
  type Problem,
  problemDocument,
  RETRY_AFTER_S,
  Refused,
  refused,
  type Status,
} from './problem.ts';
import { type ContentMode, contentModeOf } from './read-events.ts';

/** What a request to decide brings, within its bounds. */
export interface Asked {
  readonly mode: ContentMode;
  readonly body: Buffer;
  readonly contentType: string;
  readonly rawHeaders: readonly string[];
  /** Several events are wanted in the answer, however many there are. */
  readonly wantsBatch: boolean;
}

interface ServeSettings {
  readonly callers: CallerSettings;
  readonly bounds: FunctionBounds;
  readonly answer: (asked: Asked) => Promise<Answer>;
  /** Told the status of each answer to a request to decide. */
  readonly onAnswered: (status: Status) => void;
  /** Told of each connection that was one too many of its address. */
  readonly onConnectionRefused: () => void;
  readonly logger: Logger;
}

/** @limit Connections and timeouts of a function. Behind a proxy all callers share one address. */
const BOUNDS: HttpBounds = {
  mostConnections: 200,
  mostOfAnAddress: 50,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 30_000,
  idleTimeoutMs: 120_000,
  keepAliveMs: 5_000,
  mostHeaderBytes: 32 * 1024,
};
export const MOST_CONNECTIONS_OF_AN_ADDRESS = BOUNDS.mostOfAnAddress;
/** Requests in hand may end; then nobody waits any longer. */
const STOP_GRACE_MS = 5_000;
const MOST_HEADERS = 200;

interface Serving extends AsyncDisposable {
  /** With the port that the system gave where 0 was asked for. */
  readonly address: Address;
}

/** Throws `CONFIG_INVALID` when it cannot listen, or when certificate and key are none. */
export async function serveFunction(settings: ServeSettings): Promise<Serving> {
  const { callers } = settings;
  const room = new BodyRoom();
  const server = await openHttpServer({
    address: callers.address,
    advice: 'choose another address with --http',
    bounds: BOUNDS,
    tls: callers.tls,
    proxies: callers.proxies,
    onRefused: settings.onConnectionRefused,
  });
  server.serve((request, response, peer) => void respond(request, response, { settings, room, peer }));
  return { address: server.address, [Symbol.asyncDispose]: () => server.close(STOP_GRACE_MS) };
}

interface Around {
  readonly settings: ServeSettings;
  readonly room: BodyRoom;
  readonly peer: Peer;
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

async function decided(request: IncomingMessage, { settings, room, peer }: Around): Promise<Answer> {
  const asked = askedOf(request, peer, settings);
  if (asked instanceof Refused) return problemAnswer(asked.problem);
  const { eventBytes, bodyBytes } = settings.bounds;
  const most = asked.mode === 'binary' ? eventBytes : bodyBytes;
  const answer = await room.with(request, most, (body) => settings.answer({ ...asked, body }));
  return answer instanceof Refused ? problemAnswer(answer.problem) : answer;
}

/** What is told by the headers alone, before anything of the body is read. */
function askedOf(
  request: IncomingMessage,
  peer: Peer,
  { callers }: ServeSettings,
): Omit<Asked, 'body'> | Refused {
  const { method, url = '/', headers, rawHeaders } = request;
  if (method !== 'POST') return refused('not-allowed', 'events are sent with POST');
  if (url !== '/') return refused('not-found', 'events are taken at / alone');
  if (rawHeaders.length / 2 > MOST_HEADERS)
    return refused('too-many-headers', `the request has more than ${MOST_HEADERS} headers`);
  const objection = objectionToCaller(request, peer, callers);
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

/**
 * Bodies that are in memory at once, of all requests.
 * @limit Request bodies in memory. Keep it within the memory limit of the manifests.
 */
const MOST_BODY_BYTES_AT_ONCE = 128 * 1024 * 1024;

/** What all requests together have in memory. */
class BodyRoom {
  #bytes = 0;

  /** The body, as long as `use` works on it; it is refused as soon as it is known to be too large. */
  async with<T>(
    request: IncomingMessage,
    mostBytes: number,
    use: (body: Buffer) => Promise<T>,
  ): Promise<T | Refused> {
    const parts: Buffer[] = [];
    let bytes = 0;
    const declared = Number(request.headers['content-length'] ?? 0);
    if (declared > mostBytes) return tooLarge(mostBytes);
    if (this.#bytes + declared > MOST_BODY_BYTES_AT_ONCE) return FULL;
    try {
      // Who is refused in the middle is still answered.
      for await (const part of request.iterator({ destroyOnReturn: false })) {
        const chunk: Buffer = part;
        bytes += chunk.length;
        this.#bytes += chunk.length;
        if (bytes > mostBytes) return tooLarge(mostBytes);
        if (this.#bytes > MOST_BODY_BYTES_AT_ONCE) return FULL;
        parts.push(chunk);
      }
      return await use(Buffer.concat(parts));
    } finally {
      this.#bytes -= bytes;
    }
  }
}

const tooLarge = (mostBytes: number): Refused =>
  refused('too-large', `the body has more than the ${mostBytes} bytes that are read`);
const FULL = refused('busy', 'too much is being read at the moment');

/** What a request is answered with. */
export interface Answer {
  readonly status: Status;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

const BATCH_TYPE = 'application/cloudevents-batch+json';
const NOTHING = Buffer.alloc(0);

/** Events out: none, one in binary mode, or several in a batch, in the order in which they have to be published. */
export function eventsAnswer(records: readonly OutgoingRecord[], wantsBatch: boolean): Answer {
  const events = records.map(outgoingEvent);
  const [only, ...more] = events;
  if (!wantsBatch && only === undefined) return { status: 204, headers: {}, body: NOTHING };
  return wantsBatch || only === undefined || more.length > 0 ? batchAnswer(events) : binaryAnswer(only);
}

const batchAnswer = (events: readonly OutgoingEvent[]): Answer => ({
  status: 200,
  headers: { 'content-type': BATCH_TYPE },
  body: Buffer.from(JSON.stringify(events.map(structuredOutgoing))),
});

function binaryAnswer({ attributes: { datacontenttype, ...attributes }, data }: OutgoingEvent): Answer {
  const headers = Object.entries(attributes).map(([name, text]) => [`ce-${name}`, encodedHeader(text)]);
  return {
    status: 200,
    headers: { ...Object.fromEntries(headers), 'content-type': datacontenttype ?? 'application/json' },
    body: data,
  };
}

/** All of it is on the event log. */
export const PUBLISHED: Answer = { status: 204, headers: {}, body: NOTHING };

export function problemAnswer(problem: Problem): Answer {
  const { status, again } = PROBLEM_TYPES[problem.kind];
  return {
    status,
    headers: {
      'content-type': 'application/problem+json',
      ...(again && { 'retry-after': String(RETRY_AFTER_S) }),
      ...(status === 401 && { 'www-authenticate': 'Bearer realm="fleetgc"' }),
      ...(status === 405 && { allow: 'POST' }),
    },
    body: Buffer.from(problemDocument(problem)),
  };
}
