import { z } from 'zod';
import type { ObjectKind } from '../../../schemas/events/command.ts';
import { Verdict } from '../../../schemas/events/decision.ts';

/** Kind and id of an object, as one text. */
export const objectName = ({ kind, id }: { readonly kind: string; readonly id: string }): string =>
  `${kind} ${id}`;

const Identified = z.array(z.object({ id: z.string() }));
const Named = z.array(z.object({ name: z.string() }));

/** The names of all that a complete inventory lists; whether the rest of it is believable is for the deciders to say. */
export const ListedObjects = z.object({
  images: Identified,
  containers: Identified,
  sandboxes: Identified,
  podLogDirectories: Named.nullable().default(null),
  logSymlinks: Named.nullable().default(null),
});
export type ListedObjects = z.infer<typeof ListedObjects>;

const nameOf = (entry: { readonly id: string } | { readonly name: string }): string =>
  'id' in entry ? entry.id : entry.name;

const Verdicts = z.array(Verdict.pick({ position: true, action: true })).default([]);
const RecordedVerdicts = z.object({
  verdicts: z.object({
    images: Verdicts,
    containers: Verdicts,
    sandboxes: Verdicts,
    podLogDirectories: Verdicts,
    logSymlinks: Verdicts,
  }),
});

const LISTS = [
  ['images', 'image'],
  ['containers', 'container'],
  ['sandboxes', 'sandbox'],
  ['podLogDirectories', 'pod-log-directory'],
  ['logSymlinks', 'log-symlink'],
] as const satisfies readonly (readonly [keyof ListedObjects, ObjectKind])[];

/** How many of each kind a decision says to remove; `null` where that cannot be read. */
export function removalCounts(decision: unknown): ReadonlyMap<string, number> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  if (record === undefined) return null;
  const removals = (list: keyof ListedObjects): number =>
    record.verdicts[list].filter(({ action }) => action === 'remove').length;
  return new Map(LISTS.map(([list, kind]) => [kind, removals(list)]));
}

/** What a decision says to remove of its inventory; `null` where either cannot be read. */
export function removableObjects(decision: unknown, inventory: unknown): ReadonlySet<string> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  const listed = ListedObjects.safeParse(inventory).data;
  if (record === undefined || listed === undefined) return null;
  const removable = new Set<string>();
  for (const [list, kind] of LISTS)
    for (const { position, action } of record.verdicts[list]) {
      const entry = listed[list]?.[position];
      if (action === 'remove' && entry !== undefined) removable.add(objectName({ kind, id: nameOf(entry) }));
    }
  return removable;
}
