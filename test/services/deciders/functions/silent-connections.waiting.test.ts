import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { connect } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import type { Address } from '../../../../packages/process/options/options.ts';
import { loadFunction } from '../../../../services/deciders/functions/decision-function.ts';
import { PAIR } from '../../../fixtures/certificate.ts';
import { openTestFunction } from './support/open-function.ts';
import { serveTestFunction } from './support/served-function.ts';

const imageGc = await loadFunction('image-gc');

const HOST = '127.0.0.1';

/** Node.js by itself, which looks for connections that take too long every 30 s. */
async function servePlainly(): Promise<Address> {
  const server: Server = createServer({ headersTimeout: 1, requestTimeout: 2 });
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  server.listen(0, HOST);
  await once(server, 'listening');
  const bound = server.address();
  return { host: HOST, port: typeof bound === 'object' ? (bound?.port ?? 0) : 0 };
}

/** Until somebody ends a connection on which nothing was ever said. */
async function ended({ host, port }: Address): Promise<void> {
  const socket = connect({ host, port });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => undefined).resume();
  await once(socket, 'close');
}

test('who connects and says nothing is sent away when the time for headers is over, and not when Node.js next looks', async () => {
  const plain = ended(await servePlainly()).then(() => 'a server of Node.js by itself');
  const open = await serveTestFunction(await openTestFunction(imageGc));
  const tls = { cert: PAIR.certificate, key: PAIR.key, callerCa: null };
  const secure = await serveTestFunction(await openTestFunction(imageGc), { tls });
  const ours = Promise.all([open, open.probes, secure].map(ended)).then(() => 'the function');
  expect(await Promise.race([plain, ours])).toBe('the function');
});
