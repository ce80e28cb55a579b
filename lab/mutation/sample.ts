import { type Mutant, sha256 } from './mutants.ts';

/** Another seed would be another sample. */
const SEED = 'fleetgc';

/**
 * So many mutants of a folder, the same in each run, as if by lot: what a change to one source does to its mutants leaves
 * those of the others where they are. Sentences are nobody's to judge, so none is drawn.
 */
export function sampled(mutants: readonly Mutant[], size: number): readonly Mutant[] {
  const drawable = mutants.filter(({ isSentence }) => !isSentence);
  if (size >= drawable.length) return mutants;
  const lotOf = new Map(drawable.map((mutant) => [mutant, sha256(`${SEED} ${mutant.key}`)]));
  const drawn = new Set(
    drawable.toSorted((a, b) => ((lotOf.get(a) ?? '') < (lotOf.get(b) ?? '') ? -1 : 1)).slice(0, size),
  );
  return mutants.filter((mutant) => drawn.has(mutant));
}
