import { distance } from 'fastest-levenshtein';

const SHORT_WORD = 4;

/** The name that was probably meant by a word that is none of them; capitals do not count. */
export function nearestName(word: string, names: Iterable<string>): string | undefined {
  const unlike = (name: string): number => distance(word.toLowerCase(), name.toLowerCase());
  const [nearest] = [...names].toSorted((a, b) => unlike(a) - unlike(b));
  const allowed = word.length < SHORT_WORD ? 1 : Math.max(2, Math.floor(word.length / 4));
  return nearest !== undefined && unlike(nearest) <= allowed ? nearest : undefined;
}
