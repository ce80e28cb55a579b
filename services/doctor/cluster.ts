import pMap from 'p-map';
import { leftOutOf } from '../../packages/decision/left-out-kinds.ts';
import { type AccessRight, mayI } from '../../packages/kube-api/access-review.ts';
import type { ApiConnection } from '../../packages/kube-api/connection.ts';
import { discover, readServerVersion, type ServerVersion } from '../../packages/kube-api/discovery.ts';
import { readLeaseTimes } from '../../packages/kube-api/lease.ts';
import { readClusterInstance } from '../../packages/kube-api/list.ts';
import type { Sources } from '../../packages/process/system-sources.ts';
import { lastCensuses } from '../../packages/read-model/censuses.ts';
import { selectPolicy } from '../../schemas/policy/policy-selection.ts';
import {
  discoveredKinds,
  leaseRules,
  type Part,
  type RightsPolicy,
  type RoleRule,
  rulesFor,
} from '../cluster/access/rights.ts';
import { type Checks, type Finding, type Looked, looked, ok } from './checks.ts';
import {
  type AgentFacts,
  type ApiClockFacts,
  agentFinding,
  apiClockFinding,
  apiServerFinding,
  type ClusterPolicyFacts,
  type ClusterRightsFacts,
  clusterPolicyFinding,
  clusterRightsFinding,
  type LeaseFacts,
  leaseFinding,
  NO_API_SERVER,
  serverVersionFinding,
} from './cluster-findings.ts';
import { type LogFacts, logChecks, type lookAtLog, whereReached } from './log.ts';

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

interface OpenApi {
  readonly connection: ApiConnection;
  readonly server: string;
}

interface ClusterAccess {
  readonly cluster: string;
  readonly part: Part;
  /** `null`: replicas take no turns. */
  readonly leaseNamespace: string | null;
  /** Throws what is wrong with the kubeconfig. */
  readonly open: () => OpenApi;
  readonly log: ReturnType<typeof lookAtLog>;
  readonly version: string;
  readonly sources: Pick<Sources, 'now' | 'monotonicNow'>;
  readonly signal: AbortSignal;
}

/** What somebody sees who looks at what a cluster needs. */
interface ClusterFacts extends LogFacts {
  readonly version: string;
  readonly cluster: string;
  readonly part: Part;
  readonly server: Promise<Looked<{ readonly server: string; readonly clusterInstance: string }>>;
  readonly serverVersion: Promise<Looked<ServerVersion>>;
  readonly rightsThere: Promise<Looked<ClusterRightsFacts>>;
  readonly serverClock: Promise<Looked<ApiClockFacts>>;
  /** `null` where none is used. */
  readonly leases: Promise<Looked<LeaseFacts>> | null;
  readonly agent: Promise<Looked<AgentFacts>>;
  readonly policy: Promise<Looked<ClusterPolicyFacts>>;
}

/** Begins to look; writes nothing anywhere. */
export function lookAtCluster(access: ClusterAccess): ClusterFacts {
  const { cluster, part, leaseNamespace, log, version, sources, signal } = access;
  const opened = looked(access.open);
  const api = <T>(look: (open: OpenApi) => Promise<T>): Promise<Looked<T>> =>
    looked(async () => await look(required(await opened)));
  const server = api(async (open) => ({
    server: open.server,
    clusterInstance: await readClusterInstance(open.connection, signal),
  }));
  const policy = log.policies().then((found): Looked<ClusterPolicyFacts> => {
    if (!found.ok) return found;
    const { stored, areSignaturesMissing } = found.value;
    const { unreadable, lost } = stored;
    const selection = selectPolicy(stored.sets.cluster, { cluster });
    const policies = stored.sets.cluster.policies.length;
    return { ok: true, value: { selection, policies, unreadable, lost, areSignaturesMissing } };
  });
  return {
    ...log.facts,
    version,
    cluster,
    part,
    server,
    serverVersion: api(({ connection }) => readServerVersion(connection, signal)),
    rightsThere: api(async ({ connection }) => rightsThere(connection, { ...access, policy: await policy })),
    serverClock: api(async ({ connection }) => {
      required(await server);
      return { nowMs: sources.now(), server: connection.clock.at(sources.monotonicNow()) };
    }),
    leases:
      part === 'run' || leaseNamespace === null
        ? null
        : api(({ connection }) => leaseFacts(connection, leaseNamespace, { part, sources, signal })),
    agent: log.further(async (open) => {
      const nowMs = sources.now();
      const { censuses } = await lastCensuses({ log: open, cluster, roots: null, nowMs }, signal);
      const found = await server;
      return {
        last: censuses[0]?.census ?? null,
        nowMs,
        instance: found.ok ? found.value.clusterInstance : null,
      };
    }),
    policy,
  };
}

