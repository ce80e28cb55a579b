import { type ClusterObject, kindName } from '../../schemas/events/cluster-objects.ts';
import type { ManifestLeftOut } from '../../schemas/events/cluster-removed.ts';
import { type CreatableManifest, creatableManifest } from './creatable.ts';
import { inCreationOrder } from './creation-order.ts';
import type { KeptObject, ReadRemoved } from './read-removed.ts';

/** Why of an object nothing is printed. */
export type LeftOutBecause =
  | ManifestLeftOut
  /** It went, and nothing was kept before. */
  | 'not-kept'
  /** Its deletion was refused. */
  | 'stayed'
  /** Another object that had its name went after it. */
  | 'name-taken'
  /** What lies on the log is no manifest of it. */
  | 'unreadable';

export interface LeftOut {
  readonly object: ClusterObject;
  readonly because: LeftOutBecause;
}

/** An object that can be created again. */
export interface Creatable {
  readonly clusterInstance: string;
  readonly object: ClusterObject;
  readonly manifest: CreatableManifest;
  readonly keptAtMs: number;
  readonly hadOwners: boolean;
  /** Whether a result says that it went; `false` also where its deletion failed in a way that leaves it open. */
  readonly isToldGone: boolean;
  /** It was deleted later than it was kept, when nothing was kept. */
  readonly isEarlierState: boolean;
}

export interface Undone {
  /** In an order in which they can be created. */
  readonly creatable: readonly Creatable[];
  readonly leftOut: readonly LeftOut[];
}

/** What can be created again of what was read, and why the rest cannot. */
export function undone({ kept, unkept }: ReadRemoved): Undone {
  const went = kept.filter(({ fate }) => fate !== 'stayed');
  const last = new Map(went.map((each) => [placeOf(each), each]));
  const leftOut: LeftOut[] = unkept.map((object) => ({ object, because: 'not-kept' }));
  const creatable: Creatable[] = [];
  for (const each of inCreationOrder(kept)) {
    const made = creatableOf(each, last.get(placeOf(each)) === each);
    if (typeof made === 'string') leftOut.push({ object: each.removed.object, because: made });
    else creatable.push(made);
  }
  return { creatable, leftOut };
}

/** Whatever its version: of two objects of one place only one can be there. */
const placeOf = ({ removed: { object } }: KeptObject): string =>
  JSON.stringify([kindName(object), object.namespace, object.name]);

function creatableOf(
  { removed, fate, keptAtMs, isEarlierState }: KeptObject,
  isLast: boolean,
): Creatable | LeftOutBecause {
  const { clusterInstance, object, kept, owners } = removed;
  if (fate === 'stayed') return 'stayed';
  if (kept.as === 'name') return kept.because;
  if (!isLast) return 'name-taken';
  const manifest = creatableManifest(object, kept.manifest);
  if (manifest === null) return 'unreadable';
  return {
    clusterInstance,
    object,
    manifest,
    keptAtMs,
    hadOwners: owners.length > 0,
    isToldGone: fate === 'went',
    isEarlierState,
  };
}
