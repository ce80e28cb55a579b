import { z } from 'zod';
import { evictionSettings, toThresholds } from './eviction-settings.ts';
import type { Policy } from './policy.ts';
import {
  addProblems,
  bothOrNone,
  type CrossCheck,
  gracePeriods,
  inodeThresholdsInOrder,
  maximumAboveMinimumAge,
  minimumAgeMs,
  ON_ANY_MAP,
  onlyInKubeletProfile,
  onlyWhatAKubeletHas,
  patternsWithinBudget,
  sizesInOrder,
  thresholdsInOrder,
  wholeCharacters,
} from './policy-checks.ts';
import { DEFAULT_CREATED_CONTAINER_AGE_MS, DEFAULT_THRESHOLDS, POLICY_DEFAULTS } from './policy-defaults.ts';
import { Keep, Selector } from './policy-sections.ts';
import {
  duration,
  limit,
  missingOr,
  notNegative,
  percent,
  size,
  truth,
  wholeNumber,
} from './written-values.ts';

/** @limit Range of `commandLifetime`. Keep the maximum at or below `MAX_COMMAND_LIFETIME_MS`. */
export const COMMAND_LIFETIME_RANGE_MS = { min: 1_000, max: 600_000 } as const;

/** What a policy may be called. */
export const PolicyName = z
  .string({ error: missingOr('is missing: give the policy a name of its own', 'must be text') })
  .regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/, {
    error:
      'must be 1 to 63 lower-case letters, digits, dots or dashes, starting and ending with a letter or digit',
  });

/** What `kind` of a policy for nodes says, where it is written. */
const NODE_POLICY_KIND = 'NodePolicy';

const Fields = z.strictObject(
  {
    kind: z
      .literal(NODE_POLICY_KIND, {
        error: 'must be NodePolicy or ClusterPolicy; without it the policy is for nodes',
      })
      .optional()
      .describe('Says that the policy is for nodes, as it is without it.'),
    name: PolicyName.describe(
      'Unique among the policies for nodes; applying a policy of the same name replaces it.',
    ),
    priority: wholeNumber('must be a whole number')
      .default(POLICY_DEFAULTS.priority)
      .describe('Of the policies that select a node, the one with the highest priority holds.'),
    selector: Selector.prefault({}).describe(
      'Which nodes the policy is for: those that meet every given condition. Without conditions, all nodes.',
    ),
    mode: z
      .enum(['dry-run', 'enforce'], {
        error: missingOr(
          'is missing: write dry-run (decide and record, remove nothing) or enforce',
          'must be dry-run (decide and record, remove nothing) or enforce',
        ),
      })
      .describe('dry-run decides and records, and removes nothing. There is no default.'),
    profile: z
      .enum(['fleetgc', 'kubelet'], { error: 'must be fleetgc or kubelet' })
      .default(POLICY_DEFAULTS.profile)
      .describe('kubelet decides as the kubelet does; fleetgc, the default, is more careful.'),
    imageGCHighThresholdPercent: percent
      .optional()
      .meta({ default: POLICY_DEFAULTS.imageGCHighThresholdPercent })
      .describe('Disk usage, in percent, at which the removal of images starts.'),
    imageGCLowThresholdPercent: percent
      .optional()
      .meta({ default: POLICY_DEFAULTS.imageGCLowThresholdPercent })
      .describe('Disk usage, in percent, down to which images are removed.'),
    imageMinimumGCAge: duration
      .prefault(POLICY_DEFAULTS.imageMinimumGCAge)
      .describe(
        'An image first seen more recently than this stays. 0s means the default; negative means no minimum age.',
      ),
    imageMaximumGCAge: notNegative
      .prefault(POLICY_DEFAULTS.imageMaximumGCAge)
      .describe('An image unused for longer than this goes, whatever the disk usage. 0s is off.'),
    imageGCStartBelowAvailable: size
      .optional()
      .describe('Available bytes below which the removal of images starts, beside the percentages.'),
    imageGCUntilAvailable: size
      .optional()
      .describe(
        'Available bytes up to which images are removed once imageGCStartBelowAvailable was reached.',
      ),
    imageGCInodesHighThresholdPercent: percent
      .optional()
      .describe('Usage of inodes, in percent, at which the removal of images starts.'),
    imageGCInodesLowThresholdPercent: percent
      .optional()
      .describe('Usage of inodes, in percent, down to which images are removed.'),
    ...evictionSettings,
    forcedGC: truth
      .default(POLICY_DEFAULTS.forcedGC)
      .describe('Whether a threshold of evictionHard or evictionSoft that is met removes anything.'),
    minimumContainerTTLDuration: notNegative
      .prefault(POLICY_DEFAULTS.minimumContainerTTLDuration)
      .describe('A container created more recently than this stays.'),
    minimumCreatedContainerAge: notNegative
      .optional()
      .meta({ default: POLICY_DEFAULTS.minimumCreatedContainerAge })
      .describe('A container that was created more recently than this and never started stays.'),
    maximumDeadContainersPerContainer: limit
      .default(POLICY_DEFAULTS.maximumDeadContainersPerContainer)
      .describe('Dead containers kept per container of a pod; negative means no limit.'),
    maximumDeadContainers: limit
      .default(POLICY_DEFAULTS.maximumDeadContainers)
      .describe('Dead containers kept on a node; negative means no limit.'),
    maximumDeadContainerAge: duration
      .refine((ms) => ms > 0, { error: 'must be above 0s; leave the key out for no maximum' })
      .optional()
      .describe('A dead container that ended longer ago than this goes, whatever the limits would keep.'),
    keep: Keep.prefault({}).describe('What is never removed, whatever the disk usage.'),
    commandLifetime: duration
      .refine((ms) => ms >= COMMAND_LIFETIME_RANGE_MS.min && ms <= COMMAND_LIFETIME_RANGE_MS.max, {
        error: 'must be from 1s to 10m',
      })
      .prefault(POLICY_DEFAULTS.commandLifetime)
      .describe('How long after the inventory a node may still carry out a command that was decided on it.'),
  },
  { error: 'must be a map of settings, beginning with name: and mode:' },
);