function required<T>(found: Looked<T>): T {
  if (found.ok) return found.value;
  throw found.error;
}

/** Where no policy says what is to be removed, only what it takes to read is looked at. */
const NOTHING_REMOVED: RightsPolicy = {
  mode: 'dry-run',
  profile: 'kubernetes',
  collectors: [],
  heldKinds: [],
  keep: { kinds: [], namespaces: [] },
  rules: [],
};

const ASKED_AT_ONCE = 16;

async function rightsThere(
  connection: ApiConnection,
  {
    part,
    leaseNamespace,
    policy,
    signal,
  }: Pick<ClusterAccess, 'part' | 'leaseNamespace' | 'signal'> & {
    readonly policy: Looked<ClusterPolicyFacts>;
  },
): Promise<ClusterRightsFacts> {
  const groups = (await discover(connection, null))?.groups ?? [];
  const kinds = discoveredKinds(groups);
  const selected =
    policy.ok && policy.value.selection.kind === 'policy' ? policy.value.selection.record : null;
  const rules = rulesFor(part, {
    kinds,
    policy: selected?.policy ?? NOTHING_REMOVED,
    without: leftOutOf(kinds),
  });
  const wanted = [...rightsOfRules(rules), ...leaseRights(part, leaseNamespace)];
  const allowed = await pMap(wanted, (right) => mayI(connection, right, signal), {
    concurrency: ASKED_AT_ONCE,
  });
  const missing = wanted.filter((_, index) => allowed[index] === false);
  return { wanted: wanted.length, missing, isForRemoving: selected?.policy.mode === 'enforce' };
}

async function leaseFacts(
  connection: ApiConnection,
  namespace: string,
  { part, sources, signal }: Pick<ClusterAccess, 'part' | 'sources' | 'signal'>,
): Promise<LeaseFacts> {
  const name = `fleetgc-cluster-${part}`;
  const lease = await readLeaseTimes(connection, { namespace, name }, signal);
  return { name, namespace, lease, now: connection.clock.at(sources.monotonicNow()) };
}

/** Each right of these rules by itself, as one asks for it. */
export const rightsOfRules = (rules: readonly RoleRule[], namespace?: string): readonly AccessRight[] =>
  rules.flatMap((rule): readonly AccessRight[] =>
    'nonResourceURLs' in rule
      ? rule.nonResourceURLs.flatMap((path) => rule.verbs.map((verb) => ({ path, verb })))
      : rule.apiGroups.flatMap((group) =>
          rule.resources.flatMap((resource) =>
            rule.verbs.flatMap((verb) =>
              (rule.resourceNames ?? [null]).map((name) => ({
                group,
                resource,
                verb,
                ...(name !== null && { name }),
                ...(namespace !== undefined && { namespace }),
              })),
            ),
          ),
        ),
  );

/** Replicas of a half take turns by a Lease of its own; `null`: they take none. */
const leaseRights = (part: Part, namespace: string | null): readonly AccessRight[] =>
  part === 'run' || namespace === null ? [] : rightsOfRules(leaseRules(`fleetgc-cluster-${part}`), namespace);
