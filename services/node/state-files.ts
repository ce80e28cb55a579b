import type { StateFile } from '../../packages/machine/state-directory.ts';
import type { StateRole } from '../../packages/machine/state-lock.ts';
import { IMAGE_HISTORY_BYTES, IMAGE_HISTORY_FILE } from '../../schemas/state/image-history.ts';
import { BACKOFF_BYTES, BACKOFF_FILE } from '../../schemas/state/removal-backoff.ts';
import { REMOVED_IMAGES_BYTES, REMOVED_IMAGES_FILE } from '../../schemas/state/removed-images.ts';
import { DISK_HISTORY_BYTES, DISK_HISTORY_FILE } from '../node-agent/disks/disk-stats.ts';
import { JOURNAL_BYTES, JOURNAL_FILE } from '../node-executor/journal/journal.ts';
import { LOCAL_MARK_BYTES, LOCAL_MARK_FILE } from '../node-executor/local/follow-local-rules.ts';

/** What each role keeps in the state directory, all of it from its first start on. */
export const STATE_FILES: Readonly<
  Record<StateRole, { readonly main: StateFile; readonly others: readonly StateFile[] }>
> = {
  agent: {
    main: { name: IMAGE_HISTORY_FILE, bytes: IMAGE_HISTORY_BYTES },
    others: [{ name: DISK_HISTORY_FILE, bytes: DISK_HISTORY_BYTES }],
  },
  executor: {
    main: { name: JOURNAL_FILE, bytes: JOURNAL_BYTES },
    others: [
      { name: BACKOFF_FILE, bytes: BACKOFF_BYTES },
      { name: REMOVED_IMAGES_FILE, bytes: REMOVED_IMAGES_BYTES },
      { name: LOCAL_MARK_FILE, bytes: LOCAL_MARK_BYTES },
    ],
  },
};
