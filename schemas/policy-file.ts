import { z } from 'zod';
import { ClusterName } from './identity.ts';
import { KeepRules } from './image-pattern.ts';
import type { Policy } from './policy.ts';
import { DurationMs } from './quantity.ts';

/** What an omitted field means: the defaults of KubeletConfiguration and the kubelet's flags, where they have it. */
export const POLICY_DEFAULTS = {
  priority: 0,
  profile: 'fleetgc',
  imageGCHighThresholdPercent: 85,
  imageGCLowThresholdPercent: 80,
  imageMinimumGCAge: '2m',
  minimumContainerTTLDuration: '0s',
  minimumCreatedContainerAge: '5m',
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  commandLifetime: '60s',
} as const;

/** What a zero `imageMinimumGCAge` becomes (B3). */
const DEFAULT_IMAGE_MINIMUM_AGE_MS = 120_000;
const COMMAND_LIFETIME_RANGE_MS = { min: 1_000, max: 600_000 } as const;
const MAX_INT32 = 2 ** 31 - 1;

const missingOr =
  (missing: string, wrong: string) =>
  ({ input }: { readonly input?: unknown }): string =>
    input === undefined ? missing : wrong;

const text = (error: string) => z.string({ error }).min(1, { error });
const list = <Item extends z.ZodType>(item: Item) => z.array(item, { error: 'must be a list, as in [a, b]' });
const labels = z.record(
  z.string().min(1),
  z.string({ error: 'must be text; put it in quotes, as in "true" or "1"' }),
  { error: 'must be a map of names and values' },
);
/** An empty section is a mistake more often than a wish, so it is refused rather than read as its default. */
const section = <Shape extends z.ZodRawShape>(shape: Shape) =>
  z.strictObject(shape, { error: 'must be a map of settings; leave the key out if there is none' });
const pattern = (error: string) =>
  text(error).refine((glob) => !glob.startsWith('!'), {
    error: 'must not start with an exclamation mark: a list has no exceptions',
  });

/** A condition that was emptied, by a template for instance, must not select every node. */
const EMPTY_CONDITION = 'must not be empty; leave the key out for no such condition';
const Selector = section({
  clusters: list(ClusterName).min(1, { error: EMPTY_CONDITION }).optional().describe('Names of clusters.'),
  nodeNames: list(pattern('must be a pattern over node names'))
    .min(1, { error: EMPTY_CONDITION })
    .optional()
    .describe('Glob patterns over node names; one that matches is enough.'),
  nodeLabels: labels
    .refine((conditions) => Object.keys(conditions).length > 0, { error: EMPTY_CONDITION })
    .optional()
    .describe('Labels that a node must have, all of them.'),
});
const Keep = section({
  images: list(pattern('must be a pattern over image names'))
    .default([])
    .describe('Glob patterns over whole image names; * stops at a slash, ** does not.'),
  digests: list(KeepRules.shape.digests.element).default([]).describe('Digests, or image ids.'),
  labels: labels.default({}).describe('Labels of images; one that is equal is enough.'),
});

/** B5, B6 */
const percent = z
  .int({ error: 'must be a whole number from 0 to 100, without a percent sign' })
  .min(0, { error: 'must be at least 0' })
  .max(100, { error: 'must be at most 100' });
const limit = z
  .int({ error: 'must be a whole number; a negative one means no limit' })
  .min(-MAX_INT32 - 1, { error: 'is too small' })
  .max(MAX_INT32, { error: `must be at most ${MAX_INT32}; a negative number means no limit` });
const DURATION_ERROR = 'must be a duration with a unit, such as 90s, 1m30s or 24h';
const duration = z.string({ error: DURATION_ERROR }).pipe(DurationMs);
const notNegative = duration.refine((ms) => ms >= 0, { error: 'must not be negative' });
const Fields = z.strictObject(
  {
    name: z
      .string({ error: missingOr('is missing: give the policy a name of its own', 'must be text') })
      .regex(/^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$/, {
        error:
          'must be 1 to 63 lower-case letters, digits, dots or dashes, starting and ending with a letter or digit',
      })
      .describe('Unique among all policies; applying a policy of the same name replaces it.'),
    priority: z
      .int({ error: 'must be a whole number' })
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
      .enum(['fleetgc'], {
        error: ({ input }) =>
          input === 'kubelet'
            ? 'kubelet is not available in this release; leave the key out, or write fleetgc'
            : 'must be fleetgc',
      })
      .default(POLICY_DEFAULTS.profile),
    imageGCHighThresholdPercent: percent
      .default(POLICY_DEFAULTS.imageGCHighThresholdPercent)
      .describe('Disk usage, in percent, at which the removal of images starts.'),
    imageGCLowThresholdPercent: percent
      .default(POLICY_DEFAULTS.imageGCLowThresholdPercent)
      .describe('Disk usage, in percent, down to which images are removed.'),
    imageMinimumGCAge: duration
      .prefault(POLICY_DEFAULTS.imageMinimumGCAge)
      .describe(
        'An image first seen more recently than this stays. 0s means the default; negative means no minimum age.',
      ),
    minimumContainerTTLDuration: notNegative
      .prefault(POLICY_DEFAULTS.minimumContainerTTLDuration)
      .describe('A container created more recently than this stays.'),
    minimumCreatedContainerAge: notNegative
      .prefault(POLICY_DEFAULTS.minimumCreatedContainerAge)
      .describe('A container that was created more recently than this and never started stays.'),
    maximumDeadContainersPerContainer: limit
      .default(POLICY_DEFAULTS.maximumDeadContainersPerContainer)
      .describe('Dead containers kept per container of a pod; negative means no limit.'),
    maximumDeadContainers: limit
      .default(POLICY_DEFAULTS.maximumDeadContainers)
      .describe('Dead containers kept on a node; negative means no limit.'),
    keep: Keep.prefault({}).describe('Images that are never removed, whatever the disk usage.'),
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

const Thresholds = z.object({ imageGCHighThresholdPercent: percent, imageGCLowThresholdPercent: percent });

/**
 * One policy as people write it, in the names and units of KubeletConfiguration; parsed, it is a `Policy`. Every
 * problem is reported, not only the first (B12), so the comparison of the thresholds does not wait for other fields.
 */
export const PolicyFile = Fields.refine(
  (fields) => fields.imageGCLowThresholdPercent < fields.imageGCHighThresholdPercent,
  {
    // B7
    path: ['imageGCLowThresholdPercent'],
    error: ({ input }) =>
      `must be below imageGCHighThresholdPercent, which is ${Thresholds.parse(input).imageGCHighThresholdPercent}`,
    when: ({ value }) => Thresholds.safeParse(value).success,
  },
).transform(toPolicy);
export type PolicyFile = z.input<typeof PolicyFile>;

function toPolicy(fields: z.output<typeof Fields>): Policy {
  const {
    selector: { clusters = [], nodeNames = [], nodeLabels = {} },
    keep: { images, ...keep },
    imageMinimumGCAge,
    minimumContainerTTLDuration,
    minimumCreatedContainerAge,
    commandLifetime,
    ...same
  } = fields;
  return {
    ...same,
    selector: { clusters, nodeNames, nodeLabels },
    imageMinimumGCAgeMs: imageMinimumGCAge === 0 ? DEFAULT_IMAGE_MINIMUM_AGE_MS : imageMinimumGCAge,
    minimumContainerTTLMs: minimumContainerTTLDuration,
    minimumCreatedContainerAgeMs: minimumCreatedContainerAge,
    keep: { ...keep, patterns: images },
    commandLifetimeMs: commandLifetime,
  };
}
