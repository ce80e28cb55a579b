import type { Choices } from './choices.ts';
import {
  isArray,
  isObject,
  type Json,
  type JsonObject,
  replaced,
  withMember,
  withoutMember,
} from './json.ts';
import { alternativesOf, asArray, asObject, type Schema, schemaBelow, schemaFor } from './schema.ts';
import { blownUp, changedText, someToken } from './text.ts';
import { type Dictionary, madeValue } from './values.ts';

/** `gentle`: the schema is likely to hold still. `wild`: anything. */
export type Manner = 'gentle' | 'wild';

interface Mutating {
  readonly choices: Choices;
  readonly dictionary: Dictionary;
  readonly manner: Manner;
}

/** The value with one change at one place, at any depth. */
export function mutated(value: Json, schema: Schema, mutating: Mutating, name = ''): Json {
  const { choices } = mutating;
  if (isArray(value) && value.length > 0 && choices.chance(DESCENDS)) {
    const index = choices.below(value.length);
    const old = value[index] ?? null;
    return value.with(index, mutated(old, schemaBelow(schema, value, index), mutating, name));
  }
  const members = isObject(value) ? Object.entries(value) : [];
  if (isObject(value) && members.length > 0 && choices.chance(DESCENDS)) {
    const [member, old] = members[choices.weighed(members.map(([, one]) => weightOf(one)))] ?? ['', null];
    return replaced(value, member, mutated(old, schemaBelow(schema, value, member), mutating, member));
  }
  return mutating.manner === 'wild' ? wild(value, name, mutating) : gentle(value, schema, name, mutating);
}

const DESCENDS = 0.9;

/** Where more is, changes are more often. */
const weightOf = (value: Json): number =>
  isArray(value) ? 1 + Math.min(6, value.length) : isObject(value) ? 1 + 2 * Object.keys(value).length : 1;

function gentle(value: Json, schema: Schema, name: string, mutating: Mutating): Json {
  const { choices } = mutating;
  if (alternativesOf(schema).length > 0 && choices.chance(0.4)) return madeValue(schema, name, mutating);
  const fitting = schemaFor(schema, value);
  if (isArray(value)) return gentleArray(value, fitting, name, mutating);
  if (isObject(value)) return gentleObject(value, fitting, name, mutating);
  if (typeof value === 'string' && fitting.at.enum === undefined && choices.chance(0.3))
    return changedText(value, choices);
  return madeValue(fitting, name, mutating);
}

function gentleArray(value: readonly Json[], schema: Schema, name: string, mutating: Mutating): Json {
  const { choices } = mutating;
  const element = (): Json => madeValue(schemaBelow(schema, value, value.length), name, mutating, 2);
  const at = choices.below(value.length + 1);
  const changes = [
    () => value.toSpliced(at, 0, element()),
    () => value.toSpliced(at, 1),
    () => (value.length === 0 ? [element()] : value.toSpliced(at, 0, choices.of(value))),
    () => value.toReversed(),
  ];
  return choices.of(changes)();
}

function gentleObject(value: JsonObject, schema: Schema, name: string, mutating: Mutating): Json {
  const { choices } = mutating;
  const required = asArray(schema.at.required);
  const optional = Object.keys(value).filter((member) => !required.includes(member));
  const known = Object.keys(asObject(schema.at.properties));
  if (optional.length > 0 && choices.chance(0.3)) return withoutMember(value, choices.of(optional));
  if (known.length === 0) return withMember(value, someToken(choices), textOrSeen(name, mutating));
  const member = choices.of(known);
  return withMember(value, member, madeValue(schemaBelow(schema, value, member), member, mutating, 2));
}

const textOrSeen = (name: string, { choices, dictionary }: Mutating): Json =>
  choices.of([...dictionary.seen(name), 'text']);

function wild(value: Json, name: string, mutating: Mutating): Json {
  const { choices } = mutating;
  if (choices.chance(BLOWS_UP)) return largeValue(value, choices);
  if (typeof value === 'string' && choices.chance(0.6)) return changedText(value, choices);
  if (isArray(value) && choices.chance(0.6))
    return value.toSpliced(choices.below(value.length + 1), choices.below(2), wildScalar(name, mutating));
  if (isObject(value) && choices.chance(0.6)) return wildObject(value, name, mutating);
  return wildScalar(name, mutating);
}

const BLOWS_UP = 0.005;

function wildObject(value: JsonObject, name: string, mutating: Mutating): Json {
  const { choices } = mutating;
  const names = Object.keys(value);
  if (names.length > 0 && choices.chance(0.5)) return withoutMember(value, choices.of(names));
  return withMember(value, someToken(choices), wildScalar(name, mutating));
}

const wildScalar = (name: string, { choices, dictionary }: Mutating): Json =>
  choices.of<Json>([
    null,
    true,
    [],
    {},
    '',
    -0,
    -1,
    0.1,
    1e308,
    2 ** 53,
    someToken(choices),
    textOrSeen(name, { choices, dictionary, manner: 'wild' }),
    [[[[]]]],
    { type: null },
  ]);

/** What is large, or deep, for what bounds such. */
function largeValue(value: Json, choices: Choices): Json {
  if (typeof value === 'string') return blownUp(value, choices);
  const times = Math.min(1 + choices.below(2 ** choices.below(13)), MOST_CHARACTERS / charactersOf(value));
  if (isArray(value)) return Array.from({ length: times }).flatMap(() => value);
  let deep: Json = value;
  for (let level = 0; level < Math.min(times, MOST_LEVELS); level += 1) deep = [deep];
  return deep;
}

/** More than most messages may have; beyond it whatever makes inputs is slow, and not what reads them. */
const MOST_CHARACTERS = 4_000_000;
const charactersOf = (value: Json): number => JSON.stringify(value).length;

/** Far deeper than any bound, and not so deep that whatever changes inputs runs out of stack. */
const MOST_LEVELS = 200;
