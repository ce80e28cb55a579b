import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type OutgoingHttpHeaders,
  request as plainRequest,
  type Server,
  type ServerResponse,
} from 'node:http';
import { Agent, createServer as createTlsServer, request as tlsRequest } from 'node:https';
import { type AddressInfo, connect, type Socket } from 'node:net';
import type { Pair } from '../fixtures/certificate.ts';

/** What listens on this machine, and is cut off at its end with all who talk to it. */
export interface Listening extends AsyncDisposable {
  readonly port: number;
}

export async function listening(server: Server): Promise<Listening> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    port,
    [Symbol.asyncDispose]: async () => {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** An HTTP proxy. */
export interface HttpProxy extends Listening {
  /** What was asked of it. */
  readonly asked: readonly string[];
}

/** Opens ways for CONNECT, and answers what else is asked of it. `credentials`: `user:password`, without which it opens none. */
export async function httpProxy(credentials: string | null = null): Promise<HttpProxy> {
  const asked: string[] = [];
  const isKnown = (given: string | undefined): boolean =>
    credentials === null || given === `Basic ${Buffer.from(credentials).toString('base64')}`;
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url}`);
    response.end('{"passed":"on"}');
  });
  server.on('connect', ({ url = '', headers }: IncomingMessage, socket: Socket) => {
    asked.push(`CONNECT ${url}`);
    if (!isKnown(headers['proxy-authorization']))
      return socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n');
    const { hostname, port } = new URL(`http://${url}`);
    const upstream = connect(Number(port), hostname, () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      upstream.pipe(socket).pipe(upstream);
    });
    upstream.on('error', () => socket.destroy()).on('close', () => socket.destroy());
    socket.on('error', () => upstream.destroy()).on('close', () => upstream.destroy());
    return undefined;
  });
  return { ...(await listening(server)), asked };
}

/** What stands in front of a server. */
export interface InFront {
  readonly server: string;
  readonly authority: Buffer;
  readonly pair: Pair;
}

/** A server that ends TLS, knows HTTP/1.1 alone, and asks the one behind it in its own name, as load balancers do. */
export async function reverseProxy(inFront: InFront): Promise<HttpProxy> {
  const asked: string[] = [];
  const agent = new Agent({ ca: inFront.authority, keepAlive: true });
  const { certificate: cert, key } = inFront.pair;
  const server = createTlsServer({ cert, key, ALPNProtocols: ['http/1.1'] }, (request, response) => {
    asked.push(`HTTP/${request.httpVersion} ${request.method}`);
    const { host: _, connection: __, ...headers } = request.headers;
    passOn(request, response, { server: inFront.server, headers, agent });
  });
  const open = await listening(server);
  return {
    ...open,
    asked,
    [Symbol.asyncDispose]: async () => {
      agent.destroy();
      await open[Symbol.asyncDispose]();
    },
  };
}

/** Where a request is asked in place of where it came, and with which headers. */
export interface PassedOn {
  readonly server: string;
  readonly headers: OutgoingHttpHeaders;
  readonly agent?: Agent;
}

/** Asks a server the same, and answers what it answers while it comes. */
export function passOn(
  request: IncomingMessage,
  response: ServerResponse,
  { server, headers, agent }: PassedOn,
): void {
  const url = new URL(request.url ?? '/', server);
  const ask = url.protocol === 'https:' ? tlsRequest : plainRequest;
  const behind = ask(url, { agent, method: request.method, headers }, (answer) => {
    response.writeHead(answer.statusCode ?? 502, answer.headers);
    response.flushHeaders();
    answer.pipe(response);
    answer.on('error', () => response.destroy());
  });
  behind.on('error', () => response.destroy());
  response.on('close', () => behind.destroy());
  request.pipe(behind);
}
