import { chmod, chown, lstat, rm } from 'node:fs/promises';
import {
  type ClientHttp2Session,
  connect,
  createServer,
  type Http2Server,
  type Http2Session,
  type IncomingHttpHeaders,
  type ServerHttp2Stream,
} from 'node:http2';
import { connect as connectSocket } from 'node:net';
import { status } from '@grpc/grpc-js';
import { FleetGcError } from '../../process/errors.ts';
import { socketPathOf } from '../socket-path.ts';
import { passOn, refuse } from './passed-call.ts';
import { READING_PATHS } from './reading-paths.ts';

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
}

export interface ReadingProxy extends AsyncDisposable {
  /** Why the last call that was let through got no answer, in a sentence; `null` when it got one. */
  problem(): string | null;
}

/** An agent has two connections, one for CRI and one for containerd's own API. */
const MAX_CONNECTIONS = 16;
const MAX_CALLS_OF_A_CONNECTION = 128;

/**
 * Offers a socket on which the calls of `READING_PATHS` reach the runtime, and all others are denied. A socket file that is
 * there already is replaced. Throws `CONFIG_INVALID` when the socket cannot be made.
 */
export async function serveReadingProxy(settings: ReadingProxySettings): Promise<ReadingProxy> {
  const runtimePath = socketPathOf(settings.endpoint);
  if (settings.socket.path === runtimePath) throw sameSocket(runtimePath);
  const runtime = runtimeSessions(runtimePath);
  const health: { problem: string | null } = { problem: null };
  const server = createServer({ settings: { maxConcurrentStreams: MAX_CALLS_OF_A_CONNECTION } });
  server.maxConnections = MAX_CONNECTIONS;
  const sessions = new Set<Http2Session>();
  server.on('session', (session) => {
    sessions.add(session);
    session.on('error', () => {});
    session.on('close', () => sessions.delete(session));
  });
  server.on('stream', (call, headers) => {
    call.on('error', () => {});
    const path = String(headers[':path']);
    if (READING_PATHS.has(path)) void pass(call, headers, { settings, runtime, health });
    else deny(call, path, settings);
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

function deny(call: ServerHttp2Stream, path: string, { onDenied }: ReadingProxySettings): void {
  onDenied(path);
  refuse(
    call,
    status.PERMISSION_DENIED,
    `${path} is not a reading call, and this socket is for reading only.`,
  );
}

interface Passing {
  readonly settings: ReadingProxySettings;
  readonly runtime: RuntimeSessions;
  readonly health: { problem: string | null };
}

async function pass(
  call: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  { settings, runtime, health }: Passing,
): Promise<void> {
  // An agent that went away before its call was seen.
  if (call.session === undefined) return;
  const problem = await passOn(call, headers, runtime.of(call.session));
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
      `cannot offer the socket ${path}: ${cause instanceof Error ? cause.message : cause}; its directory must be there, and this process must be allowed to write to it and to give the socket to that group`,
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
