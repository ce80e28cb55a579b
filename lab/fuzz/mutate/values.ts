import fc from 'fast-check';
import type { Choices } from './choices.ts';
import { type Json, objectFrom } from './json.ts';
import { alternativesOf, asArray, asObject, type Schema, schemaBelow } from './schema.ts';
import { changedText, someToken } from './text.ts';

/** Scalars that were seen under a name, so that what refers to something else often does. */
export class Dictionary {
  readonly #seen = new Map<string, Json[]>();

  learn(value: Json, name = ''): void {
    if (Array.isArray(value)) for (const item of value) this.learn(item, name);
    else if (typeof value === 'object' && value !== null)
      for (const [member, one] of Object.entries(value)) this.learn(one, member);
    else this.#add(name, value);
  }

  seen(name: string): readonly Json[] {
    return this.#seen.get(name) ?? [];
  }

  #add(name: string, value: Json): void {
    const known = this.#seen.get(name) ?? [];
    this.#seen.set(name, known);
    if (typeof value === 'string' && value.length > LONGEST_SEEN) return;
    if (known.length < MOST_SEEN && !known.includes(value)) known.push(value);
  }
}

const MOST_SEEN = 24;
/** Longer ones make each input slow that they stand in. */
const LONGEST_SEEN = 2_000;
const SAMPLES = 24;
const DEEPEST = 6;
const LARGEST = Number.MAX_SAFE_INTEGER;
const INTERESTING = [0, 1, -1, 2, 100, 2 ** 31, 2 ** 32, 2 ** 53 - 1, 0.5];

const samples = new Map<string, readonly string[]>();

/** Texts that a pattern holds of; what the library cannot make texts of gets none. */
function samplesOf(pattern: string): readonly string[] {
  const known = samples.get(pattern);
  if (known !== undefined) return known;
  let made: readonly string[] = [];
  try {
    made = fc.sample(fc.stringMatching(new RegExp(pattern)), { numRuns: SAMPLES, seed: 1 });
  } catch {
    // Some patterns look ahead, which it cannot follow.
  }
  samples.set(pattern, made);
  return made;
}

interface Making {
  readonly choices: Choices;
  readonly dictionary: Dictionary;
}

/** A value that the schema is likely to hold of. */
export function madeValue(schema: Schema, name: string, making: Making, depth = 0): Json {
  const { choices, dictionary } = making;
  const { at } = schema;
  const alternatives = alternativesOf(schema);
  if (alternatives.length > 0) return madeValue(choices.of(alternatives), name, making, depth + 1);
  if (at.const !== undefined) return at.const;
  if (at.enum !== undefined) return choices.of(asArray(at.enum));
  switch (at.type) {
    case 'null':
      return null;
    case 'boolean':
      return choices.chance(0.5);
    case 'integer':
    case 'number':
      return numberFor(schema, name, making);
    case 'string':
      return textFor(schema, name, making);
    case 'array':
      return elementsOf(schema, name, making, depth);
    case 'object':
      return membersOf(schema, making, depth);
    default:
      return choices.of([...dictionary.seen(name), null]);
  }
}

function numberFor({ at }: Schema, name: string, { choices, dictionary }: Making): number {
  const least = typeof at.minimum === 'number' ? at.minimum : -LARGEST;
  const most = typeof at.maximum === 'number' ? at.maximum : LARGEST;
  const seen = dictionary.seen(name).filter((one) => typeof one === 'number');
  const nearby = seen.flatMap((one) => [one, one, one + 1, one - 1]);
  const candidates = [...nearby, ...INTERESTING, least, most].filter((one) => one >= least && one <= most);
  const chosen = choices.of(candidates);
  return at.type === 'integer' ? Math.trunc(chosen) : chosen;
}

function textFor({ at }: Schema, name: string, { choices, dictionary }: Making): string {
  const seen = dictionary.seen(name).filter((one) => typeof one === 'string');
  if (typeof at.pattern === 'string') return choices.of([...seen, ...seen, ...samplesOf(at.pattern), '']);
  const known = seen.length > 0 && choices.chance(0.8) ? choices.of(seen) : someToken(choices);
  if (choices.chance(IS_LONG)) return longest(at.maxLength, known);
  return choices.chance(0.3) ? changedText(known, choices) : known;
}

const IS_LONG = 0.02;
/** Where nothing bounds a text, it is larger than the smallest message may be. */
const LONG = 70_000;

/** As long as the schema takes, or one character longer. */
function longest(maxLength: Json | undefined, text: string): string {
  const length = typeof maxLength === 'number' ? Math.min(maxLength + (text.length % 2), LONG) : LONG;
  return (text === '' ? 'a' : text).repeat(Math.ceil(length / Math.max(1, text.length))).slice(0, length);
}

function elementsOf(schema: Schema, name: string, making: Making, depth: number): Json {
  const fixed = asArray(schema.at.prefixItems);
  const least = typeof schema.at.minItems === 'number' ? schema.at.minItems : 0;
  const more = depth >= DEEPEST ? 0 : making.choices.below(3);
  const length = fixed.length > 0 ? fixed.length : least + more;
  return Array.from({ length }, (_, index) =>
    madeValue(schemaBelow(schema, [], index), name, making, depth + 1),
  );
}

function membersOf(schema: Schema, making: Making, depth: number): Json {
  const required = asArray(schema.at.required);
  const names = Object.keys(asObject(schema.at.properties)).filter(
    (name) => required.includes(name) || (depth < DEEPEST && making.choices.chance(0.5)),
  );
  return objectFrom(
    names.map((name) => [name, madeValue(schemaBelow(schema, {}, name), name, making, depth + 1)]),
  );
}
