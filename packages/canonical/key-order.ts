type JsonObject = Readonly<Record<string, unknown>>;

/** Finds out on the way whether the order can be had at all. */
interface Ordering {
  isPossible: boolean;
}

/**
 * A value whose members `JSON.stringify` writes in the order of RFC 8785, by UTF-16 code units; what is in order already is
 * not copied. `undefined` where no object can have that order: members named like places of a list come first, by their
 * number, whatever one does.
 */
export function inKeyOrder(value: unknown): unknown {
  const ordering = { isPossible: true };
  const ordered = orderedValue(value, ordering);
  return ordering.isPossible ? ordered : undefined;
}

function orderedValue(value: unknown, ordering: Ordering): unknown {
  if (typeof value === 'number' && !Number.isFinite(value)) throw new TypeError(`${value} has no JSON form`);
  if (Array.isArray(value)) return orderedList(value, ordering);
  return isObject(value) ? orderedObject(value, ordering) : value;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

function orderedList(list: readonly unknown[], ordering: Ordering): readonly unknown[] {
  let copy: unknown[] | null = null;
  for (let at = 0; at < list.length; at += 1) {
    const ordered = orderedValue(list[at], ordering);
    if (copy === null && ordered !== list[at]) copy = list.slice(0, at);
    copy?.push(ordered);
  }
  return copy ?? list;
}

function orderedObject(object: JsonObject, ordering: Ordering): JsonObject {
  const keys = Object.keys(object);
  let copy: Record<string, unknown> | null = null;
  if (!isSorted(keys)) {
    keys.sort();
    copy = {};
  }
  for (const key of keys) {
    const ordered = orderedValue(object[key], ordering);
    if (copy === null && ordered !== object[key]) copy = membersBefore(key, object);
    if (copy !== null) copy[key] = ordered;
  }
  if (copy !== null) ordering.isPossible &&= isMadeOf(copy, keys);
  return copy ?? object;
}

function membersBefore(end: string, object: JsonObject): Record<string, unknown> {
  const copy: Record<string, unknown> = {};
  for (const key of Object.keys(object)) {
    if (key === end) break;
    copy[key] = object[key];
  }
  return copy;
}

/** Also one named `__proto__` would not be there. */
function isMadeOf(copy: JsonObject, keys: readonly string[]): boolean {
  const there = Object.keys(copy);
  return there.length === keys.length && isSorted(there);
}

function isSorted(keys: readonly string[]): boolean {
  for (let at = 1; at < keys.length; at += 1) if (!isBefore(keys[at - 1], keys[at])) return false;
  return true;
}

const isBefore = (a: string | undefined, b: string | undefined): boolean =>
  a !== undefined && b !== undefined && a < b;
