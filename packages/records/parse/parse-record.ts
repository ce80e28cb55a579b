import { isUtf8 } from 'node:buffer';
import { z } from 'zod';
import { brokenTexts, mayHaveBrokenText } from '../../../schemas/events/broken-texts.ts';
import { type Claim, claimOf, claimsOf } from '../../../schemas/events/claims.ts';
import type { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { EnvelopeHeaders, eventType } from '../../../schemas/events/envelope.ts';
import { type EventOf, TOPICS, type TopicId, type TopicName } from '../../../schemas/events/topics.ts';
import { topicSpec } from '../../log/partition.ts';
import type { Headers, LogRecord } from '../../log/port.ts';
import { exceededBound, MAX_MEMBERS, MAX_UNUSUAL_MEMBERS, USUAL_NAMES } from './json-bounds.ts';
import { keyOf } from './record-key.ts';

/** Why a record is not an event of its topic. */
export interface Rejection {
  readonly cause: DeadLetterCause;
  /** A sentence for people. */
  readonly message: string;
  /** The value as far as it could be parsed: anything JSON can hold, and not to be trusted. */
  readonly value: unknown;
}

export type ParsedRecord<Event> =
  /** `signedBy` is the key that proved to have signed the record; missing or `null` where none did. */
  | { readonly ok: true; readonly event: Event; readonly signedBy?: string | null }
  | { readonly ok: false; readonly rejection: Rejection };

/** The bytes of a record as an event of the topic, or why they are none, whoever wrote them. Never throws. */
export function parseRecord<Id extends TopicId>(topic: Id, record: LogRecord): ParsedRecord<EventOf<Id>> {
  const json = parseJson(TOPICS[topic].name, record.value);
  return json.ok ? parseValueOf(topic, json.event, record) : json;
}

/** What the bytes of a record say as JSON, as an event of the topic that agrees with the record's key and headers. */
export function parseValueOf<Id extends TopicId>(
  topic: Id,
  value: unknown,
  record: LogRecord,
): ParsedRecord<EventOf<Id>> {
  const wrong = mayHaveManyFaults(record) ? firstWrongOf(topic, value) : null;
  const parsed = wrong ?? parseValue(topic, value);
  if (!parsed.ok) return parsed;
  return disagreement(keyOf(topic, parsed.event), parsed.event, record) ?? parsed;
}

/** From more bytes than this a value may have more faults than there is memory for; most events have fewer. */
const MANY_FAULTS_BYTES = 128 * 1024;
const mayHaveManyFaults = ({ value }: LogRecord): boolean => (value?.length ?? 0) > MANY_FAULTS_BYTES;

function firstWrongOf(topic: TopicId, value: unknown): ReturnType<typeof reject> | null {
  const claim = claimOf(value);
  const wrong = claim && EVENT_SCHEMAS[topic].find(claim)?.firstWrong(value);
  return wrong ? reject('wrong-schema', describeIssues(wrong), value) : null;
}

const reject = (cause: DeadLetterCause, message: string, value: unknown = null) =>
  ({ ok: false, rejection: { cause, message, value } }) as const;

/** The value of a record of this topic as JSON, whatever it says in whole characters. */
export function parseJson(topic: TopicName, value: Buffer | null): ParsedRecord<unknown> {
  const json = parseAnyJson(topic, value);
  if (!json.ok || value === null || !mayHaveBrokenText(value)) return json;
  const [broken] = brokenTexts(json.event);
  return broken === undefined
    ? json
    : reject(
        'not-json',
        `the text at ${shorten(z.core.toDotPath(broken.path) || 'value')} has half a character (a lone surrogate)`,
      );
}

const UNITS = {
  depth: 'levels of brackets',
  elements: 'elements',
  members: 'members of one object',
  names: `members with other names than the first ${USUAL_NAMES}`,
} as const;

/** The value of a record of this topic as JSON, whatever it says. */
export function parseAnyJson(topic: TopicName, value: Buffer | null): ParsedRecord<unknown> {
  if (value === null) return reject('not-json', 'the record has no value');
  const many = tooManyBytes(topic, value.length);
  if (many !== null) return reject('too-large', many);
  if (!isUtf8(value)) return reject('not-json', 'the value is not UTF-8 text');
  const text = value.toString('utf8');
  const large = tooLargeText(topic, text);
  if (large !== null) return reject('too-large', large);
  try {
    return { ok: true, event: JSON.parse(text) };
  } catch {
    return reject('not-json', 'the value is not JSON');
  }
}

/** A sentence; `null` for so many bytes as are read on this topic. */
export function tooManyBytes(topic: TopicName, bytes: number): string | null {
  const { bounds } = topicSpec(topic);
  return bytes <= bounds.bytes
    ? null
    : `the value has ${bytes} bytes; on ${topic} at most ${bounds.bytes} are read`;
}

/** The same for what the text holds. */
export function tooLargeText(topic: TopicName, text: string): string | null {
  const { bounds } = topicSpec(topic);
  const exceeded = exceededBound(text, bounds);
  if (exceeded === null) return null;
  const most = { ...bounds, members: MAX_MEMBERS, names: MAX_UNUSUAL_MEMBERS }[exceeded];
  return `the value has more ${UNITS[exceeded]} than the ${most} that are read on ${topic}`;
}

/** A value as an event of the topic, where it is no record with a key and headers. */
export function parseValue<Id extends TopicId>(topic: Id, value: unknown): ParsedRecord<EventOf<Id>> {
  const claim = claimOf(value);
  if (!claim) return reject('wrong-schema', 'the value has no type (text) and version (number)', value);
  const schema = EVENT_SCHEMAS[topic].find(claim);
  if (!schema) return unknownClaim(topic, claim, value);
  const result = schema.parse(value);
  if (result.success) return { ok: true, event: result.data };
  return reject('wrong-schema', describeIssues(result.error), value);
}

function unknownClaim(topic: TopicId, claim: Claim, value: unknown) {
  const { version, type } = claim;
  const known = EVENT_SCHEMAS[topic].versionsOf(type);
  const newest = known.at(-1);
  if (newest === undefined)
    return reject('unknown-type', `${shorten(type)} does not belong on ${TOPICS[topic].name}`, value);
  const advice = version > newest ? ': a newer one wrote it, so upgrade this one' : '';
  const message = `version ${version} of ${shorten(type)} is not known; this release reads version ${known.join(', ')}${advice}`;
  return reject('unknown-version', message, value);
}

/** The trace is left out: one that is malformed is replaced, never a reason to refuse. */
const CheckedHeaders = EnvelopeHeaders.omit({ traceparent: true, tracestate: true });

/** What of an event its record repeats. */
type Enveloped = Pick<EventOf<TopicId>, 'type' | 'version' | 'id'>;

/** Where key or headers of a record disagree with its event, `expected` being the key that it must have. */
export function disagreement(expected: string, event: Enveloped, { key, headers }: LogRecord) {
  const headerProblem = disagreeingHeader(event, headers);
  if (headerProblem) return reject('header-mismatch', headerProblem, event);
  const belongs = `but the value belongs to ${quote(expected)}`;
  if (key !== expected) return reject('key-mismatch', `the record key is ${quote(key)}, ${belongs}`, event);
  const { ce_subject: subject } = headers;
  if (subject === undefined || subject === expected) return undefined;
  return reject('header-mismatch', `ce_subject is ${quote(subject)}, ${belongs}`, event);
}

function disagreeingHeader(event: Enveloped, given: Headers): string | undefined {
  const { success, data, error } = CheckedHeaders.safeParse(given, { error: plainIssue });
  if (!success) return `headers: ${describeIssues(error)}`;
  if (data.ce_id !== event.id) return `ce_id is ${quote(data.ce_id)}, but the value has ${quote(event.id)}`;
  if (data.ce_type !== eventType(event))
    return `ce_type is ${quote(data.ce_type)}, but the value has ${eventType(event)}`;
  return undefined;
}

const MAX_ISSUES = 5;
const MAX_QUOTED = 100;

function describeIssues({ issues }: z.ZodError): string {
  const shown = issues
    .slice(0, MAX_ISSUES)
    .map(({ path, message }) => `${z.core.toDotPath(path) || 'value'}: ${message}`);
  const more = issues.length - shown.length;
  return shorten(shown.join('; '), 1000) + (more > 0 ? ` and ${more} more` : '');
}

const shorten = (text: string, length = MAX_QUOTED): string =>
  (text.length <= length ? text : `${text.slice(0, length)}…`).toWellFormed();

const quote = (text: string | null): string => JSON.stringify(text === null ? null : shorten(text));

interface EventSchema<Event> {
  parse(value: unknown): z.ZodSafeParseResult<Event>;
  /** Of what may have more faults than there is memory for. */
  firstWrong(value: unknown): z.ZodError | null;
}

/** What may stand on one topic: its schemas by `<type>.v<version>`, so that a value is parsed by exactly one. */
interface EventSchemas<Event> {
  /** Versions of a type that the topic carries, ascending; none of a type that does not belong there. */
  versionsOf(type: string): readonly number[];
  /** `undefined` when the topic carries no such type and version. */
  find(claim: Claim): EventSchema<Event> | undefined;
}

function eventSchemas<const S extends readonly z.ZodType[]>(schemas: S): EventSchemas<z.infer<S[number]>> {
  const claims = schemas.flatMap((schema) => claimsOf(schema).map((claim) => ({ claim, schema })));
  const byType = new Map<string, S[number]>(claims.map(({ claim, schema }) => [eventType(claim), schema]));
  return {
    versionsOf: (type) => {
      const versions = claims.filter(({ claim }) => claim.type === type).map(({ claim }) => claim.version);
      return [...new Set(versions)].toSorted((a, b) => a - b);
    },
    find: (claim) => {
      const schema = byType.get(eventType(claim));
      return (
        schema && {
          parse: (value) => z.safeParse(schema, value, { error: plainIssue }),
          firstWrong: (value) => firstWrong(schema, value),
        }
      );
    },
  };
}

export const EVENT_SCHEMAS: { readonly [Id in TopicId]: EventSchemas<EventOf<Id>> } = {
  diskStats: eventSchemas(TOPICS.diskStats.schemas),
  inventory: eventSchemas(TOPICS.inventory.schemas),
  observe: eventSchemas(TOPICS.observe.schemas),
  commands: eventSchemas(TOPICS.commands.schemas),
  results: eventSchemas(TOPICS.results.schemas),
  decisions: eventSchemas(TOPICS.decisions.schemas),
  clusterOwnership: eventSchemas(TOPICS.clusterOwnership.schemas),
  clusterPods: eventSchemas(TOPICS.clusterPods.schemas),
  clusterExpiry: eventSchemas(TOPICS.clusterExpiry.schemas),
  clusterCommands: eventSchemas(TOPICS.clusterCommands.schemas),
  clusterRemoved: eventSchemas(TOPICS.clusterRemoved.schemas),
  clusterResults: eventSchemas(TOPICS.clusterResults.schemas),
  clusterDecisions: eventSchemas(TOPICS.clusterDecisions.schemas),
  clusterCensus: eventSchemas(TOPICS.clusterCensus.schemas),
  policies: eventSchemas(TOPICS.policies.schemas),
  policyVersions: eventSchemas(TOPICS.policyVersions.schemas),
  keys: eventSchemas(TOPICS.keys.schemas),
  heads: eventSchemas(TOPICS.heads.schemas),
  latestFacts: eventSchemas(TOPICS.latestFacts.schemas),
  deadLetters: eventSchemas(TOPICS.deadLetters.schemas),
};

const isTopicId = (id: string): id is TopicId => id in TOPICS;
const ID_BY_NAME: ReadonlyMap<TopicName, TopicId> = new Map(
  Object.keys(TOPICS)
    .filter(isTopicId)
    .map((id) => [TOPICS[id].name, id]),
);

/** The table's id of a topic, by its name on the log. */
export function topicIdOf(name: TopicName): TopicId {
  const id = ID_BY_NAME.get(name);
  if (id === undefined) throw new TypeError(`topic ${name} is not in the table of topics`);
  return id;
}

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
