import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { type Check, serveHttp } from '../../../packages/process/http.ts';
import { createMetrics } from '../../../packages/process/metrics.ts';
import { waitUntil } from '../../support/wait-until.ts';

const HOST = '127.0.0.1';
const check = (name: string, problem: string | null): Check => ({ name, problem: () => problem });

async function serve(checks: readonly Check[] = [], text = () => createMetrics().text()) {
  const metrics = { text, contentType: createMetrics().contentType };
  const server = await serveHttp({ address: { host: HOST, port: 0 }, metrics, checks: () => checks });
  onTestFinished(() => server[Symbol.asyncDispose]());
  const ask = async (path: string, method = 'GET') => {
    const response = await fetch(`http://${HOST}:${server.address.port}${path}`, { method });
    return {
      status: response.status,
      text: await response.text(),
      type: response.headers.get('content-type'),
    };
  };
  return { server, ask };
}

test('a process that answers is alive, whatever it waits for', async () => {
  const { ask } = await serve([check('log', 'no broker answers')]);
  expect(await ask('/livez')).toMatchObject({ status: 200, text: 'ok\n' });
});

test('it is ready when all is well', async () => {
  const { ask } = await serve([check('log', null), check('policies', null)]);
  expect(await ask('/readyz')).toMatchObject({ status: 200, text: 'ready\n' });
  expect(await ask('/readyz?verbose')).toMatchObject({ status: 200, text: '[+] log\n[+] policies\nready\n' });
});

test('what needs somebody is told, and keeps nobody from being ready', async () => {
  const notice = (problem: string | null) => ({
    name: 'key',
    problem: () => problem,
    notice: () => 'ends soon',
  });
  const well = await serve([check('log', null), notice(null)]);
  expect(await well.ask('/readyz?verbose')).toMatchObject({
    status: 200,
    text: '[+] log\n[!] key: ends soon\nready\n',
  });
  const ill = await serve([notice('has ended')]);
  expect((await ill.ask('/readyz?verbose')).text).toBe('[-] key: has ended\nnot ready: key\n');
});

test('what others wrote in a reason begins no line of /readyz', async () => {
  const { ask } = await serve([check('policies', 'of web\n[+] policies\u2028ready')]);
  expect((await ask('/readyz?verbose')).text).toBe(
    '[-] policies: of web\\u{a}[+] policies\\u{2028}ready\nnot ready: policies\n',
  );
});

test('it says what is not well, and why', async () => {
  const { ask } = await serve([
    check('log', null),
    check('policies', 'not read yet'),
    check('image-gc', 'not joined'),
  ]);
  expect(await ask('/readyz')).toMatchObject({ status: 503, text: 'not ready: policies, image-gc\n' });
  expect(await ask('/readyz?verbose=1')).toMatchObject({
    status: 503,
    text: '[+] log\n[-] policies: not read yet\n[-] image-gc: not joined\nnot ready: policies, image-gc\n',
  });
});

test('metrics come in the format of Prometheus', async () => {
  const metrics = createMetrics();
  metrics.count('x_total', 'X.', {});
  const { ask } = await serve([], metrics.text);
  expect(await ask('/metrics')).toMatchObject({
    status: 200,
    text: expect.stringContaining('fleetgc_x_total 0'),
    type: expect.stringMatching(/^text\/plain; version=0\.0\.4/),
  });
});

test('metrics that cannot be gathered are an error of that request alone', async () => {
  const { ask } = await serve([], () => Promise.reject(new Error('a gauge failed')));
  expect(await ask('/metrics')).toMatchObject({ status: 500, text: 'a gauge failed\n' });
  expect(await ask('/livez')).toMatchObject({ status: 200 });
});

test('metrics are rendered once for all who ask at a moment', async () => {
  const rendering = Promise.withResolvers<string>();
  const rendered: number[] = [];
  const { ask } = await serve([], () => {
    rendered.push(1);
    return rendering.promise;
  });
  const asked = Array.from({ length: 15 }, () => ask('/metrics'));
  await waitUntil('it to be rendered', 10_000, () => rendered.length > 0);
  expect((await ask('/livez')).status).toBe(200);
  rendering.resolve('fleetgc_x_total 1\n');

  expect(new Set((await Promise.all(asked)).map(({ text }) => text))).toEqual(
    new Set(['fleetgc_x_total 1\n']),
  );
  expect(rendered).toHaveLength(1);
  await ask('/metrics');
  expect(rendered).toHaveLength(2);
});

test('who pipelines scrapes has them rendered one after the other, and no probe waits for them', async () => {
  const rendered: (() => void)[] = [];
  const { server, ask } = await serve(
    [],
    () => new Promise((resolve) => rendered.push(() => resolve('x 1\n'))),
  );
  const socket = connect(server.address.port, HOST);
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).resume();
  socket.write('GET /metrics HTTP/1.1\r\nhost: x\r\n\r\n'.repeat(50_000));
  for (const count of [1, 2, 3]) {
    await waitUntil('a rendering', 10_000, () => rendered.length === count);
    expect((await ask('/livez')).status).toBe(200);
    expect(rendered).toHaveLength(count);
    rendered.at(-1)?.();
  }
});

test('nor is a check that fails to answer taken for one that is well', async () => {
  const broken = {
    name: 'broken',
    problem: () => {
      throw new Error('no answer');
    },
  };
  const { ask } = await serve([broken]);
  expect(await ask('/readyz')).toMatchObject({ status: 500, text: 'no answer\n' });
});

test('there is nothing else', async () => {
  const { ask } = await serve();
  expect((await ask('/')).status).toBe(404);
  expect((await ask('/metrics/x')).status).toBe(404);
  expect((await ask('/metrics', 'POST')).status).toBe(405);
  expect(await ask('/livez', 'HEAD')).toMatchObject({ status: 200, text: '' });
});

test('an address that is taken is a clear error', async () => {
  const { server } = await serve();
  const again = serveHttp({ address: server.address, metrics: createMetrics(), checks: () => [] });
  await expect(again).rejects.toMatchObject({
    code: 'CONFIG_INVALID',
    message: `cannot listen on ${HOST}:${server.address.port} (EADDRINUSE); choose another address with --http-address, or none`,
  });
});

test('closing does not wait for connections that are kept open', async () => {
  const { server, ask } = await serve();
  await ask('/livez');
  await server[Symbol.asyncDispose]();
  await expect(ask('/livez')).rejects.toThrow();
});
