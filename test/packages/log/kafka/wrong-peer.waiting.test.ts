import { createServer as createHttpServer } from 'node:http';
import { createServer, type Server } from 'node:net';
import { afterEach, beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import { KafkaOptions } from '../../../../packages/log/kafka/client/options.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { systemSources } from '../../../../packages/process/system-sources.ts';
import { openServiceProcess, type ServiceProcess } from '../../../../packages/service/service-process.ts';
import { logLines } from '../../../support/log-lines.ts';
import { subscriptionOf } from '../probe.ts';

const STEP_MS = 100;
const REAL_STEP_MS = 2;
const MINUTE = 60_000;
const realTimeout = setTimeout;

// Nobody answers for half a minute before it is told; the sockets are real, the waits are not.
beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'Date'] });
});
afterEach(() => {
  vi.useRealTimers();
});

const httpServer = (): Server =>
  createHttpServer((_, response) => response.writeHead(404).end('page not found'));
const silentServer = (): Server => createServer();
const mailServer = (): Server => createServer((socket) => socket.write('220 mail.example ready\r\n'));

/** Listens on a port of this machine; `connections` counts those that it was asked for. */
async function listening(server: Server): Promise<{ readonly port: number; connections: number }> {
  const sockets = new Set<{ destroy(): void }>();
  const peer = { port: 0, connections: 0 };
  server.on('connection', (socket) => {
    peer.connections += 1;
    sockets.add(socket);
    socket.on('error', () => {});
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('the server has no port');
  return Object.assign(peer, { port: address.port });
}

/** Lets the timers' time pass until then, and the sockets do what they do meanwhile. */
async function passUntil(what: string, mostMs: number, isSo: () => boolean): Promise<void> {
  for (let passedMs = 0; passedMs < mostMs; passedMs += STEP_MS) {
    if (isSo()) return;
    await vi.advanceTimersByTimeAsync(STEP_MS);
    await new Promise((resolve) => realTimeout(resolve, REAL_STEP_MS));
  }
  throw new Error(`${mostMs} ms passed in vain for: ${what}`);
}

async function openProcess(port: number) {
  const destination = logLines();
  const service: ServiceProcess = await openServiceProcess({
    trust: { kind: 'off' },
    build: { service: 'test', version: '1.2.3' },
    eventLog: KafkaOptions.parse({ kind: 'kafka', brokers: [`127.0.0.1:${port}`], clientId: 'test' }),
    httpAddress: { host: '127.0.0.1', port: 0 },
    logger: createLogger({ service: 'test', level: 'info' }, destination),
    sources: systemSources,
  });
  const readiness = async (): Promise<string> => {
    const answer = await fetch(`http://127.0.0.1:${service.httpAddress?.port}/readyz?verbose`);
    return `${answer.status} ${await answer.text()}`;
  };
  return { service, lines: destination.lines, readiness };
}

/** Whether it ended well; its own waits are passed. */
async function closed(service: ServiceProcess): Promise<void> {
  let isClosed = false;
  const closing = service[Symbol.asyncDispose]().then(() => {
    isClosed = true;
  });
  await passUntil('the log to close', MINUTE, () => isClosed);
  await closing;
}

describe('a peer that is no Kafka', () => {
  test.each([
    { name: 'a web server', start: httpServer, says: 'Closed connection' },
    { name: 'what accepts and stays silent', start: silentServer, says: 'did not answer as a Kafka broker' },
    { name: 'what greets in its own way', start: mailServer, says: 'did not answer as a Kafka broker' },
  ])('$name: one clear line, it is tried again, and readiness says why', async ({ start, says }) => {
    const peer = await listening(start());
    const { service, lines, readiness } = await openProcess(peer.port);
    const { log } = service;
    const member = await log.subscribe(subscriptionOf(), async () => undefined);
    let ended: unknown = null;
    member.finished.catch((error) => {
      ended = error;
    });
    expect(await readiness()).toMatch(/^503 \[-\] event log: /);

    await passUntil('log and member to tell', MINUTE, () => {
      const told = [log.health().problem ?? '', member.state().problem ?? ''];
      return told.every((problem) => problem.includes(says));
    });
    const line = new RegExp(
      `Kafka at 127\\.0\\.0\\.1:${peer.port}: [^\\n]*${says}[^\\n]*\\. Check that .*port`,
    );
    expect(await readiness()).toMatch(line);
    expect(lines.filter((each) => line.test(each)).length).toBeGreaterThan(0);

    const before = { connections: peer.connections, lines: lines.length };
    await passUntil('more attempts', 2 * MINUTE, () => peer.connections > before.connections + 6);
    expect(log.health().connected).toBe(false);
    expect(await readiness()).toMatch(line);
    expect(member.state().joined).toBe(false);
    expect(ended).toBeNull();
    expect(lines.length - before.lines).toBeLessThanOrEqual(2);
    await closed(service);
  });

  test.each([
    { name: 'a web server', start: httpServer },
    { name: 'what accepts and stays silent', start: silentServer },
  ])('$name: an operator who wants topics created is told within a minute', async ({ start }) => {
    const { port } = await listening(start());
    const { service } = await openProcess(port);
    let refused: unknown = null;
    service.log.createTopics().catch((error) => {
      refused = error;
    });
    await passUntil('the refusal', MINUTE, () => refused !== null);
    expect(refused).toMatchObject({
      code: 'LOG_UNREACHABLE',
      retry: true,
      message: expect.stringContaining(`Kafka at 127.0.0.1:${port}: `),
    });
    await closed(service);
  });
});
