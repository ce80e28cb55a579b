import { z } from 'zod';
import { ClusterAction, Propagation } from '../events/cluster-command.ts';
import { ClusterDecision, ClusterDecisionOutcome, ClusterVerdict } from '../events/cluster-decision.ts';
import { ClusterObjectOutcome, ClusterObjectResults } from '../events/cluster-result.ts';
import { DecisionInput, Fact, PolicyReference } from '../events/decision-parts.ts';
import { ClusterName } from '../events/identity.ts';
import { GoneHow, ReferenceState, SettledCandidate } from '../events/ownership.ts';

const EpochMs = z.int().nonnegative();
const Facts = z.record(z.string(), Fact);

/** What every entry says of itself. */
const base = {
  /** Epoch milliseconds, by the log's clock; the order of the timeline. */
  loggedAtMs: EpochMs,
  /** By the API server's clock: when the fact was taken, or when the executor last heard from it; `null` where nobody knows. */
  clusterTimeMs: EpochMs.nullable(),
  record: DecisionInput.pick({ topic: true, partition: true, offset: true }).strict(),
};

/** Of equal consecutive events the first gives the entry its times; this is the last of them. */
const repeated = {
  times: z.int().positive(),
  last: z.strictObject({ loggedAtMs: base.loggedAtMs, clusterTimeMs: base.clusterTimeMs }),
};

/** How an owner went, where the agent saw it go; `orphaned`: so that its dependents stay. */
const Gone = z.strictObject({ how: GoneHow, orphaned: z.boolean() }).nullable();

const ExplainedOwner = z.strictObject({
  /** `apps/ReplicaSet`. */
  kind: z.string(),
  name: z.string(),
  uid: z.string(),
  state: ReferenceState,
  gone: Gone,
});
export type ExplainedOwner = z.infer<typeof ExplainedOwner>;

/** What the agent told of it, because something may have to be done about it. */
const Told = z.strictObject({
  what: z.literal('candidate'),
  ...base,
  /** Why it was told: because of its owners, its time, or its node and its end as a pod. */
  as: z.enum(['owned', 'expiring', 'pod']),
  /** `again`: after it was gone, or nothing was to be done about it. */
  how: z.enum(['first', 'changed', 'again']),
  isBeingDeleted: z.boolean(),
  finalizers: z.array(z.string()),
  keptBy: z.enum(['object', 'namespace']).nullable(),
  owners: z.array(ExplainedOwner),
  facts: Facts,
});

/** What the agent told of it as the owner of other objects. */
const Owning = z.strictObject({
  what: z.literal('owner'),
  ...base,
  ...repeated,
  state: ReferenceState,
  gone: Gone,
  /** Objects that were told because of it, in the last such fact. */
  dependents: z.int().positive(),
});

const Verdict = z.strictObject({
  what: z.literal('verdict'),
  ...base,
  ...repeated,
  decider: ClusterDecision.shape.decider.shape.name,
  decisionId: z.string(),
  outcome: ClusterDecisionOutcome,
  /** Why the decision as a whole came out so. */
  reason: z.string(),
  /** `null` where none holds for the cluster. */
  policy: PolicyReference.omit({ setHash: true }).nullable(),
  action: ClusterVerdict.shape.action,
  rule: z.string(),
  /** The rule in words, which may be reworded. */
  because: z.string(),
  /** Those of the last decision. */
  facts: Facts,
});

const actionName = z.enum(ClusterAction.options.map((option) => option.shape.action.value));

const Commanded = z.strictObject({
  what: z.literal('command'),
  ...base,
  commandId: z.string(),
  action: actionName,
  rule: z.string(),
  because: z.string(),
  /** What becomes of its dependents; `null` where it is not deleted. */
  propagation: Propagation.nullable(),
  /** The rule of the policy by which it goes, where one says so. */
  ownRule: z.string().nullable(),
  lifetimeMs: z.int().positive(),
  /** Whether the log has an answer to it. */
  answered: z.boolean(),
});

