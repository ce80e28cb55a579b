import type { Logger } from 'pino';
import { z } from 'zod';
import { simulateClusters } from '../../../packages/audit/simulate/clusters.ts';
import { newestClusterDeciders, newestDeciders } from '../../../packages/audit/simulate/compare.ts';
import { simulate, simulatedPolicies } from '../../../packages/audit/simulate/simulate.ts';
import { policySet } from '../../../packages/decision/policy-set.ts';
import type { AnyWrittenPolicy } from '../../../packages/policy/file/read-policy-file.ts';
import { toClusterPolicyRecord } from '../../../packages/policy/policy-changes.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { TextList, withMeta } from '../../../packages/process/options/options.ts';
import type { TimeRange } from '../../../packages/records/read-log.ts';
import { ClusterName, nodeKey, type SubjectKind } from '../../../schemas/events/identity.ts';
import type { PolicySet, PolicySetOf } from '../../../schemas/policy/policy.ts';
import type { AuditSimulation } from '../../../schemas/reports/audit-simulation.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { formatResult, type PartedFormat, partedOutputOptions } from '../../framework/output.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/archive-options.ts';
import { loadAnyPolicyFiles, PolicyPaths, requireValid } from '../../options/policy-files.ts';
import { LongDuration, rangeOptions, timeRange } from '../../options/time-options.ts';
import { readingProgress } from '../../views/audit-text.ts';
import {
  clusterSimulationLines,
  clusterSimulationNdjson,
  simulationLines,
  simulationNdjson,
} from '../../views/simulation.ts';

export const verb = defineVerb({
  help: [
    'Runs the policies of a file over the recorded inventories, and compares the outcome with what happened, or with the policies of another file: what was removed of each kind, bytes freed, images that were soon needed again (regret), and time at or above the usage thresholds, per pool, per node and in total. Policies in dry-run count as if they said enforce. Nothing is applied, and no node is asked. From its first difference on, the result for a node is an estimate; the output says how it is made.',
    'Policies for clusters (kind: ClusterPolicy) run over the recorded facts of clusters: what would have been deleted, changed, held and kept, and of which objects that differs. It cannot know what another deletion would have set free, and says so.',
    'Exit codes: 0 a simulation was made, 3 the event log has nothing of those nodes or clusters from that time.',
  ],
  examples: [
    'fleetgc audit simulate --policy new.yaml --from 7d',
    'fleetgc audit simulate --policy new.yaml --against old.yaml --nodes web-1,web-2 --regret-window 2h -o json',
    'fleetgc audit simulate --policy clusters.yaml --cluster prod --from 7d',
  ],
  options: z.object({
    policy: withMeta(PolicyPaths, {
      commandLineOnly: true,
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to try; they hold alone. May be repeated.',
    }),
    against: withMeta(PolicyPaths.optional(), {
      commandLineOnly: true,
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to compare with. Default: what happened.',
    }),
    nodes: withMeta(TextList.prefault([]), {
      commandLineOnly: true,
      placeholder: '[CLUSTER/]NODE,…',
      description: 'Only these nodes; may be repeated.',
    }),
    cluster: withMeta(ClusterName.optional(), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'Only this cluster, for policies for clusters.',
    }),
    regretWindow: withMeta(LongDuration.prefault('24h'), {
      commandLineOnly: true,
      placeholder: 'DURATION',
      description: 'An image that is needed again within this time after it went is regretted.',
    }),
    ...rangeOptions,
    ...partedOutputOptions('a node'),
    ...auditLogOptions,
  }),
  run: async (
    { policy, against, nodes, cluster = null, regretWindow, from, to, output, ...options },
    context,
  ) => {
    const { logger, signal } = context;
    const files = readFiles({ policy, against }, logger);
    const subject = subjectOf(files);
    requireSelectionFor(subject, { nodes, cluster });
    await using log = await openAuditLog(options, context);
    const range = await timeRange({ from, to }, { log, nowMs: Date.now(), signal });
    const asked = { log, range, output, ...files };
    if (subject === 'cluster') await simulateForClusters(asked, cluster, context);
    else await simulateForNodes(asked, { names: nodes, regretWindowMs: regretWindow }, context);
  },
});

interface PolicyFiles {
  readonly policy: readonly AnyWrittenPolicy[];
  readonly against: readonly AnyWrittenPolicy[] | null;
}

interface Asked extends PolicyFiles {
  readonly log: Awaited<ReturnType<typeof openAuditLog>>;
  readonly range: TimeRange;
  readonly output: PartedFormat;
}

const readFiles = (
  {
    policy,
    against,
  }: { readonly policy: readonly string[]; readonly against: readonly string[] | undefined },
  logger: Logger,
): PolicyFiles => ({
  policy: written(policy, logger),
  against: against === undefined ? null : written(against, logger),
});

