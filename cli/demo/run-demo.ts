import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { z } from 'zod';
import type { EventLog } from '../../packages/event-log/port.ts';
import { readPolicyFiles, type WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { policyChanges, toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { writePolicies } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import { shellWord } from '../../packages/text/shell-word.ts';
import type { Policy } from '../../schemas/policy/policy.ts';
import { runDeciders } from '../../services/deciders/run-deciders.ts';
import { runSimulatedNode } from '../../sim/run-simulated-node.ts';
import { openService } from '../framework/open-service.ts';
import { unsignedWriter } from '../framework/policy-writer.ts';
import type { VerbContext } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import type { Activity } from '../views/activity/activity-reader.ts';
import { summaryJson, summaryLines } from './summary.ts';
import { lastRemovedImage, type RemovedImage } from './tally.ts';
import { jsonView, liveView, plainView, type View } from './view.ts';
import { watchEventLog, whenAllReported } from './watch.ts';

export interface DemoOptions {
  readonly duration: number;
  readonly json: boolean;
  readonly plain: boolean;
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

/** Three simulated nodes and the whole pipeline on an embedded log, shown while it works, and summed up at the end. */
export async function runDemo(options: DemoOptions, context: VerbContext): Promise<void> {
  const durationMs = options.duration;
  const directory = await mkdtemp(join(tmpdir(), 'fleetgc-'));
  const logPath = join(directory, 'log.db');
  const { policy, written } = demoPolicy();
  const view = viewFor(options, policy, context);
  const printText = options.json ? () => undefined : context.print;
  for (const line of introduction(durationMs)) printText(line);
  if (options.json) context.print(JSON.stringify({ kind: 'policy', policy }));
  {
    const settings = { ...EventLogSettings.parse({ logPath }), httpAddress: null };
    await using process = await openService(
      'demo',
      settings,
      { kind: 'off' },
      { logger: quiet(context.logger) },
    );
    await apply(process.log, written);
    using ended = new LinkedController(context.signal);
    using ending = new DisposableStack();
    // A busy machine takes its time to start the nodes: what there is to see begins when all of them are there.
    const count = (): void =>
      void ending.adopt(
        setTimeout(() => ended.abort(), durationMs),
        clearTimeout,
      );
    const reported = whenAllReported(
      NODES.map(({ name }) => name),
      count,
    );
    const show = (activity: Activity): void => {
      view.show(activity);
      reported(activity);
    };
    await showPipeline({ process, directory, view, show }, ended.signal);
  }
  const summary = { tally: view.tally, logPath, questions: questions(logPath, lastRemovedImage(view.tally)) };
  if (options.json) context.print(JSON.stringify(summaryJson(summary)));
  for (const line of ['', ...summaryLines(summary)]) printText(line);
}

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
  { print, terminalColumns }: VerbContext,
): View {
  if (json) return jsonView(print);
  if (plain || terminalColumns === null) return plainView(print);
  const { imageGCHighThresholdPercent: highPercent, imageGCLowThresholdPercent: lowPercent } = policy;
  return liveView(print, { highPercent, lowPercent }, terminalColumns);
}

const EventLogSettings = z.object(eventLogOptions('embedded'));

const introduction = (durationMs: number): readonly string[] => [
  'Three simulated nodes pull images and run pods that crash. The policy (its ages are seconds, only for this demo):',
  '',
  ...DEMO_POLICY.trimEnd()
    .split('\n')
    .map((line) => `    ${line}`),
  '',
  `Watch for ${Math.round(durationMs / 1000)} s, counted from when all three have reported; Ctrl-C ends it earlier.`,
  '',
];

async function apply(log: EventLog, written: readonly WrittenPolicy[]): Promise<void> {
  await log.createTopics();
  await writePolicies(unsignedWriter(log), policyChanges(written.map(toPolicyRecord), new Map(), new Set()));
}

/** The view shows what happens; the services' own lines would only cut through it. */
const quiet = (logger: Logger): Logger => logger.child({}, { level: 'error' });

interface Stage {
  readonly process: ServiceProcess;
  readonly directory: string;
  readonly view: View;
  readonly show: (activity: Activity) => void;
}

/** Until the signal aborts; the first part that fails ends the others. */
async function showPipeline({ process, directory, view, show }: Stage, signal: AbortSignal): Promise<void> {
  using stop = new LinkedController(signal);
  const drawing = setInterval(() => view.refresh(), REFRESH_MS);
  const nodes = NODES.map((node) => ({
    ...node,
    cluster: 'demo',
    directory: join(directory, node.name),
    stepMs: STEP_MS,
  }));
  const policies = process.followPolicies(null);
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

/** What is worth asking first; each can be typed as it stands. */
function questions(logPath: string, image: RemovedImage | null): readonly string[] {
  const at = `--log embedded --log-path ${shellWord(logPath)}`;
  return [
    ...(image === null
      ? []
      : [`bin/fleetgc audit explain ${shellWord(image.name)} --node ${shellWord(image.node)} ${at}`]),
    `bin/fleetgc audit report ${at}`,
    `bin/fleetgc audit verify ${at}`,
    `bin/fleetgc nodes ${at}`,
    `bin/fleetgc policy show demo ${at}`,
  ];
}
