import type { AgentParts } from '../agent-parts.ts';
import type { ClusterGraph } from '../cluster-graph.ts';
import { publishUntilDone, takenAt } from '../publish-until-done.ts';
import { type CensusOptions, CensusTaker } from './census-taker.ts';

interface KeepingCensus {
  readonly parts: AgentParts;
  readonly identity: CensusOptions['identity'];
  readonly graph: ClusterGraph;
  /** Whether anything may be concluded from the graph. */
  readonly isReady: () => boolean;
}

/** It goes through all objects. */
const CENSUS_EVERY_MS = 60_000;
const LOOK_EVERY_MS = 1_000;
/** What was read just now says little of owners that may be behind. */
const FIRST_AFTER_MS = 5_000;

/** Takes a census now and then, and publishes those that are news, until the signal aborts. */
export async function keepCensus(
  { parts, identity, graph, isReady }: KeepingCensus,
  signal: AbortSignal,
): Promise<void> {
  const { sleep, newId, nowMs } = parts;
  const taker = new CensusTaker({ identity, newId, nowMs });
  while (!isReady() && !signal.aborted) await sleep(LOOK_EVERY_MS, signal);
  await sleep(FIRST_AFTER_MS, signal);
  while (!signal.aborted) {
    const instant = isReady() ? takenAt(parts) : null;
    const census = instant && taker.take(graph, instant);
    if (census !== null) await publishUntilDone(parts, census, signal);
    await sleep(CENSUS_EVERY_MS, signal);
  }
}
