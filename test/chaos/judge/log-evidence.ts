import { z } from 'zod';
import type { LogRecord } from '../../../services/shared/event-log/port.ts';
import { FORGED } from '../faults/forged-ids.ts';

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
  result: z.object({ outcome: z.string(), reason: z.string().optional() }),
});
const DeadLetter = z.object({
  type: z.literal('fleetgc.dead-letter'),
  topic: z.string(),
  partition: z.number(),
  offset: z.string(),
});

export interface CommandSeen extends z.infer<typeof Command> {
  readonly atMs: number;
  /** `partition@offset`. */
  readonly place: string;
}
export interface ResultSeen extends z.infer<typeof Result> {
  readonly atMs: number;
}

export interface LogEvidence {
  /** Each id once, as it came first. */
  readonly commands: readonly CommandSeen[];
  readonly results: readonly ResultSeen[];
  /** Places of commands that were given up, as `partition@offset`. */
  readonly givenUp: ReadonlySet<string>;
}

interface Records {
  readonly commands: readonly LogRecord[];
  readonly results: readonly LogRecord[];
  readonly deadLetters: readonly LogRecord[];
}

export function logEvidence({ commands, results, deadLetters }: Records): LogEvidence {
  return {
    commands: firstOfEach(
      read(commands, Command).map(({ event, record }) => ({
        ...event,
        atMs: record.timestampMs,
        place: `${record.partition}@${record.offset}`,
      })),
    ),
    results: firstOfEach(
      read(results, Result)
        .filter(({ event }) => !event.id.startsWith(FORGED))
        .map(({ event, record }) => ({ ...event, atMs: record.timestampMs })),
    ),
    givenUp: new Set(
      read(deadLetters, DeadLetter)
        .filter(({ event }) => event.topic === 'gc.node.commands')
        .map(({ event }) => `${event.partition}@${event.offset}`),
    ),
  };
}

function read<T>(
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

const firstOfEach = <Event extends { readonly id: string }>(events: readonly Event[]): readonly Event[] => [
  ...new Map(events.toReversed().map((event) => [event.id, event])).values(),
];
