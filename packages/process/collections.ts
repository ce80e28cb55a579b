/** Adds to the list under a key, in the time of one item. To copy the list for each takes time in the square of its length. */
export function addUnder<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [item]);
  else known.push(item);
}

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
