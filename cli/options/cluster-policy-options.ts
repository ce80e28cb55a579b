import type { Logger } from 'pino';
import { z } from 'zod';
import { policySet } from '../../packages/decision/policy-set.ts';
import { readClusterPolicyFiles } from '../../packages/policy/file/read-policy-file.ts';
import { toClusterPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { type ClusterPolicyRecord, Collector } from '../../schemas/policy/cluster-policy.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import { loadClusterPolicyFiles, PolicyPaths, requireValid } from './policy-files.ts';

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

/** What holds where nobody says what should. */
const DEFAULT_POLICY = `kind: ClusterPolicy
name: default
mode: enforce
collectors: [${Collector.options.join(', ')}]
`;

/** The policy that holds. Throws `POLICY_INVALID`, `USAGE`, or `NOT_FOUND` where none selects the cluster. */
export function chosenClusterPolicy(
  { policy: paths = [], cluster }: ClusterPolicyChoice,
  logger: Logger,
): ClusterPolicyRecord {
  const files =
    paths.length === 0
      ? readClusterPolicyFiles([{ file: 'default policy', text: DEFAULT_POLICY }])
      : loadClusterPolicyFiles(paths);
  const records = requireValid(files, logger, 'nothing was done').map(toClusterPolicyRecord);
  const [only, ...more] = records;
  if (cluster === undefined) {
    if (only !== undefined && more.length === 0) return only;
    throw new FleetGcError('USAGE', severalOrNone(records));
  }
  const selection = selectPolicy(policySet('cluster', records, []), { cluster });
  if (selection.kind === 'policy') return selection.record;
  throw new FleetGcError('NOT_FOUND', `no policy of these files selects the cluster ${cluster}`);
}

const severalOrNone = (records: readonly ClusterPolicyRecord[]): string =>
  records.length === 0
    ? 'the files have no policy for clusters'
    : `the files have ${records.length} policies: name the cluster with --cluster, so that one can be chosen`;
