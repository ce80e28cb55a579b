import { z } from 'zod';
import type { PolicySet } from '../../schemas/policy.ts';
import { FleetGcError } from './errors.ts';
import type { InputPosition, PureHandler } from './handler.ts';
import { canonicalJson } from './ids.ts';

/** A decider with its parser, as it is frozen (docs/architecture.md, "Frozen deciders"). */
export interface Freezable<Event> {
  readonly schema: z.ZodType<Event>;
  readonly handler: (policies: () => PolicySet) => PureHandler<Event>;
}

/**
 * Decides on the bytes of a message: the canonical JSON (RFC 8785) of the list of all events that follow, the record first.
 * Throws `EVENT_REJECTED` for bytes that this decider does not read.
 */
export const decideBytes =
  <Event>({ schema, handler }: Freezable<Event>) =>
  (bytes: Uint8Array, position: InputPosition, policies: PolicySet): string => {
    const stages = handler(() => policies)({ event: parse(schema, bytes), position });
    return canonicalJson(stages.flat().map(({ event }) => event));
  };

function parse<Event>(schema: z.ZodType<Event>, bytes: Uint8Array): Event {
  try {
    return schema.parse(JSON.parse(new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)));
  } catch (cause) {
    const why = cause instanceof z.ZodError ? z.prettifyError(cause) : String(cause);
    throw new FleetGcError('EVENT_REJECTED', `this decider does not read these bytes: ${why}`, { cause });
  }
}
