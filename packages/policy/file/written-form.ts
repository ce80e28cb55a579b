import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { CLUSTER_POLICY_DEFAULTS } from '../../../schemas/policy/cluster-policy-defaults.ts';
import { CLUSTER_POLICY_KIND, type ClusterPolicyFile } from '../../../schemas/policy/cluster-policy-file.ts';
import type { Amount, EvictionSignal, EvictionThreshold } from '../../../schemas/policy/eviction.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import type { NodeSelector, Policy, PolicyKeep } from '../../../schemas/policy/policy.ts';
import type { PolicyFile } from '../../../schemas/policy/policy-file.ts';
import { durationText, quantityText } from '../../../schemas/policy/value-text.ts';
import { yamlOfPolicy } from './yaml-document.ts';

/** A policy as one would write it with every default spelt out; reading it again gives the same policy. */
export function writtenForm({ selector, keep, ...policy }: Policy): PolicyFile {
  return {
    name: policy.name,
    priority: policy.priority,
    ...selectorSection(selector),
    mode: policy.mode,
    profile: policy.profile,
    imageGCHighThresholdPercent: policy.imageGCHighThresholdPercent,
    imageGCLowThresholdPercent: policy.imageGCLowThresholdPercent,
    ...availableSizes(policy),
    ...inodeThresholds(policy),
    imageMinimumGCAge: durationText(policy.imageMinimumGCAgeMs),
    imageMaximumGCAge: durationText(policy.imageMaximumGCAgeMs),
    ...writtenEviction(policy.evictionThresholds),
    forcedGC: policy.forcedGC,
    minimumContainerTTLDuration: durationText(policy.minimumContainerTTLMs),
    ...createdContainerAge(policy),
    maximumDeadContainersPerContainer: policy.maximumDeadContainersPerContainer,
    maximumDeadContainers: policy.maximumDeadContainers,
    ...maximumContainerAge(policy),
    keep: keepSection(keep),
    commandLifetime: durationText(policy.commandLifetimeMs),
  };
}

export const writtenYaml = (policy: Policy): string => yamlOfPolicy(writtenForm(policy));

type WrittenPart<Key extends keyof PolicyFile> = Partial<Pick<PolicyFile, Key>>;

const availableSizes = ({
  imageGCAvailable: sizes,
}: Pick<Policy, 'imageGCAvailable'>): WrittenPart<'imageGCStartBelowAvailable' | 'imageGCUntilAvailable'> =>
  sizes === null
    ? {}
    : {
        imageGCStartBelowAvailable: quantityText(sizes.startBelowBytes),
        imageGCUntilAvailable: quantityText(sizes.untilBytes),
      };

const inodeThresholds = ({
  imageGCInodes: thresholds,
}: Pick<Policy, 'imageGCInodes'>): WrittenPart<
  'imageGCInodesHighThresholdPercent' | 'imageGCInodesLowThresholdPercent'
> =>
  thresholds === null
    ? {}
    : {
        imageGCInodesHighThresholdPercent: thresholds.highThresholdPercent,
        imageGCInodesLowThresholdPercent: thresholds.lowThresholdPercent,
      };

/** A kubelet does not have this setting, so in its profile it cannot be written. */
const createdContainerAge = ({
  profile,
  minimumCreatedContainerAgeMs: ageMs,
}: Pick<Policy, 'profile' | 'minimumCreatedContainerAgeMs'>): WrittenPart<'minimumCreatedContainerAge'> =>
  profile === 'kubelet' ? {} : { minimumCreatedContainerAge: durationText(ageMs) };

const maximumContainerAge = ({
  maximumDeadContainerAgeMs: ageMs,
}: Pick<Policy, 'maximumDeadContainerAgeMs'>): WrittenPart<'maximumDeadContainerAge'> =>
  ageMs === null ? {} : { maximumDeadContainerAge: durationText(ageMs) };

