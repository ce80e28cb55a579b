import { sha256Hex } from '../../../../packages/canonical/ids.ts';
import type { Census, CensusFindings } from '../../../../schemas/events/census.ts';
import type { ClusterInstant } from '../../../../schemas/events/cluster-objects.ts';
import type { ClusterIdentity } from '../../../../schemas/events/identity.ts';
import type { ClusterGraph } from '../cluster-graph.ts';
import { takeCensus } from './take-census.ts';

/** Told again after so long, though nothing changed. */
const AGAIN_AFTER_MS = 600_000;

export interface CensusOptions {
  readonly identity: ClusterIdentity & { readonly session: string };
  readonly newId: () => string;
  /** Milliseconds that only grow. */
  readonly nowMs: () => number;
}

/** Which census is worth telling: one that found something else, and any now and then. */
export class CensusTaker {
  readonly #options: CensusOptions;
  #told: { readonly fingerprint: string; readonly atMs: number } | null = null;

  constructor(options: CensusOptions) {
    this.#options = options;
  }

  /** `null` where there is no news. */
  take(graph: ClusterGraph, takenAt: ClusterInstant): Census | null {
    const { identity, newId, nowMs } = this.#options;
    const { findings, kinds } = takeCensus(graph, takenAt.serverMs);
    const fingerprint = fingerprintOf(findings);
    const told = this.#told;
    if (told !== null && told.fingerprint === fingerprint && nowMs() - told.atMs < AGAIN_AFTER_MS)
      return null;
    this.#told = { fingerprint, atMs: nowMs() };
    return {
      type: 'fleetgc.cluster.census',
      version: 1,
      id: newId(),
      cluster: identity.cluster,
      clusterInstance: identity.clusterInstance,
      session: identity.session,
      takenAt,
      totals: { kinds: graph.kinds.watched.length, objects: graph.index.size },
      kinds,
      findings,
    };
  }
}

const fingerprintOf = (findings: CensusFindings): string => sha256Hex(JSON.stringify(findings));
