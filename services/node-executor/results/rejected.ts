import { z } from 'zod';
import { sha256Hex } from '../../../packages/canonical/ids.ts';
import type { OnRejection } from '../../../packages/pipeline/decide.ts';
import type { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { nodeKey } from '../../../schemas/events/identity.ts';
import { type CommandRefusal, CommandResult } from '../../../schemas/events/result.ts';
import { type Receiver, reporterOf } from '../handler.ts';
import { commandRefused, resultOutput } from './results.ts';

const REASON: Readonly<Partial<Record<DeadLetterCause, CommandRefusal>>> = {
  'unknown-version': 'unsupported-version',
  'key-mismatch': 'other-node',
};

const text = z.string().min(1).max(500);
/** What can be told of a command that is none: nothing of it is believed beyond its names. */
const Named = z.object({
  id: text.optional().catch(undefined),
  decisionId: text.nullable().catch(null),
  inventoryId: text.nullable().catch(null),
  kind: CommandResult.shape.kind.catch('unknown'),
});
const NAMELESS = { id: undefined, decisionId: null, inventoryId: null, kind: 'unknown' } as const;

/**
 * What a message on this node's key gets that is no command: a refusal that names the reason, beside the dead letter.
 * The id follows from the message, so a repetition gives the same refusal.
 */
export const refuseRejected =
  (receiver: Pick<Receiver, 'identity' | 'journal' | 'clock'>): OnRejection =>
  (topic, { cause, message, value }, record) => {
    if (topic !== 'commands' || record.key !== nodeKey(receiver.identity)) return [];
    const { id, ...named } = Named.safeParse(value).data ?? NAMELESS;
    const command = { ...named, id: id ?? `unreadable-${sha256Hex(record.value ?? '').slice(0, 32)}` };
    const refusal = { reason: REASON[cause] ?? 'malformed', message: `${cause}: ${message}` };
    return [[resultOutput(commandRefused(reporterOf(receiver), command, refusal))]];
  };
