import { expect, test } from 'vitest';
import { createLogger } from '../../../packages/process/logger.ts';
import { EMPTY_JOURNAL } from '../../../services/node-executor/journal/journal-state.ts';
import { openBackoff } from '../../../services/node-executor/results/backoff.ts';
import {
  createLateRemovals,
  type RemovedImages,
} from '../../../services/node-executor/results/late-removals.ts';
import { NOW } from '../../fixtures/time.ts';
import { logLines } from '../../support/log-lines.ts';
import { manualClock } from '../../support/manual-clock.ts';
import { fakeRuntime } from './fake-runtime.ts';
import { memoryState } from './memory-state.ts';

function lateRemovals() {
  const logger = createLogger({ service: 'test', level: 'info' }, logLines());
  const backoff = openBackoff(memoryState(), logger);
  const noted: string[] = [];
  const removedImages: RemovedImages = { note: (id) => void noted.push(id) };
  const late = createLateRemovals({
    runtime: fakeRuntime(),
    journal: { state: () => EMPTY_JOURNAL, changed: async () => undefined },
    backoff,
    removedImages,
    clock: manualClock(),
    sleep: async () => undefined,
    logger,
  });
  return { late, backoff, noted };
}

test('a list of images ends the back-off of the images that it lacks', () => {
  const { late, backoff, noted } = lateRemovals();
  for (const id of ['sha256:a', 'sha256:b']) backoff.failed({ kind: 'image', id }, NOW);
  late.seen([{ id: 'sha256:b' }]);
  expect(backoff.entries().map(({ id }) => id)).toEqual(['sha256:b']);
  expect(noted).toEqual(['sha256:a']);
});

test('[M17, M33] a list of images says nothing of other objects: their back-off goes on', () => {
  const { late, backoff, noted } = lateRemovals();
  const others = ['container', 'sandbox', 'pod-log-directory', 'log-symlink'] as const;
  for (const kind of others) backoff.failed({ kind, id: `${kind}-1` }, NOW);
  late.seen([]);
  expect(
    backoff
      .entries()
      .map(({ kind }) => kind)
      .toSorted(),
  ).toEqual(others.toSorted());
  expect(noted).toEqual([]);
});
