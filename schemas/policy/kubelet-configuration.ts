import { posix } from 'node:path';
import { z } from 'zod';
import { evictionSettings } from './eviction-settings.ts';
import {
  addProblems,
  type CrossCheck,
  gracePeriods,
  maximumAboveMinimumAge,
  ON_ANY_MAP,
  thresholdsInOrder,
} from './policy-checks.ts';
import { POLICY_DEFAULTS } from './policy-defaults.ts';
import { duration, missingOr, notNegative, percent, truth } from './written-values.ts';

const API_VERSION = 'kubelet.config.k8s.io/v1beta1';
export const KUBELET_KIND = 'KubeletConfiguration';

const exactly = (value: string) =>
  z.literal(value, { error: missingOr(`is missing: it must be ${value}`, `must be ${value}`) });

/** The kubelet tells no value from a missing one only where it has pointers and maps; `null` is missing there. */
const optionalPercent = percent.nullish();

const podLogsDir = z
  .string({ error: 'must be a path, as text' })
  .refine((path) => path === '' || path.startsWith('/'), { error: 'must be an absolute path' })
  .refine((path) => path === '' || posix.resolve('/', path) === path, {
    error: 'must be a normal path: without . and .., double slashes, or a slash at its end',
  })
  .refine((path) => [...path].every((letter) => letter.charCodeAt(0) <= 127), {
    error: 'must be ASCII only',
  });

const FeatureGates = z.looseObject(
  { ImageMaximumGCAge: truth.optional(), AllBeta: truth.optional() },
  { error: 'must be a map of feature gates' },
);

const Fields = z.looseObject(
  {
    apiVersion: exactly(API_VERSION),
    kind: exactly(KUBELET_KIND),
    imageGCHighThresholdPercent: optionalPercent,
    imageGCLowThresholdPercent: optionalPercent,
    imageMinimumGCAge: duration.prefault(POLICY_DEFAULTS.imageMinimumGCAge),
    imageMaximumGCAge: notNegative.prefault(POLICY_DEFAULTS.imageMaximumGCAge),
    evictionHard: evictionSettings.evictionHard.nullable(),
    evictionSoft: evictionSettings.evictionSoft.nullable(),
    evictionSoftGracePeriod: evictionSettings.evictionSoftGracePeriod.nullable(),
    evictionMinimumReclaim: evictionSettings.evictionMinimumReclaim.nullable(),
    mergeDefaultEvictionSettings: evictionSettings.mergeDefaultEvictionSettings.nullable(),
    evictionPressureTransitionPeriod: duration.optional(),
    podLogsDir: podLogsDir.optional(),
    featureGates: FeatureGates.nullish(),
  },
  { error: `must be a map of settings, beginning with apiVersion: ${API_VERSION}` },
);

const Gated = z.object({ imageMaximumGCAge: z.int(), featureGates: FeatureGates.nullish() });

/** B8, as of Kubernetes 1.34: the gate is beta and on. */
const maximumAgeGate: CrossCheck = (settings) => {
  const { data } = Gated.safeParse(settings);
  const { ImageMaximumGCAge, AllBeta = true } = data?.featureGates ?? {};
  if (!data || data.imageMaximumGCAge === 0 || (ImageMaximumGCAge ?? AllBeta)) return [];
  return [
    { path: ['imageMaximumGCAge'], message: 'needs the feature gate ImageMaximumGCAge, which is off here' },
  ];
};

const CHECKS = [thresholdsInOrder, maximumAgeGate, maximumAboveMinimumAge, gracePeriods];

/** A configuration file of a kubelet: what of it is about garbage collection, checked as the kubelet checks it (B5 to B15). */
export const KubeletConfiguration = Fields.superRefine(
  (fields, context) => addProblems(context, fields, CHECKS),
  ON_ANY_MAP,
);

const Value = z.record(z.string(), z.string()).nullish();

/** The settings of it that a policy has too, as they were written. */
export const SharedSettings = z.object({
  imageGCHighThresholdPercent: z.number().nullish(),
  imageGCLowThresholdPercent: z.number().nullish(),
  imageMinimumGCAge: z.string().optional(),
  imageMaximumGCAge: z.string().optional(),
  evictionHard: Value,
  evictionSoft: Value,
  evictionSoftGracePeriod: Value,
  evictionMinimumReclaim: Value,
  mergeDefaultEvictionSettings: z.boolean().nullish(),
});
export type SharedSettings = z.infer<typeof SharedSettings>;

