import { z } from 'zod';
import { FilePath, withMeta } from '../../packages/process/options/options.ts';
import { ClusterName } from '../../schemas/events/identity.ts';

/** The files of `policy validate` and `policy apply`. */
export const policyFileOptions = {
  files: withMeta(z.array(z.string()), {
    kind: 'list',
    positional: true,
    placeholder: 'FILE',
    description: 'YAML files, each with one or more policies; - reads standard input.',
  }),
};

/** Policies in place of those of an event log. */
export const PolicyPaths = z.union([FilePath.transform((path) => [path]), z.array(FilePath)]);

/** One policy for one cluster, in place of those of an event log. */
export const clusterPolicyOptions = {
  policy: withMeta(PolicyPaths.optional(), {
    kind: 'list',
    placeholder: 'FILE',
    description: 'Policies for clusters; may be repeated. Without any: all defaults, and all collectors.',
  }),
  cluster: withMeta(ClusterName.optional(), {
    placeholder: 'NAME',
    description: 'Cluster for which the policy is chosen; needed where the files have several policies.',
  }),
};

const ClusterPolicyChoice = z.object(clusterPolicyOptions);
export type ClusterPolicyChoice = z.infer<typeof ClusterPolicyChoice>;
