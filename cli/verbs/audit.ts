import type { Logger } from 'pino';
import { z } from 'zod';
import { placeOf, placeText } from '../../packages/audit/events/log-position.ts';
import { meansClusterObject } from '../../packages/audit/explain/cluster.ts';
import type { ExplainRequest } from '../../packages/audit/explain/question.ts';
import { ruleWords } from '../../packages/deciders/rule-words.ts';
import {
  clusterExplanationLines,
  clusterExplanationNdjson,
} from '../../packages/documents/cluster-explanation.ts';
import { explanationLines, explanationNdjson } from '../../packages/documents/explanation.ts';
import { keptText, REPORT_FORMS, type WhichParts } from '../../packages/documents/report.ts';
import { TOPIC_NAMES } from '../../packages/log/partition.ts';
import type { LogRecord } from '../../packages/log/port.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { Text, TextList, withMeta } from '../../packages/process/options/options.ts';
import { CAUSES_FIRST, type RecordedLog, type TimeRange } from '../../packages/records/read-log.ts';
import { MAX_EVENT_BYTES, structuredEvent } from '../../packages/records/structured-event.ts';
import { counted } from '../../packages/text/counted.ts';
import { jsonLine } from '../../packages/text/json-text.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { TOPICS, type TopicName } from '../../schemas/events/topics.ts';
import type { AuditReport } from '../../schemas/reports/audit-report.ts';
import type { ClusterExplanation } from '../../schemas/reports/cluster-explanation.ts';
import type { Explanation, NotFound } from '../../schemas/reports/explanation.ts';
import { openAuditLog } from '../framework/audit-log.ts';
import {
  formatOption,
  formatResult,
  type PartedFormat,
  partedOutputOptions,
  yamlText,
} from '../framework/output.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import { auditLogOptions } from '../options/archive-options.ts';
import {
  LongDuration,
  type PointInTime,
  type PointLookup,
  pointMs,
  pointOption,
  rangeOptions,
  rangeOptionsWith,
  timeRange,
} from '../options/time-options.ts';
import { readingProgress } from '../run/audit-progress.ts';

