import { dirname } from 'node:path';
import { differencesSince } from '../../../packages/log/heard-of.ts';
import { requireSame } from '../../../packages/log/topic-differences.ts';
import type { WrittenClusterPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import { POLICY_RECHECK_MS, type PolicySource } from '../../../packages/policy/policies.ts';
import { toClusterPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { runEvery, runTogether, untilAborted } from '../../../packages/process/loops.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import type { ServiceProcess } from '../../../packages/service/service-process.ts';
import { ClusterDeciderName } from '../../../schemas/events/deciders.ts';
import type { RemovingOptions } from '../../../services/cluster/cluster-options.ts';
import type { OpenCluster } from '../../../services/cluster/open-cluster.ts';
import { runCluster } from '../../../services/cluster/run-cluster.ts';
import { runDeciders } from '../../../services/deciders/run-deciders.ts';
import { openUnsignedWriter } from '../../framework/policy-writer.ts';
import { clockText } from '../clock-text.ts';
import { holdingChanges, holdingNow } from '../holding.ts';
import { settlePolicies } from '../settle-policies.ts';
import { followCluster, followClusterAsJson } from './follow-cluster.ts';

export interface ClusterPipeline {
  readonly process: ServiceProcess;
  readonly cluster: OpenCluster;
  readonly written: readonly WrittenClusterPolicy[];
  readonly logPath: string;
  readonly removing: RemovingOptions;
  readonly json: boolean;
  readonly print: (line: string) => void;
}

/** How soon what another process changed is told. */
const LOOK_EVERY_MS = 1_000;

/** Everything for one cluster: the log is made ready, the policies are settled, and then all parts run together. */
export async function runClusterPipeline(pipeline: ClusterPipeline, signal: AbortSignal): Promise<void> {
  const { process, cluster, logPath, json, print, removing } = pipeline;
  const fromMs = process.sources.now();
  const policies = await prepare(pipeline, signal);
  if (signal.aborted) return;
  const printAt = (line: string): void => print(`${clockText()}  ${line}`);
  const changes = holdingChanges({
    policies,
    current: policies.current.cluster,
    subject: cluster.identity,
    logPath,
    print: printAt,
  });
  const { log, sources } = process;
  await runTogether(
    [
      (stop) =>
        json
          ? followClusterAsJson({ log, print, fromMs }, stop)
          : followCluster({ log, print: printAt, fromMs }, stop),
      (stop) =>
        json ? untilAborted(stop) : runEvery(LOOK_EVERY_MS, changes, { sleep: sources.wait, signal: stop }),
      (stop) => runDeciders(ClusterDeciderName.options, { process, policies, signal: stop }),
      (stop) =>
        runCluster(
          { process, cluster, signal: stop },
          { policies, removing, state: { path: dirname(logPath) } },
        ),
    ],
    signal,
  );
}

async function prepare(pipeline: ClusterPipeline, signal: AbortSignal): Promise<PolicySource> {
  const { process, written, json } = pipeline;
  const { log } = process;
  requireSame(await differencesSince(log, { created: await log.createTopics() }));
  const { deleted } = await settlePolicies(
    { ...(await openUnsignedWriter(log, signal)), log },
    written.map(toClusterPolicyRecord),
    signal,
  );
  const policies = process.followPolicies(POLICY_RECHECK_MS);
  await Promise.race([policies.caughtUp, untilAborted(signal)]);
  if (signal.aborted || json) return policies;
  introduce(pipeline, policies, deleted);
  return policies;
}

/** Said once, before anything happens. */
function introduce(
  { cluster: { identity, server }, written, logPath, print }: ClusterPipeline,
  policies: PolicySource,
  deleted: readonly string[],
): void {
  print(`FleetGC ${PRODUCT_VERSION} for cluster ${identity.cluster}`);
  print(`API server: ${server} (namespace kube-system ${identity.clusterInstance})`);
  print(`Event log: ${logPath}`);
  for (const name of deleted) print(`Policy ${name} of an earlier run no longer holds.`);
  print(holdingNow({ policies: policies.current.cluster(), subject: identity, logPath }).line);
  if (written.length === 0)
    print('No --policy was given: a file with "kind: ClusterPolicy" says what may go.');
}
