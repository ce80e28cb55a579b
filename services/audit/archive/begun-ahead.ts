/**
 * What `begin` makes of each, in order; while one is used the next `ahead` are begun already. What was begun and is not used any
 * more is waited for and disposed of. `begin` may be called while another call of it is under way.
 */
export async function* begunAhead<Item, Begun extends Disposable>(
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
    for (const one of await Promise.allSettled(begun))
      if (one.status === 'fulfilled') one.value[Symbol.dispose]();
  }
}

async function* first<Begun extends Disposable>(begun: Promise<Begun>[]): AsyncGenerator<Begun, void> {
  const next = begun.shift();
  if (next === undefined) return;
  using used = await next;
  yield used;
}

/** A failure is told in its turn. */
function quietly<Value>(promise: Promise<Value>): Promise<Value> {
  promise.catch(() => undefined);
  return promise;
}