const keepSection = (keep: PolicyKeep): PolicyFile['keep'] => ({
  images: [...keep.patterns],
  digests: [...keep.digests],
  labels: keep.labels,
  namespaces: [...keep.namespaces],
  unpullable: keep.unpullable,
  lastVersions: keep.lastVersions,
});

/** A condition that selects every node is left out, since an empty one is refused. */
function selectorSection({
  clusters,
  nodeNames,
  pools,
  nodeLabels,
}: NodeSelector): Pick<PolicyFile, 'selector'> {
  const selector = {
    ...(clusters.length > 0 && { clusters: [...clusters] }),
    ...(nodeNames.length > 0 && { nodeNames: [...nodeNames] }),
    ...(pools.length > 0 && { pools: [...pools] }),
    ...(Object.keys(nodeLabels).length > 0 && { nodeLabels }),
  };
  return Object.keys(selector).length === 0 ? {} : { selector };
}

type EvictionMaps = Pick<
  PolicyFile,
  'evictionHard' | 'evictionSoft' | 'evictionSoftGracePeriod' | 'evictionMinimumReclaim'
>;

/** Thresholds in the four maps of the kubelet; no hard one is written as `{}`, since leaving it out means defaults. */
function writtenEviction(thresholds: readonly EvictionThreshold[]): EvictionMaps {
  const soft = thresholds.filter(({ kind }) => kind === 'soft');
  return {
    evictionHard: bySignal(
      thresholds.filter(({ kind }) => kind === 'hard'),
      valueText,
    ),
    ...(soft.length > 0 && {
      evictionSoft: bySignal(soft, valueText),
      evictionSoftGracePeriod: bySignal(soft, ({ gracePeriodMs }) => durationText(gracePeriodMs)),
    }),
    ...minimumReclaims(thresholds),
  };
}

function minimumReclaims(
  thresholds: readonly EvictionThreshold[],
): Pick<EvictionMaps, 'evictionMinimumReclaim'> {
  const entries = thresholds.flatMap(({ signal, minimumReclaim }) =>
    minimumReclaim === null ? [] : [[signal, amountText(minimumReclaim)] as const],
  );
  return entries.length === 0 ? {} : { evictionMinimumReclaim: Object.fromEntries(entries) };
}

const bySignal = (
  thresholds: readonly EvictionThreshold[],
  text: (threshold: EvictionThreshold) => string,
): Partial<Record<EvictionSignal, string>> =>
  Object.fromEntries(thresholds.map((threshold) => [threshold.signal, text(threshold)]));

const valueText = ({ value }: EvictionThreshold): string => thresholdText(value);

/** `0%` and `100%` mean no threshold, and these are ones (B15). */
const thresholdText = (value: Amount): string =>
  'percent' in value && (value.percent === 0 || value.percent === 100)
    ? `${value.percent}.0%`
    : amountText(value);

const amountText = (amount: Amount): string =>
  'percent' in amount ? `${amount.percent}%` : quantityText(amount.quantity);

/** A policy for clusters as one would write it with every default spelt out; reading it again gives the same policy. */
const writtenClusterForm = ({
  selector: { clusters },
  commandLifetimeMs,
  name,
  priority,
  mode,
  profile,
  rules,
  undo,
  ...rest
}: ClusterPolicy): ClusterPolicyFile => ({
  kind: CLUSTER_POLICY_KIND,
  name,
  priority,
  ...(clusters.length > 0 && { selector: { clusters } }),
  mode,
  profile,
  ...rest,
  undo: undo ?? CLUSTER_POLICY_DEFAULTS.undo,
  ...(rules !== undefined && { rules: rules.map(writtenRule) }),
  commandLifetime: durationText(commandLifetimeMs),
});

const writtenRule = ({ afterMs, ...rule }: OwnRule): NonNullable<ClusterPolicyFile['rules']>[number] => ({
  ...rule,
  ...(afterMs !== undefined && { after: durationText(afterMs) }),
});

export const writtenClusterYaml = (policy: ClusterPolicy): string => yamlOfPolicy(writtenClusterForm(policy));
