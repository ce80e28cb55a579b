import { z } from 'zod';
import { Verdict } from '../../../../schemas/events/decision.ts';
import { OBJECT_KINDS, ObjectKind, type ObjectList } from '../../../../schemas/events/object-kinds.ts';
import { objectKey } from '../../events/identity.ts';

const Identified = z.array(z.object({ id: z.string() }));
const Named = z.array(z.object({ name: z.string() }));

/** The names of all that a complete inventory lists; whether the rest of it is believable is for the deciders to say. */
export const ListedObjects = z.object({
  images: Identified,
  containers: Identified,
  sandboxes: Identified,
  podLogDirectories: Named.nullable().default(null),
  logSymlinks: Named.nullable().default(null),
} satisfies Readonly<Record<ObjectList, z.ZodType>>);
export type ListedObjects = z.infer<typeof ListedObjects>;

const nameOf = (entry: { readonly id: string } | { readonly name: string }): string =>
  'id' in entry ? entry.id : entry.name;

const RecordedVerdicts = z.object({
  verdicts: z.array(Verdict.pick({ kind: true, position: true, action: true })),
});

/** How many of each kind a decision says to remove; `null` where that cannot be read. */
export function removalCounts(decision: unknown): ReadonlyMap<string, number> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  if (record === undefined) return null;
  const removals = record.verdicts.filter(({ action }) => action === 'remove');
  return new Map(
    ObjectKind.options.map((kind) => [kind, removals.filter((one) => one.kind === kind).length]),
  );
}

/** What a decision says to remove of its inventory; `null` where either cannot be read. */
export function removableObjects(decision: unknown, inventory: unknown): ReadonlySet<string> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  const listed = ListedObjects.safeParse(inventory).data;
  if (record === undefined || listed === undefined) return null;
  const removable = new Set<string>();
  for (const { kind, position, action } of record.verdicts) {
    const entry = listed[OBJECT_KINDS[kind].list]?.[position];
    if (action === 'remove' && entry !== undefined) removable.add(objectKey({ kind, id: nameOf(entry) }));
  }
  return removable;
}
