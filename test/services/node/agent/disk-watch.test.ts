import { expect, test } from 'vitest';
import { openStateDirectory } from '../../../../packages/machine/state-directory.ts';
import { createLogger } from '../../../../packages/process/logger.ts';
import type { FilesystemReadings } from '../../../../schemas/events/filesystem.ts';
import { DISK_HISTORY_FILE, DiskHistoryFile, watchDisks } from '../../../../services/node/agent/disks.ts';
import { filesystems } from '../../../fixtures/filesystems.ts';
import { SECOND } from '../../../fixtures/time.ts';
import { logLines } from '../../../support/log-lines.ts';
import { manualClock } from '../../../support/manual-clock.ts';
import { temporaryDirectory } from '../../../support/temporary-directory.ts';

function watched() {
  const state = openStateDirectory(temporaryDirectory(), 'machine');
  const clock = manualClock();
  const logger = createLogger({ service: 'test', level: 'silent' }, logLines());
  let readings: FilesystemReadings = filesystems({ availableBytes: '500' });
  const disks = watchDisks({ filesystems: { read: async () => readings }, state, clock, logger });
  const sampled = async (availableBytes: string) => {
    clock.advance(SECOND);
    readings = filesystems({ availableBytes });
    return await disks.sample();
  };
  const onDisk = () =>
    state.openReadOnly(DISK_HISTORY_FILE, DiskHistoryFile).read()?.history.imagefs.availableBytes.at(-1);
  return { sampled, onDisk };
}

test('what is published of the disks is on disk before, so that a process that is killed does not take it along', async () => {
  const { sampled, onDisk } = watched();
  expect(await sampled('500')).not.toBeNull();
  expect(onDisk()?.[1]).toBe('500');
  expect(await sampled('100')).not.toBeNull();
  expect(onDisk()?.[1]).toBe('100');
});

test('what is not worth publishing is not written each second', async () => {
  const { sampled, onDisk } = watched();
  await sampled('505');
  expect(await sampled('504')).toBeNull();
  expect(onDisk()?.[3]).toBe('505');
});
