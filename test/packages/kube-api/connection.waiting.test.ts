import { createServer, type Server, type ServerResponse } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { inspect } from 'node:util';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import type { ApiAccess, CredentialSource, Credentials } from '../../../packages/kube-api/access.ts';
import { type ApiConnection, apiConnection } from '../../../packages/kube-api/connection.ts';
import { ServerClock } from '../../../packages/kube-api/server-clock.ts';
import { OTHER_PAIR, PAIR, type Pair } from '../../fixtures/certificate.ts';
import { httpProxy, listening } from '../../support/http-proxies.ts';
import { leftAt } from '../../support/left-at-signal.ts';
import { accessWith } from '../../support/nodes/api-access.ts';
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
    access: accessWith(`http://127.0.0.1:${port}${path}`, { token: 'secret' }),
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

test('only what the API server answers itself tells its time, and not what it passes on of another server', async () => {
  const dates: Readonly<Record<string, string>> = {
    '/api/v1/nodes?limit=1': 'Tue, 03 Nov 2026 10:00:00 GMT',
    '/apis': 'Tue, 03 Nov 2026 10:00:05 GMT',
    '/apis/other.example.com/v1/things': 'Wed, 03 Nov 2027 10:00:00 GMT',
  };
  using connection = await connected((response, { url }) => {
    response.setHeader('date', dates[url] ?? '');
    response.end('{}');
  });
  for (const path of Object.keys(dates)) await connection.call({ method: 'GET', path });
  expect(connection.clock.at(5)?.earliestMs).toBe(Date.parse('2026-11-03T10:00:05Z'));
});

