import type {
  ClusterObjectOutcome,
  ClusterObjectResults,
} from '../../../../schemas/events/cluster-result.ts';
import {
  Concluded,
  type ObjectDifference,
  type SimulatedCluster,
} from '../../../../schemas/reports/cluster-simulation.ts';
import type { NamedByUid } from '../../explain/cluster/asked-object.ts';
import type { Conclusion, DecidedFact } from './decided-objects.ts';

type Counts = SimulatedCluster['policy'];

interface ComparedObject {
  readonly object: NamedByUid;
  readonly policy: Conclusion;
  readonly against: Conclusion;
  readonly differsSinceMs: number | null;
}

const UNDECIDED: Conclusion = { is: 'undecided', rule: null };

/** A fact with what both sides say of it; `null`: nothing was decided on it. */
export interface ComparedFact {
  readonly objects: readonly NamedByUid[];
  readonly policy: DecidedFact | null;
  readonly against: DecidedFact | null;
  /** By the log's clock. */
  readonly atMs: number;
}

/** What becomes of the objects of one cluster, on both sides. */
export class ComparedCluster {
  readonly #objects = new Map<string, ComparedObject>();
  /** Uids of what results say that it is deleted. */
  readonly #deleted = new Set<string>();
  readonly #isRecorded: boolean;

  /** `isRecorded`: the other side is what happened, which results tell. */
  constructor(isRecorded: boolean) {
    this.#isRecorded = isRecorded;
  }

  take({ objects, policy, against, atMs }: ComparedFact): void {
    for (const [position, object] of objects.entries()) {
      const before = this.#objects.get(object.uid);
      const isOver = this.#isRecorded ? this.#deleted.has(object.uid) : before?.against.is === 'deleted';
      this.#compare(object, atMs, {
        policy: nextOf(before?.policy, policy?.get(position), before?.policy.is === 'deleted'),
        against: nextOf(before?.against, against?.get(position), isOver),
      });
    }
  }

  resulted(told: ClusterObjectResults['objects'][number], atMs: number): void {
    const before = this.#objects.get(told.object.uid);
    const is = COMES_TO[told.result.outcome];
    if (!this.#isRecorded || is === null) return;
    if (is === 'deleted') this.#deleted.add(told.object.uid);
    const against = { is, rule: told.rule };
    this.#compare(told.object, atMs, { policy: before?.policy ?? UNDECIDED, against });
  }

  sums(): Pick<SimulatedCluster, 'objects' | 'policy' | 'against'> {
    const all = [...this.#objects.values()];
    return {
      objects: all.length,
      policy: countsOf(all.map(({ policy }) => policy)),
      against: countsOf(all.map(({ against }) => against)),
    };
  }

  differences(cluster: string): ObjectDifference[] {
    return [...this.#objects.values()].flatMap(({ object, policy, against, differsSinceMs }) => {
      if (differsSinceMs === null) return [];
      const { group, kind, namespace, name, uid } = object;
      return [{ cluster, group, kind, namespace, name, uid, policy, against, sinceMs: differsSinceMs }];
    });
  }

  #compare(object: NamedByUid, atMs: number, sides: Pick<ComparedObject, 'policy' | 'against'>): void {
    const before = this.#objects.get(object.uid);
    const differs = sides.policy.is !== sides.against.is;
    const differsSinceMs = differs ? (before?.differsSinceMs ?? atMs) : null;
    this.#objects.set(object.uid, { object: nameOf(object), ...sides, differsSinceMs });
  }
}

/** What a result says of an object; `null`: the decision said it already. */
const COMES_TO: Readonly<Record<ClusterObjectOutcome['outcome'], Concluded | null>> = {
  removed: 'deleted',
  accepted: 'deleted',
  'not-found': 'deleted',
  patched: null,
  rehearsed: 'dry-run',
  refused: 'not-done',
  failed: 'not-done',
};

/** Facts say much more of each. */
const nameOf = ({ group, kind, namespace, name, uid }: NamedByUid): NamedByUid => ({
  group,
  kind,
  namespace,
  name,
  uid,
});

/** What is deleted stays so: what its facts say later comes of what really happened. */
const nextOf = (before: Conclusion | undefined, now: Conclusion | undefined, isOver: boolean): Conclusion =>
  isOver && before !== undefined ? before : (now ?? before ?? UNDECIDED);

const countsOf = (conclusions: readonly Conclusion[]): Counts =>
  Object.fromEntries([...Map.groupBy(conclusions, ({ is }) => is)].map(([is, group]) => [is, group.length]));

/** Both sides, of several clusters. */
export const addCounts = (all: readonly Counts[]): Counts =>
  Object.fromEntries(
    Concluded.options.flatMap((is) => {
      const sum = all.reduce((before, counts) => before + (counts[is] ?? 0), 0);
      return sum === 0 ? [] : [[is, sum]];
    }),
  );
