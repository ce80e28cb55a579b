import { z } from 'zod';

/**
 * What is wrong with the first element of a list or map that its schema does not take; `null` where none is. zod goes on to the end and
 * keeps all that it finds: of a list of 600,000 empty objects in 2 MB of text, more than a process has memory for.
 */
export function firstWrong(schema: z.core.$ZodType, value: unknown): z.ZodError | null {
  const issues = wrongIn(schema, value);
  return issues && new z.ZodError([...issues]);
}

type Issues = readonly z.core.$ZodIssue[];

function wrongIn(schema: z.core.$ZodType, value: unknown): Issues | null {
  if (schema instanceof z.ZodArray)
    return Array.isArray(value) ? wrongAmong(value.entries(), schema.element) : null;
  if (!isObject(value)) return null;
  if (schema instanceof z.ZodRecord) return wrongAmong(Object.entries(value), schema.valueType);
  if (schema instanceof z.ZodObject) return wrongField(schema.shape, value);
  if (schema instanceof z.ZodDiscriminatedUnion) return wrongIn(variantOf(schema, value), value);
  return isWrapped(schema) ? wrongIn(schema.unwrap(), value) : null;
}

/** What lies deeper is looked at first, so that no element has many faults of its own. */
function wrongAmong(
  elements: Iterable<readonly [key: string | number, element: unknown]>,
  schema: z.core.$ZodType,
): Issues | null {
  const takesAnyText = schema instanceof z.ZodString && (schema.def.checks ?? []).length === 0;
  for (const [key, element] of elements) {
    // Most elements of long lists are texts, and the schema library takes a hundred times as long to say so.
    if (takesAnyText && typeof element === 'string') continue;
    const issues =
      wrongIn(schema, element) ?? z.safeParse(schema, element, { error: plainIssue }).error?.issues;
    if (issues !== undefined) return within(key, issues);
  }
  return null;
}

function wrongField(
  shape: Readonly<Record<string, z.core.$ZodType>>,
  value: Readonly<Record<string, unknown>>,
): Issues | null {
  for (const [name, field] of Object.entries(shape)) {
    const issues = wrongIn(field, value[name]);
    if (issues !== null) return within(name, issues);
  }
  return null;
}

const within = (key: string | number, issues: Issues): Issues =>
  issues.map((issue) => ({ ...issue, path: [key, ...issue.path] }));

/** What tells the variants apart is a text of each; of what is none of them the schema tells that alone. */
function variantOf(
  { options, def: { discriminator } }: z.ZodDiscriminatedUnion,
  value: Readonly<Record<string, unknown>>,
): z.core.$ZodType {
  const takes = (option: z.core.$ZodType): boolean => {
    if (option instanceof z.ZodDiscriminatedUnion) return option.options.some(takes);
    const tag = option instanceof z.ZodObject ? option.shape[discriminator] : undefined;
    return tag !== undefined && z.safeParse(tag, value[discriminator]).success;
  };
  return options.find(takes) ?? z.unknown();
}

const isWrapped = (schema: z.core.$ZodType): schema is z.ZodNullable | z.ZodOptional | z.ZodDefault =>
  schema instanceof z.ZodNullable ||
  schema instanceof z.ZodOptional ||
  schema instanceof z.ZodExactOptional ||
  schema instanceof z.ZodDefault ||
  schema instanceof z.ZodCatch;

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null;

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
