import { expect, test, vi } from 'vitest';
import { nodeOutput, type Output } from '../../../../packages/decision/handler.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import { createPublishQueue, type QueuedEvent } from '../../../../services/node/agent/publish.ts';
import { diskStats } from '../../../fixtures/disk-stats.ts';
import { logLines } from '../../../support/log-lines.ts';
import { PATIENT } from '../../../support/patience.ts';

const outgoing = (id: string, over: Partial<QueuedEvent> = {}): QueuedEvent => ({
  output: nodeOutput('diskStats', diskStats({}, { id })),
  ...over,
});

/** A log that the test switches on and off, and a queue whose retries the test lets go on. */
function setUp(limit: number) {
  const published: string[] = [];
  const log = logLines();
  const pauses: number[] = [];
  let failure: FleetGcError | null = null;
  let dropped = 0;
  let goOn = (): void => undefined;
  const queue = createPublishQueue({
    what: 'disk-stats',
    limit,
    publisher: {
      publish: async (outputs: readonly Output[]) => {
        if (failure) throw failure;
        published.push(...outputs.map(({ event }) => event.id));
      },
    },
    sleep: (ms, signal) => {
      pauses.push(ms);
      return new Promise((resolve) => {
        goOn = resolve;
        if (signal?.aborted) resolve();
        signal?.addEventListener('abort', () => resolve());
      });
    },
    random: () => 0,
    logger: createLogger({ service: 'node-agent', level: 'info' }, log),
    onDropped: () => dropped++,
  });
  return {
    queue,
    published,
    log,
    pauses,
    fail: (error: FleetGcError | null) => {
      failure = error;
    },
    retry: () => goOn(),
    dropped: () => dropped,
  };
}

const AWAY = new FleetGcError('LOG_UNREACHABLE', 'no broker answers');

function running(queue: ReturnType<typeof createPublishQueue>) {
  const stop = new AbortController();
  const ended = queue.run(stop.signal);
  return async () => {
    stop.abort();
    await ended;
  };
}

test('facts are published in order, each acknowledged to its owner', async () => {
  const { queue, published } = setUp(10);
  const stop = running(queue);
  const acknowledged: string[] = [];
  for (const id of ['a', 'b', 'c']) queue.put(outgoing(id, { onPublished: () => acknowledged.push(id) }));
  await vi.waitFor(() => expect(acknowledged).toEqual(['a', 'b', 'c']), PATIENT);
  expect(published).toEqual(['a', 'b', 'c']);
  await stop();
});

test('while the log is away the newest are kept, the oldest dropped and counted', async () => {
  const { queue, published, fail, retry, dropped, log } = setUp(3);
  fail(AWAY);
  const stop = running(queue);
  for (const id of ['a', 'b', 'c', 'd', 'e']) queue.put(outgoing(id));
  await vi.waitFor(() => expect(queue.problem()).toBe('no broker answers'), PATIENT);

  fail(null);
  retry();
  await vi.waitFor(() => expect(published).toEqual(['c', 'd', 'e']), PATIENT);
  expect(dropped()).toBe(2);
  expect(queue.problem()).toBeNull();
  expect(log.lines.filter((line) => line.includes('cannot be published'))).toHaveLength(1);
  expect(log.lines.filter((line) => line.includes('published again'))).toHaveLength(1);
  await stop();
});

test('with room for one a newer inventory replaces the one that waits, also the one in hand', async () => {
  const { queue, published, fail, retry, dropped } = setUp(1);
  fail(AWAY);
  const stop = running(queue);
  queue.put(outgoing('old'));
  await vi.waitFor(() => expect(queue.problem()).not.toBeNull(), PATIENT);
  queue.put(outgoing('new'));

  fail(null);
  retry();
  await vi.waitFor(() => expect(published).toEqual(['new']), PATIENT);
  expect(dropped()).toBe(1);
  await stop();
});

test('retries come after one second, doubling to thirty, half of it by chance', async () => {
  const { queue, pauses, fail, retry } = setUp(1);
  fail(AWAY);
  const stop = running(queue);
  queue.put(outgoing('a'));
  for (const attempt of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await vi.waitFor(() => expect(pauses.filter((ms) => ms < 600_000)).toHaveLength(attempt), PATIENT);
    retry();
  }
  expect(pauses.filter((ms) => ms < 600_000).slice(0, 8)).toEqual([
    500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
  ]);
  await stop();
});

test('what the log will never take is given up, counted and logged', async () => {
  const { queue, published, fail, retry, dropped, log } = setUp(10);
  fail(new FleetGcError('LOG_RECORD_TOO_LARGE', 'too large'));
  const stop = running(queue);
  queue.put(outgoing('huge'));
  await vi.waitFor(() => expect(dropped()).toBe(1), PATIENT);
  fail(null);
  queue.put(outgoing('next'));
  retry();
  await vi.waitFor(() => expect(published).toEqual(['next']), PATIENT);
  expect(log.lines.join()).toContain('too large');
  await stop();
});
