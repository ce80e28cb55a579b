import { EventEmitter } from 'node:events';
import { expect, test } from 'vitest';
import { createCollector } from '../../../../packages/audit/verify/findings.ts';
import {
  type ServingThread,
  verifierOf,
  type WorkerAnswer,
  type WorkerOrder,
} from '../../../../packages/audit/verify/log.ts';
import type { PartitionProgress } from '../../../../packages/audit/verify/partition.ts';

/** A thread that is played by the test. */
class PlayedThread extends EventEmitter implements ServingThread {
  readonly orders: WorkerOrder[] = [];

  postMessage(order: WorkerOrder): void {
    this.orders.push(order);
  }

  answer(answer: WorkerAnswer): void {
    this.emit('message', answer);
  }
}

function asked(partition = 3) {
  const thread = new PlayedThread();
  const ending = new AbortController();
  const told: PartitionProgress[] = [];
  const verify = verifierOf(thread);
  const found = verify(partition, (progress) => told.push(progress), ending.signal);
  return { thread, ending, told, found };
}

const FOUND = createCollector().found();

test('a thread is given one partition, tells of its progress, and what it found', async () => {
  const { thread, told, found } = asked(3);
  expect(thread.orders).toEqual([{ kind: 'verify', partition: 3 }]);
  const progress = { records: 5, part: 0.5 };
  thread.answer({ kind: 'progress', progress });
  expect(told).toEqual([progress]);
  thread.answer({ kind: 'found', found: FOUND });
  expect(await found).toBe(FOUND);
  expect(told).toEqual([progress]);
});

test.each<{ name: string; ends: (thread: PlayedThread, ending: AbortController) => void; error: object }>([
  {
    name: 'with what failed there',
    ends: (thread) => thread.answer({ kind: 'failed', code: 'LOG_UNREACHABLE', message: 'it is away' }),
    error: { code: 'LOG_UNREACHABLE', message: 'it is away' },
  },
  {
    name: 'with what nobody caught there',
    ends: (thread) => thread.emit('error', new Error('no memory left')),
    error: { message: 'no memory left' },
  },
  {
    name: 'when the thread ends by itself',
    ends: (thread) => thread.emit('exit'),
    error: { code: 'INTERNAL', message: 'a thread that verifies has ended by itself' },
  },
  {
    name: 'when somebody says so',
    ends: (_, ending) => ending.abort(),
    error: { code: 'INTERRUPTED', message: expect.stringContaining('stopped before the end') },
  },
])('a partition in hand ends $name', async ({ ends, error }) => {
  const { thread, ending, found } = asked();
  ends(thread, ending);
  await expect(found).rejects.toMatchObject(error);
});

test('what a thread says between two partitions is about neither', async () => {
  const { thread, found, told } = asked();
  thread.answer({ kind: 'found', found: FOUND });
  await found;
  expect(thread.eventNames()).toEqual([]);
  thread.answer({ kind: 'progress', progress: { records: 9, part: 1 } });
  expect(told).toEqual([]);
});
