import { z } from 'zod';
import { OwnRuleName, Propagation } from '../events/cluster-command.ts';
import { LabelName, LabelValue } from '../events/label.ts';
import { MAX_COMMAND_LIFETIME_MS } from '../events/subject-headers.ts';
import {
  type ClusterPolicy,
  Collector,
  MAX_POLICY_NAMES,
  namesIn,
  TOO_MANY_NAMES,
} from './cluster-policy.ts';
import {
  CLUSTER_POLICY_DEFAULTS,
  DEFAULT_LIMITS,
  HELD_KINDS,
  OWN_RULE_DEFAULTS,
} from './cluster-policy-defaults.ts';
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
import { PolicyName } from './policy-file.ts';
import { namespace, selectorConditions } from './policy-sections.ts';
import { durationText } from './value-text.ts';
import { duration, list, MAX_INT32, missingOr, percent, section, wholeNumber } from './written-values.ts';

/** Values as people write them in several sections of a policy for clusters. */

/** The core group has no name; elsewhere a version in front is a mistake. */
const kindWritten = z
  .string({ error: 'must be the name of a kind' })
  .max(320, { error: 'is too long' })
  .regex(/^([a-z0-9]([a-z0-9.-]*[a-z0-9])?\/)?[A-Za-z]([A-Za-z0-9-]*[A-Za-z0-9])?$/, {
    error:
      'must be a kind with its group before it, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
  })
  .refine((kind) => !/^v\d[a-z0-9]*\//.test(kind), {
    error:
      'begins with a version: write the group, such as apps/ReplicaSet; of the core group the kind alone, such as Pod',
  });
const kindsWritten = list(kindWritten).max(1_000, { error: 'has more than 1000 entries' });

/** A number of objects. */
const objectsWritten = wholeNumber('must be a whole number above 0')
  .min(1, { error: 'must be at least 1' })
  .max(MAX_INT32, { error: 'is too large' });

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

const OwnRuleFields = section({
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

const ownRuleOf = ({ after, labels, states, ...rule }: OwnRuleFields): OwnRule => ({
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

const OwnRulesFile = list(Rule)
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

/** What `kind` of a policy for clusters says. */
export const CLUSTER_POLICY_KIND = 'ClusterPolicy';

const MODES =
  'dry-run (decide and record, send nothing), rehearse (ask the API server for all of it as a dry run) or enforce';

const Limits = section({
  cascade: objectsWritten
    .default(DEFAULT_LIMITS.cascade)
    .describe('How many objects may go with one owner; wider cascades are held.'),
  cascadeOfKind: objectsWritten
    .default(DEFAULT_LIMITS.cascadeOfKind)
    .describe('How many objects may go with all missing owners of one kind; wider cascades are held.'),
  removalsPerHour: objectsWritten
    .default(DEFAULT_LIMITS.removalsPerHour)
    .describe('How many objects an executor deletes or changes in an hour.'),
});

const ClusterKeep = section({
  namespaces: list(namespace)
    .max(1_000, { error: 'has more than 1000 entries' })
    .default([])
    .describe('Namespaces whose objects stay.'),
  kinds: kindsWritten.default([]).describe('Kinds whose objects stay, such as apps/ReplicaSet.'),
});

const ClustersSelected = section({
  clusters: selectorConditions.clusters.optional().describe('Names of clusters.'),
});

const Fields = z.strictObject(
  {
    kind: z.literal(CLUSTER_POLICY_KIND).describe('Says that the policy is for clusters.'),
    name: PolicyName.describe(
      'Unique among the policies for clusters; applying a policy of the same name replaces it.',
    ),
    priority: wholeNumber('must be a whole number')
      .default(CLUSTER_POLICY_DEFAULTS.priority)
      .describe('Of the policies that select a cluster, the one with the highest priority holds.'),
    selector: ClustersSelected.prefault({}).describe(
      'Which clusters the policy is for. Without conditions, all clusters.',
    ),
    mode: z
      .enum(['dry-run', 'rehearse', 'enforce'], {
        error: missingOr(`is missing: write ${MODES}`, `must be ${MODES}`),
      })
      .describe(
        'dry-run decides and records, and sends nothing; rehearse has the API server check all of it, and changes nothing. There is no default.',
      ),
    profile: z
      .enum(['fleetgc', 'kubernetes'], { error: 'must be fleetgc or kubernetes' })
      .default(CLUSTER_POLICY_DEFAULTS.profile)
      .describe('kubernetes decides as kube-controller-manager does; fleetgc, the default, is more careful.'),
    collectors: list(
      z.enum(Collector.options, {
        error: `must be the name of a collector: ${Collector.options.join(', ')}`,
      }),
    )
      .default([])
      .describe(
        'Which collectors of kube-controller-manager FleetGC stands in for, by their names. None by default.',
      ),
    limits: Limits.prefault({}).describe('How much may go before somebody has to look at it.'),
    terminatedPodGCThreshold: wholeNumber('must be a whole number, or 0 to let all pods that have ended stay')
      .min(0, { error: 'must not be negative; 0 lets all pods that have ended stay' })
      .max(MAX_INT32, { error: 'is too large' })
      .default(CLUSTER_POLICY_DEFAULTS.terminatedPodGCThreshold)
      .describe('How many pods that have ended may stay in a cluster; 0 lets all stay.'),
    heldKinds: kindsWritten
      .default([...HELD_KINDS])
      .describe('Kinds whose objects are held; a list replaces the default as a whole.'),
    keep: ClusterKeep.prefault({}).describe('What stays, whatever its owners.'),
    rules: OwnRulesFile.default([]).describe(
      'Rules of your own: objects of these kinds go when their annotations say so, or by their age.',
    ),
    undo: z
      .enum(['off', 'manifest'], { error: 'must be off or manifest' })
      .default(CLUSTER_POLICY_DEFAULTS.undo)
      .describe(
        'manifest saves each object on the event log before it is deleted, so that fleetgc undo can print it; never a Secret. What is saved lies there in clear.',
      ),
    undoExcept: kindsWritten.default([]).describe('Kinds of which undo keeps no more than the name.'),
    commandLifetime: duration
      .refine((ms) => ms >= 1_000 && ms <= MAX_COMMAND_LIFETIME_MS, {
        error: 'must be from 1s to 10m',
      })
      .prefault(CLUSTER_POLICY_DEFAULTS.commandLifetime)
      .describe('How long after what was seen a command may still be carried out.'),
  },
  { error: 'must be a map of settings, beginning with name: and mode:' },
);

/** Names of the settings of each section; the section without a name is the policy itself. */
export const CLUSTER_POLICY_SETTINGS: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(Fields.shape),
  selector: Object.keys(ClustersSelected.shape),
  limits: Object.keys(Limits.shape),
  keep: Object.keys(ClusterKeep.shape),
  rules: Object.keys(OwnRuleFields.shape),
};

/** One policy for clusters as people write it; parsed, it is a `ClusterPolicy`. */
export const ClusterPolicyFile = Fields.refine((written) => namesIn(written) <= MAX_POLICY_NAMES, {
  error: TOO_MANY_NAMES,
}).transform(
  ({ kind: _, selector, commandLifetime, rules, undo, undoExcept, ...policy }): ClusterPolicy => ({
    ...policy,
    selector: { clusters: selector.clusters ?? [] },
    commandLifetimeMs: commandLifetime,
    ...(undo !== 'off' && { undo }),
    ...(undoExcept.length > 0 && { undoExcept }),
    ...(rules.length > 0 && { rules: rules.map(ownRuleOf) }),
  }),
);
export type ClusterPolicyFile = z.input<typeof ClusterPolicyFile>;
