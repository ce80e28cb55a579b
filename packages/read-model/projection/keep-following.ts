import type { Logger } from 'pino';
import type { Sleep } from '../../process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../process/errors.ts';
import type { Projection } from './projection.ts';

const AGAIN_AFTER_MS = 5_000;

interface FollowingNeeds {
  readonly logger: Logger;
  readonly wait: Sleep;
}

/**
 * Follows the log until `signal` aborts. A log that does not answer is asked again; where its topics were made anew, the projection is
 * too, since it is a copy and no more. Rejects with what no retry mends.
 */
export async function keepFollowing(
  projection: Pick<Projection, 'run' | 'isOfThisLog' | 'beginAnew'>,
  { logger, wait }: FollowingNeeds,
  signal: AbortSignal,
): Promise<void> {
  const beginAnew = (why: string): void => {
    logger.warn(`${why} The projection is made anew from what the event log holds now.`);
    projection.beginAnew();
  };
  let told: string | null = null;
  while (!signal.aborted) {
    const failure = await follow(projection, () => beginAnew(OTHER_LOG), signal);
    if (failure === null) return;
    if (!failure.retry) throw failure;
    if (failure.code === 'TOPICS_RECREATED') beginAnew(failure.message);
    else if (failure.message !== told)
      logger.warn({ problem: failure.message }, 'the event log cannot be followed; it is tried again');
    told = failure.message;
    await wait(AGAIN_AFTER_MS, signal);
  }
}

const OTHER_LOG =
  'What was read last does not lie on the event log any more: its topics were deleted and made anew.';

/** Resolves to why it ended; `null` when it was told to. */
async function follow(
  projection: Pick<Projection, 'run' | 'isOfThisLog'>,
  onOtherLog: () => void,
  signal: AbortSignal,
): Promise<FleetGcError | null> {
  try {
    if (!(await projection.isOfThisLog(signal))) onOtherLog();
    await projection.run(signal);
    return null;
  } catch (thrown) {
    return signal.aborted ? null : toFleetGcError(thrown);
  }
}
