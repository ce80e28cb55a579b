import type { KubeletFileReading } from '../../../packages/policy/from-kubelet/kubelet-file.ts';
import { counted } from '../../../packages/text/counted.ts';
import { printableLine } from '../../../packages/text/printable.ts';
import type { Policy } from '../../../schemas/policy/policy.ts';
import { POLICY_DEFAULTS } from '../../../schemas/policy/policy-defaults.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from '../finding.ts';

export interface PodFacts {
  readonly pods: number;
  /** Whether the kubelet knows a pod from each source that is configured. */
  readonly haveDelivered: boolean;
  readonly sources: readonly string[];
  /** What a proxy before the kubelet calls itself; `null` where none does. */
  readonly proxy: string | null;
}

/** `null`: no kubelet is configured. */
export function kubeletFinding(url: string | undefined, facts: Looked<PodFacts> | null): Finding {
  if (url === undefined || facts === null)
    return skipped('Without --kubelet-url no pod counts as deleted, and what belongs to one stays.');
  if (!facts.ok)
    return problem(
      facts.error.message,
      'Check URL, certificate or token, and the right to list pods (docs/operating/install.md#the-kubelets-pods).',
    );
  const { pods, haveDelivered, sources, proxy } = facts.value;
  const seen = `${url} tells ${counted(pods, 'pod')}`;
  if (proxy !== null)
    return warning(
      `${seen}, and a proxy answers for the kubelet (${printableLine(proxy).slice(0, 80)})`,
      'No pod counts as deleted while the proxy closes idle connections within 10 s: name the kubelet itself, or let the proxy keep idle connections for a minute (docs/operating/install.md#the-kubelets-pods).',
    );
  if (haveDelivered) return ok(seen);
  return warning(
    `${seen}, and none from each of its sources (${sources.join(', ')})`,
    'Until each source has a pod, no pod counts as deleted. See --pod-sources.',
  );
}

/** `policy`: the one in force for this node, as far as somebody knows. */
export function kubeletSettingsFinding(
  path: string,
  text: Looked<string | null>,
  { read, policy }: { readonly read: (text: string) => KubeletFileReading; readonly policy: Policy | null },
): Finding {
  if (!text.ok) return skipped(`${path} cannot be read: ${text.error.message}`);
  if (text.value === null) return skipped(`There is no ${path}; --kubelet-config-file names another one.`);
  const reading = read(text.value);
  if (!reading.valid)
    return warning(
      `${path} is not a configuration that a kubelet of today takes: ${reading.problems[0]?.message ?? ''}`,
      'fleetgc policy from-kubelet names each of its problems.',
    );
  const { imageGCHighThresholdPercent, imageMaximumGCAge } = reading.configuration.settings;
  const high = imageGCHighThresholdPercent ?? POLICY_DEFAULTS.imageGCHighThresholdPercent;
  const seen = `${path}: the kubelet begins to remove images at ${high} %`;
  const byAge = imageMaximumGCAge !== undefined && !/^0[a-z]*$/.test(imageMaximumGCAge);
  if (byAge)
    return warning(
      `${seen}, and those that are unused for ${imageMaximumGCAge}`,
      'What the kubelet removes by age no policy of FleetGC keeps: leave imageMaximumGCAge at 0s.',
    );
  if (policy === null) return ok(seen);
  const own = policy.imageGCHighThresholdPercent;
  if (own < high) return ok(`${seen}, and FleetGC at ${own} %`);
  return warning(
    `${seen}, and FleetGC at ${own} % by the policy ${policy.name}`,
    'FleetGC should begin first: take a lower imageGCHighThresholdPercent in the policy (docs/operating/install.md#beside-the-kubelets-own-collector).',
  );
}
