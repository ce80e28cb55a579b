import { availableParallelism } from 'node:os';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { ArchiveLog } from '../../packages/archive/read-archive.ts';
import { findDecider } from '../../packages/audit/deciders/deciders.ts';
import { inventoryTimes } from '../../packages/audit/events/reading.ts';
import { readPoliciesInForce } from '../../packages/audit/policies/policies-in-force.ts';
import { readPolicyHistory } from '../../packages/audit/policies/policy-history.ts';
import { simulateClusters } from '../../packages/audit/simulate/clusters.ts';
import { newestClusterDeciders, newestDeciders } from '../../packages/audit/simulate/compare.ts';
import { simulate, simulatedPolicies } from '../../packages/audit/simulate/simulate.ts';
import {
  comparedFromMs,
  keepsAsDeclared,
  openDecisionHeads,
} from '../../packages/audit/verify/decision-heads.ts';
import { type Found, mergeFound } from '../../packages/audit/verify/findings.ts';
import { verifyHeads } from '../../packages/audit/verify/heads.ts';
import { startVerifyThreads, verifyLog } from '../../packages/audit/verify/log.ts';
import { createVerifier } from '../../packages/audit/verify/partition.ts';
import { verifySignatures } from '../../packages/audit/verify/signatures.ts';
import { policySet } from '../../packages/decision/policy-set.ts';
import { keptText } from '../../packages/documents/report.ts';
import {
  clusterSimulationLines,
  clusterSimulationNdjson,
  simulationLines,
  simulationNdjson,
} from '../../packages/documents/simulation.ts';
import {
  uncheckedText,
  unverifiedText,
  type Verification,
  verificationLines,
  verificationNdjson,
} from '../../packages/documents/verification.ts';
import type { EventLog, LogReader } from '../../packages/log/port.ts';
import type { AnyWrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { toClusterPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { FilePath, Switch, TextList, WholeNumber, withMeta } from '../../packages/process/options/options.ts';
import type { RecordedLog, TimeRange } from '../../packages/records/read-log.ts';
import type { FactsTrust } from '../../packages/records/trust/process-trust.ts';
import { readTrustRoots } from '../../packages/records/trust/roots-file.ts';
import { counted } from '../../packages/text/counted.ts';
import { timeText } from '../../packages/text/time-text.ts';
import { ClusterName, nodeKey, type SubjectKind } from '../../schemas/events/identity.ts';
import type { TrustRoots } from '../../schemas/keys/trust-roots.ts';
import type { PolicySet, PolicySetOf } from '../../schemas/policy/policy.ts';
import type { AuditSimulation } from '../../schemas/reports/audit-simulation.ts';
import { openAuditLog } from '../framework/audit-log.ts';
import { formatResult, type PartedFormat, partedOutputOptions } from '../framework/output.ts';
import { loadAnyPolicyFiles, requireValid } from '../framework/policy-files.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { type AuditLogOptions, auditLogOptions, threadSource } from '../options/archive-options.ts';
import { PolicyPaths } from '../options/policy-options.ts';
import { LongDuration, rangeOptions, timeRange } from '../options/time-options.ts';
import { readingProgress } from '../run/audit-progress.ts';

/** Unless more are asked for: each holds about eighty megabytes. */
const MOST_THREADS = 2;
const Threads = WholeNumber.refine((count) => count >= 1 && count <= 32, { error: 'must be from 1 to 32' });

export const verifyVerb = defineVerb({
  help: [
    "Each recorded decision is made again, by the decider of its own version and under its own policies, and compared byte for byte. Then the chain is followed both ways: each command was decided, each result was commanded, each command was answered. Times are the event log's own; the position of a record stands for the time at which it was written.",
    'Exit codes: 0 all is verified, 1 something deviates, 2 wrong options, 3 nothing is wrong, but not all could be verified (it says why).',
  ],
  examples: [
    'fleetgc audit verify --from 24h',
    'fleetgc audit verify --from 2026-01-31 --to 2026-02-01 -o ndjson',
    'fleetgc audit verify --from gc.node.decisions/3@1042',
  ],
  options: z.object({
    ...rangeOptions,
    trustRoots: withMeta(FilePath.optional(), {
      description:
        'File of the roots: checks also who signed each order, command and policy. Without it signatures are not looked at.',
    }),
    trustFacts: withMeta(z.enum(['required', 'warn', 'off']).prefault('off'), {
      description:
        'With --trust-roots: checks also who signed what nodes reported, which reads all of it once more. required: what its node did not sign deviates; warn: it is counted.',
    }),
    headsOf: withMeta(z.enum(['kafka', 'embedded']).optional(), {
      commandLineOnly: true,
      description:
        'With --log archive and --trust-roots: the event log of the archive. Its heads show whether the end of the archive was cut off.',
    }),
    requireHeads: withMeta(Switch.prefault('false'), {
      commandLineOnly: true,
      description:
        'With --trust-roots: it is a deviation if no head names a decision that is older than twenty minutes, or a line of an archive.',
    }),
    threads: withMeta(
      Threads.prefault(() => String(Math.min(availableParallelism(), MOST_THREADS))),
      {
        commandLineOnly: true,
        description: 'So many partitions are verified at a time, each on a processor of its own.',
      },
    ),
    ...partedOutputOptions('a finding'),
    ...auditLogOptions,
  }),
  checkFlags: ({ log, trustRoots, headsOf, requireHeads }, { trustFacts }) => {
    if (trustFacts !== undefined && trustRoots === undefined)
      throw new FleetGcError('USAGE', '--trust-facts needs --trust-roots, which say whose keys count');
    if (trustRoots === undefined && (headsOf !== undefined || requireHeads))
      throw new FleetGcError('USAGE', '--heads-of and --require-heads need --trust-roots');
    if (headsOf !== undefined && log !== 'archive')
      throw new FleetGcError('USAGE', '--heads-of is for --log archive');
  },
  run: async (
    { from, to, trustRoots, trustFacts, headsOf, requireHeads, threads, output, ...options },
    context,
  ) => {
    const { logger, progress, signal } = context;
    const nowMs = Date.now();
    const roots = rootsIn(trustRoots);
    await using log = await openAuditLog(options, context);
    const unfinished =
      'passBegunMs' in log && log.passBegunMs !== null ? unfinishedText(log.passBegunMs) : null;
    if (unfinished !== null) logger.warn(unfinished);
    const range = await timeRange({ from, to }, { log, nowMs, signal });
    const deletes = options.log !== 'archive';
    const heads = roots && {
      roots,
      keepsAsDeclared: await isKept(options.log, log),
      areRequired: requireHeads,
    };
    const headed = heads && openDecisionHeads(log, { ...heads, range, nowMs });
    const policies = await readPolicyHistory(log, signal);
    const task = { source: threadSource(options), range, nowMs, heads };
    await using others = startVerifyThreads(threads - 1, task);
    const inForce = await readPoliciesInForce(log, { nowMs, deletes, written: policies }, signal);
    const here = createVerifier({ log, policies, inForce, findDecider, range, nowMs, deletes, headed });
    const verifiers = [here, ...others.verifiers];
    const onProgress = readingProgress(progress);
    const again = await verifyLog({ policies, verifiers, onProgress }, signal);
    await using living = await openLiving(headsOf, options, context);
    const signed = { log, living, roots, range, nowMs, facts: trustFacts, areHeadsRequired: requireHeads };
    const verification = await withSignatures(again, signed, signal);
    const kept =
      verification.counts.records === 0 && !isWhole(range)
        ? keptText(await inventoryTimes(log, nowMs, signal))
        : '';
    const lines = verificationLines(verification);
    const text =
      output === 'ndjson'
        ? verificationNdjson(verification)
        : formatResult(output, { value: verification, lines });
    if (output !== 'table' || lines.length > 0) await context.write(text);
    requireVerified(verification, { unfinished, kept });
  },
});

const rootsIn = (path: string | undefined): TrustRoots | null =>
  path === undefined ? null : readTrustRoots(path);

/** The embedded log deletes for space, too. */
const isKept = async (kind: AuditLogOptions['log'], log: RecordedLog | EventLog): Promise<boolean> =>
  kind === 'kafka' && 'checkTopics' in log && (await keepsAsDeclared(log));

const openLiving = async (
  log: 'kafka' | 'embedded' | undefined,
  options: AuditLogOptions,
  context: VerbContext,
): Promise<EventLog | null> =>
  log === undefined ? null : await openTaskEventLog({ options: { ...options, log }, context });

interface Signed {
  readonly log: RecordedLog | ArchiveLog;
  /** The event log whose heads count for an archive too. */
  readonly living: LogReader | null;
  readonly areHeadsRequired: boolean;
  /** `null`: signatures are not looked at. */
  readonly roots: TrustRoots | null;
  readonly range: TimeRange;
  readonly nowMs: number;
  readonly facts: FactsTrust;
}

async function withSignatures(
  found: Found,
  { log, living, roots, range, nowMs, facts, areHeadsRequired }: Signed,
  signal: AbortSignal,
): Promise<Verification> {
  if (roots === null)
    return { range, ...found, signedBy: null, unprovedFacts: null, beforeSignatures: null, heads: null };
  const signatures = await verifySignatures(log, { roots, range, facts }, signal);
  const lines = 'lines' in log ? log.lines : null;
  const asked = { areRequired: areHeadsRequired, comparedFromMs: comparedFromMs(range, nowMs, lines) };
  const needs = { log, lines, living, roots, ...asked };
  const { found: ofHeads, heads } = await verifyHeads(needs, signal);
  return {
    range,
    // What was cut off explains much of the rest.
    ...mergeFound([ofHeads, found, signatures.found]),
    signedBy: signatures.signedBy,
    unprovedFacts: facts === 'warn' ? signatures.unprovedFacts : null,
    beforeSignatures: signatures.beforeSignatures,
    heads,
  };
}

const unfinishedText = (begunMs: number): string =>
  `an archiver is at work, or was stopped in the middle of a pass that began ${timeText(begunMs)}: what it copied last may lack its causes, and then deviates. Verify again after its next pass`;

interface Asides {
  readonly unfinished: string | null;
  /** Where nothing was read: when there is something to read. */
  readonly kept: string;
}

/**
 * `unfinished` says that the archive may lack what lies before its newest records: who finds nothing wrong in half of it has not
 * verified it, and who finds something cannot tell it from what is still to come. Throws `AUDIT_DEVIATION` or `AUDIT_INCOMPLETE`.
 */
function requireVerified(verification: Verification, { unfinished, kept }: Asides): void {
  const { deviations, unverified, counts } = verification;
  if (deviations.total > 0)
    throw new FleetGcError(
      'AUDIT_DEVIATION',
      `${counted(deviations.total, 'deviation')}: what lies on the event log is not what FleetGC decided and did. ${unfinished === null ? PAUSE : `But ${unfinished}; ${IF_THEY_STAY}`}`,
    );
  if (unverified.total > 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `nothing is wrong, but not all could be verified: ${unverifiedText(verification)}`,
    );
  if (counts.outOfRange > 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `nothing is wrong, but not all could be verified: ${uncheckedText(counts.outOfRange)}. A later --from leaves out what lies at the beginning`,
    );
  if (unfinished !== null)
    throw new FleetGcError('AUDIT_INCOMPLETE', `nothing is wrong in what is there, but ${unfinished}`);
  if (counts.decisions === 0)
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `there is nothing to verify: ${nothingText(verification)}${kept}`,
    );
}

const PAUSE = 'Find out who may write to these topics, and pause removals meanwhile ("fleetgc pause")';
const IF_THEY_STAY =
  'if they are still there then, find out who may write to these topics, and pause removals meanwhile ("fleetgc pause")';

const isWhole = ({ fromMs, toMs }: TimeRange): boolean => fromMs === null && toMs === null;

const nothingText = ({ counts, range }: Verification): string => {
  const where = isWhole(range) ? 'on the event log' : 'in that time';
  return counts.records === 0
    ? `no record of any node or cluster lies ${where}`
    : `of ${counted(counts.records, 'record')} ${where} none is a decision`;
};

export const simulateVerb = defineVerb({
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
