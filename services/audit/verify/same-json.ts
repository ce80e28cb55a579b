import { isDeepStrictEqual } from 'node:util';
import { canonicalJson } from '../../shared/ids.ts';

/** Whether two values have the same canonical JSON (RFC 8785). Comparing them is quicker than writing them both. */
export const sameJson = (a: unknown, b: unknown): boolean =>
  isDeepStrictEqual(a, b) || canonicalJson(a) === canonicalJson(b);

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
  return [...keys].find((key) => !isDeepStrictEqual(member(a, key), member(b, key))) ?? null;
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

const member = (value: unknown, key: string): unknown =>
  isObject(value) ? Object.getOwnPropertyDescriptor(value, key)?.value : undefined;

function short(value: unknown): string {
  const text = value === undefined ? 'nothing' : JSON.stringify(value);
  return text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT)}…`;
}
