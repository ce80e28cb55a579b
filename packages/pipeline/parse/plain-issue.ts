import type { z } from 'zod';

/**
 * What is wrong with a value, for people who do not know the schema library: continues a sentence that begins with the path
 * of the value. Given to a parser as its `error`; what a schema says itself comes first. `undefined`: as the library says it.
 */
export function plainIssue(issue: z.core.$ZodRawIssue): string | undefined {
  switch (issue.code) {
    case 'invalid_type':
      return issue.input === undefined
        ? 'is missing'
        : `must be ${nameOf(issue.expected)}, not ${kindOf(issue.input)}`;
    case 'invalid_value':
      return issue.input === undefined ? 'is missing' : oneOf(issue.values);
    case 'invalid_union':
      return Array.isArray(issue.options) ? oneOf(issue.options) : undefined;
    case 'unrecognized_keys':
      return `has no field ${issue.keys.join(', ')}`;
    default:
      return undefined;
  }
}

const oneOf = (values: readonly unknown[]): string =>
  values.length === 1 ? `must be ${String(values[0])}` : `must be one of ${values.join(', ')}`;

const NAMES: Readonly<Record<string, string>> = {
  string: 'text',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'a map',
  record: 'a map',
  null: 'null',
};

const nameOf = (type: string): string => NAMES[type] ?? type;

function kindOf(input: unknown): string {
  if (typeof input === 'boolean' || typeof input === 'number') return String(input);
  return nameOf(input === null ? 'null' : Array.isArray(input) ? 'array' : typeof input);
}