/** Names of the settings of each section; the section without a name is the policy itself. */
export const POLICY_SETTINGS: Readonly<Record<string, readonly string[]>> = {
  '': Object.keys(Fields.shape),
  selector: Object.keys(Selector.shape),
  keep: Object.keys(Keep.shape),
};

const CHECKS: readonly CrossCheck[] = [
  wholeCharacters,
  patternsWithinBudget,
  thresholdsInOrder,
  gracePeriods,
  sizesInOrder,
  inodeThresholdsInOrder,
  bothOrNone,
  onlyInKubeletProfile(maximumAboveMinimumAge),
  onlyInKubeletProfile(onlyWhatAKubeletHas),
];

/**
 * One policy as people write it, in the names and units of KubeletConfiguration; parsed, it is a `Policy`. Every
 * problem is reported, not only the first (B12), so comparisons of settings do not wait for other settings.
 */
export const PolicyFile = Fields.superRefine(
  (fields, context) => addProblems(context, fields, CHECKS),
  ON_ANY_MAP,
).transform(toPolicy);
export type PolicyFile = z.input<typeof PolicyFile>;

type Written = z.output<typeof Fields>;

function toPolicy(fields: Written): Policy {
  const { clusters = [], nodeNames = [], pools = [], nodeLabels = {} } = fields.selector;
  return {
    name: fields.name,
    priority: fields.priority,
    selector: { clusters, nodeNames, pools, nodeLabels },
    mode: fields.mode,
    profile: fields.profile,
    ...thresholdsOf(fields),
    imageGCAvailable: availableSizes(fields),
    imageGCInodes: inodeThresholds(fields),
    imageMinimumGCAgeMs: minimumAgeMs(fields.imageMinimumGCAge),
    imageMaximumGCAgeMs: fields.imageMaximumGCAge,
    evictionThresholds: toThresholds(fields),
    forcedGC: fields.forcedGC,
    minimumContainerTTLMs: fields.minimumContainerTTLDuration,
    minimumCreatedContainerAgeMs: fields.minimumCreatedContainerAge ?? DEFAULT_CREATED_CONTAINER_AGE_MS,
    maximumDeadContainersPerContainer: fields.maximumDeadContainersPerContainer,
    maximumDeadContainers: fields.maximumDeadContainers,
    maximumDeadContainerAgeMs: fields.maximumDeadContainerAge ?? null,
    keep: keepRules(fields),
    commandLifetimeMs: fields.commandLifetime,
  };
}

const thresholdsOf = ({
  imageGCHighThresholdPercent = DEFAULT_THRESHOLDS.imageGCHighThresholdPercent,
  imageGCLowThresholdPercent = DEFAULT_THRESHOLDS.imageGCLowThresholdPercent,
}: Written): typeof DEFAULT_THRESHOLDS => ({ imageGCHighThresholdPercent, imageGCLowThresholdPercent });

const keepRules = ({ keep: { images, unpullable, ...same }, profile }: Written): Policy['keep'] => ({
  ...same,
  patterns: images,
  unpullable: unpullable ?? profile === 'fleetgc',
});

function availableSizes(fields: Written): Policy['imageGCAvailable'] {
  const { imageGCStartBelowAvailable: startBelowBytes, imageGCUntilAvailable: untilBytes } = fields;
  return startBelowBytes === undefined || untilBytes === undefined ? null : { startBelowBytes, untilBytes };
}

function inodeThresholds(fields: Written): Policy['imageGCInodes'] {
  const { imageGCInodesHighThresholdPercent: high, imageGCInodesLowThresholdPercent: low } = fields;
  return high === undefined || low === undefined
    ? null
    : { highThresholdPercent: high, lowThresholdPercent: low };
}
