import { z } from 'zod';
import { OwnRuleName, Propagation } from '../events/cluster-command.ts';
import { LabelName, LabelValue } from '../events/label.ts';

/**
 * As long as somebody might want to keep what is made to go, in whole hours.
 * @limit Longest age that an expiry rule can set.
 */
export const MAX_RULE_AGE_MS = 87_600 * 3_600_000;
/** @limit Shortest age that an expiry rule can set. */
export const MIN_RULE_AGE_MS = 60_000;
/** @limit Expiry rules of one policy. */
export const MAX_RULES = 100;
/** Of one rule. */
export const MAX_RULE_LABELS = 20;

/** States that a rule can ask for, in the words of Kubernetes: conditions of Jobs, phases of pods and the reason of one. */
export const ObjectState = z.enum(['Complete', 'Succeeded', 'Failed', 'Evicted']);
export type ObjectState = z.infer<typeof ObjectState>;

/** Kinds whose objects come to an end, with the states that they end in. */
export const END_STATES: Readonly<Record<string, readonly ObjectState[]>> = {
  'batch/Job': ['Complete', 'Failed'],
  Pod: ['Succeeded', 'Failed', 'Evicted'],
};

/** None for a kind whose objects have no end. */
export const endStatesOf = (kind: string): readonly ObjectState[] =>
  Object.hasOwn(END_STATES, kind) ? (END_STATES[kind] ?? []) : [];

const Names = z.array(z.string().min(1).max(320)).max(1_000);

const Fields = z.strictObject({
  name: OwnRuleName,
  kinds: Names.min(1),
  /** Whole names; an empty list means all. */
  namespaces: Names,
  /** Labels that an object must have, all of them. Not there where the rule asks for none. */
  labels: z
    .record(LabelName, LabelValue)
    .refine((labels) => isWithin(Object.keys(labels).length))
    .optional(),
  /** How an object must have ended, one of them. Not there where its state does not matter. */
  states: z.array(ObjectState).min(1).max(ObjectState.options.length).optional(),
  /** How long after its creation, or after its end where the rule names states; not there where annotations say when (cluster S8). */
  afterMs: z.int().min(MIN_RULE_AGE_MS).max(MAX_RULE_AGE_MS).optional(),
  propagation: Propagation,
  /** How many objects an executor deletes by this rule in an hour (cluster S10). */
  removalsPerHour: z.int().positive(),
  /**
   * Held where it would take such a part of a kind at once; 0 holds nothing (cluster S11). Not there in a policy that was applied
   * before there was this key: then a tenth.
   */
  heldFromPercent: z.int().min(0).max(100).optional(),
});

const isWithin = (labels: number): boolean => labels > 0 && labels <= MAX_RULE_LABELS;

/** Lets objects of these kinds go: when their own annotations say so (cluster S8), or by their age (cluster S12). */
export const OwnRule = Fields.refine((rule) => ruleProblems(rule).length === 0);
export type OwnRule = z.infer<typeof OwnRule>;

/** What is wrong with a rule whose values are each well formed. */
export type RuleProblem =
  | { readonly is: 'states-without-age' }
  /** It would take every object of its kinds that is old enough. */
  | { readonly is: 'unbounded' }
  | { readonly is: 'no-such-state'; readonly position: number; readonly kind: string };

type Checked = Pick<z.infer<typeof Fields>, 'kinds' | 'namespaces' | 'labels' | 'states' | 'afterMs'>;

/** A rule by age says what it is for beside kinds, and asks no kind for a state that it does not have. */
export function ruleProblems({
  kinds,
  namespaces,
  labels,
  states = [],
  afterMs,
}: Checked): readonly RuleProblem[] {
  if (afterMs === undefined) return states.length === 0 ? [] : [{ is: 'states-without-age' }];
  if (labels === undefined && namespaces.length === 0 && states.length === 0) return [{ is: 'unbounded' }];
  return states.flatMap((state, position) =>
    kinds
      .filter((kind) => !endStatesOf(kind).includes(state))
      .map((kind): RuleProblem => ({ is: 'no-such-state', position, kind })),
  );
}
