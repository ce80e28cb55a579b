import type { Logger } from 'pino';
import type { RuntimeImage, RuntimeReader } from '../../../packages/cri/port.ts';
import type { FixedFile } from '../../../packages/files/fixed-file.ts';
import type { NodeClock } from '../../../packages/machine/clock.ts';
import type { StateDirectory } from '../../../packages/machine/state-directory.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { toFleetGcError } from '../../../packages/process/errors.ts';
import type { Instant } from '../../../schemas/events/time.ts';
import {
  MAX_REMOVED_IMAGES,
  REMOVED_IMAGES_BYTES,
  REMOVED_IMAGES_FILE,
  RemovedImagesFile,
} from '../../../schemas/state/removed-images.ts';
import type { BackoffTable } from './backoff.ts';
import type { Journal } from './journal.ts';

/** The agent sees for itself what is gone for longer than its 10 s between detections. */
const POLL_MS = 1_000;
/**
 * As long again as the runtime had already.
 * @limit Time that a removal past its deadline is watched for completion. Keep it equal to the timeout in `CALL_TIMEOUTS`.
 */
const WATCHED_MS = 600_000;

/**
 * Images that go after their removal counted as failed, since no runtime is told to stop: they are noted as removed when
 * a list lacks them, or one that is pulled again at once would keep its age (C4).
 */
export interface LateRemovals {
  /** The removal missed its deadline and may go on: the image is watched for a while. */
  expect(imageId: string): void;
  /** A list of all images: those in backoff that it lacks have gone. */
  seen(images: readonly Pick<RuntimeImage, 'id'>[]): void;
  /** Watches while no command is carried out, until `signal` aborts. Never rejects. */
  watch(signal: AbortSignal): Promise<void>;
}

interface LateRemovalParts {
  readonly runtime: RuntimeReader;
  readonly journal: Pick<Journal, 'state' | 'changed'>;
  readonly backoff: BackoffTable;
  readonly removedImages: RemovedImages;
  readonly clock: NodeClock;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

export function createLateRemovals(parts: LateRemovalParts): LateRemovals {
  const { runtime, journal, backoff, removedImages, clock, sleep, logger } = parts;
  const watchedUntilMs = new Map<string, number>();
  const nowMs = (): number => clock.now().sinceBootMs;

  const seen: LateRemovals['seen'] = (images) => {
    const listed = new Set(images.map(({ id }) => id));
    for (const { kind, id } of backoff.entries()) {
      if (kind !== 'image' || listed.has(id)) continue;
      removedImages.note(id, clock.now());
      backoff.forget({ kind, id });
      watchedUntilMs.delete(id);
      logger.info({ id }, 'image gone after its removal had failed');
    }
  };

  const lookOnce = async (): Promise<void> => {
    try {
      seen(await runtime.listImages());
    } catch (error) {
      logger.debug({ problem: toFleetGcError(error).message }, 'images not listed, trying again');
    }
    for (const [id, untilMs] of watchedUntilMs) if (nowMs() >= untilMs) watchedUntilMs.delete(id);
  };

  return {
    expect: (imageId) => {
      watchedUntilMs.set(imageId, nowMs() + WATCHED_MS);
    },
    seen,
    watch: async (signal) => {
      while (!signal.aborted) {
        // Who carries out a command looks for itself, and the journal changes with what it finds.
        if (watchedUntilMs.size === 0 || journal.state().entries.length > 0) {
          await journal.changed(signal);
          continue;
        }
        await sleep(POLL_MS, signal);
        if (!signal.aborted) await lookOnce();
      }
    },
  };
}

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
