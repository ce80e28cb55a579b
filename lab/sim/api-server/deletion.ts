import type { ApiKind } from '../../../packages/kube-api/resources.ts';
import { EVENT, JOB, REPLICATION_CONTROLLER } from './kinds.ts';
import type { ApiObject } from './objects.ts';

export const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const;
export type Propagation = (typeof PROPAGATIONS)[number];

const FINALIZERS: Readonly<Record<Propagation, readonly string[]>> = {
  Background: [],
  Foreground: ['foregroundDeletion'],
  Orphan: ['orphan'],
};
const OF_PROPAGATION: ReadonlySet<string> = new Set(Object.values(FINALIZERS).flat());

const ORPHANING: ReadonlySet<ApiKind> = new Set([REPLICATION_CONTROLLER, JOB]);
/** They own nothing, so nobody waits for what they own. */
const ALWAYS_AT_ONCE: ReadonlySet<ApiKind> = new Set([EVENT]);

/**
 * What a deletion makes of the finalizers: those of others stay, and of the two for dependents the one that was asked for. Where
 * nothing is asked for, the one that is there counts, and without one the kind (cluster G1, G2, G3).
 */
export function finalizersAfter(
  { metadata: { finalizers } }: ApiObject,
  kind: ApiKind,
  asked: Propagation | null,
): readonly string[] {
  const others = finalizers.filter((each) => !OF_PROPAGATION.has(each));
  if (ALWAYS_AT_ONCE.has(kind)) return others;
  const own = finalizers.find((each) => OF_PROPAGATION.has(each));
  if (asked === null && own !== undefined) return [...others, own];
  return [...others, ...FINALIZERS[asked ?? (ORPHANING.has(kind) ? 'Orphan' : 'Background')]];
}

/** Whether a deleted object has to wait for somebody. */
export const isHeld = (object: ApiObject): boolean =>
  object.metadata.finalizers.length > 0 || object.kind === 'Namespace';

/** What was deleted and waits for nobody any more. */
export const isOver = (object: ApiObject): boolean =>
  object.metadata.deletionTimestamp !== undefined && !isHeld(object);

/** Once it is being deleted, finalizers may only be taken away. */
export const addsFinalizer = (before: ApiObject, after: ApiObject): boolean =>
  before.metadata.deletionTimestamp !== undefined &&
  after.metadata.finalizers.some((each) => !before.metadata.finalizers.includes(each));
