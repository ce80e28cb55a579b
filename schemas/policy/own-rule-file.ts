import { z } from 'zod';
import { OwnRuleName, Propagation } from '../events/cluster-command.ts';
import { LabelName, LabelValue } from '../events/label.ts';
import { OWN_RULE_DEFAULTS } from './cluster-policy-defaults.ts';
import { kindsWritten, objectsWritten } from './cluster-policy-values.ts';
import {
  endStatesOf,
  MAX_RULE_AGE_MS,
  MAX_RULE_LABELS,
  MAX_RULES,
  MIN_RULE_AGE_MS,
  ObjectState,
  type OwnRule,
  type RuleProblem,
  ruleProblems,
} from './own-rule.ts';
import { namespace } from './policy-sections.ts';
import { durationText } from './value-text.ts';
import { duration, list, missingOr, percent, section } from './written-values.ts';

const EMPTY = 'must not be empty; leave it out for no such condition';

const labels = z
  .record(
    LabelName,
    z
      .string({ error: 'must be text; put it in quotes, as in "true" or "1"' })
      .refine((value) => LabelValue.safeParse(value).success, {
        error: 'must be the whole value of a label; patterns have no meaning here',
      }),
    {
      error: ({ code }) =>
        code === 'invalid_key'
          ? 'is no name of a label, such as app or example.com/app'
          : 'must be a map of names and values',
    },
  )
  .refine((written) => Object.keys(written).length > 0, { error: EMPTY })
  .refine((written) => Object.keys(written).length <= MAX_RULE_LABELS, {
    error: `has more than ${MAX_RULE_LABELS} labels`,
  });

const state = z.enum(ObjectState.options, { error: `must be one of ${ObjectState.options.join(', ')}` });

export const OwnRuleFields = section({
  name: z
    .string({ error: missingOr('is missing', 'must be a text') })
    .pipe(OwnRuleName)
    .describe('Unique in the policy; results name it.'),
  kinds: kindsWritten
    .min(1, { error: 'must name at least one kind' })
    .describe('Kinds whose objects the rule is for, such as apps/Deployment.'),
  namespaces: list(namespace)
    .max(1_000, { error: 'has more than 1000 entries' })
    .default([])
    .describe('Namespaces whose objects the rule is for. Without any, all.'),
  labels: labels.optional().describe('Labels that an object must have, all of them.'),
  states: list(state)
    .min(1, { error: EMPTY })
    .optional()
    .describe(
      'How an object must have ended: Complete or Failed for Jobs; Succeeded, Failed or Evicted for Pods.',
    ),
  after: duration
    .refine((ms) => ms >= MIN_RULE_AGE_MS && ms <= MAX_RULE_AGE_MS, { error: 'must be from 1m to 87600h' })
    .optional()
    .describe(
      'How long after its creation an object goes; with states, how long after it ended. Without it annotations say when.',
    ),
  propagation: z
    .enum(Propagation.options, { error: `must be one of ${Propagation.options.join(', ')}` })
    .default(OWN_RULE_DEFAULTS.propagation)
    .describe('What becomes of dependents of what is deleted.'),
  removalsPerHour: objectsWritten
    .default(OWN_RULE_DEFAULTS.removalsPerHour)
    .describe('How many objects an executor deletes by this rule in an hour.'),
  heldFromPercent: percent
    .default(OWN_RULE_DEFAULTS.heldFromPercent)
    .describe(
      'Of how many percent of a kind on the rule is held, if it would take 10 objects or more at once; 0 holds nothing.',
    ),
});
type OwnRuleFields = z.output<typeof OwnRuleFields>;

export const ownRuleOf = ({ after, labels, states, ...rule }: OwnRuleFields): OwnRule => ({
  ...rule,
  ...(labels !== undefined && { labels }),
  ...(states !== undefined && { states }),
  ...(after !== undefined && { afterMs: after }),
});

/** Of values that go together. */
const Rule = OwnRuleFields.superRefine((written, context) => {
  if (context.issues.length > 0) return;
  for (const problem of ruleProblems(ownRuleOf(written)))
    context.addIssue({ code: 'custom', ...toldOf(problem, written) });
});

export const OwnRulesFile = list(Rule)
  .max(MAX_RULES, { error: `has more than ${MAX_RULES} entries` })
  .superRefine((rules, context) => {
    const twice = rules.find(({ name }, index) => rules.slice(0, index).some((other) => other.name === name));
    if (twice !== undefined)
      context.addIssue({ code: 'custom', message: `has two rules of the name ${twice.name}` });
  });

interface Told {
  readonly path: (string | number)[];
  readonly message: string;
}

function toldOf(problem: RuleProblem, { kinds, states, after = 0 }: OwnRuleFields): Told {
  switch (problem.is) {
    case 'states-without-age':
      return { path: ['states'], message: 'need after: how long after its end an object goes, such as 24h' };
    case 'unbounded':
      return {
        path: ['after'],
        message: `would take ${everyOf(kinds)} of every namespace that is older than ${durationText(after)}: say labels, namespaces or states too`,
      };
    case 'no-such-state':
      return {
        path: ['states', problem.position],
        message: noSuchState(problem.kind, states?.[problem.position]),
      };
  }
}

const everyOf = (kinds: readonly string[]): string => kinds.map((kind) => `every ${kind}`).join(' and ');

function noSuchState(kind: string, state: string | undefined): string {
  const known = endStatesOf(kind);
  return known.length === 0
    ? `${kind} has no states: only batch/Job and Pod have, so a rule with states can be for these alone`
    : `${kind} has no state ${state}: it has ${known.join(', ')}`;
}
