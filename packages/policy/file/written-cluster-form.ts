import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { CLUSTER_POLICY_DEFAULTS } from '../../../schemas/policy/cluster-policy-defaults.ts';
import { CLUSTER_POLICY_KIND, type ClusterPolicyFile } from '../../../schemas/policy/cluster-policy-file.ts';
import type { OwnRule } from '../../../schemas/policy/own-rule.ts';
import { durationText } from '../../../schemas/policy/value-text.ts';
import { yamlOfPolicy } from './policy-yaml.ts';

/** A policy for clusters as one would write it with every default spelt out; reading it again gives the same policy. */
export const writtenClusterForm = ({
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
