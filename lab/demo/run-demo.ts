import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import { openService } from '../../cli/framework/open-service.ts';
import { operatorPublication } from '../../cli/framework/task-event-log.ts';
import type { VerbContext } from '../../cli/framework/verb.ts';
import { eventLogOptions } from '../../cli/options/event-log-options.ts';
import { onEventLog } from '../../cli/options/steering-options.ts';
import {
  type Activity,
  type ActivityReader,
  createActivityReader,
} from '../../packages/documents/activity.ts';
import type { EventLog, LogReader, ReadEvent } from '../../packages/log/port.ts';
import { readPolicyFiles, type WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import type { PolicySource } from '../../packages/policy/policies.ts';
import {
  policyChanges,
  toClusterPolicyRecord,
  toPolicyRecord,
} from '../../packages/policy/policy-changes.ts';
import { writePolicies } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import { readHeldList } from '../../packages/read-model/read-holds.ts';
import { parseRecord } from '../../packages/records/parse/parse-record.ts';
import { UNSIGNED_STATE } from '../../packages/records/trust/state-signer.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { printableLine } from '../../packages/text/printable.ts';
import { shellWord } from '../../packages/text/shell-word.ts';
import type { SubjectKind } from '../../schemas/events/identity.ts';
import { TOPICS, type TopicId } from '../../schemas/events/topics.ts';
import type { Policy, PolicyRecordOf } from '../../schemas/policy/policy.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { runSimulatedNode } from '../sim/workload.ts';
import { CLUSTER_POLICY, type ClusterAct, clusterPolicy, DEMO_CLUSTER, playClusterAct } from './cluster.ts';
import { servePage } from './serve-page.ts';
import { lastRemovedImage, nodesSummary, questionLines, type RemovedImage, summaryJson } from './tally.ts';
import { indented, jsonView, liveView, type Output, outputFor, plainView, type View } from './view.ts';

interface DemoOptions {
  readonly duration: number;
  readonly json: boolean;
  readonly plain: boolean;
  /** How long the page of the demo's log is served at the end; not given: on a terminal until Ctrl-C, and else not at all. */
  readonly for?: number | undefined;
}

/** The policy of the demo. Its ages are seconds, so that something happens while one watches. */
const DEMO_POLICY = `name: demo
mode: enforce
imageGCHighThresholdPercent: 80     # begin to make room at 80 % used
imageGCLowThresholdPercent: 60      # and stop at 60 %
imageMinimumGCAge: 5s               # the kubelet's default is 2m
minimumCreatedContainerAge: 10s     # FleetGC's default is 5m
maximumDeadContainersPerContainer: 1
keep:
  images: ["registry.example/platform/*"]
`;

const GB = 1_000_000_000n;
/** Each reaches the high threshold within the demo, one after the other, and none before its images are old enough to go. */
const NODES = [
  { name: 'node-1', capacityBytes: 25n * GB, startPercent: 60, seed: 11 },
  { name: 'node-2', capacityBytes: 30n * GB, startPercent: 68, seed: 23 },
  { name: 'node-3', capacityBytes: 40n * GB, startPercent: 70, seed: 42 },
];
const STEP_MS = 900;
const REFRESH_MS = 200;

/**
 * Two acts on one embedded log, shown while they are played: three simulated nodes, and then a simulated cluster. Ctrl-C ends both.
 */
export async function runDemo(options: DemoOptions, context: VerbContext): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), 'fleetgc-'));
  const logPath = join(directory, 'log.db');
  const { policy, written } = demoPolicy();
  const view = viewFor(options, policy, context);
  const out = outputFor(options.json, context.print);
  out.text(introduction(options.duration));
  out.json({ kind: 'policy', policy });
  const approvals = await playActs({ options, context, directory, logPath, view, out, written });
  const summary = {
    tally: view.tally,
    logPath,
    questions: questions(logPath, { image: lastRemovedImage(view.tally), approvals }),
  };
  out.json(summaryJson(summary));
  out.text(['', ...questionLines(summary)]);
  const forMs = options.for ?? (context.terminalColumns === null || options.json ? 0 : null);
  if (forMs !== 0 && !context.signal.aborted) await servePage({ directory, logPath, forMs, out }, context);
}

