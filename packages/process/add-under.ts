/** Adds to the list under a key, in the time of one item. To copy the list for each takes time in the square of its length. */
export function addUnder<Key, Item>(lists: Map<Key, Item[]>, key: Key, item: Item): void {
  const known = lists.get(key);
  if (known === undefined) lists.set(key, [item]);
  else known.push(item);
}
