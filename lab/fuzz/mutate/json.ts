/** What inputs are made of, so that they can be kept and changed without knowing what they are. */
export type Json = null | boolean | number | string | readonly Json[] | JsonObject;
export interface JsonObject {
  readonly [name: string]: Json;
}

export const isObject = (value: Json): value is JsonObject =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

export const isArray = (value: Json): value is readonly Json[] => Array.isArray(value);

/** What `JSON.parse` gives is such a value. */
export function toJson(value: unknown): Json {
  if (value === null || typeof value === 'boolean' || typeof value === 'number' || typeof value === 'string')
    return value;
  if (Array.isArray(value)) return value.map(toJson);
  if (typeof value !== 'object') return null;
  return objectFrom(
    Object.entries(value).flatMap(([name, one]) => (one === undefined ? [] : [[name, toJson(one)]])),
  );
}

/** Also with a member called `__proto__`. */
export function objectFrom(entries: Iterable<readonly [string, Json]>): JsonObject {
  return Object.fromEntries(entries);
}

export const withMember = (object: JsonObject, name: string, value: Json): JsonObject =>
  objectFrom([...Object.entries(object).filter(([other]) => other !== name), [name, value]]);

/** In its place among the others. */
export const replaced = (object: JsonObject, name: string, value: Json): JsonObject =>
  objectFrom(Object.entries(object).map(([other, old]) => [other, other === name ? value : old]));

export const withoutMember = (object: JsonObject, name: string): JsonObject =>
  objectFrom(Object.entries(object).filter(([other]) => other !== name));
