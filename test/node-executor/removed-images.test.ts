import { expect, test } from 'vitest';
import {
  MAX_REMOVED_IMAGES,
  REMOVED_IMAGES_BYTES,
  REMOVED_IMAGES_FILE,
  RemovedImagesFile,
} from '../../schemas/removed-images.ts';
import { openRemovedImages } from '../../services/node-executor/removed-images.ts';
import { FleetGcError } from '../../services/shared/errors.ts';
import { createLogger } from '../../services/shared/logger.ts';
import { openStateDirectory } from '../../services/shared/state-directory.ts';
import { imageRemoval } from '../fixtures/command.ts';
import { instant } from '../fixtures/time.ts';
import { logLines } from '../support/log-lines.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';
import { addImages, executorNode } from './executor-node.ts';
import { diskFull, type MemoryState, memoryState } from './memory-state.ts';

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

test('[D12] an executor notes the images that went, and no others', async () => {
  const node = executorNode();
  const [gone = '', kept = ''] = addImages(node, ['a', 'b']);
  node.runtime.before = (call) => {
    if (call === `removeImage ${kept}`) throw new FleetGcError('RUNTIME_FAILED', 'busy');
  };
  await node.start().carryOut(imageRemoval([gone, kept, 'never-there']));
  expect(noted(node.state)).toEqual([gone, 'never-there']);
});
