import { MAX_POD_CANDIDATES, type PodCandidate } from '../../../../schemas/events/pods.ts';
import { LONG_FACT_CHARACTERS } from '../long-fact.ts';

interface Told {
  readonly fingerprint: string;
  readonly atMs: number;
}

/** Told again after so long, so that what was lost or has expired heals. */
const AGAIN_AFTER_MS = 600_000;

/** Which pods were told, so that nothing is told again that has not changed. */
export class ToldPods {
  readonly #told = new Map<string, Told>();
  /** Whether the cluster counted as restored then. */
  #isRestored = false;

  get size(): number {
    return this.#told.size;
  }

  /** All of it is news again: something else may be decided of it. */
  forget(): void {
    this.#told.clear();
  }

  /**
   * Of those that are due what is news, which counts as told: as many as one fact holds, and of more those that wait longest. After a
   * restore, and when it is over, all of it is news.
   */
  take(due: readonly PodCandidate[], nowMs: number, isRestored: boolean): readonly PodCandidate[] {
    if (isRestored !== this.#isRestored) this.forget();
    this.#isRestored = isRestored;
    const uids = new Set(due.map(({ object }) => object.uid));
    for (const uid of this.#told.keys()) if (!uids.has(uid)) this.#told.delete(uid);
    const news = ofOneFact(
      due
        .filter((pod) => this.#isNews(pod, nowMs))
        .toSorted((one, other) => this.#toldAtMs(one) - this.#toldAtMs(other)),
    );
    for (const pod of news) this.#told.set(pod.object.uid, { fingerprint: fingerprintOf(pod), atMs: nowMs });
    return news;
  }

  #isNews(pod: PodCandidate, nowMs: number): boolean {
    const told = this.#told.get(pod.object.uid);
    return (
      told === undefined || told.fingerprint !== fingerprintOf(pod) || nowMs - told.atMs >= AGAIN_AFTER_MS
    );
  }

  #toldAtMs({ object }: PodCandidate): number {
    return this.#told.get(object.uid)?.atMs ?? -1;
  }
}

function ofOneFact(pods: readonly PodCandidate[]): readonly PodCandidate[] {
  const taken: PodCandidate[] = [];
  let characters = 0;
  for (const pod of pods) {
    if (taken.length >= MAX_POD_CANDIDATES || characters >= LONG_FACT_CHARACTERS) break;
    taken.push(pod);
    characters += JSON.stringify(pod).length;
  }
  return taken;
}

/** Differs when a decision may differ: a newer resourceVersion alone is no news, nor that a node is missing for longer. */
function fingerprintOf({ object, phase, graceSeconds, node }: PodCandidate): string {
  const { deletionTimestamp, finalizers, keptBy } = object;
  const place = node.state === 'missing' ? [node.state, node.name] : node;
  return JSON.stringify([phase, graceSeconds, deletionTimestamp, finalizers, keptBy, place]);
}
