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
  if (!isInOrder(object)) return sortedCopy(object, ordering);
  for (const key in object) {
    const ordered = orderedValue(object[key], ordering);
    if (ordered !== object[key]) return copyFrom(object, { key, ordered }, ordering);
  }
  return object;
}

/** A loop over names makes no list of them, which is most of what a list in order would cost. */
function isInOrder(object: JsonObject): boolean {
  let before = '';
  for (const key in object) {
    if (key < before) return false;
    before = key;
  }
  return true;
}

function sortedCopy(object: JsonObject, ordering: Ordering): JsonObject {
  const keys = Object.keys(object).sort();
  const copy: Record<string, unknown> = {};
  for (const key of keys) copy[key] = orderedValue(object[key], ordering);
  ordering.isPossible &&= isMadeOf(copy, keys.length);
  return copy;
}

/** A copy of what is in order but for members of its members; those before `first` were looked at, and are. */
function copyFrom(
  object: JsonObject,
  first: { readonly key: string; readonly ordered: unknown },
  ordering: Ordering,
): JsonObject {
  const keys = Object.keys(object);
  const at = keys.indexOf(first.key);
  const copy: Record<string, unknown> = {};
  for (const key of keys.slice(0, at)) copy[key] = object[key];
  copy[first.key] = first.ordered;
  for (const key of keys.slice(at + 1)) copy[key] = orderedValue(object[key], ordering);
  ordering.isPossible &&= isMadeOf(copy, keys.length);
  return copy;
}

/** Also one named `__proto__` would not be there. */
const isMadeOf = (copy: JsonObject, members: number): boolean =>
  Object.keys(copy).length === members && isInOrder(copy);
