import { chmod, chown, lstat, rm } from 'node:fs/promises';
import {
  type ClientHttp2Session,
  type ClientHttp2Stream,
  connect,
  constants,
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type OutgoingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { FleetGcError, toFleetGcError } from '../../process/errors.ts';
import { systemProblem } from '../../process/system-problem.ts';
import { CONTAINERD_METHODS, CRI_NAMESPACE } from '../containerd/methods.ts';
import { METHODS } from '../methods.ts';
import { socketPathOf } from '../socket-path.ts';

/** A socket for others, and who may use it. */
export interface OfferedSocket {
  readonly path: string;
  /** Permission bits, such as `0o660`. */
  readonly mode: number;
  /** `null`: the group of this process. */
  readonly groupId: number | null;
}

export interface ReadingProxySettings {
  readonly socket: OfferedSocket;
  /** The runtime's own: `unix://…` or a path. */
  readonly endpoint: string;
  /** Called with the path of each call that is not let through. */
  readonly onDenied: (path: string) => void;
  /** Called for each connection beyond the most that are open at a time: it is closed at once. */
  readonly onRefused: () => void;
  /** How long a call may take to send its request, and how long a connection without a call stays; those of the proxy where not given. */
  readonly requestTimeoutMs?: number;
  readonly idleTimeoutMs?: number;
}

interface ReadingProxy extends AsyncDisposable {
  /** Why the last call that was let through got no answer, in a sentence; `null` when it got one. */
  problem(): string | null;
}

/**
 * An agent has two connections, one for CRI and one for containerd's own API.
 * @limit Connections of `cri-proxy`.
 */
const MAX_CONNECTIONS = 16;
/** @limit Concurrent calls of one of its connections. */
const MAX_CALLS_OF_A_CONNECTION = 128;
/** What Node.js may hold of one connection, in megabytes: of all of them together half of what the unit may have. */
const MAX_HELD_OF_A_CONNECTION_MB = 4;
/** Of one call: what a client of gRPC sends has ten names, of some hundred bytes in all. */
const MAX_HEADERS = 32;
const MAX_HEADER_BYTES = 16 * 1024;
/** A reading call asks by an id or a filter, and no more. */
const MAX_REQUEST_BYTES = 64 * 1024;
const REQUEST_TIMEOUT_MS = 10_000;
/** An agent asks every ten seconds. */
const IDLE_TIMEOUT_MS = 5 * 60_000;

/**
 * Offers a socket on which the calls of `READING_PATHS` reach the runtime, and all others are denied. A socket file that is
 * there already is replaced. Throws `CONFIG_INVALID` when the socket cannot be made.
 */
export async function serveReadingProxy(settings: ReadingProxySettings): Promise<ReadingProxy> {
  const runtimePath = socketPathOf(settings.endpoint);
  if (settings.socket.path === runtimePath) throw sameSocket(runtimePath);
  const runtime = runtimeSessions(runtimePath);
  const health: { problem: string | null } = { problem: null };
  const { requestTimeoutMs = REQUEST_TIMEOUT_MS, idleTimeoutMs = IDLE_TIMEOUT_MS } = settings;
  const bounds: RequestBounds = { mostBytes: MAX_REQUEST_BYTES, timeoutMs: requestTimeoutMs };
  const server = createServer({
    maxSessionMemory: MAX_HELD_OF_A_CONNECTION_MB,
    maxHeaderListPairs: MAX_HEADERS,
    settings: { maxConcurrentStreams: MAX_CALLS_OF_A_CONNECTION, maxHeaderListSize: MAX_HEADER_BYTES },
  });
  server.maxConnections = MAX_CONNECTIONS;
  server.on('drop', () => settings.onRefused());
  const sessions = new Set<Http2Session>();
  const callsOf = new WeakMap<Http2Session, number>();
  const count = (session: Http2Session, by: number): void =>
    void callsOf.set(session, (callsOf.get(session) ?? 0) + by);
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
    // A call that waits for events may be quiet for hours.
    session.setTimeout(idleTimeoutMs);
    session.on('timeout', () => {
      if ((callsOf.get(session) ?? 0) === 0) session.close();
    });
  });
  server.on('stream', (call, headers) => {
    call.on('error', () => {});
    const { session } = call;
    if (session !== undefined) {
      count(session, 1);
      call.once('close', () => count(session, -1));
    }
    const path = String(headers[':path']);
    if (READING_PATHS.has(path)) void pass(call, headers, { settings, bounds, runtime, health });
    else deny(call, path, { settings, bounds });
  });
  await offer(server, settings.socket);
  return {
    problem: () => health.problem,
    [Symbol.asyncDispose]: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const session of sessions) session.destroy();
      await closed;
    },
  };
}

