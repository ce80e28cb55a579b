import type { Logger } from 'pino';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import {
  MAX_REMOVED_IMAGES,
  REMOVED_IMAGES_BYTES,
  REMOVED_IMAGES_FILE,
  RemovedImagesFile,
} from '../../../schemas/state/removed-images.ts';

/** Tells the agent which images went, since it does not see one that is pulled again at once. */
export interface RemovedImages {
  /** Never throws: what the disk does not take now it gets with the next. */
  note(id: string, at: Instant): void;
}

type Removals = RemovedImagesFile['images'];

/** Never throws. A file that cannot be read is begun anew. */
export function openRemovedImages(directory: Pick<StateDirectory, 'open'>, logger: Logger): RemovedImages {
  const attempt = <T>(what: string, action: () => T, otherwise: T): T => {
    try {
      return action();
    } catch (error) {
      logger.error({ problem: toFleetGcError(error).message }, `removed images ${what}`);
      return otherwise;
    }
  };
  const open = (): FixedFile<RemovedImagesFile> =>
    directory.open(REMOVED_IMAGES_FILE, REMOVED_IMAGES_BYTES, RemovedImagesFile);
  let file: FixedFile<RemovedImagesFile> | null = attempt('cannot be opened', open, null);
  let removals: Removals = attempt('start afresh', () => file?.read()?.images ?? [], []);
  const write = (): void => {
    file ??= open();
    file.write({ version: 1, images: removals });
  };
  return {
    note: (id, { bootId, sinceBootMs }) => {
      const others = removals.filter((removal) => removal.id !== id);
      removals = [...others, { id, bootId, sinceBootMs }].slice(-MAX_REMOVED_IMAGES);
      attempt('cannot be written, kept in memory', write, undefined);
    },
  };
}