interface Acts {
  readonly options: DemoOptions;
  readonly context: VerbContext;
  readonly directory: string;
  readonly logPath: string;
  readonly view: View;
  readonly out: Output;
  readonly written: readonly WrittenPolicy[];
}

/** Resolves to the commands that approve what is held at the end; `null` where the second act was not played. */
async function playActs(acts: Acts): Promise<readonly string[] | null> {
  const { context, directory, logPath, view, out } = acts;
  const settings = { ...EventLogSettings.parse({ logPath }), httpAddress: null };
  const logger = quiet(context.logger);
  const surrounding = { logger, environment: {} };
  await using process = await openService('demo', settings, { kind: 'off' }, surrounding);
  const cluster = clusterPolicy();
  await apply(process.log, [...acts.written.map(toPolicyRecord), toClusterPolicyRecord(cluster)]);
  const policies = process.followPolicies(null);
  await playNodes({ process, policies, directory, view }, acts);
  out.text(['', ...nodesSummary(view.tally)]);
  if (context.signal.aborted) return null;
  out.text(['', ...clusterIntroduction()]);
  out.json({ kind: 'cluster-policy', policy: cluster.policy });
  const told = clusterView(out);
  await playClusterAct({ process, policies, directory, ...told }, context.signal);
  return context.signal.aborted ? null : await approvalCommands(process.log, logPath, context.signal);
}

/** As `fleetgc held` prints them: decided again from the facts on the log. */
async function approvalCommands(
  log: EventLog,
  logPath: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const onLog = (command: string): string => onEventLog(command, { log: 'embedded', logPath });
  const asked = { cluster: DEMO_CLUSTER, fromMs: 0, roots: null, nowMs: Date.now(), onLog };
  const { held } = await readHeldList(log, asked, signal);
  return held.clusters.flatMap(({ holds }) => holds.flatMap(({ approve }) => approve ?? []));
}

/** Its time begins when all nodes are there: a busy machine takes a while to start them. */
async function playNodes(stage: Omit<Stage, 'show'>, { options, context }: Acts): Promise<void> {
  using ended = new LinkedController(context.signal);
  using ending = new DisposableStack();
  const count = (): void =>
    void ending.adopt(
      setTimeout(() => ended.abort(), options.duration),
      clearTimeout,
    );
  const reported = whenAllReported(
    NODES.map(({ name }) => name),
    count,
  );
  const show = (activity: Activity): void => {
    stage.view.show(activity);
    reported(activity);
  };
  await showPipeline({ ...stage, show }, ended.signal);
}

const clusterView = ({ text, json }: Output): Pick<ClusterAct, 'announce' | 'tell'> => ({
  announce: ({ command, why }) => {
    text(['', `$ ${command}`, ...why.map((sentence) => `  ${sentence}`)]);
    json({ kind: 'scene', command, why: why.join(' ') });
  },
  tell: ({ kind, steps, lines }) => {
    text(lines.map((line) => `    ${printableLine(line)}`));
    if (steps.length > 0) json({ kind, steps });
  },
});

const clusterIntroduction = (): readonly string[] => [
  'And now a small simulated cluster, in which somebody deletes things.',
  'FleetGC collects what that leaves behind, by this policy:',
  '',
  ...indented(CLUSTER_POLICY),
];

/** As `policy apply` reads it. */
function demoPolicy(): { readonly policy: Policy; readonly written: readonly WrittenPolicy[] } {
  const files = readPolicyFiles([{ file: 'demo policy', text: DEMO_POLICY }]);
  const [first] = files.valid ? files.policies : [];
  if (!files.valid || !first) throw new FleetGcError('INTERNAL', 'the policy of the demo is not valid');
  return { policy: first.policy, written: files.policies };
}

function viewFor(
  { json, plain }: DemoOptions,
  policy: Policy,
  { print, write, terminalColumns }: VerbContext,
): View {
  if (json) return jsonView(print);
  if (plain || terminalColumns === null) return plainView(print);
  const { imageGCHighThresholdPercent: highPercent, imageGCLowThresholdPercent: lowPercent } = policy;
  // It draws: its own control characters have to reach the terminal.
  return liveView((text) => void write(`${text}\n`), { highPercent, lowPercent }, terminalColumns);
}

const EventLogSettings = z.object(eventLogOptions('embedded'));