const sameSocket = (path: string): FleetGcError =>
  new FleetGcError('CONFIG_INVALID', `${path} is the runtime's own socket; offer another one`);

function deny(
  call: ServerHttp2Stream,
  path: string,
  { settings, bounds }: Pick<Passing, 'settings' | 'bounds'>,
): void {
  settings.onDenied(path);
  boundRequest(call, bounds, () => call.close());
  refuse(
    call,
    status.PERMISSION_DENIED,
    `${path} is not a reading call, and this socket is for reading only.`,
  );
}

interface Passing {
  readonly settings: ReadingProxySettings;
  readonly bounds: RequestBounds;
  readonly runtime: RuntimeSessions;
  readonly health: { problem: string | null };
}

async function pass(
  call: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { settings, bounds, runtime, health }: Passing,
): Promise<void> {
  // An agent that went away before its call was seen.
  if (call.session === undefined) return;
  const problem = await passOn(call, headers, { runtime: runtime.of(call.session), bounds });
  health.problem = problem && `the runtime at ${settings.endpoint} does not answer: ${problem}`;
}

interface RuntimeSessions {
  of(session: Http2Session): ClientHttp2Session;
}

/** Each connection of an agent has one of its own to the runtime, which is made anew when the runtime ended it. */
function runtimeSessions(socketPath: string): RuntimeSessions {
  const open = new WeakMap<Http2Session, ClientHttp2Session>();
  const made = (session: Http2Session): ClientHttp2Session => {
    const runtime = connect('http://localhost', { createConnection: () => connectSocket(socketPath) });
    // Each call is told by itself.
    runtime.on('error', () => {});
    const end = (): void => runtime.destroy();
    session.once('close', end);
    runtime.once('close', () => session.off('close', end));
    open.set(session, runtime);
    return runtime;
  };
  return {
    of: (session) => {
      const runtime = open.get(session);
      return runtime === undefined || runtime.closed || runtime.destroyed ? made(session) : runtime;
    },
  };
}

async function offer(server: Http2Server, { path, mode, groupId }: OfferedSocket): Promise<void> {
  try {
    await removeOldSocket(path);
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(path, resolve);
    });
    if (groupId !== null) await chown(path, -1, groupId);
    await chmod(path, mode);
  } catch (cause) {
    server.close();
    throw new FleetGcError(
      'CONFIG_INVALID',
      `cannot offer the socket ${path}: ${systemProblem(cause, path) ?? toFleetGcError(cause).message}. Its directory must be there, and this process must be allowed to write to it and to give the socket to that group`,
      { cause },
    );
  }
}

async function removeOldSocket(path: string): Promise<void> {
  const there = await lstat(path).catch(() => null);
  if (there === null) return;
  if (!there.isSocket()) throw new Error('something is there that is no socket');
  await rm(path, { force: true });
}

/** Every call that an agent makes. None of them changes anything, and none tells what lies in an image. */
const READING_CALLS = [
  METHODS.version,
  METHODS.status,
  METHODS.listPodSandbox,
  METHODS.podSandboxStatus,
  METHODS.listContainers,
  METHODS.containerStatus,
  METHODS.getContainerEvents,
  METHODS.listImages,
  METHODS.imageStatus,
  METHODS.imageFsInfo,
  CONTAINERD_METHODS.listStoredImages,
  CONTAINERD_METHODS.listContent,
  CONTAINERD_METHODS.listIngests,
  CONTAINERD_METHODS.listStoredContainers,
  CONTAINERD_METHODS.listLeases,
  CONTAINERD_METHODS.listLeaseResources,
  CONTAINERD_METHODS.listSnapshots,
  CONTAINERD_METHODS.snapshotUsage,
];

/** Asked of a runtime that does not know v1, to be able to say what is wrong. */
const OLD_VERSION = '/runtime.v1alpha2.RuntimeService/Version';

/** `/<package>.<Service>/<Method>` of each call that a reading proxy lets through. */
export const READING_PATHS: ReadonlySet<string> = new Set([
  ...READING_CALLS.map(({ definition }) => definition.path),
  OLD_VERSION,
]);

/** What of a call's headers reaches the runtime, its deadline among them. */
const PASSED_HEADERS = [
  'content-type',
  'user-agent',
  'grpc-timeout',
  'grpc-encoding',
  'grpc-accept-encoding',
];

