/** `Promise.all` over `items` with at most `limit` calls at a time; results in the order of `items`. */
export async function mapBounded<Item, Result>(
  items: readonly Item[],
  limit: number,
  call: (item: Item) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  // One iterator for all workers: each takes the next item that nobody has.
  const queue = items.entries();
  const work = async () => {
    for (const [position, item] of queue) results[position] = await call(item);
  };
  await Promise.all(Array.from({ length: limit }, work));
  return results;
}
