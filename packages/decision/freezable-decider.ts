import { z } from 'zod';
import type { Decision } from '../../schemas/events/decision.ts';
import type { MessageReference } from '../../schemas/events/decision-parts.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import type { PolicySetOf } from '../../schemas/policy/policy.ts';
import { FleetGcError } from '../process/errors.ts';
import type { InputPosition, PureHandler, WrittenOutput } from './handler.ts';
import { type EventHead, type NewerEvent, overtakenHandler, overtakes } from './overtaking.ts';

/** What a decider reads: a message, and as much of two of them as it takes to pass the older one over. */
export interface Readable<Event> {
  readonly schema: z.ZodType<Event>;
  readonly older: z.ZodType<EventHead>;
  readonly newer: z.ZodType<NewerEvent>;
}

/** A decider with its parser, as it is frozen (docs/how-it-works/architecture.md, "Frozen deciders"). */
interface Repeatable<Kind extends SubjectKind, Event> {
  readonly schema: z.ZodType<Event>;
  readonly handler: (policies: () => PolicySetOf<Kind>) => PureHandler<Event>;
}
type Freezable<Event> = Repeatable<'node', Event> &
  Readable<Event> & { readonly decider: Decision['decider'] };

/** A message that a newer one is said to have overtaken. */
interface SaidOvertaken {
  /** The beginning of the message, or all of it. */
  readonly older: unknown;
  /** What `read` made of the newer one; its lists may be left out. */
  readonly newer: unknown;
  readonly position: InputPosition;
  readonly overtakenBy: MessageReference;
  readonly policySetHash: string;
}

/** An event that a decider gives, and its canonical JSON. */
export interface WrittenEvent {
  readonly event: object;
  readonly text: string;
}

const written = ({ event, text }: WrittenOutput): WrittenEvent => ({ event, text });

/** What a bundle exports of a decider that decides on every message. Each throws `EVENT_REJECTED` for one that it does not read. */
export const repeatable = <Kind extends SubjectKind, Event>({
  schema,
  handler,
}: Repeatable<Kind, Event>) => ({
  /** Makes an event of what JSON.parse gave. */
  read: (message: unknown): Event => parsed(schema, message),
  /** All events that follow, the record first. */
  decide: (event: Event, position: InputPosition, policies: PolicySetOf<Kind>): readonly WrittenEvent[] =>
    handler(() => policies)({ event, position })
      .flat()
      .map(written),
  /** No message makes an older one needless. */
  passOver: (): null => null,
});

/** The same of one whose messages may be overtaken by newer ones. */
export const freezable = <Event>({ older, newer, decider, ...repeated }: Freezable<Event>) => ({
  ...repeatable(repeated),
  /** The record of a message that is passed over; `null` where the newer one does not make it needless. */
  passOver: (said: SaidOvertaken): WrittenEvent | null => {
    const event = parsed(older, said.older);
    if (!overtakes(parsed(newer, said.newer), event)) return null;
    const { position, overtakenBy, policySetHash: hash } = said;
    const outputs = overtakenHandler(decider, () => ({ hash }))({ event, position, overtakenBy });
    const [record] = outputs.flat();
    return record === undefined ? null : written(record);
  },
});

function parsed<Event>(schema: z.ZodType<Event>, message: unknown): Event {
  const { success, data, error } = schema.safeParse(message);
  if (success) return data;
  throw new FleetGcError(
    'EVENT_REJECTED',
    `this decider does not read this message: ${z.prettifyError(error)}`,
  );
}
