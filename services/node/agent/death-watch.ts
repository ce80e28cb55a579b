import type { Logger } from 'pino';
import type { RuntimeReader } from '../../../packages/cri/port.ts';
import type { Sleep } from '../../../packages/process/backoff.ts';
import { type FleetGcError, toFleetGcError } from '../../../packages/process/errors.ts';

interface DeathWatchParts {
  readonly runtime: Pick<RuntimeReader, 'containerEvents'>;
  /** Also gets ids of sandboxes, which runtimes report alike. */
  readonly onDeath: (containerId: string) => void;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

const RECONNECT_MS = 10_000;
const MOST_RECONNECT_MS = 600_000;

/**
 * Listens to the runtime's events until the signal aborts. They only make things faster: what they miss, and
 * everything on a runtime without events, is seen by the next detection.
 */
export async function watchDeaths(parts: DeathWatchParts, signal: AbortSignal): Promise<void> {
  const { logger, sleep } = parts;
  for (let emptyStreams = 0; !signal.aborted; ) {
    const { problem, isEmpty } = await listen(parts, signal);
    if (signal.aborted) return;
    if (problem?.code === 'RUNTIME_UNSUPPORTED') {
      logger.info('the runtime has no container events: deaths are seen by detection');
      return;
    }
    emptyStreams = isEmpty ? emptyStreams + 1 : 0;
    if (emptyStreams === REPORTED_AFTER) logger.info(ENDS_AT_ONCE);
    logger.debug({ problem: problem?.message ?? null }, 'container events ended');
    await sleep(waitMs(emptyStreams), signal);
  }
}

const waitMs = (emptyStreams: number): number =>
  Math.min(RECONNECT_MS * 2 ** Math.max(0, emptyStreams - 1), MOST_RECONNECT_MS);

/** A runtime that is just restarted may end one too. */
const REPORTED_AFTER = 2;
const ENDS_AT_ONCE =
  'the runtime ends its container events without telling any, as CRI-O does where enable_pod_events is off: deaths are seen by detection';

/** How a stream went. */
interface Listened {
  /** `null` when the runtime just ended it. */
  readonly problem: FleetGcError | null;
  /** It ended without a problem, and without an event. */
  readonly isEmpty: boolean;
}

/** Until the stream ends. */
async function listen({ runtime, onDeath }: DeathWatchParts, signal: AbortSignal): Promise<Listened> {
  let isEmpty = true;
  try {
    for await (const { kind, containerId } of runtime.containerEvents(signal)) {
      isEmpty = false;
      if (kind === 'stopped') onDeath(containerId);
    }
    return { problem: null, isEmpty };
  } catch (error) {
    return { problem: toFleetGcError(error), isEmpty: false };
  }
}
