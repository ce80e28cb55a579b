import type { TrueObject, TrueReference, TruthLine } from '../truth.ts';

/** What was there at one moment, by uid. */
export type Objects = ReadonlyMap<string, TrueObject>;

/** What a request of the product did to one object. */
export interface Deed {
  readonly atMs: number;
  readonly kind: 'deleted' | 'finished' | 'changed';
  readonly before: TrueObject;
  /** `null` for what is gone. */
  readonly after: TrueObject | null;
  /** As all was right before. */
  readonly there: Objects;
  /** Owners that went so that their dependents stay, and since when that was wanted. */
  readonly orphaned: ReadonlyMap<string, number>;
  /** Most pods that had ended, a while before. */
  readonly endedPods: number;
}

export interface World {
  readonly deeds: readonly Deed[];
  /** As all was at the end. */
  readonly there: Objects;
  /** Objects as they were seen last, also those that went. */
  readonly ever: Objects;
  readonly orphaned: ReadonlyMap<string, number>;
  /** How often an object went, by whosever hand. */
  readonly went: ReadonlyMap<string, number>;
  /** When the cluster came back in an older state. */
  readonly restoredMs: readonly number[];
}

/** Pods are looked at so often; what was counted may be so old, and a decision later than that. */
const COUNTED_MS = 60_000;

/** Replays what happened at the API server. */
export function worldOf(truth: readonly TruthLine[]): World {
  const replay = new Replay();
  for (const line of truth)
    if (line.kind === 'restored') replay.restore(line);
    else replay.change(line);
  return replay;
}

type Line<Kind extends TruthLine['kind']> = Extract<TruthLine, { readonly kind: Kind }>;
type Change = Line<'is'> | Line<'gone'>;

class Replay implements World {
  readonly deeds: Deed[] = [];
  readonly there = new Map<string, TrueObject>();
  readonly ever = new Map<string, TrueObject>();
  readonly orphaned = new Map<string, number>();
  readonly went = new Map<string, number>();
  readonly restoredMs: number[] = [];
  readonly #ended: { readonly atMs: number; readonly count: number }[] = [];

  restore({ atMs, objects }: Line<'restored'>): void {
    if (this.there.size > 0) this.restoredMs.push(atMs);
    this.there.clear();
    for (const object of objects) this.#see(object);
  }

  change(line: Change): void {
    const { object, atMs } = line;
    const before = this.there.get(object.uid);
    if (line.by === 'product' && before) this.#note(before, line);
    this.#see(object);
    if (line.kind === 'gone') this.#remove(object);
    else noteWish(this.orphaned, line);
    if (object.kind === 'Pod') this.#ended.push({ atMs, count: endedIn(this.there) });
  }

  #see(object: TrueObject): void {
    this.there.set(object.uid, object);
    this.ever.set(object.uid, object);
  }

  #remove({ uid }: TrueObject): void {
    this.there.delete(uid);
    this.went.set(uid, (this.went.get(uid) ?? 0) + 1);
  }

  #note(before: TrueObject, line: Change): void {
    const kind = kindOf(before, line);
    if (kind === null) return;
    // As many as before the time looked at, until the first change in it.
    const lastBefore = this.#ended.findLastIndex(({ atMs }) => atMs < line.atMs - COUNTED_MS);
    const counted = this.#ended.slice(Math.max(0, lastBefore));
    this.deeds.push({
      atMs: line.atMs,
      kind,
      before,
      after: line.kind === 'is' ? line.object : null,
      there: new Map(this.there),
      orphaned: new Map(this.orphaned),
      endedPods: Math.max(0, ...counted.map(({ count }) => count)),
    });
  }
}

const endedIn = (there: Objects): number => [...there.values()].filter(({ isEnded }) => isEnded).length;

/** Who deletes an owner once more, in another way, has changed his mind. */
function noteWish(
  orphaned: Map<string, number>,
  { atMs, object: { uid, isDeleting, finalizers } }: Change,
): void {
  if (!isDeleting) return;
  if (finalizers.includes('orphan')) orphaned.set(uid, orphaned.get(uid) ?? atMs);
  else if (finalizers.includes('foregroundDeletion')) orphaned.delete(uid);
}

/** A pod is marked first and goes at once. */
function kindOf(before: TrueObject, { kind, object }: Change): Deed['kind'] | null {
  if (!before.isDeleting) return kind === 'gone' || object.isDeleting ? 'deleted' : 'changed';
  return object.kind === 'Pod' && kind === 'gone' ? null : 'finished';
}

export type Hold = 'holds' | 'elsewhere' | 'waits' | 'orphans' | 'gone' | 'left-behind';

/** What a reference comes to: whether what it names is there, as it says. */
export function holdOf(
  { namespace }: TrueObject,
  reference: TrueReference,
  { there, orphaned }: Pick<World, 'there' | 'orphaned'>,
): Hold {
  const owner = there.get(reference.uid);
  if (owner === undefined) return orphaned.has(reference.uid) ? 'left-behind' : 'gone';
  const isAsSaid =
    owner.group === reference.group && owner.kind === reference.kind && owner.name === reference.name;
  if (!isAsSaid || (owner.namespace !== '' && owner.namespace !== namespace)) return 'elsewhere';
  if (!owner.isDeleting) return 'holds';
  if (owner.finalizers.includes('orphan')) return 'orphans';
  return owner.finalizers.includes('foregroundDeletion') ? 'waits' : 'holds';
}

export const textOf = ({ kind, namespace, name, uid }: TrueObject): string =>
  `${kind} ${namespace === '' ? '' : `${namespace}/`}${name} (${uid})`;
