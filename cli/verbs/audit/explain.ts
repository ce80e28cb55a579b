import type { Logger } from 'pino';
import { z } from 'zod';
import { explainCluster, meansClusterObject } from '../../../packages/audit/explain/cluster.ts';
import { explain } from '../../../packages/audit/explain/explain.ts';
import type { ExplainRequest } from '../../../packages/audit/explain/question.ts';
import { ruleWords } from '../../../packages/deciders/rule-words.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { Text, withMeta } from '../../../packages/process/options/options.ts';
import type { TimeRange } from '../../../packages/records/read-log.ts';
import { counted } from '../../../packages/text/counted.ts';
import { ClusterName } from '../../../schemas/events/identity.ts';
import type { ClusterExplanation } from '../../../schemas/reports/cluster-explanation.ts';
import type { Explanation, NotFound } from '../../../schemas/reports/explanation.ts';
import { openAuditLog } from '../../framework/audit-log.ts';
import { formatResult, type PartedFormat, partedOutputOptions } from '../../framework/output.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { auditLogOptions } from '../../options/archive-options.ts';
import {
  type PointInTime,
  type PointLookup,
  pointMs,
  pointOption,
  rangeOptions,
  timeRange,
} from '../../options/time-options.ts';
import { readingProgress } from '../../views/audit-text.ts';
import { clusterExplanationLines, clusterExplanationNdjson } from '../../views/cluster-explanation.ts';
import { explanationLines, explanationNdjson } from '../../views/explanation.ts';

export const verb = defineVerb({
  help: [
    'Tells the history of one object from the event log: when it was seen and used, each time a decision about it changed and by which rule, and when it was commanded, refused, removed, gone or back again. It looks for the name among images (name, tag, digest, id or the beginning of an id), containers, pods and nodes; write image/…, container/…, sandbox/…, pod/… or node/… to look among one kind only. It writes nothing.',
    'A name with a kind of Kubernetes (ConfigMap/shop/web, apps/Deployment/shop/web), after object/ or together with --cluster is that of an object of a cluster: it tells how its owners went, when the agent told of it, what was decided by which rule, and who deleted it. Several objects that had one name after the other are told one after the other.',
    'Exit codes: 0 explained, 1 nothing on the event log has that name, 2 the name means several things (it lists them), or wrong options.',
  ],
  examples: [
    'fleetgc audit explain registry.example/shop/web:1.4 --node web-1 --kafka-brokers kafka:9092',
    'fleetgc audit explain pod/shop-7f --from 24h',
    'fleetgc audit explain sha256:4f1c2a --at 2026-01-31T14:02:00Z',
    'fleetgc audit explain node/prod/web-1 --from 2h -o ndjson',
    'fleetgc audit explain web-1/app#0 --log embedded --log-path ./fleetgc.db',
    'fleetgc audit explain ConfigMap/shop/web --cluster prod',
    'fleetgc audit explain object/4f6a0c0e --log embedded --log-path /var/lib/fleetgc/cluster-prod.db',
  ],
  options: z.object({
    name: withMeta(Text, {
      positional: true,
      placeholder: 'NAME',
      description:
        'An image, container, sandbox, pod or node: name, id or the beginning of an id. Or an object of a cluster: [GROUP/]KIND/[NAMESPACE/]NAME, or object/ with a name or uid.',
    }),
    cluster: withMeta(ClusterName.optional(), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'The name is that of an object of this cluster.',
    }),
    node: withMeta(Text.optional(), {
      commandLineOnly: true,
      placeholder: '[CLUSTER/]NODE',
      description: 'Only on this node; with its cluster only its part of the event log is read.',
    }),
    at: pointOption(
      'As it stood at this time, so long ago, or when this record was written: nothing later is read, and the name means what was there then.',
    ),
    ...rangeOptions,
    ...partedOutputOptions('an entry'),
    ...auditLogOptions,
  }),
  run: async ({ name, cluster = null, node = null, at, from, to, output, ...options }, context) => {
    requireOneEnd({ at, to });
    const isOfCluster = cluster !== null || meansClusterObject(name);
    if (isOfCluster && node !== null)
      throw new FleetGcError('USAGE', 'an object of a cluster is on no node: leave --node out');
    await using log = await openAuditLog(options, context);
    const times = await asOf({ at, from, to }, { log, nowMs: Date.now(), signal: context.signal });
    const asked: Asked = { log, name, times, output };
    if (isOfCluster) await explainObject(asked, cluster, context);
    else await explainOnNodes(asked, node, context);
  },
});

interface Asked {
  readonly log: Awaited<ReturnType<typeof openAuditLog>>;
  readonly name: string;
  readonly times: Pick<ExplainRequest, 'range' | 'thereOnly'>;
  readonly output: PartedFormat;
}

async function explainOnNodes(
  { log, name, times, output }: Asked,
  node: string | null,
  { signal, logger, progress, write }: VerbContext,
): Promise<void> {
  const explanation = await explain(
    { name, node, ...times },
    {
      log,
      signal,
      ...('index' in log && { index: log.index }),
      onIndexMissing: () => logger.info(READS_ALL),
      onProgress: readingProgress(progress),
    },
  );
  warnOfUnread(explanation, logger);
  const text =
    output === 'ndjson'
      ? explanationNdjson(explanation)
      : formatResult(output, { value: explanation, lines: explanationLines(explanation) });
  if (output !== 'table' || explanation.status !== 'not-found') await write(text);
  requireOne(explanation, node);
}