const written = (paths: readonly string[], logger: Logger): readonly AnyWrittenPolicy[] =>
  requireValid(loadAnyPolicyFiles(paths), logger, 'nothing was simulated');

/** Throws `USAGE` for policies of both kinds: each has a simulation of its own. */
function subjectOf({ policy, against }: PolicyFiles): SubjectKind {
  const [subject = 'node', ...others] = new Set([...policy, ...(against ?? [])].map((each) => each.subject));
  if (others.length === 0) return subject;
  throw new FleetGcError(
    'USAGE',
    'the files have policies for nodes and for clusters: simulate them one after the other',
  );
}

/** Throws `USAGE`. */
function requireSelectionFor(
  subject: SubjectKind,
  { nodes, cluster }: { readonly nodes: readonly string[]; readonly cluster: string | null },
): void {
  if (subject === 'cluster' && nodes.length > 0)
    throw new FleetGcError(
      'USAGE',
      'policies for clusters hold on no node: leave --nodes out, and choose a cluster with --cluster',
    );
  if (subject === 'node' && cluster !== null)
    throw new FleetGcError('USAGE', '--cluster is for policies for clusters: choose nodes with --nodes');
}

async function simulateForNodes(
  { log, range, output, policy, against }: Asked,
  { names, regretWindowMs }: { readonly names: readonly string[]; readonly regretWindowMs: number },
  { signal, logger, progress, write }: VerbContext,
): Promise<void> {
  const comparison = {
    policy: nodePolicies(policy),
    against: against && nodePolicies(against),
    regretWindowMs,
    deciders: await newestDeciders(),
  };
  const onProgress = readingProgress(progress);
  const isWanted = wantedNodes(names);
  const simulation = await simulate({ log, range, comparison, isWanted, onProgress }, signal);
  const { read, nodes } = simulation;
  if (read.unreadable > 0) logger.warn(`${read.unreadable} records could not be read, and are left out`);
  if (nodes.length === 0) throw nothing(names);
  for (const name of missingNames(names, nodes))
    logger.warn(`no complete inventory of ${name} lies in that time: it is left out`);
  await write(
    output === 'ndjson'
      ? simulationNdjson(simulation)
      : formatResult(output, { value: simulation, lines: simulationLines(simulation) }),
  );
}

async function simulateForClusters(
  { log, range, output, policy, against }: Asked,
  cluster: string | null,
  { signal, logger, progress, write }: VerbContext,
): Promise<void> {
  const comparison = {
    policy: clusterPolicies(policy),
    against: against && clusterPolicies(against),
    deciders: await newestClusterDeciders(),
  };
  const onProgress = readingProgress(progress);
  const simulation = await simulateClusters({ log, range, comparison, cluster, onProgress }, signal);
  const { read, clusters } = simulation;
  if (read.unreadable > 0) logger.warn(`${read.unreadable} records could not be read, and are left out`);
  if (read.facts === 0 || clusters.length === 0) throw noFacts(cluster);
  await write(
    output === 'ndjson'
      ? clusterSimulationNdjson(simulation)
      : formatResult(output, { value: simulation, lines: clusterSimulationLines(simulation) }),
  );
}

const nodePolicies = (all: readonly AnyWrittenPolicy[]): PolicySet =>
  simulatedPolicies(all.flatMap((each) => (each.subject === 'node' ? [each] : [])));

/** Of policies for clusters: those in dry-run count as if they enforced too. */
const clusterPolicies = (all: readonly AnyWrittenPolicy[]): PolicySetOf<'cluster'> =>
  policySet(
    'cluster',
    all.flatMap((each) =>
      each.subject === 'cluster'
        ? [toClusterPolicyRecord({ policy: { ...each.policy, mode: 'enforce' }, source: each.source })]
        : [],
    ),
    [],
  );

/** A node is asked for by its whole key, or by its name in any cluster. */
const namesOf = (key: string): readonly string[] => [key, key.slice(key.indexOf('/') + 1)];

function wantedNodes(names: readonly string[]): (key: string) => boolean {
  const wanted = new Set(names);
  return (key) => wanted.size === 0 || namesOf(key).some((name) => wanted.has(name));
}

function missingNames(names: readonly string[], nodes: AuditSimulation['nodes']): readonly string[] {
  const found = new Set(nodes.flatMap((node) => namesOf(nodeKey(node))));
  return [...new Set(names)].filter((name) => !found.has(name));
}

const nothing = (names: readonly string[]): FleetGcError =>
  new FleetGcError(
    'AUDIT_INCOMPLETE',
    `there is nothing to simulate: no complete inventory of ${names.length === 0 ? 'any node' : names.join(' or ')} lies in that time`,
  );

const noFacts = (cluster: string | null): FleetGcError =>
  new FleetGcError(
    'AUDIT_INCOMPLETE',
    `there is nothing to simulate: no fact about ${cluster === null ? 'any cluster' : `the cluster ${cluster}`} lies in that time`,
  );
