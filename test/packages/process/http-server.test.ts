import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type Answering,
  type HttpBounds,
  type HttpServer,
  NO_PROXIES,
  openHttpServer,
  ProxyList,
} from '../../../packages/process/http-server.ts';
import { runs } from '../../support/property-runs.ts';
import { waitUntil } from '../../support/wait-until.ts';

const HOST = '127.0.0.1';
const BOUND_MS = 10_000;
const BOUNDS: HttpBounds = {
  mostConnections: 10,
  mostOfAnAddress: 3,
  headersTimeoutMs: 10_000,
  requestTimeoutMs: 10_000,
  idleTimeoutMs: 30_000,
  keepAliveMs: 5_000,
  mostHeaderBytes: 16 * 1024,
};

interface Serving {
  readonly bounds?: Partial<HttpBounds>;
  readonly proxies?: ProxyList;
  readonly onRefused?: () => void;
}

async function serve(
  answer: Answering,
  { bounds, proxies = NO_PROXIES, onRefused = () => undefined }: Serving = {},
): Promise<HttpServer> {
  const server = await openHttpServer({
    address: { host: HOST, port: 0 },
    advice: 'choose another one',
    bounds: { ...BOUNDS, ...bounds },
    tls: null,
    proxies,
    onRefused,
  });
  onTestFinished(() => server[Symbol.asyncDispose]());
  server.serve(answer);
  return server;
}

interface Client {
  readonly socket: Socket;
  /** All that came back. */
  readonly text: () => string;
  readonly statuses: () => readonly number[];
}

