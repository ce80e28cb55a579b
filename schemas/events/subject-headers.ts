import { z } from 'zod';
import { ClusterInstant } from './cluster-objects.ts';
import { DECIDERS } from './deciders.ts';
import { DecisionInput, PolicyReference } from './decision-parts.ts';
import { EventId } from './event-id.ts';
import { ClusterIdentity, NodeIdentity, type SubjectKind } from './identity.ts';
import { Instant } from './time.ts';

/**
 * No command is carried out later than this after its inventory or fact was taken, whatever it says.
 * @limit Age of its inventory or fact after which a command is refused.
 */
export const MAX_COMMAND_LIFETIME_MS = 600_000;

/** What differs by subject in these headers. */
interface About {
  readonly identity: z.ZodRawShape;
  readonly takenAt: z.ZodType;
  /** Names what was decided on. */
  readonly cause: z.ZodRawShape;
  /** When an executor reports. */
  readonly at: z.ZodType;
  readonly decider: z.ZodEnum;
}

export const ABOUT = {
  node: {
    identity: NodeIdentity.shape,
    takenAt: Instant,
    cause: { inventoryId: EventId },
    at: Instant,
    decider: DECIDERS.node,
  },
  cluster: {
    identity: ClusterIdentity.shape,
    takenAt: ClusterInstant,
    cause: { factId: EventId },
    /** When the executor last heard from the API server; `null` where it never did. */
    at: ClusterInstant.nullable(),
    decider: DECIDERS.cluster,
  },
} as const satisfies Readonly<Record<SubjectKind, About>>;

/** What a command begins with after its type; `version` is of its subject. */
export const commandHeader = <
  Identity extends z.ZodRawShape,
  Cause extends z.ZodRawShape,
  TakenAt extends z.ZodType,
  const Version extends number,
>(
  { identity, cause, takenAt }: { identity: Identity; cause: Cause; takenAt: TakenAt },
  version: Version,
) => ({
  version: z.literal(version),
  /** Derived from what was decided on, the policy and the decider, so a redelivery gives the same command. */
  id: EventId,
  ...identity,
  decisionId: EventId,
  ...cause,
  /** Of what was decided on. */
  takenAt,
  lifetimeMs: z.int().positive().max(MAX_COMMAND_LIFETIME_MS),
  policy: PolicyReference,
});

/** What the record of a decision begins with after its type. */
export const decisionHeader = <
  Identity extends z.ZodRawShape,
  TakenAt extends z.ZodType,
  Decider extends z.ZodEnum,
>({
  identity,
  takenAt,
  decider,
}: {
  identity: Identity;
  takenAt: TakenAt;
  decider: Decider;
}) => ({
  version: z.literal(1),
  id: EventId,
  ...identity,
  takenAt,
  decider: z.object({ name: decider, version: z.string() }),
  input: DecisionInput,
  /** `null` when no policy selects the subject, a pause outranks them, or none was asked since the message was overtaken. */
  policy: PolicyReference.nullable(),
  policySetHash: z.string(),
});

/** What all begins with that an executor reports about a command. */
export const resultHeader = <Identity extends z.ZodRawShape, At extends z.ZodType>({
  identity,
  at,
}: {
  identity: Identity;
  at: At;
}) => ({
  version: z.literal(1),
  id: EventId,
  ...identity,
  at,
  commandId: EventId,
});
