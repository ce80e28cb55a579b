import { z } from 'zod';
import { ClusterDecision } from './cluster-decision.ts';
import { Fact, MessageReference } from './decision-parts.ts';
import type { SubjectKind } from './identity.ts';
import { ObjectKind } from './object-kinds.ts';
import { Reclaim } from './reclaim.ts';
import { ABOUT, decisionHeader } from './subject-headers.ts';

/** What was decided for one object, by its position in the list of its kind, with the rule and the facts it used. */
export const Verdict = z.object({
  kind: ObjectKind,
  position: z.int().nonnegative(),
  action: z.enum(['remove', 'keep']),
  /** Number of the rule in the behaviour specification (docs/reference/rules.md), e.g. `D10`. */
  rule: z.string(),
  facts: z.record(z.string(), Fact),
});
export type Verdict = z.infer<typeof Verdict>;

export const DecisionOutcome = z.enum([
  /** A command was sent. */
  'commanded',
  /** An order to observe was sent (pressure; container-gc moving a reclaim on to its images). */
  'ordered',
  /** The same plan, but the policy says `dry-run`. */
  'dry-run',
  'nothing-to-do',
  /** image-gc saw an inventory of the step `containers`. */
  'waits-for-containers',
  /** Nothing more can be removed and the target is not reached. */
  'unrelieved',
  'no-policy',
  'paused',
  /** Facts are missing or impossible; see `notBelieved`. */
  'not-believed',
  /** More elementary steps would be needed than a decision may take: everything is kept. */
  'too-costly',
  /** The node accepts no command version that this service writes. */
  'no-common-version',
  /** Nothing was decided: a newer inventory of the node was there already; see `overtakenBy`. */
  'overtaken',
]);
export type DecisionOutcome = z.infer<typeof DecisionOutcome>;

/** Fact: one decision about one message of a node, acknowledged before its command is sent. */
export const Decision = z.object({
  type: z.literal('fleetgc.node.decision'),
  ...decisionHeader(ABOUT.node),
  outcome: DecisionOutcome,
  /** For people: why, where the outcome alone does not say it. */
  reason: z.string(),
  notBelieved: z.array(z.object({ rule: z.string(), message: z.string() })),
  /** Findings that decide nothing, e.g. a keep rule that matches nothing. */
  notes: z.array(z.object({ rule: z.string(), message: z.string() })).default([]),
  reclaim: Reclaim.nullable(),
  /**
   * What the images to be removed free: layers that none of the others has (M7); where those are not known, and in the
   * profile `kubelet`, their listed sizes (D14). Each removal has its own share among its facts.
   */
  estimatedBytes: z.int().nonnegative(),
  /** Of every object that it is about, in the order of a pass: by kind, and of one kind by position. */
  verdicts: z.array(Verdict),
  /** Ids of the orders and commands that follow from this decision. */
  outputIds: z.array(z.string()),
  /** Only with outcome `overtaken`: the newer message, for which this one was passed over. */
  overtakenBy: MessageReference.optional(),
  /**
   * SHA-256 of the canonical JSON (RFC 8785) of a list: this record without this field, and every event that follows from
   * the decision, in order. Missing where an older decider wrote the record.
   */
  outputSha256: z.string().optional(),
});
export type Decision = z.infer<typeof Decision>;

/** The records of decisions about each kind of subject: their types say of what kind it is, their identities which one. */
export const DECISIONS = {
  node: Decision,
  cluster: ClusterDecision,
} as const satisfies { readonly [Kind in SubjectKind]: z.ZodObject<{ type: z.ZodLiteral<string> }> };

/** The record of a decision about such a subject. */
export type DecisionAbout<Kind extends SubjectKind> = z.infer<(typeof DECISIONS)[Kind]>;
