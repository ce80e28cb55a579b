import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import type { LogRecord } from '../../../../packages/log/port.ts';
import { FORGED } from '../../faults/forged-ids.ts';
import type { KeyAct } from '../../fleet/keys.ts';
import {
  distrustedIn,
  givenUpOf,
  placeOf,
  readEvents,
  signers,
  taintedIn,
  without,
} from '../../judge/log-evidence.ts';

/** What the judge reads in messages, and no more: they are parsed here apart from the product's schemas. */
const Command = z.object({
  type: z.literal('fleetgc.cluster.command'),
  id: z.string(),
  items: z.array(z.object({ object: z.object({ uid: z.string() }) })),
});
const ObjectResults = z.object({
  type: z.literal('fleetgc.cluster.object-results'),
  id: z.string(),
  commandId: z.string(),
  objects: z.array(
    z.object({ object: z.object({ uid: z.string() }), result: z.looseObject({ outcome: z.string() }) }),
  ),
});
const CommandResult = z.object({
  type: z.literal('fleetgc.cluster.command-result'),
  id: z.string(),
  commandId: z.string(),
  result: z.looseObject({ outcome: z.string() }),
});

export interface ClusterOrder {
  readonly id: string;
  readonly uids: readonly string[];
  readonly atMs: number;
  /** `partition@offset`. */
  readonly place: string;
  /** The id of the key that signed it; `null`: none of those for which a root ever vouched. */
  readonly signedBy: string | null;
}

/** What was told of one object. */
export interface ObjectTold {
  readonly uid: string;
  readonly commandId: string;
  readonly outcome: string;
  readonly atMs: number;
}

export interface ClusterLogEvidence {
  /** Commands as they lie on the log, each time that they do. */
  readonly orders: readonly ClusterOrder[];
  /** Each message once, as it came first. */
  readonly told: readonly ObjectTold[];
  /** Commands of which a result told. */
  readonly answered: ReadonlySet<string>;
  /** Ids of results that came again with something else to say. */
  readonly retold: readonly string[];
  readonly givenUp: ReadonlySet<string>;
  readonly places: readonly string[];
  readonly tainted: ReadonlySet<string>;
  readonly distrusted: ReadonlySet<string>;
}

interface Records {
  /** Of topics from which nothing is compacted away. */
  readonly lasting: readonly LogRecord[];
  readonly commands: readonly LogRecord[];
  readonly results: readonly LogRecord[];
  readonly deadLetters: readonly LogRecord[];
  readonly policies: readonly LogRecord[];
  readonly keys: readonly KeyAct[];
}

export function clusterLogEvidence(records: Records): ClusterLogEvidence {
  const { lasting, commands, results, deadLetters, policies, keys } = records;
  const signer = signers(keys);
  const ofObjects = readEvents(results, ObjectResults).filter(isOurs);
  const ofCommands = readEvents(results, CommandResult).filter(isOurs);
  const answered = new Set(ofCommands.map(({ event }) => event.commandId));
  const orders = readEvents(commands, Command);
  return {
    orders: orders.map(({ event: { id, items }, record }) => ({
      id,
      uids: items.map(({ object }) => object.uid),
      atMs: record.timestampMs,
      place: `${record.partition}@${record.offset}`,
      signedBy: signer(record),
    })),
    told: firstOfEach(ofObjects).flatMap(({ event: { commandId, objects }, record }) =>
      objects.map(({ object: { uid }, result: { outcome } }) => ({
        uid,
        commandId,
        outcome,
        atMs: record.timestampMs,
      })),
    ),
    answered,
    retold: [...retoldIn(ofObjects), ...retoldIn(ofCommands)],
    givenUp: givenUpOf(deadLetters, 'gc.cluster.commands', without(commands, orders, answered)),
    places: lasting.map(placeOf),
    tainted: taintedIn(lasting),
    distrusted: distrustedIn([...lasting, ...policies], keys),
  };
}

interface Told {
  readonly event: { readonly id: string };
  readonly record: LogRecord;
}

const isOurs = ({ event }: Told): boolean => !event.id.startsWith(FORGED);

const firstOfEach = <T extends Told>(all: readonly T[]): readonly T[] => [
  ...new Map(all.toReversed().map((told) => [told.event.id, told])).values(),
];

const retoldIn = (all: readonly Told[]): readonly string[] =>
  [...Map.groupBy(all, ({ event }) => event.id)]
    .filter(([, same]) => same.some(({ event }) => !isDeepStrictEqual(event, same[0]?.event)))
    .map(([id]) => id);
