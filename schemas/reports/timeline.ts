import { z } from 'zod';
import { Holder } from '../events/command.ts';
import { Decision, DecisionOutcome } from '../events/decision.ts';
import { DecisionInput, Fact, PolicyReference } from '../events/decision-parts.ts';
import { Uint64 } from '../events/filesystem.ts';
import { InventoryProblem } from '../events/inventory.ts';
import { ObjectKind } from '../events/object-kinds.ts';
import { ReclaimCause, ReclaimTarget } from '../events/reclaim.ts';
import { CommandResult, Measured, PassProblem } from '../events/result.ts';

/** What a name can mean: what commands name, and pods and nodes. */
export const ExplainedKind = z.enum([...ObjectKind.options, 'pod', 'node']);
export type ExplainedKind = z.infer<typeof ExplainedKind>;

/** One thing of one node. */
export const ExplainedObject = z.strictObject({
  kind: ExplainedKind,
  /** Of a pod its UID, of a log entry its name, of a node `<cluster>/<node>`. */
  id: z.string(),
  name: z.string(),
});
export type ExplainedObject = z.infer<typeof ExplainedObject>;

const Traits = z.record(z.string(), Fact);
/** Who uses an image: also what only containerd knows of. */
const ExplainedUser = ExplainedObject.extend({
  kind: z.enum([...ExplainedKind.options, 'lease', 'snapshot', 'ingest']),
});
export type ExplainedUser = z.infer<typeof ExplainedUser>;
const Users = z.array(ExplainedUser);

/** What every entry says of itself. */
const base = {
  /** Epoch milliseconds, by the log's clock; the order of the timeline. */
  loggedAtMs: z.int(),
  /** When it was seen, decided or done, by the node's own clock. */
  nodeTimeMs: z.int().nonnegative(),
  record: DecisionInput.pick({ topic: true, partition: true, offset: true }).strict(),
  /** Whom the entry is about: what was asked for, or a part of it. */
  object: ExplainedObject,
};

/** What an entry says in numbers. */
const StatedReason = z.strictObject({ reason: z.string(), facts: z.record(z.string(), Fact) });
export type StatedReason = z.infer<typeof StatedReason>;

/** Of equal consecutive events the first gives the entry its times; this is the last of them. */
const repeated = {
  times: z.int().positive(),
  last: z.strictObject({ loggedAtMs: base.loggedAtMs, nodeTimeMs: base.nodeTimeMs }),
  /** Where numbers differ among them: what is said with the least and with the most of each. */
  spread: z.exactOptional(z.strictObject({ least: StatedReason, most: StatedReason })),
};

const decided = {
  decider: Decision.shape.decider.shape.name,
  decisionId: z.string(),
  outcome: DecisionOutcome,
  /** Why the decision as a whole came out so. */
  reason: z.string(),
  /** `null` where none holds for the node. */
  policy: PolicyReference.omit({ setHash: true }).nullable(),
};

/** Since when a look shows it. */
export const SeenHow = z.enum([
  /** It was there when reading began, for who knows how long. */
  'first-look',
  /** An earlier look had not shown it. */
  'new',
  /** It was away in between. */
  'again',
]);
export type SeenHow = z.infer<typeof SeenHow>;
const Seen = z.strictObject({ what: z.literal('seen'), ...base, how: SeenHow, traits: Traits });
const Changed = z.strictObject({ what: z.literal('changed'), ...base, from: Traits, to: Traits });
/** Who uses an image has changed. */
const Used = z.strictObject({
  what: z.literal('used'),
  ...base,
  users: Users,
  begun: Users,
  ended: Users,
  /** By the node's clock; `null` when nobody was ever seen to use it. */
  lastUsedMs: z.int().nonnegative().nullable(),
});
const Verdict = z.strictObject({
  what: z.literal('verdict'),
  ...base,
  ...repeated,
  ...decided,
  action: z.enum(['remove', 'keep']),
  rule: z.string(),
  /** The rule in words, which may be reworded. */
  because: z.string(),
  /** Those of the last decision. */
  facts: z.record(z.string(), Fact),
});
/** A decision that says nothing of the object. */
const Undecided = z.strictObject({
  what: z.literal('undecided'),
  ...base,
  ...repeated,
  ...decided,
});
const Commanded = z.strictObject({
  what: z.literal('command'),
  ...base,
  commandId: z.string(),
  rule: z.string(),
  because: z.string(),
  /** What the plan counted the removal with; `null` for what has no size that is known before. */
  expectedBytes: z.int().nonnegative().nullable(),
  lifetimeMs: z.int().positive(),
  /** Whether the log has an answer to it. */
  answered: z.boolean(),
});
const ResultOutcome = z.enum(['removed', 'not-found', 'refused', 'failed', 'not-needed', 'not-done']);
const Answered = z.strictObject({
  what: z.literal('result'),
  ...base,
  commandId: z.string(),
  /** Whether the command was refused as a whole. */
  wholeCommand: z.boolean(),
  outcome: ResultOutcome,
  rule: z.string().nullable(),
  reason: z.string().nullable(),
  message: z.string().nullable(),
  expectedBytes: z.int().nonnegative().nullable(),
  measured: Measured.nullable(),
});
/** Not listed any more, and no result says that FleetGC removed it. */
const Gone = z.strictObject({
  what: z.literal('gone'),
  ...base,
  /** A command for it has no answer on the log. */
  commandOpen: z.boolean(),
  /** Whether the node was installed anew in between. */
  otherInstance: z.boolean(),
});
/** The node looked and could not tell what is there. */
const NotSeen = z.strictObject({
  what: z.literal('not-seen'),
  ...base,
  ...repeated,
  status: z.enum(['incomplete', 'too-large']),
  problems: z.array(InventoryProblem),
});
/** Of a node: what a decider concluded. */
const Decided = z.strictObject({
  what: z.literal('decision'),
  ...base,
  ...repeated,
  ...decided,
  removals: z.int().nonnegative(),
  estimatedBytes: z.int().nonnegative(),
  /** Whether the log has an answer to its command; `null` where it sent none. */
  answered: z.boolean().nullable(),
  reclaim: z
    .strictObject({ id: z.string(), cause: ReclaimCause, target: ReclaimTarget, round: z.int() })
    .nullable(),
});
/** Of a node: what became of a command. */
const CommandAnswered = z.strictObject({
  what: z.literal('command-result'),
  ...base,
  commandId: z.string(),
  kind: CommandResult.shape.kind,
  result: CommandResult.shape.result,
});
const Failed = z.strictObject({
  what: z.literal('pass-failed'),
  ...base,
  problem: PassProblem,
  message: z.string(),
});
const Unrelieved = z.strictObject({
  what: z.literal('unrelieved'),
  ...base,
  availableNow: Uint64.nullable(),
  holders: z.array(Holder),
});

export const TimelineEntry = z.discriminatedUnion('what', [
  Seen,
  Changed,
  Used,
  Verdict,
  Undecided,
  Commanded,
  Answered,
  Gone,
  NotSeen,
  Decided,
  CommandAnswered,
  Failed,
  Unrelieved,
]);
export type TimelineEntry = z.infer<typeof TimelineEntry>;
export type EntryOf<What extends TimelineEntry['what']> = Extract<TimelineEntry, { what: What }>;
