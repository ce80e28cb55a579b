/** Counts equal things: the key tells them apart, the thing is kept as it came first. */
export function createCounts<Thing>(keyOf: (thing: Thing) => string) {
  const counted = new Map<string, { readonly thing: Thing; count: number }>();
  return {
    add: (thing: Thing): void => {
      const key = keyOf(thing);
      const known = counted.get(key);
      if (known === undefined) counted.set(key, { thing, count: 1 });
      else known.count++;
    },
    /** The most frequent first, equals by their keys. */
    mostFirst: (): readonly { readonly thing: Thing; readonly count: number }[] =>
      [...counted]
        .toSorted(([a, first], [b, second]) => second.count - first.count || (a < b ? -1 : 1))
        .map(([, entry]) => entry),
  };
}
