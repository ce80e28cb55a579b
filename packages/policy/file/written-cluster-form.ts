import { stringify } from 'yaml';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { CLUSTER_POLICY_KIND, type ClusterPolicyFile } from '../../../schemas/policy/cluster-policy-file.ts';
import { durationText } from '../value-text.ts';

/** A policy for clusters as one would write it with every default spelt out; reading it again gives the same policy. */
export const writtenClusterForm = ({
  selector: { clusters },
  commandLifetimeMs,
  name,
  priority,
  mode,
  profile,
  ...rest
}: ClusterPolicy): ClusterPolicyFile => ({
  kind: CLUSTER_POLICY_KIND,
  name,
  priority,
  ...(clusters.length > 0 && { selector: { clusters } }),
  mode,
  profile,
  ...rest,
  commandLifetime: durationText(commandLifetimeMs),
});

export const writtenClusterYaml = (policy: ClusterPolicy): string =>
  stringify(writtenClusterForm(policy), { lineWidth: 0 });
