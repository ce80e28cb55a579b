import { stringify } from 'yaml';
import type { NodeSelector, Policy } from '../../schemas/policy.ts';
import type { PolicyFile } from '../../schemas/policy-file.ts';

/** A policy as one would write it with every default spelt out; reading it again gives the same policy. */
export function writtenForm({ selector, keep, ...policy }: Policy): PolicyFile {
  return {
    name: policy.name,
    priority: policy.priority,
    ...selectorSection(selector),
    mode: policy.mode,
    profile: 'fleetgc',
    imageGCHighThresholdPercent: policy.imageGCHighThresholdPercent,
    imageGCLowThresholdPercent: policy.imageGCLowThresholdPercent,
    imageMinimumGCAge: durationText(policy.imageMinimumGCAgeMs),
    minimumContainerTTLDuration: durationText(policy.minimumContainerTTLMs),
    minimumCreatedContainerAge: durationText(policy.minimumCreatedContainerAgeMs),
    maximumDeadContainersPerContainer: policy.maximumDeadContainersPerContainer,
    maximumDeadContainers: policy.maximumDeadContainers,
    keep: { images: [...keep.patterns], digests: [...keep.digests], labels: keep.labels },
    commandLifetime: durationText(policy.commandLifetimeMs),
  };
}

export const writtenYaml = (policy: Policy): string => stringify(writtenForm(policy), { lineWidth: 0 });

/** A condition that selects every node is left out, since an empty one is refused. */
function selectorSection({ clusters, nodeNames, nodeLabels }: NodeSelector): Pick<PolicyFile, 'selector'> {
  const selector = {
    ...(clusters.length > 0 && { clusters: [...clusters] }),
    ...(nodeNames.length > 0 && { nodeNames: [...nodeNames] }),
    ...(Object.keys(nodeLabels).length > 0 && { nodeLabels }),
  };
  return Object.keys(selector).length === 0 ? {} : { selector };
}

const UNITS = [
  { unit: 'h', ms: 3_600_000 },
  { unit: 'm', ms: 60_000 },
  { unit: 's', ms: 1_000 },
  { unit: 'ms', ms: 1 },
] as const;

/** In Go's form: 90,000 is `1m30s`. */
export function durationText(durationMs: number): string {
  let rest = Math.abs(durationMs);
  const parts = UNITS.map(({ unit, ms }) => {
    const count = Math.floor(rest / ms);
    rest -= count * ms;
    return count === 0 ? '' : `${count}${unit}`;
  }).join('');
  return parts === '' ? '0s' : `${durationMs < 0 ? '-' : ''}${parts}`;
}
