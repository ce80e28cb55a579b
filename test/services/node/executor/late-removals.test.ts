import { setImmediate } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { FleetGcError } from '../../../../packages/process/errors.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import {
  MAX_REMOVED_IMAGES,
  REMOVED_IMAGES_BYTES,
  REMOVED_IMAGES_FILE,
  RemovedImagesFile,
} from '../../../../schemas/state/removed-images.ts';
import { openBackoff } from '../../../../services/node/executor/backoff.ts';
import { EMPTY_JOURNAL } from '../../../../services/node/executor/journal.ts';
import {
  createLateRemovals,
  openRemovedImages,
  type RemovedImages,
} from '../../../../services/node/executor/late-removals.ts';
import { imageRemoval } from '../../../fixtures/command.ts';
import { instant, NOW } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';
import { addImages, executorNode, until } from './support/executor-node.ts';
import { fakeRuntime } from './support/fake-runtime.ts';
import { diskFull, type MemoryState, memoryState } from './support/memory-state.ts';

const logger = () => createLogger({ service: 'test', level: 'info' }, logLines());
const noted = (state: Pick<MemoryState, 'openReadOnly'>): string[] =>
  state
    .openReadOnly(REMOVED_IMAGES_FILE, RemovedImagesFile)
    .read()
    ?.images.map(({ id }) => id) ?? [];

test('what was removed is kept over a restart, each image once with its last removal', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const first = openRemovedImages(state, logger());
  first.note('a', instant({ sinceBootMs: 1 }));
  first.note('b', instant({ sinceBootMs: 2 }));
  openRemovedImages(state, logger()).note('a', instant({ sinceBootMs: 3 }));
  const { bootId } = instant();
  expect(state.openReadOnly(REMOVED_IMAGES_FILE, RemovedImagesFile).read()?.images).toEqual([
    { id: 'b', bootId, sinceBootMs: 2 },
    { id: 'a', bootId, sinceBootMs: 3 },
  ]);
});

test('the oldest are forgotten, and as many as are kept fit into the file', () => {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const images = openRemovedImages(state, logger());
  const ids = Array.from({ length: MAX_REMOVED_IMAGES + 1 }, (_, index) => `${index}-`.padEnd(256, 'x'));
  for (const id of ids) images.note(id, instant());
  expect(noted(state)).toEqual(ids.slice(1));
  expect(JSON.stringify(noted(state)).length).toBeLessThan(REMOVED_IMAGES_BYTES);
});

test('a disk that takes nothing costs nothing but the memory over a restart', () => {
  const state = memoryState();
  const images = openRemovedImages(state, logger());
  state.beforeWrite = diskFull;
  images.note('a', instant());
  state.beforeWrite = () => undefined;
  images.note('b', instant());
  expect(noted(state)).toEqual(['a', 'b']);
});

test('[C4] an executor notes the images that went, and no others', async () => {
  const node = executorNode();
  const [gone = '', kept = ''] = addImages(node, ['a', 'b']);
  node.runtime.before = (call) => {
    if (call === `removeImage ${kept}`) throw new FleetGcError('RUNTIME_FAILED', 'busy');
  };
  await node.start().carryOut(imageRemoval([gone, kept, 'never-there']));
  expect(noted(node.state)).toEqual([gone, 'never-there']);
});

describe('[C4] an image that goes after its removal had failed', () => {
  /** The runtime misses the deadline of its first removal, and every other is as it should be. */
  function setUp(code: 'RUNTIME_TIMEOUT' | 'RUNTIME_FAILED') {
    const node = executorNode();
    const [slow = '', other = ''] = addImages(node, ['slow', 'other']);
    node.runtime.before = (call) => {
      if (call === `removeImage ${slow}`) throw new FleetGcError(code, 'no answer');
    };
    return { node, slow, other };
  }

  test('is noted when the next look does not list it, and backs off no more', async () => {
    const { node, slow, other } = setUp('RUNTIME_FAILED');
    const executor = node.start();
    await executor.carryOut(imageRemoval([slow]));
    expect(noted(node.state)).toEqual([]);
    node.runtime.images.delete(slow);
    await executor.carryOut(imageRemoval([other], { id: 'next', takenAt: node.clock.now() }));
    expect(noted(node.state)).toContain(slow);
    expect(JSON.parse(node.state.files.get('backoff') ?? '').objects).toEqual([]);
  });

  test('is noted by the next process too', async () => {
    const { node, slow, other } = setUp('RUNTIME_FAILED');
    const first = node.start();
    await first.carryOut(imageRemoval([slow]));
    await first.stop();
    node.runtime.images.delete(slow);
    await node.start().carryOut(imageRemoval([other], { id: 'next', takenAt: node.clock.now() }));
    expect(noted(node.state)).toContain(slow);
  });

  test('past its deadline is noted without any further command, before it can be pulled again unseen', async () => {
    const { node, slow } = setUp('RUNTIME_TIMEOUT');
    await node.start().carryOut(imageRemoval([slow]));
    expect(node.outcomes()[slow]).toMatchObject({ reason: 'deadline-exceeded' });
    node.runtime.images.delete(slow);
    await until('the image to be noted', () => noted(node.state).includes(slow) || undefined);
  });

  test('is not noted while it is listed, and watched no longer than the runtime had already', async () => {
    const { node, slow } = setUp('RUNTIME_TIMEOUT');
    let lists = 0;
    node.runtime.after = (call) => {
      if (call === 'listImages') lists += 1;
    };
    await node.start().carryOut(imageRemoval([slow]));
    const sinceMs = node.clock.now().sinceBootMs;
    await until('ten minutes', () => node.clock.now().sinceBootMs >= sinceMs + 599_000 || undefined);
    const turns = async (count: number): Promise<void> => {
      for (let turn = 0; turn < count; turn++) await setImmediate();
    };
    await turns(20);
    const before = lists;
    await turns(50);
    expect(lists).toBe(before);
    expect(noted(node.state)).toEqual([]);
  });
});

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

test('a list of images ends the backoff of the images that it lacks', () => {
  const { late, backoff, noted } = lateRemovals();
  for (const id of ['sha256:a', 'sha256:b']) backoff.failed({ kind: 'image', id }, NOW);
  late.seen([{ id: 'sha256:b' }]);
  expect(backoff.entries().map(({ id }) => id)).toEqual(['sha256:b']);
  expect(noted).toEqual(['sha256:a']);
});

test('[M17, M33] a list of images says nothing of other objects: their backoff goes on', () => {
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
