import { FleetGcError } from '../../process/errors.ts';
import { createFloodTally, failsLikeFlood, type MessageOutcome } from './flood-tally.ts';

/** A paused consumer lets one slice of each partition through this often, to see whether it still fails. */
export const PROBE_INTERVAL_MS = 60_000;

/** Takes what became of an admitted slice. Tells whether the consumer pauses or resumes because of it. */
export type ReportSlice = (outcomes: readonly MessageOutcome[], nowMs: number) => 'paused' | 'resumed' | null;

export interface FloodGuard {
  /** Throws `FLOODED` while the consumer is paused and it is not time for the partition's next probe. */
  admit(partition: string, nowMs: number): ReportSlice;
  /** Why the consumer is paused, or `null`. */
  problem(): string | null;
}

interface Pause {
  readonly sinceMs: number;
  readonly failingKeys: number;
  readonly nextProbeMs: Map<string, number>;
}

/** Pauses a consumer when most of what it reads fails, and lets it go on by itself when that is over. */
export function createFloodGuard(): FloodGuard {
  const tally = createFloodTally();
  let pause: Pause | null = null;

  const reportUsual: ReportSlice = (outcomes, nowMs) => {
    tally.add(outcomes, nowMs);
    if (pause !== null || !outcomes.some(({ failed }) => failed)) return null;
    const failingKeys = tally.flood();
    if (failingKeys === null) return null;
    pause = { sinceMs: nowMs, failingKeys, nextProbeMs: new Map() };
    return 'paused';
  };
  const reportProbe: ReportSlice = (outcomes) => {
    if (pause === null || failsLikeFlood(outcomes)) return null;
    pause = null;
    return 'resumed';
  };

  return {
    admit: (partition, nowMs) => {
      if (pause === null) return reportUsual;
      const dueMs = pause.nextProbeMs.get(partition) ?? pause.sinceMs + PROBE_INTERVAL_MS;
      if (nowMs < dueMs) throw new FleetGcError('FLOODED', describe(pause));
      pause.nextProbeMs.set(partition, nowMs + PROBE_INTERVAL_MS);
      return reportProbe;
    },
    problem: () => pause && describe(pause),
  };
}

const describe = ({ failingKeys }: Pause): string =>
  `paused: messages of ${failingKeys} keys cannot be processed; look at gc.dead-letters. Tried again once a minute`;
