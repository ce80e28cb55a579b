/**
 * What `begin` makes of each, in order; while one is used the next `ahead` are begun already. What was begun and is not used any
 * more is waited for. `begin` may be called while another call of it is under way.
 */
export async function* begunAhead<Item, Begun>(
  items: Iterable<Item>,
  ahead: number,
  begin: (item: Item) => Promise<Begun>,
): AsyncGenerator<Begun, void> {
  const begun: Promise<Begun>[] = [];
  try {
    for (const item of items) {
      begun.push(quietly(begin(item)));
      if (begun.length > ahead) yield* first(begun);
    }
    while (begun.length > 0) yield* first(begun);
  } finally {
    await Promise.allSettled(begun);
  }
}

async function* first<Begun>(begun: Promise<Begun>[]): AsyncGenerator<Begun, void> {
  const next = begun.shift();
  if (next !== undefined) yield await next;
}

/** A failure is told in its turn. */
function quietly<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}