async function explainObject(
  { log, name, times, output }: Asked,
  cluster: string | null,
  { signal, logger, progress, write }: VerbContext,
): Promise<void> {
  const onProgress = readingProgress(progress);
  // Of an archive only the records of that cluster are taken out of its files.
  const read = cluster !== null && 'index' in log ? log.index.ofNodes([cluster]) : log;
  const needs = { log: read, words: ruleWords, signal, onProgress };
  const explanation = await explainCluster({ name, cluster, ...times }, needs);
  warnOfUnread(explanation, logger);
  const text =
    output === 'ndjson'
      ? clusterExplanationNdjson(explanation)
      : formatResult(output, { value: explanation, lines: clusterExplanationLines(explanation) });
  if (output !== 'table' || explanation.status !== 'not-found') await write(text);
  requireOneObject(explanation, cluster);
}

function warnOfUnread(
  { reading }: { readonly reading: { readonly unreadable: number } },
  logger: Logger,
): void {
  if (reading.unreadable > 0)
    logger.warn(`${reading.unreadable} records could not be read, and are left out`);
}

const READS_ALL =
  'files of this archive have no index of names that this release knows, so everything is read; --node CLUSTER/NODE, --from and --to spare most of it';

interface Times {
  readonly at: PointInTime | undefined;
  readonly from: PointInTime | undefined;
  readonly to: PointInTime | undefined;
}

/** Throws `USAGE`. */
function requireOneEnd({ at, to }: Pick<Times, 'at' | 'to'>): void {
  if (at !== undefined && to !== undefined) throw new FleetGcError('USAGE', 'give either --at or --to');
}

/** What was logged at that very time belongs to it. */
async function asOf(
  { at, from, to }: Times,
  lookup: PointLookup,
): Promise<Pick<ExplainRequest, 'range' | 'thereOnly'>> {
  if (at === undefined) return { range: await timeRange({ from, to }, lookup), thereOnly: false };
  const until: PointInTime = { kind: 'at', ms: (await pointMs(at, lookup)) + 1 };
  return { range: await timeRange({ from, to: until }, lookup), thereOnly: true };
}

/** Throws `AMBIGUOUS` or `NOT_FOUND`. */
function requireOne(explanation: Explanation, node: string | null): void {
  if (explanation.status === 'ambiguous') throw new FleetGcError('AMBIGUOUS', ambiguousText(explanation));
  if (explanation.status === 'not-found')
    throw new FleetGcError('NOT_FOUND', notFoundText(explanation, node));
}

function ambiguousText({ asked, candidates }: Extract<Explanation, { status: 'ambiguous' }>): string {
  const things = new Set(candidates.map(({ kind, id }) => `${kind}/${id}`));
  const ways = [
    ...(things.size > 1 ? ['ask for it by the first column'] : []),
    ...(things.size < candidates.length ? ['name its node with --node CLUSTER/NODE'] : []),
  ];
  return `${asked} means ${candidates.length} things: to choose one, ${ways.join(' and ')}`;
}

const isPart = ({ fromMs, toMs }: TimeRange): boolean => fromMs !== null || toMs !== null;

function notFoundText({ asked, reading, nearNames, knownOtherwise }: NotFound, node: string | null): string {
  const records = reading.records + reading.ruledOut;
  if (records === 0)
    return `there is no record of any such node on the event log in that time, so nothing can be said of ${asked}`;
  const near = nearNames.length === 0 ? '' : `; there is ${nearNames.join(', ')}`;
  const where = [node !== null && `on ${node}`, isPart(reading) && 'in that time'].filter(
    (one) => one !== false,
  );
  if (knownOtherwise && where.length > 0)
    return `${asked} is known, but not ${where.join(' ')}, in ${counted(records, 'record')}${near}`;
  const there = where.length === 0 ? 'on the event log' : where.join(' ');
  return `nothing is called ${asked} ${there}, in ${counted(records, 'record')}${near}${kindHint(asked)}`;
}

/** Of what may be the kind of an object of a cluster, in lower case. */
const kindHint = (asked: string): string =>
  /^(?!image\/|container\/|sandbox\/|node\/)[a-z]+\//.test(asked)
    ? '; the kind of an object of a cluster begins with a capital letter, as in Pod/shop/web-1'
    : '';

/** Throws `AMBIGUOUS` or `NOT_FOUND`. */
function requireOneObject(explanation: ClusterExplanation, cluster: string | null): void {
  if (explanation.status === 'ambiguous') throw new FleetGcError('AMBIGUOUS', severalText(explanation));
  if (explanation.status === 'not-found')
    throw new FleetGcError('NOT_FOUND', noObjectText(explanation, cluster));
}

function severalText({ asked, candidates }: Extract<ClusterExplanation, { status: 'ambiguous' }>): string {
  const clusters = new Set(candidates.map((each) => each.cluster));
  const ways = ['ask for it by the first column', ...(clusters.size > 1 ? ['name its --cluster'] : [])];
  return `${asked} means ${candidates.length} things: to choose one, ${ways.join(' and ')}`;
}

function noObjectText(
  { asked, reading, nearNames }: Extract<ClusterExplanation, { status: 'not-found' }>,
  cluster: string | null,
): string {
  const where = [
    cluster === null ? 'of any cluster' : `of cluster ${cluster}`,
    isPart(reading) && 'in that time',
  ];
  if (reading.records === 0)
    return `there is no record ${where.filter((one) => one !== false).join(' ')} on the event log, so nothing can be said of ${asked}`;
  const near = nearNames.length === 0 ? '' : `; there is ${nearNames.join(', ')}`;
  return `nothing was told or decided about ${asked} ${where.filter((one) => one !== false).join(' ')}, in ${counted(reading.records, 'record')}: only objects are told for which something may have to be done${near}`;
}
