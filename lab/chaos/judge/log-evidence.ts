import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { LogRecord } from '../../../packages/log/port.ts';
import type { TopicName } from '../../../schemas/events/topics.ts';
import { FORGED } from '../faults/forged-ids.ts';
import { FLEET, type KeyAct, type SigningRole } from '../fleet/keys.ts';
import { countsAsRecorded } from './belief.ts';
import { publicKeyOf, signerOf } from './signatures.ts';

/** What the judge reads in messages, and no more: they are parsed here apart from the product's schemas. */
const Command = z.object({
  type: z.literal('fleetgc.node.command'),
  id: z.string(),
  node: z.string(),
  items: z.array(z.object({ kind: z.string(), id: z.string() })),
});
const Result = z.object({
  type: z.enum(['fleetgc.node.object-result', 'fleetgc.node.command-result']),
  id: z.string(),
  node: z.string(),
  commandId: z.string(),
  object: z.object({ kind: z.string(), id: z.string() }).optional(),
  journal: z.enum(['disk', 'memory']),
  result: z.looseObject({ outcome: z.string(), reason: z.string().optional() }),
});
const DeadLetter = z.object({
  type: z.literal('fleetgc.dead-letter'),
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
  key: z.string().nullable(),
  suppressedBefore: z.number(),
});

export interface CommandSeen extends z.infer<typeof Command> {
  readonly atMs: number;
  /** `partition@offset`. */
  readonly place: string;
}
/** A command as it lies on the log, each time that it does. */
export interface OrderSeen extends Pick<CommandSeen, 'id' | 'node' | 'items' | 'atMs'> {
  /** The id of the key that signed it; `null`: none of those for which a root ever vouched. */
  readonly signedBy: string | null;
}
export interface ResultSeen extends z.infer<typeof Result> {
  readonly atMs: number;
}

export interface LogEvidence {
  /** Each id once, as it came first. */
  readonly commands: readonly CommandSeen[];
  readonly orders: readonly OrderSeen[];
  readonly results: readonly ResultSeen[];
  /** Those whose id had come before, with something else to say; not of who lost its journal. */
  readonly retold: readonly ResultSeen[];
  /** `topic/partition@offset` of every record that stays where it was written, in the order of their topics. */
  readonly places: readonly string[];
  /** Those of what a campaign forged, and of what names something forged. */
  readonly tainted: ReadonlySet<string>;
  /** Those of what no key signed that may sign it, and of what it signed when it might no more. */
  readonly distrusted: ReadonlySet<string>;
  /** Places of commands that were given up, as `partition@offset`. */
  readonly givenUp: ReadonlySet<string>;
}

interface Records {
  /** Of topics from which nothing is compacted away. */
  readonly lasting: readonly LogRecord[];
  readonly commands: readonly LogRecord[];
  readonly results: readonly LogRecord[];
  readonly deadLetters: readonly LogRecord[];
  readonly policies: readonly LogRecord[];
  /** What roots said of keys. */
  readonly keys: readonly KeyAct[];
}

export function logEvidence(records: Records): LogEvidence {
  const { lasting, commands, results, deadLetters, policies, keys } = records;
  const signer = signers(keys);
  const told = readEvents(results, Result)
    .filter(({ event }) => !event.id.startsWith(FORGED))
    .map(({ event, record }) => ({ ...event, atMs: record.timestampMs }));
  const answered = new Set(
    told.filter(({ type }) => type === 'fleetgc.node.command-result').map(({ commandId }) => commandId),
  );
  const unanswered = without(commands, readEvents(commands, Command), answered);
  return {
    commands: firstOfEach(
      readEvents(commands, Command).map(({ event, record }) => ({
        ...event,
        atMs: record.timestampMs,
        place: `${record.partition}@${record.offset}`,
      })),
    ),
    orders: readEvents(commands, Command).map(({ event: { id, node, items }, record }) => ({
      id,
      node,
      items,
      atMs: record.timestampMs,
      signedBy: signer(record),
    })),
    ...toldOf(told),
    places: lasting.map(placeOf),
    tainted: taintedIn(lasting),
    distrusted: distrustedIn([...lasting, ...policies], keys),
    givenUp: givenUpOf(deadLetters, 'gc.node.commands', unanswered),
  };
}

export const taintedIn = (records: readonly LogRecord[]): ReadonlySet<string> =>
  new Set(records.filter(isTainted).map(placeOf));

export function distrustedIn(records: readonly LogRecord[], keys: readonly KeyAct[]): ReadonlySet<string> {
  const signer = signers(keys);
  const distrusted = records
    .filter(({ topic }) => topic in SIGNERS)
    .filter((record) => !wasToCount(record, signer(record), keys));
  return new Set(distrusted.map(placeOf));
}

