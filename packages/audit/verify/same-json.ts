/**
 * Whether two values have the same canonical JSON (RFC 8785): the order of members plays no part, and one that is `undefined`
 * is none. Comparing them is quicker than writing them both.
 */
export function sameJson(a: unknown, b: unknown): boolean {
  if (a === b) return true;
  if (!isObject(a) || !isObject(b)) return false;
  if (!Array.isArray(a) || !Array.isArray(b))
    return !Array.isArray(a) && !Array.isArray(b) && sameMembers(a, b);
  return a.length === b.length && a.every((item, at) => sameJson(item, b[at]));
}

function sameMembers(a: JsonObject, b: JsonObject): boolean {
  const [named, other] = [Object.keys(a), Object.keys(b)];
  return sameNames(named, other)
    ? named.every((name) => sameJson(a[name], b[name]))
    : sameInAnyOrder(named, other, { a, b });
}

/** As it is with what was written by the same program. */
function sameNames(named: readonly string[], other: readonly string[]): boolean {
  return named.length === other.length && named.every((name, at) => name === other[at]);
}

/** Own ones alone: a record may have a member of any name, also of one that every object inherits. */
function sameInAnyOrder(
  named: readonly string[],
  other: readonly string[],
  { a, b }: { readonly a: JsonObject; readonly b: JsonObject },
): boolean {
  let more = 0;
  for (const name of named) {
    if (a[name] === undefined) continue;
    if (!Object.hasOwn(b, name) || !sameJson(a[name], b[name])) return false;
    more += 1;
  }
  for (const name of other) if (b[name] !== undefined) more -= 1;
  return more === 0;
}

type JsonObject = Readonly<Record<string, unknown>>;

const MOST_TEXT = 60;

/** The first place at which two values differ, for people: `verdicts.images.3.rule is "D10" and not "D8"`. */
export function firstDifference(found: unknown, expected: unknown): string {
  const path: string[] = [];
  let [a, b] = [found, expected];
  for (let key = differingKey(a, b); key !== null; key = differingKey(a, b)) {
    path.push(key);
    [a, b] = [member(a, key), member(b, key)];
  }
  return `${path.join('.') || 'it'} is ${short(a)} and not ${short(b)}`;
}

/** `null` where they are not both objects or both lists: then they differ as a whole. */
function differingKey(a: unknown, b: unknown): string | null {
  if (!isObject(a) || !isObject(b) || Array.isArray(a) !== Array.isArray(b)) return null;
  const keys = new Set([...Object.keys(b), ...Object.keys(a)]);
  return [...keys].find((key) => !sameJson(member(a, key), member(b, key))) ?? null;
}

const isObject = (value: unknown): value is JsonObject => typeof value === 'object' && value !== null;

const member = (value: unknown, key: string): unknown =>
  isObject(value) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`;
}
