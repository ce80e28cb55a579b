/** What omitted thresholds mean (B14). */
export const DEFAULT_THRESHOLDS: Readonly<
  Record<'imageGCHighThresholdPercent' | 'imageGCLowThresholdPercent', number>
> = { imageGCHighThresholdPercent: 85, imageGCLowThresholdPercent: 80 };

/**
 * What an omitted field means: the defaults of KubeletConfiguration and the kubelet's flags, where they have it. They are
 * also what `profile: kubelet` promises: with another one it would differ from the kubelet unseen.
 */
export const POLICY_DEFAULTS = {
  priority: 0,
  profile: 'fleetgc',
  ...DEFAULT_THRESHOLDS,
  imageMinimumGCAge: '2m',
  imageMaximumGCAge: '0s',
  mergeDefaultEvictionSettings: false,
  forcedGC: true,
  minimumContainerTTLDuration: '0s',
  minimumCreatedContainerAge: '5m',
  maximumDeadContainersPerContainer: 1,
  maximumDeadContainers: -1,
  commandLifetime: '60s',
} as const;

/** What an omitted rule of `keep` means, where it is a number; lists are empty, and `unpullable` goes by the profile. */
export const KEEP_DEFAULTS = { lastVersions: 0 } as const;

/** What a zero `imageMinimumGCAge` becomes (B3). */
export const DEFAULT_IMAGE_MINIMUM_AGE_MS = 120_000;

/** What an omitted `minimumCreatedContainerAge` becomes (M32). */
export const DEFAULT_CREATED_CONTAINER_AGE_MS = 300_000;