async function client({ address }: HttpServer, localAddress = HOST): Promise<Client> {
  const socket = connect({ host: HOST, port: address.port, localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined);
  const parts: Buffer[] = [];
  socket.on('data', (part: Buffer) => parts.push(part));
  await once(socket, 'connect');
  const text = (): string => Buffer.concat(parts).toString('latin1');
  return {
    socket,
    text,
    statuses: () => [...text().matchAll(/^HTTP\/1\.1 (\d{3}) /gm)].map(([, status]) => Number(status)),
  };
}

const get = (path: string, ...headers: readonly string[]): string =>
  ['GET ', path, ' HTTP/1.1\r\nhost: x\r\n', ...headers.map((each) => `${each}\r\n`), '\r\n'].join('');
const ok = (response: ServerResponse, body = ''): void => {
  response.writeHead(200, { 'content-length': String(Buffer.byteLength(body)) });
  response.end(body);
};

/** Answers only when it is told to, one after the other. */
function withheld() {
  const begun: { readonly url: string; readonly answer: () => void }[] = [];
  const answering: Answering = ({ url = '' }, response) => {
    begun.push({ url, answer: () => ok(response, `${url}\n`) });
  };
  return { begun, answering };
}

/** As many turns of the event loop as a server could use to do more than it should. */
const turns = async (count: number): Promise<void> => {
  for (let turn = 0; turn < count; turn += 1) await setImmediate();
};

describe('pipelined requests', () => {
  test('one is in hand at a time, and the sender has to wait until it is answered', async () => {
    const { begun, answering } = withheld();
    const { socket, statuses } = await client(await serve(answering));
    socket.write(get('/page.js').repeat(500_000));
    await waitUntil('the first', BOUND_MS, () => begun.length > 0);
    await turns(200);

    expect(begun).toHaveLength(1);
    // What the system does not hold for both of them, the sender still has.
    expect(socket.writableLength).toBeGreaterThan(0);

    begun[0]?.answer();
    await waitUntil('the second', BOUND_MS, () => begun.length > 1);
    await turns(200);
    expect(begun).toHaveLength(2);
    expect(statuses()).toEqual([200]);
  });

  test('all of them are answered in their order', async () => {
    const server = await serve(({ url = '' }, response) => setTimeout(() => ok(response, `${url}\n`), 0));
    const { socket, text } = await client(server);
    const paths = Array.from({ length: 300 }, (_, at) => `/${at}`);
    socket.write(paths.map((path) => get(path)).join(''));
    await waitUntil('the last', BOUND_MS, () => text().endsWith('/299\n'));

    expect([...text().matchAll(/^\/\d+$/gm)].map(([path]) => path)).toEqual(paths);
  });

  test('whoever sends many keeps no other connection waiting', async () => {
    const { begun, answering } = withheld();
    const server = await serve((request, response, peer) =>
      request.url === '/livez' ? ok(response, 'ok\n') : answering(request, response, peer),
    );
    const greedy = await client(server);
    greedy.socket.write(get('/metrics').repeat(10_000));
    await waitUntil('the first', BOUND_MS, () => begun.length > 0);
    const other = await client(server);
    other.socket.write(get('/livez'));
    await waitUntil('the other to be answered', BOUND_MS, () => other.text().endsWith('ok\n'));
    expect(begun).toHaveLength(1);
  });

  test('bytes in any pieces, with bodies of both kinds and of any content, are read as they were sent', async () => {
    const body = fc.oneof(
      fc.string({ maxLength: 2_000 }),
      fc.stringMatching(/^[\r\n]{0,600}$/),
      fc.constant(get('/inside').repeat(20)),
    );
    const sent = fc.array(
      fc.oneof(
        fc.constant({ bytes: Buffer.from(get('/')), body: '' }),
        fc.constant({ bytes: Buffer.from(`\r\n${get('/')}`), body: '' }),
        body.map((text) => ({ bytes: sized(text), body: text })),
        body.map((text) => ({ bytes: chunked(text), body: text })),
      ),
      { minLength: 1, maxLength: 8 },
    );
    const got: { bodies: string[]; most: number } = { bodies: [], most: 0 };
    const inHand = { count: 0 };
    const server = await serve((request, response) => {
      inHand.count += 1;
      got.most = Math.max(got.most, inHand.count);
      void bodyOf(request).then((text) => {
        got.bodies.push(text);
        inHand.count -= 1;
        ok(response);
      });
    });
    await fc.assert(
      fc.asyncProperty(
        sent,
        fc.array(fc.integer({ min: 1, max: 700 }), { minLength: 1 }),
        async (all, cuts) => {
          got.bodies = [];
          const { socket, statuses } = await client(server);
          const bytes = Buffer.concat(all.map((each) => each.bytes));
          for (let from = 0, at = 0; from < bytes.length; at += 1) {
            const to = from + (cuts[at % cuts.length] ?? 1);
            socket.write(bytes.subarray(from, to));
            await setImmediate();
            from = to;
          }
          await waitUntil('all answers', BOUND_MS, () => statuses().length >= all.length);
          expect(got.bodies).toEqual(all.map((each) => each.body));
          expect(got.most).toBe(1);
          socket.destroy();
          await once(socket, 'close');
        },
      ),
      runs(50),
    );
  });

  test('what is sent behind a body is not parsed before the answer', async () => {
    const { begun, answering } = withheld();
    const { socket } = await client(await serve(answering));
    socket.write(Buffer.concat([chunked('a'), Buffer.from(get('/next').repeat(2_000))]));
    await waitUntil('the first', BOUND_MS, () => begun.length > 0);
    await turns(200);
    expect(begun).toHaveLength(1);
  });

  test('what Node.js refuses by itself does not pile up either', async () => {
    const { socket, statuses } = await client(await serve((_, response) => ok(response)));
    socket.write(get('/', 'expect: the-impossible').repeat(500) + get('/', 'connection: close'));
    await once(socket, 'close');
    expect(statuses()).toEqual([...Array.from({ length: 500 }, () => 417), 200]);
  });

  test('a request that ends the connection is the last one', async () => {
    const seen: string[] = [];
    const server = await serve(({ url = '' }, response) => {
      seen.push(url);
      ok(response);
    });
    const { socket } = await client(server);
    socket.write(get('/1', 'connection: close') + get('/2'));
    await once(socket, 'close');
    expect(seen).toEqual(['/1']);
  });

  test('what follows a request and is none ends the connection before an answer makes it one that lasts', async () => {
    const { answering } = withheld();
    const { socket, statuses } = await client(await serve(answering));
    socket.write(`${get('/')}{"a": 1}`);
    await once(socket, 'close');
    expect(statuses()).toEqual([400]);
  });

  test('the last answer reaches a client that goes on sending', async () => {
    const server = await serve((_, response) => {
      response.writeHead(413, { connection: 'close' });
      response.end('too large\n');
    });
    const { socket, text } = await client(server);
    const ended = once(socket, 'end').then(
      () => null,
      (error: unknown) => error,
    );
    socket.write(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 3000000\r\n\r\n`);
    for (let part = 0; part < 30; part += 1) {
      socket.write(Buffer.alloc(100_000));
      await setImmediate();
    }
    expect(await ended).toBeNull();
    expect(text()).toMatch(/^HTTP\/1\.1 413 [\s\S]*too large\n/);
  });

  test('a client that goes away in the middle of an answer is noticed', async () => {
    const gone = Promise.withResolvers<void>();
    const server = await serve((_, response) => {
      response.on('close', () => gone.resolve());
      response.writeHead(200).write('data');
    });
    const { socket, text } = await client(server);
    socket.write(get('/events'));
    await waitUntil('the first words', BOUND_MS, () => text().includes('data'));
    socket.end();
    await gone.promise;
  });

  test('no request, however malformed, is taken for another one', async () => {
    const server = await serve((_, response) => ok(response));
    for (const bad of [
      '\0\n\n',
      'GET /\n\n',
      'GET / HTTP/1.1\r\n\r\n',
      'POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n',
    ]) {
      const { socket, statuses } = await client(server);
      socket.write(bad);
      await once(socket, 'close');
      expect(statuses(), JSON.stringify(bad)).toEqual([400]);
    }
  });
});

describe('connections are bounded', () => {
  const open = async (server: HttpServer, from: string): Promise<boolean> => {
    const { socket, text } = await client(server, from);
    socket.write(get('/'));
    await Promise.race([once(socket, 'close'), waitUntil('an answer', BOUND_MS, () => text() !== '')]);
    return text() !== '';
  };

  test('by address', async () => {
    const refused: number[] = [];
    const server = await serve((_, response) => ok(response), { onRefused: () => refused.push(1) });
    for (let count = 0; count < 3; count += 1) expect(await open(server, '127.0.0.1')).toBe(true);
    expect(await open(server, '127.0.0.1')).toBe(false);
    expect(await open(server, '127.0.0.2')).toBe(true);
    expect(refused).toHaveLength(1);
  });

  test('in sum', async () => {
    const server = await serve((_, response) => ok(response), { bounds: { mostConnections: 2 } });
    expect(await open(server, '127.0.0.1')).toBe(true);
    expect(await open(server, '127.0.0.2')).toBe(true);
    expect(await open(server, '127.0.0.3')).toBe(false);
  });

  test('behind a trusted proxy by the address that it forwards', async () => {
    const proxies = new ProxyList(['127.0.0.1'], '--trusted-proxy');
    const { begun, answering } = withheld();
    const server = await serve(answering, { proxies });
    const ask = async (...headers: readonly string[]): Promise<Client> => {
      const from = await client(server);
      from.socket.write(get('/', ...headers));
      return from;
    };
    for (let count = 1; count <= 3; count += 1) {
      await ask('x-forwarded-for: 10.0.0.1');
      await waitUntil('it to be in hand', BOUND_MS, () => begun.length === count);
    }
    // Whatever stands before, a client may have made up.
    const refused = await ask(`x-forwarded-for: 10.9.9.9, 10.0.0.1`);
    await waitUntil('a refusal', BOUND_MS, () => refused.statuses().length > 0);
    expect(refused.statuses()).toEqual([429]);
    expect(refused.text()).toMatch(/^retry-after: 1\r$/im);
    await ask('x-forwarded-for: 10.0.0.2');
    await waitUntil('another client', BOUND_MS, () => begun.length === 4);
    begun[0]?.answer();
    await waitUntil('room again', BOUND_MS, async () => {
      const again = await ask('x-forwarded-for: 10.0.0.1');
      await waitUntil(
        'an answer, or it to be in hand',
        BOUND_MS,
        () => again.text() !== '' || begun.length === 5,
      );
      return begun.length === 5;
    });
  });
});

describe('the client that a proxy names', () => {
  const proxies = new ProxyList(['10.0.0.0/8', 'fd00::/8'], '--trusted-proxy');
  test.each<[string | readonly string[] | undefined, string | null]>([
    [undefined, null],
    ['', null],
    ['unknown', null],
    ['192.0.2.1', '192.0.2.1'],
    ['192.0.2.1:4711', '192.0.2.1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
    ['192.0.2.9, 192.0.2.1', '192.0.2.1'],
    ['192.0.2.1, 10.1.1.1', '192.0.2.1'],
    ['192.0.2.1, garbage, 10.1.1.1', null],
    ['10.1.1.1', '10.1.1.1'],
    [['192.0.2.9', '192.0.2.1'], '192.0.2.1'],
  ])('%j is %s', (header, client) => {
    expect(proxies.clientOf(header)).toBe(client);
  });
});

test.each([
  '10.0.0.0/',
  '10.0.0.0/ ',
  '10.0.0.0/-0',
  '10.0.0.0/1e1',
  '10.0.0.0/0x8',
  '10.0.0.0/33',
  '10.0.0.0/08',
  'fd00::/',
])(
  'a network of proxies without its number of bits is refused, and does not make a proxy of everybody: %j',
  (written) => {
    expect(() => new ProxyList([written], '--trusted-proxy')).toThrow('--trusted-proxy');
  },
);

test('a network of proxies may be all there is, where somebody writes so', () => {
  expect(new ProxyList(['0.0.0.0/0', '::/0'], '--trusted-proxy').has('192.0.2.1')).toBe(true);
  expect(new ProxyList(['fd00::1/128'], '--trusted-proxy').has('fd00::2')).toBe(false);
});

const sized = (body: string): Buffer =>
  Buffer.from(`POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`);

/** In chunks of a few characters and of many. */
function chunked(body: string): Buffer {
  const parts = [body.slice(0, 3), body.slice(3)].filter((part) => part !== '');
  const chunks = parts.map((part) => `${Buffer.byteLength(part).toString(16)}\r\n${part}\r\n`);
  return Buffer.from(
    `POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n${chunks.join('')}0\r\n\r\n`,
  );
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const parts: Buffer[] = [];
  for await (const part of request) parts.push(Buffer.from(part));
  return Buffer.concat(parts).toString('utf8');
}
