import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { mayHaveBrokenText } from '../../schemas/events/broken-texts.ts';

export const sha256Hex = (bytes: string | Uint8Array): string => hash('sha256', bytes, 'hex');

const hashesOfValues = new WeakMap<Buffer, string>();

/** Of the bytes of a record, which nobody changes: who verifies its signature and who decides on it need the same. */
export function valueSha256(value: Buffer): string {
  const known = hashesOfValues.get(value) ?? sha256Hex(value);
  hashesOfValues.set(value, known);
  return known;
}

/** RFC 8785: equal values give equal bytes. Values that JSON cannot carry are a fault of the caller. */
export function canonicalJson(value: unknown): string {
  // Numbers and texts are written as the RFC says by every JSON.stringify, which is three times as fast as the library.
  const ordered = inKeyOrder(value);
  const quick = ordered === undefined ? undefined : JSON.stringify(ordered);
  const text = quick === undefined || mayHaveBrokenText(quick) ? canonicalize(value) : quick;
  if (text === undefined) throw new TypeError('value has no JSON form');
  return text;
}

export const contentHash = (value: unknown): string => sha256Hex(canonicalJson(value));

/** An id that depends on its inputs alone, so a redelivered input gives the same one: `<prefix>-<32 hexadecimal digits>`. */
export const deriveId = (prefix: string, ...inputs: readonly string[]): string =>
  `${prefix}-${sha256Hex(JSON.stringify(inputs)).slice(0, 32)}`;

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
