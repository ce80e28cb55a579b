import { z } from 'zod';
import type { ClusterCommandItem } from '../../../../schemas/events/cluster-command.ts';
import { ClusterVerdict } from '../../../../schemas/events/cluster-decision.ts';

const RecordedVerdicts = z.object({
  verdicts: z.array(ClusterVerdict.pick({ position: true, action: true })),
});
const ListedCandidates = z.object({
  candidates: z.array(z.object({ object: z.object({ uid: z.string(), resourceVersion: z.string() }) })),
});

const nameOf = (action: string, object: { readonly uid: string; readonly resourceVersion: string }): string =>
  `${action} ${object.uid} of version ${object.resourceVersion}`;

/** An item of a command as it has to be decided. */
export const itemName = ({ act, object }: ClusterCommandItem): string => nameOf(act.action, object);

/** How often a decision says to do what; `null` where that cannot be read. */
export function actionCounts(decision: unknown): ReadonlyMap<string, number> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  if (record === undefined) return null;
  const counts = new Map<string, number>();
  for (const { action } of record.verdicts) counts.set(action, (counts.get(action) ?? 0) + 1);
  return counts;
}

/** What a decision says to do about the candidates of its fact; `null` where either cannot be read. */
export function decidedActions(decision: unknown, fact: unknown): ReadonlySet<string> | null {
  const record = RecordedVerdicts.safeParse(decision).data;
  const listed = ListedCandidates.safeParse(fact).data;
  if (record === undefined || listed === undefined) return null;
  return new Set(
    record.verdicts.flatMap(({ position, action }) => {
      const candidate = listed.candidates[position];
      return candidate === undefined ? [] : [nameOf(action, candidate.object)];
    }),
  );
}
