import { z } from 'zod';

/** As much of a JSON Schema as a page for people tells. */
const Node = z.looseObject({
  type: z.union([z.string().transform((one) => [one]), z.array(z.string())]).default([]),
  const: z.unknown().optional(),
  enum: z.array(z.unknown()).optional(),
  format: z.string().optional(),
  pattern: z.string().optional(),
  maximum: z.number().optional(),
  get items() {
    return z.union([Node, z.array(Node)]).optional();
  },
  get anyOf() {
    return z.array(Node).optional();
  },
  get oneOf() {
    return z.array(Node).optional();
  },
  get properties() {
    return z.record(z.string(), Node).optional();
  },
  required: z.array(z.string()).optional(),
});
type Node = z.infer<typeof Node>;

export interface Field {
  readonly name: string;
  /** In words, with code in backticks. */
  readonly value: string;
  readonly isRequired: boolean;
}

/** The fields of an event by its JSON Schema; of several forms those of all, required where each form requires them. */
export function fieldsOf(schema: string): readonly Field[] {
  const root = Node.parse(JSON.parse(schema));
  const forms = formsOf(root);
  const names = [...new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)))];
  return names.map((name) => ({
    name,
    value: [...new Set(forms.flatMap((form) => form.properties?.[name] ?? []).map(inWords))].join(' or '),
    isRequired: forms.every(({ required = [] }) => required.includes(name)),
  }));
}

const formsOf = (node: Node): readonly Node[] => node.oneOf?.flatMap(formsOf) ?? [node];

const VALUES_THAT_FIT = 4;
const DIGITS = /^\^\(0\|\[1-9\]/;

function inWords(node: Node): string {
  const { const: constant, enum: values, anyOf, oneOf } = node;
  if (constant !== undefined) return code(constant);
  if (values !== undefined)
    return values.length > VALUES_THAT_FIT ? `one of ${values.length} words` : values.map(code).join(' or ');
  const choices = anyOf ?? oneOf;
  if (choices !== undefined) return [...new Set(choices.map(inWords))].join(' or ');
  return node.type.map((type) => WORDS[type]?.(node) ?? type).join(' or ') || 'any value';
}

const code = (value: unknown): string => `\`${String(value)}\``;

const WORDS: Readonly<Record<string, (node: Node) => string>> = {
  string: textInWords,
  integer: () => 'whole number',
  number: () => 'number',
  boolean: () => '`true` or `false`',
  null: () => '`null`',
  object: ({ properties }) => (properties === undefined ? 'object with names of any kind' : 'object'),
  array: ({ items }) => `list of: ${items === undefined || Array.isArray(items) ? 'rows' : inWords(items)}`,
};

function textInWords({ format, pattern = '' }: Node): string {
  if (format === 'uuid') return 'UUID';
  if (pattern === '^[0-9a-f]{64}$') return 'SHA-256';
  return DIGITS.test(pattern) ? 'digits as text' : 'text';
}
