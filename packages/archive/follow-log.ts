import { type FleetGcError, toFleetGcError } from '../process/errors.ts';
import { lookAhead } from './archive-log.ts';
import { type ArchiveRequest, type ArchiveRun, archivePass } from './archive-to.ts';
import { type ArchiveWriter, openArchiveWriter } from './archive-writer.ts';

export interface FollowRequest extends ArchiveRequest {
  /** From the beginning of one pass to that of the next. */
  readonly everyMs: number;
  /** Resolves after `ms`, or at once when the signal aborts. */
  readonly wait: (ms: number, signal: AbortSignal) => Promise<void>;
  readonly onRun: (run: ArchiveRun) => void;
  /** What may pass by itself; it is tried again. */
  readonly onFailure: (error: FleetGcError) => void;
}

/** After a failure. */
const RETRY_MS = 60_000;

/**
 * Goes on copying the log into an archive, pass by pass, until the signal aborts. Throws what no retry mends, such as
 * `ARCHIVE_CHANGED` and `TOPICS_RECREATED`.
 */
export async function followLog(request: FollowRequest, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    try {
      // Opened anew after a failure, which may have left something half done.
      using archive = await openArchiveWriter(request.place, request);
      await lookAhead({ ...request, archive }, signal);
      await passAgainAndAgain({ ...request, archive }, signal);
    } catch (thrown) {
      if (signal.aborted) return;
      request.onFailure(requirePassing(toFleetGcError(thrown)));
      await request.wait(Math.min(RETRY_MS, request.everyMs), signal);
    }
  }
}

async function passAgainAndAgain(
  { everyMs, wait, onRun, ...request }: FollowRequest & { readonly archive: ArchiveWriter },
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    const startedMs = request.now();
    onRun(await archivePass(request, signal));
    await wait(Math.max(0, startedMs + everyMs - request.now()), signal);
  }
}

/** Another log in the place of the one that is archived stays another. */
function requirePassing(error: FleetGcError): FleetGcError {
  if (error.retry && error.code !== 'TOPICS_RECREATED') return error;
  throw error;
}
