import { type Finding, ok } from '../finding.ts';
import {
  agentFinding,
  apiClockFinding,
  apiServerFinding,
  clusterPolicyFinding,
  clusterRightsFinding,
  leaseFinding,
  NO_API_SERVER,
  serverVersionFinding,
} from '../findings/cluster.ts';
import { logChecks, whereReached } from '../log/log-checks.ts';
import type { Checks } from '../run-checks.ts';
import type { ClusterFacts } from './look-at-cluster.ts';

/** Makes a check that needs the API server. */
const whereAnswered = async (
  { server }: Pick<ClusterFacts, 'server'>,
  look: () => Promise<Finding>,
): Promise<Finding> => ((await server).ok ? await look() : NO_API_SERVER);

/** The checks of a cluster, in the order in which they are told. */
export const CLUSTER_CHECKS = {
  version: { looksAt: 'this program', look: ({ version }) => ok(version) },
  'api-server': {
    looksAt: 'the kubeconfig, and whether the API server answers it',
    look: async ({ server }) => apiServerFinding(await server),
  },
  'api-version': {
    looksAt: 'the version of Kubernetes',
    look: (facts) => whereAnswered(facts, async () => serverVersionFinding(await facts.serverVersion)),
  },
  'api-rights': {
    looksAt: 'what this account may do in the cluster',
    look: (facts) =>
      whereAnswered(facts, async () => clusterRightsFinding(facts.part, await facts.rightsThere)),
  },
  'api-clock': {
    looksAt: 'this clock and that of the API server',
    look: (facts) => whereAnswered(facts, async () => apiClockFinding(await facts.serverClock)),
  },
  lease: {
    looksAt: 'the Lease by which replicas take turns',
    look: (facts) => whereAnswered(facts, async () => leaseFinding(facts.part, await facts.leases)),
  },
  ...logChecks('cluster'),
  agent: {
    looksAt: 'whether the agent of the cluster is heard',
    look: (facts) => whereReached(facts, async () => agentFinding(facts.cluster, await facts.agent)),
  },
  policy: {
    looksAt: 'the policy that holds for this cluster',
    look: (facts) => whereReached(facts, async () => clusterPolicyFinding(await facts.policy)),
  },
} as const satisfies Checks<string, ClusterFacts>;
