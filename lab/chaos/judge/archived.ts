import type { ArchiveEvidence, Violation } from './evidence.ts';

/** What a round of any kind tells of its archive. */
export interface Archived {
  readonly archive: ArchiveEvidence | null;
  readonly played: readonly { readonly fault: { readonly kind: string } }[];
  readonly log: { readonly places: readonly string[] };
}

/**
 * What somebody archived is in the archive as often as on the log, whatever ended him in the middle, and as it was
 * written. A broker whose disk ran full can come back with two records of one offset, which is the broker's doing.
 */
export function archived({ archive, played, log }: Archived): readonly Violation[] {
  if (
    archive === null ||
    played.some(({ fault }) => fault.kind === 'topic-anew' || fault.kind === 'keys-lost')
  )
    return [];
  const counts = countsOf(archive.places);
  const onLog = countsOf(log.places);
  const doubled = [...counts].filter(([place, count]) => count > (onLog.get(place) ?? 1));
  const missing = [...onLog].filter(([place]) => !counts.has(place));
  return [
    ...archive.problems,
    ...told('in the archive more often than on the log', doubled),
    ...told('on the log and not in the archive', missing),
  ].map((text) => ({ invariant: 'archive', node: 'fleet', text }));
}

const SHOWN = 10;

function countsOf(places: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const place of places) counts.set(place, (counts.get(place) ?? 0) + 1);
  return counts;
}

const told = (
  what: string,
  counts: readonly (readonly [place: string, count: number])[],
): readonly string[] => {
  const shown = counts.slice(0, SHOWN).map(([place]) => place);
  return counts.length === 0 ? [] : [`${counts.length} records are ${what}: ${shown.join(', ')}`];
};