export const explainVerb = defineVerb({
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
    requireOneEnd({ at, from, to });
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
  const { explain } = await import('../../packages/audit/explain/explain.ts');
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
  const { explainCluster } = await import('../../packages/audit/explain/cluster.ts');
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
function requireOneEnd({ at, to }: Times): void {
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

const WEEK_MS = 7 * DAY_MS;

export const reportVerb = defineVerb({
  help: [
    'Sums up a week of the event log, or another period: what was freed, as the nodes measured it; what was removed and refused, and why; which nodes could not be relieved, and what holds their space; which images were removed and pulled again; which policies were applied and deleted; what was paused; and what policies in dry-run would have removed, each object once (--part dry-run shows that page alone). markdown and html are for people; html is one file with plots and without scripts. json says the same for machines (schemas/generated/audit-report.schema.json).',
    'Of clusters it tells what was deleted, by kind, collector and rule; what was held, refused and failed; what policies in dry-run would have deleted; and which approvals were given.',
    'Exit codes: 0 a report was made, 3 the event log has no record from that time.',
  ],
  examples: [
    'fleetgc audit report',
    'fleetgc audit report --period 24h -o json',
    'fleetgc audit report --part dry-run',
    'fleetgc audit report --from 2026-01-01 --to 2026-02-01 -o html > january.html',
  ],
  options: z.object({
    period: withMeta(LongDuration.optional(), {
      commandLineOnly: true,
      placeholder: 'DURATION',
      description: 'How long a time to report, up to now or --to. Default: 7d, unless --from is given.',
    }),
    ...rangeOptionsWith({ from: 'as --period says' }),
    output: formatOption(
      ['markdown', 'html', 'json', 'yaml', 'ndjson'],
      'markdown or html for people, html with plots; json or yaml for everything there is to say; ndjson for an entry a line.',
    ),
    part: withMeta(z.enum(['all', 'dry-run']).prefault('all'), {
      commandLineOnly: true,
      description:
        'dry-run: only the page about what policies in dry-run would have removed, in markdown or html; json and ndjson have it all.',
    }),
    ...auditLogOptions,
  }),
  run: async ({ period, from, to, output, part, ...options }, context) => {
    const { makeReport } = await import('../../packages/read-model/report.ts');
    const { logger, progress, signal } = context;
    requireOneBeginning({ period, from, to });
    await using log = await openAuditLog(options, context);
    const nowMs = Date.now();
    const range = await reportedRange({ period, from, to }, { log, nowMs, signal });
    const onProgress = readingProgress(progress);
    const report = await makeReport({ log, range, nowMs, onProgress }, signal);
    await context.write(`${FORMS[output](report, part).trimEnd()}\n`);
    if (report.read.unreadable > 0)
      logger.warn(`${report.read.unreadable} records could not be read, and are left out`);
    if (report.read.records === 0)
      throw new FleetGcError(
        'AUDIT_INCOMPLETE',
        `there is nothing to report: no record of any node or cluster lies in that time${keptText(report.kept ?? null)}`,
      );
  },
});

type Form = (report: AuditReport, which: WhichParts) => string;

const FORMS: Readonly<Record<'markdown' | 'html' | 'json' | 'yaml' | 'ndjson', Form>> = {
  ...REPORT_FORMS,
  yaml: (report) => yamlText(report),
};

interface Given {
  readonly period: number | undefined;
  readonly from: PointInTime | undefined;
  readonly to: PointInTime | undefined;
}

/** Throws `USAGE`. */
function requireOneBeginning({ period, from }: Given): void {
  if (from !== undefined && period !== undefined)
    throw new FleetGcError('USAGE', 'give either --period or --from');
}

/** The end is open where nobody gave one: the log's clock may be ahead of ours. */
async function reportedRange({ period, from, to }: Given, lookup: PointLookup): Promise<TimeRange> {
  const given = await timeRange({ from, to }, lookup);
  if (given.fromMs !== null) return given;
  return { ...given, fromMs: Math.max(0, (given.toMs ?? lookup.nowMs) - (period ?? WEEK_MS)) };
}

export const eventsVerb = defineVerb({
  help: [
    'Prints records as they lie on the event log or in an archive, a CloudEvent in structured mode a line, with their exact bytes in data_base64. "keys verify" says of such lines who signed them.',
    'Exit codes: 0 all were printed, 2 wrong options, 3 some are too large to be printed (it names them).',
  ],
  examples: [
    'fleetgc audit events --topic gc.policies --kafka-brokers kafka:9092',
    'fleetgc audit events --topic gc.node.commands --key prod/web-1 --from 24h --log archive --archive /srv/fleetgc-archive',
  ],
  options: z.object({
    topic: withMeta(TextList.pipe(z.array(z.enum(TOPIC_NAMES))).prefault([]), {
      commandLineOnly: true,
      placeholder: 'TOPIC,…',
      description: 'Of these topics only. Default: all, one after the other.',
    }),
    key: withMeta(Text.optional(), {
      commandLineOnly: true,
      description: 'With this record key only, such as prod/web-1.',
    }),
    ...rangeOptions,
    ...auditLogOptions,
  }),
  run: async ({ topic, key, from, to, ...options }, context) => {
    await using log = await openAuditLog(options, context);
    const range = await timeRange({ from, to }, { log, nowMs: Date.now(), signal: context.signal });
    const printer = new EventPrinter(context);
    for (const name of topic.length === 0 ? ALL : topic)
      for await (const record of recordsOf(log, name, range, context.signal))
        if (key === undefined || record.key === key) await printer.print(record);
    printer.requireAll();
  },
});

class EventPrinter {
  readonly #context: VerbContext;
  #leftOut = 0;

  constructor(context: VerbContext) {
    this.#context = context;
  }

  /** What nobody would read is told of, and left out. */
  async print(record: LogRecord): Promise<void> {
    const { logger, write } = this.#context;
    const text = jsonLine(structuredEvent(record));
    if (Buffer.byteLength(text) <= MAX_EVENT_BYTES) return await write(`${text}\n`);
    this.#leftOut += 1;
    logger.warn(`${placeText(placeOf(record))} is larger than any record that FleetGC reads`);
  }

  /** Throws `AUDIT_INCOMPLETE`. */
  requireAll(): void {
    if (this.#leftOut === 0) return;
    const were = this.#leftOut === 1 ? 'was' : 'were';
    throw new FleetGcError(
      'AUDIT_INCOMPLETE',
      `${counted(this.#leftOut, 'record')} ${were} left out, as too large`,
    );
  }
}

const ALL: readonly TopicName[] = CAUSES_FIRST.map((topicId) => TOPICS[topicId].name);

async function* recordsOf(
  log: RecordedLog,
  topic: TopicName,
  { fromMs, toMs }: TimeRange,
  signal: AbortSignal,
): AsyncGenerator<LogRecord> {
  const from = fromMs === null ? 'earliest' : { timestampMs: fromMs };
  for await (const event of log.read({ topic, from, to: 'end' }, signal))
    if (event.kind === 'record' && (toMs === null || event.record.timestampMs < toMs)) yield event.record;
}
