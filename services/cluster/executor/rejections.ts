import { z } from 'zod';
import { clusterOutput } from '../../../packages/decision/handler.ts';
import { REJECTION_REASONS, unreadableCommandId } from '../../../packages/decision/rejected-orders.ts';
import { clusterRejectedResultId } from '../../../packages/decision/result-ids.ts';
import type { OnRejection } from '../../../packages/records/decide.ts';
import type { ClusterInstant } from '../../../schemas/events/cluster-objects.ts';
import { EventId } from '../../../schemas/events/event-id.ts';
import { type ClusterIdentity, SUBJECTS } from '../../../schemas/events/identity.ts';

/** What can be told of a command that is none: nothing of it is believed beyond its names. */
const Named = z.object({
  id: EventId.optional().catch(undefined),
  decisionId: EventId.nullable().catch(null),
});
const NAMELESS = { id: undefined, decisionId: null } as const;
const MAX_MESSAGE_LENGTH = 1_000;

/**
 * What a message on this cluster's key gets that is no command: a refusal that names the reason, beside the dead letter. Its id
 * follows from the message and the reason, so a repetition gives the same refusal.
 */
export const refuseRejected =
  (identity: ClusterIdentity, at: () => ClusterInstant | null): OnRejection =>
  (topic, { cause, message, value }, record) => {
    if (topic !== 'clusterCommands' || record.key !== SUBJECTS.cluster.keyOf(identity)) return [];
    const { id, decisionId } = Named.safeParse(value).data ?? NAMELESS;
    const commandId = id ?? unreadableCommandId(record.value);
    const refusal = {
      reason: REJECTION_REASONS[cause],
      message: `${cause}: ${message}`.slice(0, MAX_MESSAGE_LENGTH).toWellFormed(),
    };
    const event = {
      type: 'fleetgc.cluster.command-result',
      version: 1,
      id: clusterRejectedResultId({ ...identity, commandId }, refusal),
      ...identity,
      at: at(),
      commandId,
      decisionId,
      result: { outcome: 'refused', ...refusal },
    } as const;
    return [[clusterOutput('clusterResults', event)]];
  };