/**
 * Places of the commands of a topic that were given up, as `partition@offset`. A dead letter may stand for messages of its
 * key before it too: these are the nearest that were not answered and have none of their own.
 */
export function givenUpOf(
  deadLetters: readonly LogRecord[],
  topic: TopicName,
  unanswered: readonly LogRecord[],
): ReadonlySet<string> {
  const letters = readEvents(deadLetters, DeadLetter)
    .map(({ event }) => event)
    .filter((letter) => letter.topic === topic);
  const givenUp = new Set(letters.map(({ partition, offset }) => `${partition}@${offset}`));
  for (const { partition, offset, key, suppressedBefore } of letters) {
    const before = unanswered.filter(
      (record) =>
        record.partition === partition &&
        record.offset < BigInt(offset) &&
        keyInBase64(record) === key &&
        !givenUp.has(positionOf(record)),
    );
    const nearest = before.toSorted((a, b) => Number(b.offset - a.offset)).slice(0, suppressedBefore);
    for (const record of nearest) givenUp.add(positionOf(record));
  }
  return givenUp;
}

/** The records but those whose event has one of these ids. */
export function without(
  records: readonly LogRecord[],
  events: readonly { readonly event: { readonly id: string }; readonly record: LogRecord }[],
  ids: ReadonlySet<string>,
): readonly LogRecord[] {
  const left = new Set(records);
  for (const { event, record } of events) if (ids.has(event.id)) left.delete(record);
  return [...left];
}

const positionOf = ({ partition, offset }: LogRecord): string => `${partition}@${offset}`;
const keyInBase64 = ({ key }: LogRecord): string | null =>
  key === null ? null : Buffer.from(key).toString('base64');

/** Who may sign what lies there. A service that stops says in a head what it wrote, also with a key that was revoked just then. */
const SIGNERS: Readonly<Record<string, readonly SigningRole[]>> = {
  'gc.node.commands': ['decider'],
  'gc.node.observe': ['decider'],
  'gc.cluster.commands': ['decider'],
  'gc.policies': ['operator'],
  'gc.policy-versions': ['operator', 'decider'],
  'gc.heads': ['decider', 'archiver'],
};

type Signers = (record: LogRecord) => string | null;

export function signers(keys: readonly KeyAct[]): Signers {
  const known = new Map(
    keys.flatMap(({ statement }) =>
      statement.type === 'fleetgc.key-certificate'
        ? [[statement.keyId, publicKeyOf(statement.publicKey)]]
        : [],
    ),
  );
  return (record) => signerOf(record, known, FLEET);
}

function wasToCount(
  { topic, timestampMs }: LogRecord,
  signedBy: string | null,
  keys: readonly KeyAct[],
): boolean {
  return (
    signedBy !== null &&
    (SIGNERS[topic] ?? []).some((role) => countsAsRecorded(keys, signedBy, role, timestampMs))
  );
}

export const placeOf = ({ topic, partition, offset }: LogRecord): string => `${topic}/${partition}@${offset}`;

const Event = z.object({ id: z.string() });

/** Garbage is no event of anybody's: every event of the product has an id. */
const isTainted = ({ value }: LogRecord): boolean =>
  String(value).includes(FORGED) || !Event.safeParse(jsonOf(value)).success;

export function readEvents<T>(
  records: readonly LogRecord[],
  schema: z.ZodType<T>,
): readonly { readonly event: T; readonly record: LogRecord }[] {
  return records.flatMap((record) => {
    const event = schema.safeParse(jsonOf(record.value));
    return event.success ? [{ event: event.data, record }] : [];
  });
}

function jsonOf(value: Buffer | null): unknown {
  try {
    return JSON.parse(String(value));
  } catch {
    return null;
  }
}

/** What was told, in the order in which it came. */
export const toldOf = (told: readonly ResultSeen[]): Pick<LogEvidence, 'results' | 'retold'> => ({
  results: firstOfEach(told),
  retold: retoldOf(told),
});

const retoldOf = (told: readonly ResultSeen[]): readonly ResultSeen[] => {
  const onDisk = told.filter(({ journal }) => journal === 'disk');
  return onDisk.filter((result, index) =>
    onDisk.slice(0, index).some((other) => other.id === result.id && !saysTheSame(other, result)),
  );
};

const saysTheSame = (one: ResultSeen, other: ResultSeen): boolean =>
  isDeepStrictEqual(one.result, other.result);

const firstOfEach = <Event extends { readonly id: string }>(events: readonly Event[]): readonly Event[] => [
  ...new Map(events.toReversed().map((event) => [event.id, event])).values(),
];
