import type {
  ClusterEntryOf,
  ClusterTimelineEntry,
} from '../../../../schemas/reports/cluster-explanation.ts';

type Settled = ClusterEntryOf<'settled'>;

/**
 * Whether a result tells of the deletion of which the agent tells too. All of it is found out in one pass: any account that may write facts can
 * have an object gone as often as a log has room.
 */
export class DeletionsAround {
  /** By place, that of the next deletion, from this one on; the length where there is none. */
  readonly #next: readonly number[];
  /** By place, when the newest candidate was taken that comes before that deletion, from this place on. */
  readonly #newestMs: readonly number[];

  /** In their order. */
  constructor(all: readonly ClusterTimelineEntry[]) {
    const next = [all.length];
    const newestMs = [0];
    for (const [index, entry] of all.toReversed().entries()) {
      const isDeleted = isDeletion(entry);
      const takenMs = entry.what === 'candidate' ? (entry.clusterTimeMs ?? 0) : 0;
      next.push(isDeleted ? all.length - 1 - index : (next.at(-1) ?? all.length));
      newestMs.push(isDeleted ? 0 : Math.max(takenMs, newestMs.at(-1) ?? 0));
    }
    this.#next = next.toReversed();
    this.#newestMs = newestMs.toReversed();
  }

  /** The agent may see it go before the executor tells so: until it is told again, a result tells of the same deletion. */
  has(settled: Settled, { place, begin }: { readonly place: number; readonly begin: number }): boolean {
    const deletion = this.#next[begin] ?? 0;
    if (deletion === this.#next.at(-1)) return false;
    return deletion < place || (this.#newestMs[place + 1] ?? 0) <= (settled.clusterTimeMs ?? 0);
  }
}

const isDeletion = (entry: ClusterTimelineEntry): boolean =>
  entry.what === 'result' && (entry.outcome === 'removed' || entry.outcome === 'accepted');
