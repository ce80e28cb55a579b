import { isDeepStrictEqual } from 'node:util';

/** A JSON Schema, or a part of one. */
export type JsonSchema = Readonly<Record<string, unknown>>;

/** What says nothing of which values hold. */
const FOR_PEOPLE: readonly string[] = ['$schema', '$id', '$comment', 'title', 'description', 'examples'];

/**
 * Where a schema is no longer compatible with the one that was released, a sentence each. A fact may gain fields that can be missing,
 * wherever its objects are open; of all else nothing may change, since some release would refuse what another one writes.
 */
export function incompatibilities(released: JsonSchema, now: JsonSchema): readonly string[] {
  return [...differences(released, now, { released, now, mayGain: !isStrict(released) }, 'value')];
}

interface Comparing {
  readonly released: JsonSchema;
  readonly now: JsonSchema;
  readonly mayGain: boolean;
}

/** Orders and state: no form of them takes a field that is not known. */
export function isStrict({ additionalProperties, oneOf, anyOf }: JsonSchema): boolean {
  const forms = listOf(oneOf ?? anyOf);
  return forms.length > 0 ? forms.every(isStrict) : additionalProperties === false;
}

function* differences(before: unknown, after: unknown, comparing: Comparing, at: string): Iterable<string> {
  const [old, now] = [resolved(before, comparing.released), resolved(after, comparing.now)];
  if (!isSchema(old) || !isSchema(now)) {
    if (!isDeepStrictEqual(old, now)) yield `${at}: was ${textOf(old)}, and is ${textOf(now)}`;
    return;
  }
  for (const word of new Set([...Object.keys(old), ...Object.keys(now)])) {
    if (!FOR_PEOPLE.includes(word)) yield* differencesIn(word, old, now, comparing, at);
  }
}

function* differencesIn(word: string, old: JsonSchema, now: JsonSchema, comparing: Comparing, at: string) {
  switch (word) {
    case '$defs':
    case 'definitions':
      // Compared where something refers to them.
      return;
    case 'properties':
      yield* fieldDifferences(old, now, comparing, at);
      return;
    case 'required':
      yield* requiredDifferences(old, now, at);
      return;
    case 'anyOf':
    case 'oneOf':
    case 'allOf':
    case 'prefixItems':
      yield* formDifferences(word, old, now, comparing, at);
      return;
    case 'items':
      yield* Array.isArray(old.items)
        ? formDifferences(word, old, now, comparing, at)
        : differences(old.items, now.items, comparing, `${at}[]`);
      return;
    case 'additionalProperties':
      yield* differences(old[word], now[word], comparing, `${at}.*`);
      return;
    default:
      if (!isDeepStrictEqual(old[word], now[word]))
        yield `${at}: ${word} was ${textOf(old[word])}, and is ${textOf(now[word])}`;
  }
}

function* fieldDifferences(
  old: JsonSchema,
  now: JsonSchema,
  comparing: Comparing,
  at: string,
): Iterable<string> {
  const [before, after] = [schemasOf(old.properties), schemasOf(now.properties)];
  for (const [name, schema] of Object.entries(before)) {
    if (name in after) yield* differences(schema, after[name], comparing, `${at}.${name}`);
    else yield `${at}.${name}: the field is gone`;
  }
  const mayGain = comparing.mayGain && old.additionalProperties === undefined;
  if (mayGain) return;
  for (const name of Object.keys(after))
    if (!(name in before)) yield `${at}.${name}: a new field, which older readers refuse`;
}

function* requiredDifferences(old: JsonSchema, now: JsonSchema, at: string): Iterable<string> {
  const [before, after] = [listOf(old.required), listOf(now.required)];
  for (const name of after)
    if (!before.includes(name)) yield `${at}.${name}: must be there now, and older writers leave it out`;
  for (const name of before)
    if (!after.includes(name))
      yield `${at}.${name}: need not be there any more, and older readers ask for it`;
}

function* formDifferences(
  word: string,
  old: JsonSchema,
  now: JsonSchema,
  comparing: Comparing,
  at: string,
): Iterable<string> {
  const [before, after] = [listOf(old[word]), listOf(now[word])];
  if (before.length !== after.length) {
    yield `${at}: had ${before.length} forms (${word}), and has ${after.length}`;
    return;
  }
  for (const [index, form] of before.entries())
    yield* differences(form, after[index], comparing, `${at}<${index}>`);
}

const isSchema = (value: unknown): value is JsonSchema =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const schemasOf = (value: unknown): JsonSchema => (isSchema(value) ? value : {});
const listOf = (value: unknown): readonly unknown[] & readonly JsonSchema[] =>
  Array.isArray(value) ? value : [];

/** Behind a reference within its own document. */
function resolved(value: unknown, root: JsonSchema): unknown {
  if (!isSchema(value) || typeof value.$ref !== 'string') return value;
  let at: unknown = root;
  for (const name of value.$ref.split('/').slice(1)) at = schemasOf(at)[name];
  return resolved(at, root);
}

const MOST_SHOWN = 120;
const textOf = (value: unknown): string => (JSON.stringify(value) ?? 'not there').slice(0, MOST_SHOWN);
