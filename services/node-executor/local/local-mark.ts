import type { Logger } from 'pino';
import { z } from 'zod';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';

/** Name of the file in the state directory that remembers the node's own file over a restart. */
export const LOCAL_MARK_FILE = 'local-file-seen';
/** Room for a path of 4096 characters, each escaped. */
const LOCAL_MARK_BYTES = 25_000;

/** The file that restricted something when it was last believed; `null` when none did. */
export const LocalMarkFile = z.object({
  version: z.literal(1),
  seen: z.object({ path: z.string(), sha256: z.string() }).nullable(),
});
export type Seen = z.infer<typeof LocalMarkFile>['seen'];

export interface LocalMark {
  /** `unreadable`: nobody knows whether there was a file. */
  readonly seen: Seen | 'unreadable';
  /** Never throws: what the disk does not take is not known after a restart, and the log says so. */
  remember(seen: Seen): void;
}

export function openLocalMark(directory: Pick<StateDirectory, 'open'>, logger: Logger): LocalMark {
  const tell = (error: unknown, message: string): void =>
    logger.error({ problem: toFleetGcError(error).message }, message);
  const open = (): FixedFile<z.infer<typeof LocalMarkFile>> =>
    directory.open(LOCAL_MARK_FILE, LOCAL_MARK_BYTES, LocalMarkFile);
  let file: FixedFile<z.infer<typeof LocalMarkFile>> | null = null;
  let seen: LocalMark['seen'] = null;
  try {
    file = open();
    seen = file.read()?.seen ?? null;
  } catch (error) {
    seen = 'unreadable';
    tell(error, "whether there was a file of the node's own cannot be read: removals wait for one");
  }
  return {
    seen,
    remember: (next) => {
      try {
        file ??= open();
        file.write({ version: 1, seen: next });
      } catch (error) {
        tell(error, "the node's own file cannot be remembered over a restart");
      }
    },
  };
}
