import type { Logger } from 'pino';
import type { RuntimeReader } from '../shared/cri/port.ts';
import { type FleetGcError, toFleetGcError } from '../shared/errors.ts';
import type { Sleep } from './bell.ts';

export interface DeathWatchParts {
  readonly runtime: Pick<RuntimeReader, 'containerEvents'>;
  /** Also gets ids of sandboxes, which runtimes report alike. */
  readonly onDeath: (containerId: string) => void;
  readonly sleep: Sleep;
  readonly logger: Logger;
}

const RECONNECT_MS = 10_000;

/**
 * Listens to the runtime's events until the signal aborts. They only make things faster: what they miss, and
 * everything on a runtime without events, is seen by the next detection.
 */
export async function watchDeaths(parts: DeathWatchParts, signal: AbortSignal): Promise<void> {
  while (!signal.aborted) {
    const problem = await listen(parts, signal);
    if (signal.aborted) return;
    if (problem?.code === 'RUNTIME_UNSUPPORTED') {
      parts.logger.info('the runtime has no container events: deaths are seen by detection');
      return;
    }
    parts.logger.debug({ problem: problem?.message ?? null }, 'container events ended');
    await parts.sleep(RECONNECT_MS, signal);
  }
}

/** Until the stream ends; resolves to why, `null` when the runtime just ended it. */
async function listen(
  { runtime, onDeath }: DeathWatchParts,
  signal: AbortSignal,
): Promise<FleetGcError | null> {
  try {
    for await (const { kind, containerId } of runtime.containerEvents(signal)) {
      if (kind === 'stopped') onDeath(containerId);
    }
    return null;
  } catch (error) {
    return toFleetGcError(error);
  }
}
