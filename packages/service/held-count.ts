import type { ClusterDecision, ClusterVerdict } from '../../schemas/events/cluster-decision.ts';
import type { FleetEvent } from '../../schemas/events/topics.ts';

interface Held {
  readonly rule: string;
  readonly atMs: number;
}

/** An agent tells each candidate again within ten minutes: who is not told again has gone. */
const TOLD_WITHIN_MS = 15 * 60_000;
/** Anybody who may write facts can make up objects: more are not counted. */
const MOST_HELD = 100_000;

/** How many objects one decider holds at this moment, as its last decisions say. */
export class HeldCount {
  readonly #held = new Map<string, Held>();
  readonly #now: () => number;

  /** `now`: epoch milliseconds. */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** `event`: the fact that was decided on. */
  take(event: FleetEvent | null, { outcome, verdicts }: ClusterDecision): void {
    const fact = factOf(event);
    if (fact === null) return;
    const keyOf = (uid: string): string => `${fact.cluster} ${uid}`;
    if ('settled' in fact) for (const { uid } of fact.settled) this.#held.delete(keyOf(uid));
    for (const verdict of verdicts) {
      const candidate = fact.candidates[verdict.position];
      if (candidate !== undefined) this.#judged(keyOf(candidate.object.uid), verdict, outcome);
    }
  }

  #judged(key: string, { action, rule }: ClusterVerdict, outcome: ClusterDecision['outcome']): void {
    if (action !== 'hold' || outcome === 'not-ours') this.#held.delete(key);
    else if (this.#held.has(key) || this.#held.size < MOST_HELD)
      this.#held.set(key, { rule, atMs: this.#now() });
  }

  byRule(): ReadonlyMap<string, number> {
    const since = this.#now() - TOLD_WITHIN_MS;
    for (const [key, { atMs }] of this.#held) if (atMs < since) this.#held.delete(key);
    const rules = [...this.#held.values()].map(({ rule }) => rule);
    return new Map([...Map.groupBy(rules, (rule) => rule)].map(([rule, { length }]) => [rule, length]));
  }
}

function factOf(event: FleetEvent | null) {
  switch (event?.type) {
    case 'fleetgc.cluster.ownership':
    case 'fleetgc.cluster.pods':
    case 'fleetgc.cluster.expiry':
      return event;
    default:
      return null;
  }
}
