import { EVICTION_MAPS, isIgnoredSignal } from '../../../schemas/policy/eviction-settings.ts';
import type { SharedSettings } from '../../../schemas/policy/kubelet-configuration.ts';
import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import type { KubeletFile } from './kubelet-file.ts';

/** What a policy needs and no configuration file of a kubelet says. */
export interface PolicyChoices extends Pick<PolicyFile, 'name' | 'mode' | 'profile'> {
  /** Flags of the kubelet that its file cannot say (B1). */
  readonly minimumContainerTTLDuration?: string | undefined;
  readonly maximumDeadContainersPerContainer?: number | undefined;
  readonly maximumDeadContainers?: number | undefined;
}

/** The policy that does on its nodes what the kubelet's settings say; what is not written there keeps its default. */
export function policyFromKubelet({ settings }: KubeletFile, choices: PolicyChoices): PolicyFile {
  const { name, mode, profile } = choices;
  return {
    name,
    mode,
    profile,
    ...plainSettings(settings),
    ...evictionMaps(settings),
    ...(settings.mergeDefaultEvictionSettings === true && { mergeDefaultEvictionSettings: true }),
    ...containerSettings(choices),
  };
}

const plainSettings = (settings: SharedSettings): Partial<PolicyFile> => ({
  ...given('imageGCHighThresholdPercent', settings.imageGCHighThresholdPercent),
  ...given('imageGCLowThresholdPercent', settings.imageGCLowThresholdPercent),
  ...given('imageMinimumGCAge', settings.imageMinimumGCAge),
  ...given('imageMaximumGCAge', settings.imageMaximumGCAge),
});

const containerSettings = (choices: PolicyChoices): Partial<PolicyFile> => ({
  ...given('minimumContainerTTLDuration', choices.minimumContainerTTLDuration),
  ...given('maximumDeadContainersPerContainer', choices.maximumDeadContainersPerContainer),
  ...given('maximumDeadContainers', choices.maximumDeadContainers),
});

const given = <Key extends string, Value>(key: Key, value: Value | null | undefined) =>
  value === null || value === undefined ? {} : { [key]: value };

/**
 * Without the signals on which nothing is removed. A map of `evictionHard` that holds no other stays, empty: it drops the
 * defaults all the same (B14).
 */
function evictionMaps(settings: SharedSettings): Partial<PolicyFile> {
  const maps = EVICTION_MAPS.flatMap((map) => {
    const written = settings[map];
    if (written === null || written === undefined) return [];
    const kept = Object.entries(written).filter(([signal]) => !isIgnoredSignal(signal));
    return kept.length > 0 || map === 'evictionHard' ? [[map, Object.fromEntries(kept)] as const] : [];
  });
  return Object.fromEntries(maps);
}
