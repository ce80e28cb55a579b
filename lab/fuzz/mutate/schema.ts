import { z } from 'zod';
import { isArray, isObject, type Json, type JsonObject, toJson } from './json.ts';

/** A JSON Schema, as far as it helps to make values that it is likely to hold of. */
export interface Schema {
  readonly root: JsonObject;
  readonly at: JsonObject;
}

const NO_CONDITION: JsonObject = {};

/** What is written for one, before any default is filled in; what JSON Schema cannot say is left out. */
export function schemaOf(schema: z.ZodType): Schema {
  const root = asObject(toJson(z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })));
  return { root, at: root };
}

export const asObject = (value: Json | undefined): JsonObject =>
  value !== undefined && isObject(value) ? value : NO_CONDITION;

export const asArray = (value: Json | undefined): readonly Json[] =>
  value !== undefined && isArray(value) ? value : [];

const within = ({ root }: Schema, at: Json | undefined): Schema => resolved({ root, at: asObject(at) });

/** Behind references. */
function resolved(schema: Schema): Schema {
  const { $ref } = schema.at;
  if (typeof $ref !== 'string') return schema;
  let at: Json | undefined = schema.root;
  for (const name of $ref.split('/').slice(1)) at = asObject(at)[name];
  return resolved({ root: schema.root, at: asObject(at) });
}

export const alternativesOf = (schema: Schema): readonly Schema[] =>
  [...asArray(schema.at.anyOf), ...asArray(schema.at.oneOf)].map((one) => within(schema, one));

/** Of a union, the alternative that a value seems to be meant for. */
export function schemaFor(schema: Schema, value: Json): Schema {
  const alternatives = alternativesOf(schema);
  const found = alternatives.find((one) => mayHold(one, value));
  return found === undefined ? schema : schemaFor(found, value);
}

/** Looks at the type and at what names alternatives. */
function mayHold(schema: Schema, value: Json): boolean {
  const inner = alternativesOf(schema);
  if (inner.length > 0) return inner.some((one) => mayHold(one, value));
  const { type, enum: options, const: literal } = schema.at;
  if (literal !== undefined) return literal === value;
  if (options !== undefined) return asArray(options).includes(value);
  if (type !== undefined && !isOfType(type, value)) return false;
  if (!isObject(value)) return true;
  return Object.entries(asObject(schema.at.properties)).every(([name, of]) => {
    const member = value[name];
    const known = within(schema, of).at;
    const isNamed = known.const !== undefined || known.enum !== undefined;
    return !isNamed || (member !== undefined && mayHold({ ...schema, at: known }, member));
  });
}

function isOfType(type: Json, value: Json): boolean {
  if (isArray(type)) return type.some((one) => isOfType(one, value));
  switch (type) {
    case 'null':
      return value === null;
    case 'integer':
    case 'number':
      return typeof value === 'number';
    case 'array':
      return isArray(value);
    case 'object':
      return isObject(value);
    default:
      return typeof value === type;
  }
}

/** Of a member or an element. */
export function schemaBelow(schema: Schema, value: Json, name: string | number): Schema {
  const { at } = schemaFor(schema, value);
  if (typeof name === 'string') {
    const member = asObject(at.properties)[name];
    return within(schema, member ?? at.additionalProperties);
  }
  return within(schema, asArray(at.prefixItems)[name] ?? at.items);
}
