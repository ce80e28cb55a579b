import { once } from 'node:events';
import { join } from 'node:path';
import { MessageChannel } from 'node:worker_threads';
import { expect, onTestFinished, test } from 'vitest';
import { openArchiveLog } from '../../../../packages/archive/read-archive.ts';
import type { WorkerSource } from '../../../../packages/audit/events/open-source.ts';
import {
  servePartitions,
  type WorkerAnswer,
  type WorkerOrder,
  type WorkerTask,
} from '../../../../packages/audit/verify/log.ts';
import { nodeOutput } from '../../../../packages/decision/handler.ts';
import { partitionOf } from '../../../../packages/log/partition.ts';
import { objectResult, refusedCommand } from '../../../fixtures/results.ts';
import { DAY, NOW, SECOND } from '../../../fixtures/time.ts';
import { newKey, rootsOf } from '../../../fixtures/trust.ts';
import { outgoing, recordOf } from '../../../support/logs/log-record.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { archived, logOf } from '../support/archives.ts';
import { timedLog } from '../support/timed-log.ts';

/** Somebody says that a command was carried out, which is not there. */
const ANSWER = nodeOutput('results', objectResult({ commandId: 'gone' }));
const { topic, key } = outgoing(ANSWER);
const PARTITION = partitionOf(topic, key);

/** Serves a task, and gives the answers to each order, up to the one that ends it. */
function serving(source: WorkerSource, over: Partial<WorkerTask> = {}) {
  const { port1: own, port2: port } = new MessageChannel();
  onTestFinished(() => own.close());
  servePartitions(port, { source, range: { fromMs: null, toMs: null }, nowMs: NOW, heads: null, ...over });
  const order = (one: WorkerOrder): void => own.postMessage(one);
  const verified = async (partition: number): Promise<WorkerAnswer[]> => {
    const answers: WorkerAnswer[] = [];
    const { promise, resolve } = Promise.withResolvers<void>();
    own.on('message', (answer: WorkerAnswer) => {
      answers.push(answer);
      if (answer.kind !== 'progress') resolve();
    });
    order({ kind: 'verify', partition });
    await promise;
    own.removeAllListeners('message');
    return answers;
  };
  const ended = async (): Promise<void> => {
    const closed = once(own, 'close');
    order({ kind: 'end' });
    await closed;
  };
  return { verified, ended, order };
}

const embedded = (path: string): WorkerSource => ({
  kind: 'log',
  settings: { kind: 'embedded', path, maxBytes: 64 * 1024 * 1024, leavesRetention: true },
});

const deviationsOf = (answers: readonly WorkerAnswer[]) =>
  answers.map((answer) => (answer.kind === 'found' ? answer.found.deviations.byKind : answer.kind));

test('each partition is verified when it is asked for, and the end is waited for', async () => {
  const { publishAt, path } = await timedLog();
  await publishAt(NOW, outgoing(ANSWER));
  const { verified, ended } = serving(embedded(path));
  expect(deviationsOf(await verified(PARTITION))).toEqual([{ 'not-commanded': 1 }]);
  expect(deviationsOf(await verified(PARTITION + 1))).toEqual([{}]);
  await ended();
});

test('progress is told midway', async () => {
  const { publishAt, path } = await timedLog();
  await publishAt(NOW, ...Array.from({ length: 199 }, () => outgoing(ANSWER)));
  await publishAt(NOW + 199 * SECOND, outgoing(ANSWER));
  const { verified, ended } = serving(embedded(path), { nowMs: NOW + 398 * SECOND });
  expect((await verified(PARTITION))[0]).toEqual({
    kind: 'progress',
    progress: { records: 200, part: 0.5 },
  });
  await ended();
});

test('a part of the time, and what heads say, are asked for as the task says', async () => {
  const { publishAt, path } = await timedLog();
  await publishAt(NOW, outgoing(ANSWER));
  const range = { fromMs: NOW + 1, toMs: null };
  const later = serving(embedded(path), { range });
  expect(deviationsOf(await later.verified(PARTITION))).toEqual([{}]);
  await later.ended();
  const heads = { roots: rootsOf(newKey()), keepsAsDeclared: true, areRequired: true };
  const headed = serving(embedded(path), { heads });
  expect(deviationsOf(await headed.verified(PARTITION))).toEqual([{ 'not-commanded': 1 }]);
  await headed.ended();
});

test('in an archive nothing was deleted, however long ago', async () => {
  const place = { partition: PARTITION, offset: 0n, timestampMs: NOW - 300 * DAY };
  const expired = nodeOutput('results', refusedCommand({ commandId: 'gone' }));
  const directory = temporaryDirectory();
  await archived(logOf([recordOf(expired, place)]), directory);
  const { verified, ended } = serving({ kind: 'archive', place: directory });
  expect(deviationsOf(await verified(PARTITION))).toEqual([{ 'not-commanded': 1 }]);
  await ended();
  const { publishAt, path } = await timedLog();
  await publishAt(place.timestampMs, outgoing(expired));
  const living = serving(embedded(path));
  expect(deviationsOf(await living.verified(PARTITION))).toEqual([{}]);
  await living.ended();
});

test('what cannot be opened is told with its cause, for each partition, however late that is asked for', async () => {
  const directory = join(temporaryDirectory(), 'none');
  const { verified, ended } = serving({ kind: 'archive', place: directory });
  // The second of these fails later than the thread's own opening, which nobody waits for yet.
  for (const _ of [1, 2])
    await expect(openArchiveLog(directory)).rejects.toMatchObject({ code: 'NOT_FOUND' });
  await new Promise(setImmediate);
  for (const partition of [0, 1])
    expect(await verified(partition)).toEqual([
      { kind: 'failed', code: 'NOT_FOUND', message: expect.stringContaining('there is no archive in') },
    ]);
  await ended();
});

test('what is in hand is answered before the end', async () => {
  const { publishAt, path } = await timedLog();
  await publishAt(NOW, outgoing(ANSWER));
  const { verified, ended } = serving(embedded(path));
  const answers = verified(PARTITION);
  await ended();
  expect(await answers).toHaveLength(1);
});
