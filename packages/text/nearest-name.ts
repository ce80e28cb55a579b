import { distance } from 'fastest-levenshtein';

const SHORT_WORD = 4;

/** The name that was probably meant by a word that is none of them; capitals do not count. */
export const nearestName = (word: string, names: Iterable<string>): string | undefined =>
  nearestNames(word, names, 1)[0];

/** At most so many names that may have been meant, the likeliest first. */
export function nearestNames(word: string, names: Iterable<string>, most: number): string[] {
  const allowed = word.length < SHORT_WORD ? 1 : Math.max(2, Math.floor(word.length / 4));
  return [...new Set(names)]
    .map((name) => ({ name, unlike: distance(word.toLowerCase(), name.toLowerCase()) }))
    .filter(({ unlike }) => unlike <= allowed)
    .toSorted((a, b) => a.unlike - b.unlike)
    .slice(0, most)
    .map(({ name }) => name);
}
