import { z } from 'zod';
import { TOPICS, type TopicId, type TopicSpec } from '../events/topics.ts';
import { DECIDERS, PARTIES, type PartyId, READERS_OF_ALL } from '../exchange/parties.ts';
import { EXCHANGE, TOPIC_IDS } from '../exchange/topics.ts';
import { schemaFileOf } from '../generate.ts';
import { eventTypesOf, KEYS, PARTY_IDS } from './document.ts';

const MILLISECONDS_OF_A_DAY = 86_400_000;
const KIB = 1024;
const MIB = 1024 * KIB;

const row = (...cells: readonly string[]): string => `| ${cells.join(' | ')} |`;
const table = (heading: readonly string[], rows: readonly (readonly string[])[]): readonly string[] => [
  row(...heading),
  row(...heading.map(() => '---')),
  ...rows.map((cells) => row(...cells)),
];

/** Names of a table as a reader sees them: angle brackets would be taken for a tag. */
const quoted = (text: string): string => text.replaceAll(/<([a-z]+)>\/<([a-z]+)>/g, '`<$1>/<$2>`');

const kept = ({ retentionMs, compacted }: TopicSpec): string => {
  const days = retentionMs === 'forever' ? null : retentionMs / MILLISECONDS_OF_A_DAY;
  const time = days === null ? 'for ever' : `${days} ${days === 1 ? 'day' : 'days'}`;
  const policy = retentionMs === 'forever' ? 'compact' : 'compact,delete';
  return compacted ? `${time}, the last record of each key (\`cleanup.policy=${policy}\`)` : time;
};

const largest = ({ bounds: { bytes, depth, elements } }: TopicSpec): string =>
  `${sizeText(bytes)} decompressed, ${depth} levels, ${elements.toLocaleString('en-US')} elements`;
const sizeText = (bytes: number): string => (bytes < MIB ? `${bytes / KIB} KiB` : `${bytes / MIB} MiB`);

const EVERY_DECIDER = 'every decision service';

function listed(parties: readonly PartyId[]): string {
  if (parties.length === 0) return 'no other party';
  const all = DECIDERS.every((decider) => parties.includes(decider));
  const isDecider = (party: PartyId): boolean => DECIDERS.some((decider) => decider === party);
  return [
    ...(all ? parties.filter((party) => !isDecider(party)) : parties),
    ...(all ? [EVERY_DECIDER] : []),
  ].join(', ');
}

const anchorOf = (type: string): string => type.replaceAll('.', '');
const linkTo = (type: string): string => `[${type}](#${anchorOf(type)})`;

function topicSection(id: TopicId): readonly string[] {
  const spec: TopicSpec = TOPICS[id];
  const { kind, says, sent, readBy } = EXCHANGE[id];
  return [
    `### ${spec.name}`,
    '',
    says,
    '',
    ...table(
      ['property', `${spec.name}`],
      [
        ['kind', kind],
        ['record key', quoted(KEYS[spec.key])],
        ['partitions', `${spec.partitions}`],
        ['kept', kept(spec)],
        ['largest message', largest(spec)],
        ['read by', listed(readBy)],
      ],
    ),
    '',
    ...table(
      ['message', 'content', 'sent by'],
      eventTypesOf(id).map((type) => [linkTo(type), sent[type]?.says ?? '', listed(sent[type]?.by ?? [])]),
    ),
    '',
  ];
}

function eventSection(type: string, schema: string): readonly string[] {
  return [
    `### ${type}`,
    '',
    `[Schema](../../schemas/generated/${schemaFileOf(type)}).`,
    '',
    ...table(
      ['field', 'value'],
      fieldsOf(schema).map(({ name, value, isRequired }) => [
        `\`${name}\`${isRequired ? '' : ' (optional)'}`,
        value,
      ]),
    ),
    '',
  ];
}

const INTRODUCTION = `<!-- Written by "npm run schemas". Change schemas/asyncapi/page.ts, or the tables that it reads. -->
# Topics, one by one

Senders, readers, retention and fields of each topic, generated from the tables of the program. For
tools there is an [AsyncAPI 3.0](https://www.asyncapi.com/docs/reference/specification/v3.0.0) document,
[asyncapi.json](../../schemas/asyncapi.json), which refers to the JSON Schemas beside it
([Contracts](contracts.md)). Its operations are named \`<party>.<send or receive>.<topic>\` and tagged
with the party. For meanings see [Events](events.md).
`;

/** The page for people of the AsyncAPI document; `schemas` are the JSON Schemas by file name. */
export function asyncApiPage(schemas: ReadonlyMap<string, string>): string {
  const types = [...new Set(TOPIC_IDS.flatMap(eventTypesOf))];
  return `${[
    INTRODUCTION,
    '## Parties',
    '',
    `All topics are also read by ${READERS_OF_ALL.join(', ')}, which do not decide.`,
    '',
    ...table(
      ['party', 'purpose'],
      PARTY_IDS.map((id) => [id, PARTIES[id]]),
    ),
    '',
    '## Topics',
    '',
    ...TOPIC_IDS.flatMap(topicSection),
    '## Messages',
    '',
    'For nested fields and long lists of values see the schemas. A missing optional field is unknown.',
    '',
    ...types.flatMap((type) => eventSection(type, schemas.get(schemaFileOf(type)) ?? '')),
  ]
    .join('\n')
    .trimEnd()}\n`;
}

/** The parts of a JSON Schema that the page shows. */
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

interface Field {
  readonly name: string;
  /** In words, with code in backticks. */
  readonly value: string;
  readonly isRequired: boolean;
}

/** The fields of an event beside type and version; of several forms those of all, required where each form requires them. */
function fieldsOf(schema: string): readonly Field[] {
  const root = Node.parse(JSON.parse(schema));
  const forms = formsOf(root);
  const names = [...new Set(forms.flatMap(({ properties = {} }) => Object.keys(properties)))];
  return names
    .filter((name) => name !== 'type' && name !== 'version')
    .map((name) => ({
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
