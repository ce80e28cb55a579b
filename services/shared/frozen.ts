import { z } from 'zod';
import type { PolicySet } from '../../schemas/policy.ts';
import { FleetGcError } from './errors.ts';
import type { InputPosition, PureHandler } from './handler.ts';

/** A decider with its parser, as it is frozen (docs/architecture.md, "Frozen deciders"). */
export interface Freezable<Event> {
  readonly schema: z.ZodType<Event>;
  readonly handler: (policies: () => PolicySet) => PureHandler<Event>;
}

/** What a bundle exports: `read` makes an event of what JSON.parse gave, `decide` all events that follow, the record first. */
export const freezable = <Event>({ schema, handler }: Freezable<Event>) => ({
  /** Throws `EVENT_REJECTED` for a message that this decider does not read. */
  read: (message: unknown): Event => {
    const { success, data, error } = schema.safeParse(message);
    if (success) return data;
    throw new FleetGcError(
      'EVENT_REJECTED',
      `this decider does not read this message: ${z.prettifyError(error)}`,
    );
  },
  decide: (event: Event, position: InputPosition, policies: PolicySet): readonly object[] =>
    handler(() => policies)({ event, position })
      .flat()
      .map((output) => output.event),
});
