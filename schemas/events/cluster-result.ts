import { z } from 'zod';
import { ClusterAction, MAX_CLUSTER_COMMAND_ITEMS, OwnRuleName } from './cluster-command.ts';
import { ClusterObject, ObjectText } from './cluster-objects.ts';
import { Fact } from './decision-parts.ts';
import { EventId } from './event-id.ts';
import { ObjectUid } from './identity.ts';
import { ABOUT, resultHeader } from './subject-headers.ts';

/** For people; what is longer is cut. */
const Message = z.string().max(1_000);

/** Why a command as a whole was not carried out. */
export const ClusterCommandRefusal = z.enum([
  'expired',
  'policy-not-in-force',
  'other-instance',
  'taken-in-the-future',
  'paused',
  'held',
  'malformed',
  'unsupported-version',
  'not-trusted',
  'too-many-waiting',
]);
export type ClusterCommandRefusal = z.infer<typeof ClusterCommandRefusal>;

/** Why one object stays as it is although the command named it. */
export const ClusterObjectRefusal = z.enum([
  ...ClusterCommandRefusal.options,
  /** It is another one by now: what it was judged by has changed. A newer fact tells of it. */
  'changed',
  /** An owner is there, and holds it. */
  'owner-there',
  /** What an owner is, or the node of a pod, cannot be told from the API server's answer. */
  'owner-unknown',
  /** By the keep list of the policy in force, or the annotation, the object stays. */
  'kept-by-policy',
  /** By its live state the object stays, or something else is to be done. */
  'kept-by-own-judgement',
  /** It would go, and somebody has to approve it first. */
  'not-approved',
  /** No such order takes this finalizer away. */
  'forbidden-finalizer',
  /** As many as the policy allows in an hour have gone. */
  'rate-limited',
  /** A later command named it before its turn came, or it was done for another command. */
  'superseded',
]);
export type ClusterObjectRefusal = z.infer<typeof ClusterObjectRefusal>;

/** What went wrong in an attempt that was made. */
export const ClusterFailure = z.enum([
  /** The API server does not allow it: a role lacks it, or an admission policy or webhook refuses it. */
  'forbidden',
  'invalid',
  'conflict',
  'api-server-error',
  'unreachable',
  /** What has to be on the event log before the object is changed could not be written there: the intent, the object itself under `undo: manifest`, or earlier results. */
  'not-saved',
  /** A fault of the executor itself. */
  'executor-failed',
]);
export type ClusterFailure = z.infer<typeof ClusterFailure>;

/**
 * A hold that the executor found and no decision knew of: the rule, and what it used, as a verdict of the decision service would say it.
 */
export const ExecutorHold = z.object({ rule: z.string().max(20), facts: z.record(z.string(), Fact) });
export type ExecutorHold = z.infer<typeof ExecutorHold>;

/** What an object was found to be whose executor had announced it, and ended before its result was on the event log. */
export const FoundLater = z.enum([
  /** It is not there any more. Who removed it is unknown. */
  'gone',
  /** It is in another state. Who changed it is unknown. */
  'changed',
  /** It is in the state in which the command names it. */
  'unchanged',
  /** The API server does not tell. */
  'unreadable',
]);
export type FoundLater = z.infer<typeof FoundLater>;

/** Only where a later executor settles what another one announced: what it saw. What came of the object itself is unknown. */
const settled = { found: FoundLater.optional() };

/** What came of one object. `not-found` is success: somebody was quicker. */
export const ClusterObjectOutcome = z.discriminatedUnion('outcome', [
  z.object({ outcome: z.literal('removed') }),
  /** It is being deleted, and finalizers or its own grace hold it. */
  z.object({ outcome: z.literal('accepted') }),
  z.object({ outcome: z.literal('patched') }),
  z.object({ outcome: z.literal('not-found'), message: Message.optional(), ...settled }),
  /** The API server did all but the deed, and had nothing against it. */
  z.object({ outcome: z.literal('rehearsed') }),
  z.object({
    outcome: z.literal('refused'),
    reason: ClusterObjectRefusal,
    message: Message,
    hold: ExecutorHold.optional(),
    ...settled,
  }),
  z.object({ outcome: z.literal('failed'), reason: ClusterFailure, message: Message, ...settled }),
]);
export type ClusterObjectOutcome = z.infer<typeof ClusterObjectOutcome>;

/** What a later executor saw of an object that another one announced and did not report; `null` for a result of its own. */
export const foundLater = (outcome: ClusterObjectOutcome): FoundLater | null =>
  'found' in outcome ? (outcome.found ?? null) : null;

/** What an owner of an object was found to be right before something was done. */
export const OwnerFound = z.enum(['absent', 'waiting', 'orphaning', 'there']);
export type OwnerFound = z.infer<typeof OwnerFound>;

/** What the node of a pod was found to be right before something was done. */
export const NodeFound = z.enum(['absent', 'there', 'out-of-service']);
export type NodeFound = z.infer<typeof NodeFound>;

/** Of so many owners of an object it is told what they were found to be. */
export const MAX_OWNERS_TOLD = 10;

/** An object of a command, in the state in which the command names it, and what is to be done with it. */
export const orderedObject = {
  object: ClusterObject,
  rule: z.string(),
  action: z.enum(ClusterAction.options.map((option) => option.shape.action.value)),
  /** The rule of the policy by which it is to be removed, where one is. */
  ownRule: OwnRuleName.optional(),
} as const;

/** Fact: what came of objects of one command; a command has as many of these as it takes. */
export const ClusterObjectResults = z.object({
  type: z.literal('fleetgc.cluster.object-results'),
  ...resultHeader(ABOUT.cluster),
  decisionId: EventId,
  /** Names the process that did it, as its intent does. Releases that wrote no intents did not give it. */
  executor: EventId.optional(),
  objects: z
    .array(
      z.object({
        ...orderedObject,
        /** How often it was tried, and how many requests that took. */
        attempts: z.int().nonnegative(),
        requests: z.int().nonnegative(),
        /** As they were read last. */
        owners: z.array(z.object({ uid: ObjectUid, found: OwnerFound })).max(MAX_OWNERS_TOLD),
        /** Of a pod that goes because of its node. */
        node: z.object({ name: ObjectText, found: NodeFound }).optional(),
        result: ClusterObjectOutcome,
      }),
    )
    .min(1)
    .max(MAX_CLUSTER_COMMAND_ITEMS),
});
export type ClusterObjectResults = z.infer<typeof ClusterObjectResults>;

/** Fact: what came of a command, after the results of its objects. */
export const ClusterCommandResult = z.object({
  type: z.literal('fleetgc.cluster.command-result'),
  ...resultHeader(ABOUT.cluster),
  /** `null` where what came was no command and named none. */
  decisionId: EventId.nullable(),
  /** As in `object-results`. */
  executor: EventId.optional(),
  result: z.discriminatedUnion('outcome', [
    z.object({
      outcome: z.literal('done'),
      /** Objects by what came of them. */
      counts: z.partialRecord(
        z.enum(ClusterObjectOutcome.options.map((option) => option.shape.outcome.value)),
        z.int().nonnegative(),
      ),
    }),
    z.object({ outcome: z.literal('refused'), reason: ClusterCommandRefusal, message: Message }),
  ]),
});
export type ClusterCommandResult = z.infer<typeof ClusterCommandResult>;