const introduction = (durationMs: number): readonly string[] => [
  'Three simulated nodes pull images and run pods that crash. The policy (its ages are seconds, only for this demo):',
  '',
  ...indented(DEMO_POLICY),
  '',
  `Watch for ${Math.round(durationMs / 1000)} s, counted from when all three have reported; Ctrl-C ends it earlier.`,
  '',
];

async function apply(log: EventLog, records: readonly PolicyRecordOf<SubjectKind>[]): Promise<void> {
  await log.createTopics();
  const writer = { log, publication: operatorPublication('demo'), signer: UNSIGNED_STATE };
  await writePolicies(writer, policyChanges(records, new Map(), new Set()));
}

/** The view shows what happens; the services' own lines would only cut through it. */
const quiet = (logger: Logger): Logger => logger.child({}, { level: 'error' });

interface Stage {
  readonly process: ServiceProcess;
  readonly policies: PolicySource;
  readonly directory: string;
  readonly view: View;
  readonly show: (activity: Activity) => void;
}

/** Until the signal aborts; the first part that fails ends the others. */
async function showPipeline(
  { process, policies, directory, view, show }: Stage,
  signal: AbortSignal,
): Promise<void> {
  using stop = new LinkedController(signal);
  const drawing = setInterval(() => view.refresh(), REFRESH_MS);
  const nodes = NODES.map((node) => ({
    ...node,
    cluster: DEMO_CLUSTER,
    directory: join(directory, node.name),
    stepMs: STEP_MS,
  }));
  const parts = [
    runDeciders(['pressure', 'container-gc', 'image-gc'], { process, policies, signal: stop.signal }),
    watchEventLog(process.log, show, stop.signal),
    ...nodes.map((node) => runSimulatedNode(process, node, stop.signal)),
  ];
  try {
    await Promise.all(parts);
  } finally {
    stop.abort();
    await Promise.allSettled(parts);
    clearInterval(drawing);
    view.refresh();
  }
}

interface Asked {
  readonly image: RemovedImage | null;
  /** The commands that approve what is held, as `fleetgc held` prints them; `null` where the second act was not played. */
  readonly approvals: readonly string[] | null;
}

/** What is worth asking first; each can be typed as it stands. */
function questions(logPath: string, { image, approvals }: Asked): readonly string[] {
  const at = `--log embedded --log-path ${shellWord(logPath)}`;
  return [
    ...(image === null
      ? []
      : [`bin/fleetgc audit explain ${shellWord(image.name)} --node ${shellWord(image.node)} ${at}`]),
    `bin/fleetgc audit report ${at}`,
    `bin/fleetgc audit verify ${at}`,
    `bin/fleetgc nodes ${at}`,
    `bin/fleetgc policy show demo ${at}`,
    ...(approvals === null
      ? []
      : [
          `bin/fleetgc audit explain Secret/staging/web-tls --cluster ${DEMO_CLUSTER} ${at}`,
          `bin/fleetgc held ${at}`,
          ...approvals.map((command) => `bin/${command}`),
        ]),
  ];
}

const WATCHED: readonly TopicId[] = ['diskStats', 'inventory', 'decisions', 'results'];

/** Reads the event log as it grows, and calls `onActivity` for what happens, until the signal aborts. */
async function watchEventLog(
  log: LogReader,
  onActivity: (activity: Activity) => void,
  signal: AbortSignal,
): Promise<void> {
  const reader = createActivityReader();
  const watch = async (topic: TopicId): Promise<void> => {
    const request = { topic: TOPICS[topic].name, from: 'earliest', to: 'forever' } as const;
    for await (const event of log.read(request, signal)) {
      for (const activity of activitiesOf(reader, topic, event)) onActivity(activity);
    }
  };
  await Promise.all(WATCHED.map(watch));
}

function activitiesOf(reader: ActivityReader, topic: TopicId, event: ReadEvent): readonly Activity[] {
  if (event.kind !== 'record') return [];
  const parsed = parseRecord(topic, event.record);
  return parsed.ok ? reader.activitiesIn(parsed.event) : [];
}

/** Takes each activity, and calls `then` once: when each of these nodes has told how full its disk is. */
function whenAllReported(nodes: readonly string[], then: () => void): (activity: Activity) => void {
  const missing = new Set(nodes);
  return ({ kind, node }) => {
    if (kind === 'usage' && missing.delete(node) && missing.size === 0) then();
  };
}