const Result = ClusterObjectResults.shape.objects.element.shape;
const Answered = z.strictObject({
  what: z.literal('result'),
  ...base,
  commandId: z.string(),
  /** Whether the command was refused as a whole. */
  wholeCommand: z.boolean(),
  /** These two are `null` where it was. */
  action: actionName.nullable(),
  rule: z.string().nullable(),
  outcome: z.enum(ClusterObjectOutcome.options.map((option) => option.shape.outcome.value)),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  attempts: z.int().nonnegative(),
  requests: z.int().nonnegative(),
  /** As they were read right before. */
  owners: Result.owners,
  node: Result.node.unwrap().nullable(),
});

/** The agent tells it no more. */
const Settled = z.strictObject({
  what: z.literal('settled'),
  ...base,
  how: SettledCandidate.shape.how,
  /** Of what is gone: whether a result says that FleetGC deleted it. */
  byFleetGc: z.boolean(),
});

export const ClusterTimelineEntry = z.discriminatedUnion('what', [
  Told,
  Owning,
  Verdict,
  Commanded,
  Answered,
  Settled,
]);
export type ClusterTimelineEntry = z.infer<typeof ClusterTimelineEntry>;
export type ClusterEntryOf<What extends ClusterTimelineEntry['what']> = Extract<
  ClusterTimelineEntry,
  { what: What }
>;

/** How it stands at the end of what was read. */
export const ClusterObjectState = z.enum([
  /** The agent told of it last. */
  'there',
  /** Nothing has to be done about it any more. */
  'settled',
  /** FleetGC deleted it, and finalizers hold it. */
  'being-deleted',
  'removed',
  /** Deleted by somebody else, as far as the log tells. */
  'gone',
]);
export type ClusterObjectState = z.infer<typeof ClusterObjectState>;

/** A name in a cluster, which several objects may have had one after the other. */
export const ObjectName = z.strictObject({
  cluster: ClusterName,
  group: z.string(),
  kind: z.string(),
  /** Empty for what lies in none. */
  namespace: z.string(),
  name: z.string(),
});
export type ObjectName = z.infer<typeof ObjectName>;

const life = {
  uid: z.string(),
  state: ClusterObjectState,
  firstMs: EpochMs,
  lastMs: EpochMs,
};

/** One of several things that a name means. */
export const ClusterCandidate = z.strictObject({ ...ObjectName.shape, ...life });
export type ClusterCandidate = z.infer<typeof ClusterCandidate>;

export const ObjectLife = z.strictObject({ ...life, timeline: z.array(ClusterTimelineEntry) });
export type ObjectLife = z.infer<typeof ObjectLife>;

/** What was read for the answer. */
const Reading = z.strictObject({
  /** `null` is no limit; by the log's clock. */
  fromMs: z.int().nullable(),
  toMs: z.int().nullable(),
  /** Times of the first and the last record that was read; `null` when there was none. */
  firstRecordMs: z.int().nullable(),
  lastRecordMs: z.int().nullable(),
  records: z.int().nonnegative(),
  /** Records that concern it and cannot be read, such as events of a newer release. */
  unreadable: z.int().nonnegative(),
});

const head = {
  type: z.literal('fleetgc.cluster-explanation'),
  version: z.literal(1),
  asked: z.string(),
  reading: Reading,
};

/** What `fleetgc audit explain -o json` prints of an object of a cluster. */
export const ClusterExplanation = z.discriminatedUnion('status', [
  z.strictObject({
    ...head,
    status: z.literal('explained'),
    subject: ObjectName,
    /** Of each object that had the name, the first one first. */
    lives: z.array(ObjectLife).min(1),
  }),
  z.strictObject({ ...head, status: z.literal('ambiguous'), candidates: z.array(ClusterCandidate) }),
  z.strictObject({ ...head, status: z.literal('not-found'), nearNames: z.array(z.string()) }),
]);
export type ClusterExplanation = z.infer<typeof ClusterExplanation>;

const line = { version: z.literal(1), asked: z.string() };

/** What `-o ndjson` prints, one a line: the entries of all lives, or what the name may mean. */
export const ClusterExplanationLine = z.discriminatedUnion('type', [
  z.strictObject({
    type: z.literal('fleetgc.cluster-timeline-entry'),
    ...line,
    subject: ClusterCandidate,
    entry: ClusterTimelineEntry,
  }),
  z.strictObject({ type: z.literal('fleetgc.cluster-candidate'), ...line, candidate: ClusterCandidate }),
]);
export type ClusterExplanationLine = z.infer<typeof ClusterExplanationLine>;
