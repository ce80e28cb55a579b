import type { Logger } from 'pino';
import type { Sleep } from '../../../packages/process/backoff.ts';
import type { Census } from '../../../schemas/events/census.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterGraph } from '../cluster-graph.ts';
import { publishUntilDone } from '../publish-until-done.ts';
import { type CensusOptions, CensusTaker } from './census-taker.ts';

interface KeepingCensus {
  readonly parts: Omit<CensusOptions, 'identity'> & {
    /** Resolves when it is acknowledged. */
    readonly publishCensus: (census: Census) => Promise<void>;
    readonly sleep: Sleep;
    readonly random: () => number;
    readonly logger: Logger;
  };
  readonly identity: CensusOptions['identity'];
  readonly graph: ClusterGraph;
  /** `null` while nothing may be concluded from the graph, or the time is not known. */
  readonly takenAt: () => ClusterInstant | null;
}

/** It goes through all objects. */
const CENSUS_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** What was read just now says little of owners that may be behind. */
const FIRST_AFTER_MS = 5_000;

/** Takes a census now and then, and publishes those that are news, until the signal aborts. */
export async function keepCensus(
  { parts, identity, graph, takenAt }: KeepingCensus,
  signal: AbortSignal,
): Promise<void> {
  const taker = new CensusTaker({ ...parts, identity });
  while (takenAt() === null && !signal.aborted) await parts.sleep(LOOK_EVERY_MS, signal);
  await parts.sleep(FIRST_AFTER_MS, signal);
  while (!signal.aborted) {
    const at = takenAt();
    const census = at && taker.take(graph, at);
    if (census !== null)
      await publishUntilDone(() => parts.publishCensus(census), { ...parts, what: 'a census' }, signal);
    await parts.sleep(CENSUS_EVERY_MS, signal);
  }
}
