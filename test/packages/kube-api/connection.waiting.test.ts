import { createServer, type Server, type ServerResponse } from 'node:http';
import { afterEach, expect, test } from 'vitest';
import { type ApiConnection, apiConnection } from '../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { leftAt } from '../../support/left-at-signal.ts';
import { waitUntil } from '../../support/wait-until.ts';

let server: Server | null = null;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function connected(
  answer: (
    response: ServerResponse,
    request: { method: string; url: string; headers: NodeJS.Dict<string | string[]>; number: number },
  ) => void,
  path = '',
): Promise<ApiConnection> {
  let number = 0;
  const made = createServer(({ method = '', url = '', headers }, response) =>
    answer(response, { method, url, headers, number: number++ }),
  );
  server = made;
  await new Promise<void>((resolve) => made.listen(0, '127.0.0.1', resolve));
  const address = made.address();
  const port = typeof address === 'object' ? address?.port : 0;
  return apiConnection({
    access: {
      server: `http://127.0.0.1:${port}${path}`,
      authority: null,
      serverName: null,
      clientCertificate: null,
      token: () => 'secret',
    },
    clock: new ServerClock(),
    nowMs: () => 5,
    userAgent: 'fleetgc/test',
  });
}

test('a request says who asks, and every answer is a value', async () => {
  using connection = await connected((response, { method, url, headers }) => {
    response.statusCode = 409;
    response.end(JSON.stringify({ method, url, who: headers.authorization, agent: headers['user-agent'] }));
  }, '/k8s/clusters/c1');
  const answer = await connection.call({ method: 'DELETE', path: '/api/v1/x?y=1', body: '{}' });
  expect(answer.status).toBe(409);
  expect(JSON.parse(answer.body)).toEqual({
    method: 'DELETE',
    url: '/k8s/clusters/c1/api/v1/x?y=1',
    who: 'Bearer secret',
    agent: 'fleetgc/test',
  });
  expect(connection.clock.at(5)).not.toBeNull();
});

test('what a kept connection breaks off is asked again if it changes nothing', async () => {
  const seen: string[] = [];
  using connection = await connected((response, { method, number }) => {
    seen.push(method);
    if (number === 1 || number === 3) response.destroy();
    else response.end('{}');
  });
  const get = (): Promise<unknown> => connection.call({ method: 'GET', path: '/' });
  await get();
  await expect(get()).resolves.toMatchObject({ status: 200 });
  await expect(connection.call({ method: 'DELETE', path: '/', body: '{}' })).rejects.toMatchObject({
    code: 'API_UNREACHABLE',
  });
  expect(seen).toEqual(['GET', 'GET', 'GET', 'DELETE']);
});

test('a stream comes as it is written, and ends with its signal', async () => {
  using connection = await connected((response) => response.write('one\n'));
  const stop = new AbortController();
  const stream = await connection.stream({ method: 'GET', path: '/' }, stop.signal);
  const read = (async () => {
    for await (const chunk of stream.body) {
      expect(chunk.toString()).toBe('one\n');
      stop.abort();
    }
  })();
  await expect(read).rejects.toThrow('aborted');
});

test('nobody there, or an answer that is broken off, is said so', async () => {
  using connection = await connected((response) => {
    response.writeHead(200, { 'content-length': '100' });
    response.write('x');
    setImmediate(() => response.destroy());
  });
  const call = connection.call({ method: 'GET', path: '/version' });
  await expect(call).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
  server?.closeAllConnections();
  await new Promise((resolve) => server?.close(resolve));
  await expect(connection.call({ method: 'GET', path: '/version' })).rejects.toThrow(
    /no answer to GET \/version/,
  );
});

test('requests leave nothing at a signal that lives as long as the process', async () => {
  using connection = await connected((response, { url }) => {
    if (url === '/broken') response.destroy();
    else response.end('one\n');
  });
  const { signal } = new AbortController();
  await connection.call({ method: 'GET', path: '/' }, signal);
  const { body } = await connection.stream({ method: 'GET', path: '/' }, signal);
  for await (const chunk of body) expect(chunk.toString()).toBe('one\n');
  for (const ask of [connection.call, connection.stream])
    await expect(ask({ method: 'DELETE', path: '/broken' }, signal)).rejects.toMatchObject({
      code: 'API_UNREACHABLE',
    });
  await waitUntil('the streams to close', 10_000, async () => leftAt(signal) === 0);
});