/**
 * Top-level fields of KubeletConfiguration, up to Kubernetes 1.36, that say nothing about garbage collection, by what they
 * are about. With them a misspelt field is told from one that has another purpose.
 */
export const OTHER_KUBELET_FIELDS: Readonly<Record<string, readonly string[]>> = {
  'evicting pods': ['evictionPressureTransitionPeriod', 'evictionMaxPodGracePeriod'],
  'rotation of logs': [
    'containerLogMaxSize',
    'containerLogMaxFiles',
    'containerLogMaxWorkers',
    'containerLogMonitorInterval',
  ],
  'pulling images': [
    'registryPullQPS',
    'registryBurst',
    'serializeImagePulls',
    'maxParallelImagePulls',
    'imagePullCredentialsVerificationPolicy',
    'preloadedImagesVerificationAllowlist',
  ],
  'container runtime': [
    'containerRuntimeEndpoint',
    'imageServiceEndpoint',
    'runtimeRequestTimeout',
    'nodeStatusMaxImages',
    'crashLoopBackOff',
  ],
  'CPU, memory and process ids': [
    'kubeletCgroups',
    'systemCgroups',
    'cgroupRoot',
    'cgroupsPerQOS',
    'cgroupDriver',
    'cpuManagerPolicy',
    'cpuManagerPolicyOptions',
    'cpuManagerReconcilePeriod',
    'cpuCFSQuota',
    'cpuCFSQuotaPeriod',
    'memoryManagerPolicy',
    'memoryReservationPolicy',
    'memoryThrottlingFactor',
    'memorySwap',
    'topologyManagerPolicy',
    'topologyManagerPolicyOptions',
    'topologyManagerScope',
    'qosReserved',
    'podPidsLimit',
    'failSwapOn',
    'failCgroupV1',
    'systemReserved',
    'kubeReserved',
    'systemReservedCgroup',
    'kubeReservedCgroup',
    'reservedSystemCPUs',
    'reservedMemory',
    'enforceNodeAllocatable',
    'singleProcessOOMKill',
    'oomScoreAdj',
    'maxOpenFiles',
    'kernelMemcgNotification',
  ],
  pods: [
    'staticPodPath',
    'staticPodURL',
    'staticPodURLHeader',
    'syncFrequency',
    'fileCheckFrequency',
    'httpCheckFrequency',
    'maxPods',
    'podsPerCore',
    'configMapAndSecretChangeDetectionStrategy',
    'allowedUnsafeSysctls',
    'seccompDefault',
    'userNamespaces',
    'shutdownGracePeriod',
    'shutdownGracePeriodCriticalPods',
    'shutdownGracePeriodByPodPriority',
    'runOnce',
  ],
  network: [
    'clusterDomain',
    'clusterDNS',
    'resolvConf',
    'hairpinMode',
    'podCIDR',
    'makeIPTablesUtilChains',
    'iptablesMasqueradeBit',
    'iptablesDropBit',
  ],
  storage: [
    'volumeStatsAggPeriod',
    'volumePluginDir',
    'enableControllerAttachDetach',
    'localStorageCapacityIsolation',
  ],
  'server, certificates and the API': [
    'enableServer',
    'address',
    'port',
    'readOnlyPort',
    'tlsCertFile',
    'tlsPrivateKeyFile',
    'tlsCipherSuites',
    'tlsCurvePreferences',
    'tlsMinVersion',
    'rotateCertificates',
    'serverTLSBootstrap',
    'authentication',
    'authorization',
    'contentType',
    'kubeAPIQPS',
    'kubeAPIBurst',
    'eventRecordQPS',
    'eventBurst',
    'streamingConnectionIdleTimeout',
    'registerNode',
    'registerWithTaints',
    'providerID',
    'nodeStatusUpdateFrequency',
    'nodeStatusReportFrequency',
    'nodeLeaseDurationSeconds',
    'protectKernelDefaults',
  ],
  'logs, metrics and debugging': [
    'logging',
    'tracing',
    'healthzPort',
    'healthzBindAddress',
    'enableDebuggingHandlers',
    'enableContentionProfiling',
    'enableProfilingHandler',
    'enableDebugFlagsHandler',
    'enableSystemLogHandler',
    'enableSystemLogQuery',
    'showHiddenMetricsForVersion',
  ],
};
