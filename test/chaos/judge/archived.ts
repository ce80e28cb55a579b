import type { Evidence, Violation } from './evidence.ts';

/** What somebody archived is in the archive once, whatever ended him in the middle, and as it was written. */
export function archived({ archive, played, log }: Evidence): readonly Violation[] {
  if (archive === null || played.some(({ fault }) => fault.kind === 'topic-anew')) return [];
  const counts = new Map<string, number>();
  for (const place of archive.places) counts.set(place, (counts.get(place) ?? 0) + 1);
  const doubled = [...counts].filter(([, count]) => count > 1).map(([place]) => place);
  const missing = log.places.filter((place) => !counts.has(place));
  return [
    ...archive.problems,
    ...told('in the archive more than once', doubled),
    ...told('on the log and not in the archive', missing),
  ].map((text) => ({ invariant: 'archive', node: 'fleet', text }));
}

const SHOWN = 10;

const told = (what: string, places: readonly string[]): readonly string[] =>
  places.length === 0 ? [] : [`${places.length} records are ${what}: ${places.slice(0, SHOWN).join(', ')}`];