/** Answers a call itself, with a status of gRPC and a sentence. */
function refuse(call: ServerHttp2Stream, code: status, sentence: string): void {
  call.resume();
  if (call.destroyed || call.closed || call.headersSent) return;
  call.respond(
    { ':status': 200, 'content-type': 'application/grpc', ...statusHeaders(code, sentence) },
    { endStream: true },
  );
}

const statusHeaders = (code: status, sentence: string): OutgoingHttpHeaders => ({
  'grpc-status': String(code),
  'grpc-message': encodeURI(sentence),
});

/** What one call may send, and within which time. */
interface RequestBounds {
  readonly mostBytes: number;
  readonly timeoutMs: number;
}

/**
 * Passes a call on and its answer back, byte by byte: no message is read or held here. A request has a bound, since none of a
 * reading call is large. An answer has none here: who sends it waits until the other side has room, and an agent has a bound of
 * its own. Resolves when the call has ended, to what kept the runtime from answering it, or `null`.
 */
function passOn(
  call: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { runtime, bounds }: { readonly runtime: ClientHttp2Session; readonly bounds: RequestBounds },
): Promise<string | null> {
  const { promise, resolve } = Promise.withResolvers<string | null>();
  const asked = runtime.request(headersFor(headers));
  let problem: string | null = null;
  asked.on('error', (error) => {
    problem = error.message;
  });
  asked.on('response', (answer, flags) => answerWith(call, asked, { answer, flags }));
  asked.on('close', () => {
    if (!call.headersSent) refuse(call, status.UNAVAILABLE, problem ?? 'the runtime ended the call');
    else if (asked.rstCode !== constants.NGHTTP2_NO_ERROR) call.close(asked.rstCode);
    resolve(call.aborted ? null : problem);
  });
  // Whoever asked is gone or was told: the runtime need not go on.
  call.on('close', () => asked.close(constants.NGHTTP2_CANCEL));
  boundRequest(call, bounds, (code, sentence) => {
    call.unpipe(asked);
    refuse(call, code, sentence);
    call.close();
    asked.close(constants.NGHTTP2_CANCEL);
  });
  call.pipe(asked);
  return promise;
}

/** Calls `onBeyond` once, when a request is too large or does not end in time. */
function boundRequest(
  call: ServerHttp2Stream,
  { mostBytes, timeoutMs }: RequestBounds,
  onBeyond: (code: status, sentence: string) => void,
): void {
  const late = setTimeout(
    () => beyond(status.DEADLINE_EXCEEDED, `The request did not end within ${timeoutMs / 1000} s.`),
    timeoutMs,
  );
  let bytes = 0;
  const count = (chunk: Buffer): void => {
    bytes += chunk.length;
    if (bytes > mostBytes)
      beyond(status.RESOURCE_EXHAUSTED, `The request is larger than ${mostBytes} bytes.`);
  };
  const stop = (): void => {
    clearTimeout(late);
    call.off('data', count);
  };
  const beyond = (code: status, sentence: string): void => {
    stop();
    onBeyond(code, sentence);
  };
  call.on('data', count);
  call.once('end', stop).once('close', stop);
}

const headersFor = (headers: IncomingHttpHeaders): OutgoingHttpHeaders => ({
  ':method': 'POST',
  ':path': headers[':path'],
  // Of gRPC always. As somebody else wrote it, Node.js may refuse to send it.
  te: 'trailers',
  ...Object.fromEntries(
    PASSED_HEADERS.flatMap((name) => (headers[name] === undefined ? [] : [[name, headers[name]]])),
  ),
  // What other namespaces hold is no business of an agent.
  ...('containerd-namespace' in headers && CRI_NAMESPACE),
});

function answerWith(
  call: ServerHttp2Stream,
  asked: ClientHttp2Stream,
  { answer, flags }: { readonly answer: OutgoingHttpHeaders; readonly flags: number },
): void {
  if (call.destroyed || call.closed) return;
  if ((flags & constants.NGHTTP2_FLAG_END_STREAM) !== 0) {
    call.respond(answer, { endStream: true });
    return;
  }
  let trailers = statusHeaders(status.UNAVAILABLE, 'the runtime ended its answer without a status');
  asked.on('trailers', (told) => {
    trailers = told;
  });
  call.respond(answer, { waitForTrailers: true });
  call.on('wantTrailers', () => call.sendTrailers(trailers));
  asked.pipe(call);
}
