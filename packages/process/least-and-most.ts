/**
 * Of any number of numbers: `Math.min(...all)` takes each as an argument, and of more than a hundred thousand it fails for want of stack.
 * `Infinity` of none.
 */
export function leastOf(numbers: Iterable<number>): number {
  let least = Number.POSITIVE_INFINITY;
  for (const each of numbers) least = Math.min(least, each);
  return least;
}

/** As `leastOf`. `-Infinity` of none. */
export function mostOf(numbers: Iterable<number>): number {
  let most = Number.NEGATIVE_INFINITY;
  for (const each of numbers) most = Math.max(most, each);
  return most;
}
