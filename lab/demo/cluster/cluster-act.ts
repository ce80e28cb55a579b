import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import { z } from 'zod';
import { writeNewFile } from '../../../packages/files/open-file.ts';
import {
  readClusterPolicyFiles,
  type WrittenClusterPolicy,
} from '../../../packages/policy/file/read-policy-file.ts';
import type { PolicySource } from '../../../packages/policy/policies.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { LinkedController } from '../../../packages/process/linked-controller.ts';
import { runTogether } from '../../../packages/process/loops.ts';
import type { ServiceProcess } from '../../../packages/service/service-process.ts';
import { removingOptions } from '../../../services/cluster/cluster-options.ts';
import { openCluster } from '../../../services/cluster/open-cluster.ts';
import { runCluster } from '../../../services/cluster/run-cluster.ts';
import { runDeciders } from '../../../services/deciders/run-deciders.ts';
import { startApiServer } from '../../sim/api-server/api-server.ts';
import { SimulatedCluster } from '../../sim/api-server/cluster.ts';
import { Deeds } from '../../sim/api-server/deeds.ts';
import { SERVED } from '../../sim/api-server/kinds.ts';
import { playScenes, Settled } from './play-scenes.ts';
import { furnish, SCENES, type Scene, TENANT } from './scenes.ts';
import { type ClusterNews, watchCluster } from './watch-cluster.ts';

export const DEMO_CLUSTER = 'demo';

/** The policy of the second act. */
export const CLUSTER_POLICY = `kind: ClusterPolicy
name: demo-cluster
mode: enforce
collectors:
  - garbage-collector-controller    # what FleetGC does in place of kube-controller-manager
limits:
  cascade: 20                       # the default is 1000
`;

/** As `policy apply` reads it. */
export function clusterPolicy(): WrittenClusterPolicy {
  const files = readClusterPolicyFiles([{ file: 'demo policy', text: CLUSTER_POLICY }]);
  const [first] = files.valid ? files.policies : [];
  if (first === undefined)
    throw new FleetGcError('INTERNAL', 'the policy of the demo for clusters is not valid');
  return first;
}

/** As `cluster run` where nothing is said. */
const removing = z.object(removingOptions).parse({});

export interface ClusterAct {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  /** Of the demo's own files. */
  readonly directory: string;
  readonly announce: (scene: Scene) => void;
  readonly tell: (news: ClusterNews) => void;
}

/**
 * A simulated cluster, and what `fleetgc cluster run` runs for ownership: until all scenes are played, or the signal aborts. Throws
 * `TIMEOUT`.
 */
export async function playClusterAct(act: ClusterAct, signal: AbortSignal): Promise<void> {
  const { process, policies, announce, tell } = act;
  const { sources, log } = process;
  const served = new SimulatedCluster({
    kinds: [...SERVED, TENANT],
    now: sources.now,
    newId: sources.newId,
  });
  const deeds = new Deeds(served);
  furnish(deeds);
  const token = randomUUID();
  await using server = await startApiServer({ cluster: served, token, wait: sources.wait });
  const kubeconfig = join(act.directory, 'kubeconfig');
  writeNewFile(kubeconfig, kubeconfigText(server.url, token));
  using cluster = await openCluster(
    { cluster: DEMO_CLUSTER, kubeconfig },
    { environment: {}, sources, signal },
  );
  const settled = new Settled();
  using ending = new LinkedController(signal);
  const onNews = (news: ClusterNews): void => {
    tell(news);
    settled.note(news);
  };
  await runTogether(
    [
      (stop) => watchCluster({ log, fromMs: sources.now() }, onNews, stop),
      (stop) => runDeciders(['graph-gc'], { process, policies, signal: stop }),
      (stop) =>
        runCluster(
          { process, cluster, signal: stop },
          { policies, removing, state: { path: act.directory } },
        ),
      async (stop) => {
        await playScenes(SCENES, { deeds, settled, announce, sources }, stop);
        ending.abort();
      },
    ],
    ending.signal,
  );
}

const kubeconfigText = (server: string, token: string): string =>
  JSON.stringify({
    clusters: [{ name: DEMO_CLUSTER, cluster: { server } }],
    users: [{ name: DEMO_CLUSTER, user: { token } }],
    contexts: [{ name: DEMO_CLUSTER, context: { cluster: DEMO_CLUSTER, user: DEMO_CLUSTER } }],
    'current-context': DEMO_CLUSTER,
  });
