import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { whoseAddress } from '../../../../packages/process/connection-limits.ts';
import { ProxyList } from '../../../../packages/process/http-server.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { MOST_CONNECTIONS_OF_AN_ADDRESS } from '../../../../services/deciders/functions/http/serve.ts';
import { waitUntil } from '../../../support/wait-until.ts';
import { openTestFunction } from './support/open-function.ts';
import { ask, probe, serveTestFunction } from './support/served-function.ts';

const imageGc = await loadFunction('image-gc');

const ELSEWHERE = '127.0.0.2';

/** Connects, and says nothing. */
async function silent({ host, port }: Address): Promise<Socket> {
  const socket = connect({ host, port });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).resume();
  await once(socket, 'connect');
  return socket;
}

test('who holds connections open keeps nobody else out, and no probe; one too many is ended at once', async () => {
  const address = await serveTestFunction(await openTestFunction(imageGc));
  const held = await Promise.all(
    Array.from({ length: MOST_CONNECTIONS_OF_AN_ADDRESS }, () => silent(address)),
  );
  await expect(ask(address, {})).rejects.toThrow();
  expect((await ask(address, { localAddress: ELSEWHERE })).status).toBe(415);
  for (const path of ['/livez', '/readyz']) expect((await probe(address.probes, path)).status).toBe(200);
  expect(held.filter(({ destroyed }) => destroyed)).toEqual([]);
  const [first] = held;
  first?.destroy();
  await waitUntil('there is room again', 1_000, async () => (await ask(address, {})).status === 415);
});

test('behind a trusted proxy a caller with many requests in hand keeps nobody else out, and gets 429', async () => {
  const proxies = new ProxyList(['127.0.0.1'], '--trusted-proxy');
  const address = await serveTestFunction(await openTestFunction(imageGc), { proxies });
  const forwarded = (caller: string) => ({ headers: [['x-forwarded-for', `8.8.8.8, ${caller}`]] as const });
  await Promise.all(
    Array.from({ length: MOST_CONNECTIONS_OF_AN_ADDRESS }, async () => {
      const socket = await silent(address);
      const head = ['POST / HTTP/1.1', 'host: f', 'x-forwarded-for: 10.0.0.1', 'content-length: 10'];
      socket.write([...head, 'content-type: application/cloudevents+json', '', '{'].join('\r\n'));
    }),
  );
  await waitUntil('its requests to be in hand', 1_000, async () => {
    return (await ask(address, forwarded('10.0.0.1'))).status === 429;
  });
  expect((await ask(address, forwarded('10.0.0.2'))).status).toBe(415);
});

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:10.0.0.1', '::ffff:10.0.0.1'],
  ['::1', '0:0:0:0'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8:1:2::7', '2001:db8:1:2'],
  ['2001:db8::7', '2001:db8:0:0'],
  ['fe80::1%eth0', 'fe80:0:0:0'],
  ['', ''],
])('%s counts as %s', (address, who) => {
  expect(whoseAddress(address)).toBe(who);
});
