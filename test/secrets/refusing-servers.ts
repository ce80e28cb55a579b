import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { onTestFinished } from 'vitest';

const API_VERSIONS = 18;
const SASL_HANDSHAKE = 17;
const SASL_AUTHENTICATE = 36;
/** As much as a login needs. */
const VERSIONS: readonly (readonly [number, number])[] = [
  [3, 1],
  [SASL_HANDSHAKE, 1],
  [API_VERSIONS, 0],
  [SASL_AUTHENTICATE, 0],
];
const SASL_AUTHENTICATION_FAILED = 58;

/** A Kafka broker that refuses every login. Resolves to its address. */
export function refusingBroker(): Promise<string> {
  return listening(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (request) => {
        const answer = brokerAnswer(request.readInt16BE(4));
        const head = Buffer.alloc(8);
        head.writeInt32BE(answer.length + 4);
        request.copy(head, 4, 8, 12);
        socket.write(Buffer.concat([head, answer]));
      });
    }),
  );
}

function brokerAnswer(api: number): Buffer {
  if (api === API_VERSIONS)
    return Buffer.concat([
      numbers(0),
      Buffer.from([0, 0, 0, VERSIONS.length]),
      ...VERSIONS.map(([key, most]) => numbers(key, 0, most)),
    ]);
  if (api === SASL_HANDSHAKE)
    return Buffer.concat([numbers(0), Buffer.from([0, 0, 0, 2]), text('PLAIN'), text('SCRAM-SHA-512')]);
  return Buffer.concat([numbers(SASL_AUTHENTICATION_FAILED), text('Authentication failed'), Buffer.alloc(4)]);
}

function numbers(...values: readonly number[]): Buffer {
  const bytes = Buffer.alloc(values.length * 2);
  for (const [index, value] of values.entries()) bytes.writeInt16BE(value, index * 2);
  return bytes;
}

const text = (value: string): Buffer => Buffer.concat([numbers(value.length), Buffer.from(value)]);

/** Something that is no broker: it sends back what it got, and hangs up. Resolves to its address. */
export const echoingServer = (): Promise<string> =>
  listening(
    createServer((socket) => {
      socket.on('error', () => {});
      socket.on('data', (data) => socket.end(data));
    }),
  );

/** A kubelet that refuses every token, and sends it back. Resolves to its URL. */
export async function refusingKubelet(): Promise<string> {
  const server = createHttpServer((request, response) => {
    response.writeHead(401, { 'x-given': request.headers.authorization ?? '' });
    response.end(request.headers.authorization);
  });
  return `http://${await listening(server)}`;
}

/**
 * An API server that refuses every token, and sends it back as a proxy in front of it may; `knowing` it says who it is before that.
 * Resolves to its URL.
 */
export async function refusingApiServer(knowing: 'nobody' | 'its namespace' = 'nobody'): Promise<string> {
  const server = createHttpServer((request, response) => {
    const { authorization = '' } = request.headers;
    const isKnown = knowing === 'its namespace' && request.url?.endsWith('/namespaces/kube-system') === true;
    response.writeHead(isKnown ? 200 : 401, { 'content-type': 'application/json', 'x-given': authorization });
    response.end(JSON.stringify(isKnown ? KUBE_SYSTEM : { error: 'who are you?', given: authorization }));
  });
  return `http://${await listening(server)}`;
}

const KUBE_SYSTEM = {
  kind: 'PartialObjectMetadata',
  apiVersion: 'meta.k8s.io/v1',
  metadata: { name: 'kube-system', uid: 'the-cluster', resourceVersion: '1' },
};

async function listening(server: Server): Promise<string> {
  const sockets = new Set<{ destroy(): void }>();
  server.on('connection', (socket) => sockets.add(socket));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('the server has no port');
  return `127.0.0.1:${bound.port}`;
}
