import { createServer, type IncomingHttpHeaders, type RequestListener, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { onTestFinished } from 'vitest';

export interface Received {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** What the receiver does with a request: a status with headers, or nothing at all. */
export type Behaviour =
  | 'hang'
  | { readonly status: number; readonly headers?: Readonly<Record<string, string>> };

export interface HttpReceiver {
  readonly port: number;
  readonly url: string;
  readonly received: readonly Received[];
  /** From now on. */
  behave(behaviour: Behaviour): void;
  /** Is away: nobody listens. */
  stop(): Promise<void>;
  /** Is back, at the same port. */
  start(): Promise<void>;
}

interface Tls {
  readonly key: string;
  readonly cert: string;
}

/** A server on a port of its own, gone when the test ends. */
export async function httpReceiver(first: Behaviour = { status: 204 }, tls?: Tls): Promise<HttpReceiver> {
  let behaviour = first;
  const received: Received[] = [];
  const listener: RequestListener = (request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      received.push({
        path: request.url ?? '',
        headers: request.headers,
        body: Buffer.concat(chunks).toString('utf8'),
      });
      if (behaviour === 'hang') return;
      response.writeHead(behaviour.status, behaviour.headers).end();
    });
  };
  let server: Server;
  let port = 0;
  const start = async (): Promise<void> => {
    server = tls === undefined ? createServer(listener) : createTlsServer(tls, listener);
    const { promise, resolve } = Promise.withResolvers<void>();
    server.listen(port, '127.0.0.1', resolve);
    await promise;
    const address = server.address();
    port = typeof address === 'object' && address !== null ? address.port : 0;
  };
  const stop = async (): Promise<void> => {
    const { promise, resolve } = Promise.withResolvers<void>();
    server.close(() => resolve());
    server.closeAllConnections();
    await promise;
  };
  await start();
  onTestFinished(stop);
  return {
    get port() {
      return port;
    },
    get url() {
      return `${tls === undefined ? 'http' : 'https'}://localhost:${port}/in`;
    },
    received,
    behave: (next) => {
      behaviour = next;
    },
    stop,
    start,
  };
}
