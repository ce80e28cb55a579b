import { z } from 'zod';
import type { PolicySet } from '../../schemas/policy.ts';
import { FleetGcError } from './errors.ts';
import type { InputPosition, PureHandler } from './handler.ts';

/** A decider with its parser, as it is frozen (docs/architecture.md, "Frozen deciders"). */
export interface Freezable<Event> {
  readonly schema: z.ZodType<Event>;
  readonly handler: (policies: () => PolicySet) => PureHandler<Event>;
}

/**
 * Decides on a message as JSON.parse gave it: all events that follow, the record first. Throws `EVENT_REJECTED` for a message
 * that this decider does not read.
 */
export const decideMessage =
  <Event>({ schema, handler }: Freezable<Event>) =>
  (message: unknown, position: InputPosition, policies: PolicySet): readonly object[] => {
    const { success, data, error } = schema.safeParse(message);
    if (!success)
      throw new FleetGcError(
        'EVENT_REJECTED',
        `this decider does not read this message: ${z.prettifyError(error)}`,
      );
    const stages = handler(() => policies)({ event: data, position });
    return stages.flat().map(({ event }) => event);
  };
