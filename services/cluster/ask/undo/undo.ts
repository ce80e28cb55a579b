import { type ClusterObject, kindName } from '../../../../schemas/events/cluster-objects.ts';
import type { ManifestLeftOut } from '../../../../schemas/events/cluster-removed.ts';
import { type CreatableManifest, creatableManifest } from './creatable.ts';
import { inCreationOrder } from './creation-order.ts';
import type { ReadRemoved, SavedObject } from './read-removed.ts';

/** Why of an object nothing is printed. */
export type LeftOutBecause =
  | ManifestLeftOut
  /** It went, and nothing was saved before. */
  | 'not-saved'
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
  readonly savedAtMs: number;
  readonly hadOwners: boolean;
  /** Whether a result says that it went; `false` also where its deletion failed in a way that leaves it open. */
  readonly isToldGone: boolean;
  /** It was deleted later than it was saved, when nothing was saved. */
  readonly isEarlierState: boolean;
}

export interface Undone {
  /** In an order in which they can be created. */
  readonly creatable: readonly Creatable[];
  readonly leftOut: readonly LeftOut[];
}

/** What can be created again of what was read, and why the rest cannot. */
export function undone({ saved, unsaved }: ReadRemoved): Undone {
  const went = saved.filter(({ fate }) => fate !== 'stayed');
  const last = new Map(went.map((each) => [placeOf(each), each]));
  const leftOut: LeftOut[] = unsaved.map((object) => ({ object, because: 'not-saved' }));
  const creatable: Creatable[] = [];
  for (const each of inCreationOrder(saved)) {
    const made = creatableOf(each, last.get(placeOf(each)) === each);
    if (typeof made === 'string') leftOut.push({ object: each.removed.object, because: made });
    else creatable.push(made);
  }
  return { creatable, leftOut };
}

/** Whatever its version: of two objects of one place only one can be there. */
const placeOf = ({ removed: { object } }: SavedObject): string =>
  JSON.stringify([kindName(object), object.namespace, object.name]);

function creatableOf(
  { removed, fate, savedAtMs, isEarlierState }: SavedObject,
  isLast: boolean,
): Creatable | LeftOutBecause {
  const { clusterInstance, object, saved, owners } = removed;
  if (fate === 'stayed') return 'stayed';
  if (saved.as === 'name') return saved.because;
  if (!isLast) return 'name-taken';
  const manifest = creatableManifest(object, saved.manifest);
  if (manifest === null) return 'unreadable';
  return {
    clusterInstance,
    object,
    manifest,
    savedAtMs,
    hadOwners: owners.length > 0,
    isToldGone: fate === 'went',
    isEarlierState,
  };
}
