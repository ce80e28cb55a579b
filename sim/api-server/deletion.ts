import type { ApiObject } from './objects.ts';

export const PROPAGATIONS = ['Background', 'Foreground', 'Orphan'] as const;
export type Propagation = (typeof PROPAGATIONS)[number];

const FINALIZERS: Readonly<Record<Propagation, readonly string[]>> = {
  Background: [],
  Foreground: ['foregroundDeletion'],
  Orphan: ['orphan'],
};
const OF_PROPAGATION: ReadonlySet<string> = new Set(Object.values(FINALIZERS).flat());

/**
 * What a deletion makes of the finalizers: those of others stay, and of the two for dependents the one that was asked for. Where
 * nothing is asked for, the one that is there counts.
 */
export function finalizersAfter(finalizers: readonly string[], asked: Propagation | null): readonly string[] {
  const others = finalizers.filter((each) => !OF_PROPAGATION.has(each));
  const own = asked === null ? finalizers.filter((each) => OF_PROPAGATION.has(each)) : FINALIZERS[asked];
  return [...others, ...own.slice(0, 1)];
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
