import { z } from 'zod';
import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { SimulatedCluster } from '../../sim/api-server/cluster.ts';
import { type ApiObject, type Change, JOB, POD } from '../../sim/api-server/objects.ts';

const FOREGROUND = 'foregroundDeletion';
const SHOWN_WRONGS = 5;
const Reference = z.object({ uid: z.string(), blockOwnerDeletion: z.boolean().default(false) });
type Reference = z.infer<typeof Reference>;
const Job = z.object({
  spec: z.object({ ttlSecondsAfterFinished: z.number() }),
  status: z.object({ conditions: z.array(z.object({ type: z.string(), lastTransitionTime: z.string() })) }),
});
const EndedPod = z.object({ status: z.object({ phase: z.enum(['Succeeded', 'Failed']) }) });

interface Known {
  readonly change: Change;
  readonly references: readonly Reference[];
}

/**
 * What happened to a simulated cluster, judged apart from the product: what goes without people must have been called for by its
 * owners, its time or the number of ended pods, as they were at that moment on the server itself.
 */
export class ClusterTruth {
  /** The first ones in words. */
  readonly wrongs: string[] = [];
  wrong = 0;
  /** Objects that went, or lost a reference, without people. */
  removed = 0;
  dropped = 0;
  readonly #keptPods: number;
  readonly #nowMs: () => number;
  readonly #known = new Map<string, Known>();
  readonly #dependents = new Map<string, Set<string>>();
  readonly #endedPods = new Set<string>();
  #isByPeople = false;

  /** `keptPods`: of those that ended, as the policy says. */
  constructor(
    { store }: Pick<SimulatedCluster, 'store'>,
    { keptPods, nowMs }: { readonly keptPods: number; readonly nowMs: () => number },
  ) {
    this.#keptPods = keptPods;
    this.#nowMs = nowMs;
    store.onChange((change) => this.#see(change));
  }

  get objects(): number {
    return this.#known.size;
  }

  /** Done by somebody else than the collectors. */
  byPeople(deed: () => void): void {
    this.#isByPeople = true;
    try {
      deed();
    } finally {
      this.#isByPeople = false;
    }
  }

  /** What should have gone by now, or lost a reference, in words. */
  leftOver(): readonly string[] {
    const left = [...this.#known.values()].filter((known) => this.#isLeftOver(known)).map(wordsOf);
    const tooMany = this.#endedPods.size - this.#keptPods;
    return tooMany > 0 ? [...left, `${tooMany} ended pods too many`] : left;
  }

  #isLeftOver({ change: { object }, references }: Known): boolean {
    return isDeleting(object) || references.some(({ uid }) => this.#isGoing(uid)) || this.#isExpired(object);
  }

  #see(change: Change): void {
    const { uid } = change.object.metadata;
    const before = this.#known.get(uid);
    if (!this.#isByPeople && before !== undefined) this.#judge(before, change);
    if (change.type === 'DELETED') this.#forget(uid);
    else this.#learn(uid, change);
  }

  #judge(before: Known, change: Change): void {
    const isGone = change.type === 'DELETED';
    const wasDeleting = isDeleting(before.change.object);
    if (isGone) this.removed++;
    if (wasDeleting) {
      if (isGone && this.#isAwaited(before.change.object)) this.#blame(before, 'went before its dependents');
    } else if (isGone || isDeleting(change.object)) {
      const objection = this.#objectionTo(before);
      if (objection !== null) this.#blame(before, objection);
    } else this.#judgeReferences(before, change);
  }

  #judgeReferences(before: Known, { object }: Change): void {
    const left = referencesOf(object).map(({ uid }) => uid);
    const lost = before.references.filter(({ uid }) => !left.includes(uid));
    if (lost.length === 0) return;
    this.dropped++;
    if (lost.some(({ uid }) => !this.#isGoing(uid))) this.#blame(before, 'lost an owner that is there');
  }

  /** Why nothing called for it to go. */
  #objectionTo({ change: { object }, references }: Known): string | null {
    const { uid } = object.metadata;
    if (this.#isExpired(object)) return null;
    if (this.#endedPods.has(uid) && this.#endedPods.size > this.#keptPods) return null;
    if (references.length === 0) return 'has no owner';
    const held = references.filter((reference) => !this.#isGoing(reference.uid));
    return held.length === 0 ? null : `is held by ${held.map((each) => each.uid).join(' ')}`;
  }

  /** Not there, or waiting for its dependents. */
  #isGoing(uid: string): boolean {
    const owner = this.#known.get(uid);
    return owner === undefined || isWaiting(owner.change.object);
  }

  #isAwaited(object: ApiObject): boolean {
    if (!isWaiting(object)) return false;
    const { uid } = object.metadata;
    return [...(this.#dependents.get(uid) ?? [])].some((dependent) =>
      this.#known.get(dependent)?.references.some((each) => each.uid === uid && each.blockOwnerDeletion),
    );
  }

  #isExpired(object: ApiObject): boolean {
    if (object.kind !== JOB.kind) return false;
    const job = Job.safeParse(object);
    const finishedAt = job.data?.status.conditions[0]?.lastTransitionTime;
    if (job.data === undefined || finishedAt === undefined) return false;
    return Date.parse(finishedAt) + job.data.spec.ttlSecondsAfterFinished * 1_000 <= this.#nowMs();
  }

  #blame(known: Known, because: string): void {
    this.wrong++;
    if (this.wrongs.length < SHOWN_WRONGS) this.wrongs.push(`${wordsOf(known)} ${because}`);
  }

  #learn(uid: string, change: Change): void {
    this.#forget(uid);
    const references = referencesOf(change.object);
    this.#known.set(uid, { change, references });
    if (change.kind === POD && EndedPod.safeParse(change.object).success) this.#endedPods.add(uid);
    for (const owner of references) {
      const dependents = this.#dependents.get(owner.uid) ?? new Set();
      this.#dependents.set(owner.uid, dependents.add(uid));
    }
  }

  #forget(uid: string): void {
    for (const owner of this.#known.get(uid)?.references ?? []) {
      const dependents = this.#dependents.get(owner.uid);
      dependents?.delete(uid);
      if (dependents?.size === 0) this.#dependents.delete(owner.uid);
    }
    this.#known.delete(uid);
    this.#endedPods.delete(uid);
  }
}

const NO_REFERENCES: readonly Reference[] = [];
const referencesOf = ({ metadata: { ownerReferences } }: ApiObject): readonly Reference[] =>
  ownerReferences.length === 0
    ? NO_REFERENCES
    : ownerReferences.map((reference) => Reference.parse(reference));

const isDeleting = ({ metadata }: ApiObject): boolean => metadata.deletionTimestamp !== undefined;
const isWaiting = (object: ApiObject): boolean =>
  isDeleting(object) && object.metadata.finalizers.includes(FOREGROUND);

const wordsOf = ({ change: { kind, object } }: Known): string =>
  `${kindName(kind)} ${object.metadata.namespace ?? ''}/${object.metadata.name}`;
