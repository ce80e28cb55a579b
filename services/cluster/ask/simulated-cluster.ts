import { decide } from '../../../packages/deciders/graph-gc/decide.ts';
import type { ObjectMetadata } from '../../../packages/kube-api/metadata.ts';
import type { GraphObject } from '../../../packages/owner-graph/graph-object.ts';
import type { OwnershipAction, Propagation } from '../../../schemas/events/cluster-command.ts';
import type { ClusterDecisionOutcome, ClusterVerdict } from '../../../schemas/events/cluster-decision.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import type { OwnershipCandidate } from '../../../schemas/events/ownership.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import type { ClusterGraph } from '../agent/graph.ts';
import { candidatesIn } from './look.ts';

/** Stands for any time: no rule about owners reads it. */
const WHEN = '1970-01-01T00:00:00Z';

/** What each way of deleting leaves of the two finalizers of the collector, as the API server does it (cluster N8). */
const FINALIZERS: Readonly<Record<Propagation, readonly string[]>> = {
  Background: [],
  Foreground: [FOREGROUND],
  Orphan: [ORPHAN],
};

/**
 * The graph of a cluster, and an API server as far as deletions and finalizers go: what is asked of it changes the graph as the watch
 * of an agent would. Who decides is graph-gc itself.
 */
export class SimulatedCluster {
  readonly graph: ClusterGraph;
  readonly #policy: ClusterPolicy;

  constructor(graph: ClusterGraph, policy: ClusterPolicy) {
    this.graph = graph;
    this.#policy = policy;
  }

  delete(object: GraphObject, propagation: Propagation): void {
    const others = object.finalizers.filter((each) => each !== FOREGROUND && each !== ORPHAN);
    this.#write(object, {
      finalizers: [...others, ...FINALIZERS[propagation]],
      deletionTimestamp: object.deletionTimestamp ?? WHEN,
    });
  }

  /** Lets the collector work until nothing is left to do. Each candidate is told when it is judged, in waves. */
  settle(onJudged: (judged: Judged, wave: number) => boolean): void {
    for (let wave = 1; ; wave++) {
      const judged = [...candidatesIn(this.graph)].flatMap(
        (candidates) => judge(candidates, this.#policy).judged,
      );
      if (judged.length === 0) return;
      for (const one of judged)
        if (onJudged(one, wave) && one.act !== null) this.#carryOut(one.candidate.object.uid, one.act);
    }
  }

  #carryOut(uid: string, act: OwnershipAction): void {
    const object = this.graph.index.get(uid);
    if (object === undefined) return;
    if (act.action === 'delete') this.delete(act.unblock ? unblocked(object) : object, act.propagation);
    else this.#write(object, leftBy(act, object));
  }

  #write(object: GraphObject, change: Partial<GraphObject>): void {
    const written = { ...object, ...change };
    const isGone = written.deletionTimestamp !== null && written.finalizers.length === 0;
    if (isGone) this.graph.gone(object.kind, metadataOf(written));
    else this.graph.put(object.kind, metadataOf(written));
  }
}

const leftBy = (
  act: Exclude<OwnershipAction, { action: 'delete' }>,
  { references, finalizers }: GraphObject,
): Partial<GraphObject> =>
  act.action === 'finish'
    ? { finalizers: finalizers.filter((each) => each !== act.finalizer) }
    : { references: references.filter(({ uid }) => !act.ownerUids.includes(uid)) };

const unblocked = (object: GraphObject): GraphObject => ({
  ...object,
  references: object.references.map((each) => ({ ...each, blockOwnerDeletion: false })),
});

const metadataOf = ({ kind: _, references, ...object }: GraphObject): ObjectMetadata => ({
  ...object,
  ownerReferences: references,
});

/** A candidate with what graph-gc decides about it. */
export interface Judged {
  readonly candidate: OwnershipCandidate;
  readonly verdict: ClusterVerdict;
  /** `null` for what stays. */
  readonly act: OwnershipAction | null;
}

interface JudgedBatch {
  readonly outcome: ClusterDecisionOutcome;
  readonly judged: readonly Judged[];
}

/** By the decider itself, as if an agent had published these. */
function judge(candidates: readonly OwnershipCandidate[], policy: ClusterPolicy): JudgedBatch {
  // Policies of files approve nothing: what is held is told as held.
  const { outcome, verdicts, items } = decide({ candidates: [...candidates], wentBack: false }, policy, []);
  const acts = new Map(items.map(({ object, act }) => [object.uid, act]));
  const judged = verdicts.flatMap((verdict) => {
    const candidate = candidates[verdict.position];
    return candidate === undefined
      ? []
      : [{ candidate, verdict, act: acts.get(candidate.object.uid) ?? null }];
  });
  return { outcome, judged };
}