test('an answer that is larger than was asked for is not read', async () => {
  using connection = await connected((response) => response.end('x'.repeat(1_000)));
  const get = (mostAnswerBytes: number) => connection.call({ method: 'GET', path: '/', mostAnswerBytes });
  expect((await get(1_000)).body).toHaveLength(1_000);
  await expect(get(999)).rejects.toMatchObject({
    code: 'API_ANSWER_TOO_LARGE',
    message: expect.stringContaining('more than 999 bytes'),
  });
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

const connectionBy = (access: ApiAccess): ApiConnection =>
  apiConnection({ access, clock: new ServerClock(), nowMs: () => 5, userAgent: 'fleetgc/test' });

/** Credentials that are replaced when they are rejected, in this order. */
function renewed(...all: readonly Partial<Credentials>[]) {
  const [first, ...others] = all.map((each) => ({
    ...{ authority: null, clientCertificate: null, token: null },
    ...each,
  }));
  if (first === undefined) throw new Error('give one');
  let held: Credentials = first;
  const rejections: string[] = [];
  const source: CredentialSource = {
    current: async () => held,
    insteadOf: async (_, because) => {
      rejections.push(because);
      held = others.shift() ?? held;
      return held;
    },
    [Symbol.dispose]: () => rejections.push('disposed'),
  };
  return { source, rejections };
}

async function portOf(made: Server): Promise<number> {
  const open = await listening(made);
  onTestFinished(() => open[Symbol.asyncDispose]());
  return open.port;
}

describe('an API server that does not know us any more (401)', () => {
  /** Knows nobody but the bearer of this token. */
  async function knowing(token: string) {
    const asked: string[] = [];
    const port = await portOf(
      createServer((request, response) => {
        asked.push(`${request.method} ${request.headers.authorization}`);
        response.statusCode = request.headers.authorization === `Bearer ${token}` ? 200 : 401;
        response.end('{}');
      }),
    );
    return { asked, server: `http://127.0.0.1:${port}` };
  }

  test.each(['GET', 'DELETE', 'PATCH', 'POST'] as const)(
    'is asked %s once more with a newer token',
    async (method) => {
      const { asked, server } = await knowing('new');
      const { source, rejections } = renewed({ token: 'old' }, { token: 'new' });
      using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
      const body = method === 'GET' ? {} : { body: '{}' };
      expect((await connection.call({ method, path: '/', ...body })).status).toBe(200);
      expect(asked).toEqual([`${method} Bearer old`, `${method} Bearer new`]);
      const stream = await connection.stream({ method: 'GET', path: '/' }, new AbortController().signal);
      expect([stream.status, rejections]).toEqual([200, ['we-are-unknown']]);
    },
  );

  test('is not asked again where there is nothing newer, and its answer is told', async () => {
    const { asked, server } = await knowing('new');
    const { source } = renewed({ token: 'old' });
    using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
    expect((await connection.call({ method: 'GET', path: '/' })).status).toBe(401);
    expect(asked).toHaveLength(1);
  });

  test('is asked no third time', async () => {
    const { asked, server } = await knowing('newest');
    const { source } = renewed({ token: 'old' }, { token: 'new' }, { token: 'newest' });
    using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
    expect((await connection.call({ method: 'GET', path: '/' })).status).toBe(401);
    expect(asked).toHaveLength(2);
  });
});

test('who waits for credentials is let go when it is told to stop, and they with the connection', async () => {
  const { source, rejections } = renewed({});
  const never = new Promise<Credentials>(() => undefined);
  const credentials = { ...source, current: () => never };
  const connection = connectionBy({ ...accessWith('http://127.0.0.1:9', {}), credentials });
  const stop = new AbortController();
  const asked = connection.call({ method: 'GET', path: '/' }, stop.signal);
  stop.abort();
  await expect(asked).rejects.toMatchObject({ code: 'API_UNREACHABLE' });
  expect(leftAt(stop.signal)).toBe(0);
  connection[Symbol.dispose]();
  expect(rejections).toEqual(['disposed']);
});

describe('an API server whose certificate is another one by now', () => {
  const authorityOf = ({ certificate }: Pair) => Buffer.from(certificate);

  async function secure(pair: Pair) {
    const made = createTlsServer({ cert: pair.certificate, key: pair.key }, (request, response) => {
      if (request.url === '/watch') response.write('one\n');
      else response.end('{}');
    });
    const port = await portOf(made);
    return { server: `https://127.0.0.1:${port}`, made };
  }

  test('is asked once more with a newer authority, whatever was asked', async () => {
    const { server } = await secure(OTHER_PAIR);
    const { source, rejections } = renewed(
      { authority: authorityOf(PAIR) },
      { authority: authorityOf(OTHER_PAIR) },
    );
    using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
    expect((await connection.call({ method: 'DELETE', path: '/', body: '{}' })).status).toBe(200);
    expect(rejections).toEqual(['server-is-unknown']);
  });

  test('is not asked where nobody vouches for it', async () => {
    const { server } = await secure(OTHER_PAIR);
    const { source } = renewed({ authority: authorityOf(PAIR) });
    using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
    await expect(connection.call({ method: 'GET', path: '/' })).rejects.toThrow(
      /no answer to GET \/: self-signed/,
    );
  });

  test('a watch goes on over the connection that it has, and what is asked next takes a new one', async () => {
    const { server, made } = await secure(PAIR);
    const both = Buffer.concat([authorityOf(PAIR), Buffer.from('\n'), authorityOf(OTHER_PAIR)]);
    const { source } = renewed({ authority: authorityOf(PAIR) }, { authority: both });
    using connection = connectionBy({ ...accessWith(server, {}), credentials: source });
    const stop = new AbortController();
    const { body } = await connection.stream({ method: 'GET', path: '/watch' }, stop.signal);
    made.setSecureContext({ cert: OTHER_PAIR.certificate, key: OTHER_PAIR.key });
    expect((await connection.call({ method: 'GET', path: '/' })).status).toBe(200);
    for await (const chunk of body) {
      expect(String(chunk)).toBe('one\n');
      break;
    }
    stop.abort();
  });
});

describe('an HTTP proxy on the way', () => {
  async function proxy(credentials: string | null = null) {
    const open = await httpProxy(credentials);
    onTestFinished(() => open[Symbol.asyncDispose]());
    return open;
  }

  async function secure() {
    const port = await portOf(
      createTlsServer({ cert: PAIR.certificate, key: PAIR.key }, (request, response) => {
        if (request.url === '/watch') response.write('one\n');
        else response.end('{}');
      }),
    );
    return { ...accessWith(`https://127.0.0.1:${port}`, { authority: Buffer.from(PAIR.certificate) }), port };
  }

  test('is asked to open a way to a server with TLS, once for what goes over it, and sees nothing of it', async () => {
    const { asked, port } = await proxy('u:p');
    const access = await secure();
    using connection = connectionBy({ ...access, proxy: `http://u:p@127.0.0.1:${port}` });
    for (const method of ['GET', 'DELETE'] as const)
      expect((await connection.call({ method, path: '/', body: '{}' })).status).toBe(200);
    expect(asked).toEqual([`CONNECT 127.0.0.1:${access.port}`]);
    const stop = new AbortController();
    const { body } = await connection.stream({ method: 'GET', path: '/watch' }, stop.signal);
    for await (const chunk of body) {
      expect(String(chunk)).toBe('one\n');
      break;
    }
    stop.abort();
  });

  test('passes on what goes to a server without TLS', async () => {
    const { asked, port } = await proxy();
    const access = accessWith('http://api.example.com:8001', {});
    using connection = connectionBy({ ...access, proxy: `http://127.0.0.1:${port}` });
    expect((await connection.call({ method: 'GET', path: '/version' })).body).toBe('{"passed":"on"}');
    expect(asked).toEqual(['GET http://api.example.com:8001/version']);
  });

  test('that opens no way is told of, without its password', async () => {
    const { port } = await proxy('u:p');
    using connection = connectionBy({ ...(await secure()), proxy: `http://u:pass-word@127.0.0.1:${port}` });
    const error: unknown = await connection.call({ method: 'GET', path: '/' }).catch((thrown) => thrown);
    expect(error).toMatchObject({ code: 'API_UNREACHABLE', message: expect.stringContaining('HTTP proxy') });
    expect(String(error)).toContain(` through the proxy 127.0.0.1:${port}: `);
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('pass-word');
  });
});
