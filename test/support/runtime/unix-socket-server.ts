import { createServer as createHttpServer } from 'node:http';
import { createServer as createHttp2Server, type ServerHttp2Stream } from 'node:http2';
import { createServer as createNetServer, type Server } from 'node:net';
import { onTestFinished } from 'vitest';

/** What a gRPC method answers: a status, and a message when that is 0. */
export interface GrpcAnswer {
  readonly status: number;
  readonly details?: string;
  readonly message?: Buffer;
  /** How often it comes. */
  readonly times?: number;
}

/** Takes connections and says nothing, ever. */
export const silentServer = (socketPath: string): Promise<void> => listen(createNetServer(), socketPath);

/** Speaks HTTP/1.1, as the socket of another daemon does. */
export const plainHttpServer = (socketPath: string): Promise<void> =>
  listen(
    createHttpServer((_, response) => response.writeHead(404).end('page not found')),
    socketPath,
  );

/** A call as the server saw it. */
export interface SeenCall {
  /** The deadline that the client told, as gRPC writes it. */
  readonly timeout: string | undefined;
  cancelled: boolean;
}

/**
 * Speaks gRPC's wire without any gRPC library, so that it can also answer what no library would, or nothing. Resolves to
 * the calls it gets.
 */
export async function rawGrpcServer(
  socketPath: string,
  answer: (path: string) => GrpcAnswer | 'nothing',
): Promise<readonly SeenCall[]> {
  const calls: SeenCall[] = [];
  const server = createHttp2Server();
  server.on('stream', (stream, headers) => {
    const call: SeenCall = { timeout: headers['grpc-timeout']?.toString(), cancelled: false };
    calls.push(call);
    stream.on('error', () => {});
    stream.on('aborted', () => {
      call.cancelled = true;
    });
    const given = answer(String(headers[':path']));
    if (given !== 'nothing') respond(stream, given);
  });
  await listen(server, socketPath);
  return calls;
}

function respond(stream: ServerHttp2Stream, { status, details = '', message, times = 1 }: GrpcAnswer): void {
  stream.respond({ ':status': 200, 'content-type': 'application/grpc' }, { waitForTrailers: true });
  stream.on('wantTrailers', () =>
    stream.sendTrailers({ 'grpc-status': String(status), 'grpc-message': encodeURIComponent(details) }),
  );
  if (message) for (let each = 0; each < times; each += 1) stream.write(framed(message));
  stream.end();
}

/** gRPC puts one byte (not compressed) and the length before each message. */
function framed(message: Buffer): Buffer {
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(message.length, 1);
  return Buffer.concat([prefix, message]);
}

async function listen(server: Server, socketPath: string): Promise<void> {
  const connections = new Set<{ destroy(): void }>();
  server.on('connection', (connection) => {
    connections.add(connection);
    connection.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(socketPath, resolve));
  onTestFinished(
    () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        for (const connection of connections) connection.destroy();
      }),
  );
}
