import { z } from 'zod';
import { MAX_CLUSTER_COMMAND_LIFETIME_MS } from '../events/cluster-command.ts';
import {
  type ClusterPolicy,
  Collector,
  MAX_POLICY_NAMES,
  namesIn,
  TOO_MANY_NAMES,
} from './cluster-policy.ts';
import { CLUSTER_POLICY_DEFAULTS, DEFAULT_LIMITS, HELD_KINDS } from './cluster-policy-defaults.ts';
import { kindsWritten, objectsWritten } from './cluster-policy-values.ts';
import { OwnRuleFields, OwnRulesFile, ownRuleOf } from './own-rule-file.ts';
import { PolicyName } from './policy-file.ts';
import { namespace, selectorConditions } from './policy-sections.ts';
import { duration, list, MAX_INT32, missingOr, section, wholeNumber } from './written-values.ts';

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
      .refine((ms) => ms >= 1_000 && ms <= MAX_CLUSTER_COMMAND_LIFETIME_MS, {
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
