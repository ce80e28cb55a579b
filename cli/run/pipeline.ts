import { connectReader } from '../../packages/cri/client.ts';
import { differencesSince } from '../../packages/log/heard-of.ts';
import { requireSame } from '../../packages/log/topic-differences.ts';
import type { WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { POLICY_RECHECK_MS, type PolicySource } from '../../packages/policy/policies.ts';
import { toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { runEvery, runTogether, untilAborted } from '../../packages/process/loops.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import type { ServiceProcess } from '../../packages/service/service-process.ts';
import type { PolicySet } from '../../schemas/policy/policy.ts';
import type { SelectableNode } from '../../schemas/policy/policy-selection.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import type { ExecutorOptions } from '../../services/node/executor/run.ts';
import type { ManagedNode } from '../../services/node/managed-node.ts';
import { runNode } from '../../services/node/run-node.ts';
import { openUnsignedWriter } from '../framework/policy-writer.ts';
import { clockText, follow, jsonPrinter, linePrinter } from './lines.ts';
import { holdingChanges, holdingNow, type Settled, settlePolicies } from './policies.ts';

interface Pipeline {
  readonly process: ServiceProcess;
  readonly node: ManagedNode;
  readonly executor: ExecutorOptions;
  readonly written: readonly WrittenPolicy[];
  readonly policyFiles: readonly string[];
  readonly logPath: string;
  readonly json: boolean;
  readonly print: (line: string) => void;
}

/** Everything on one machine: the log is made ready, the policies are settled, and then all parts run together. */
export async function runPipeline(pipeline: Pipeline, signal: AbortSignal): Promise<void> {
  const { process, node, executor, json, print } = pipeline;
  const fromMs = process.sources.now();
  const policies = await prepare(pipeline, signal);
  if (signal.aborted) return;
  const printAt = (line: string): void => print(`${clockText()}  ${line}`);
  const printer = json ? jsonPrinter(print) : linePrinter(printAt);
  const changes = holdingChanges({
    policies,
    current: policies.current.node,
    subject: selectableNode(node),
    logPath: pipeline.logPath,
    print: printAt,
  });
  const removing = { policies: policies, options: executor };
  await runTogether(
    [
      (stop) => follow({ log: process.log, printer, fromMs }, stop),
      (stop) =>
        json
          ? untilAborted(stop)
          : runEvery(LOOK_EVERY_MS, changes, { sleep: process.sources.wait, signal: stop }),
      (stop) => runDeciders(['pressure', 'container-gc', 'image-gc'], { process, policies, signal: stop }),
      (stop) => runNode({ process, node, signal: stop }, removing),
    ],
    signal,
  );
}

/** How often changes by other processes are looked for. */
const LOOK_EVERY_MS = 1_000;

const selectableNode = ({ identity, nodeLabels }: ManagedNode): SelectableNode => ({
  ...identity,
  nodeLabels,
});

async function prepare(pipeline: Pipeline, signal: AbortSignal): Promise<PolicySource> {
  const { process, node, written, print, json } = pipeline;
  const { log } = process;
  requireSame(await differencesSince(log, { created: await log.createTopics() }));
  const { deleted } = await settlePolicies(
    { ...(await openUnsignedWriter(log, signal)), log },
    written.map(toPolicyRecord),
    signal,
  );
  const policies = process.followPolicies(POLICY_RECHECK_MS);
  await Promise.race([policies.caughtUp, untilAborted(signal)]);
  if (signal.aborted || json) return policies;
  const introduction = introductionLines({
    ...pipeline,
    version: PRODUCT_VERSION,
    subject: selectableNode(node),
    runtime: await runtimeText(node),
    policies: policies.current.node(),
    deleted,
  });
  for (const line of introduction) print(line);
  return policies;
}

/** What `run` is about to do. */
interface Introduction {
  readonly version: string;
  readonly subject: SelectableNode;
  readonly runtime: string;
  readonly logPath: string;
  /** Files that the policies are from; none means the defaults. */
  readonly policyFiles: readonly string[];
  readonly policies: PolicySet;
  readonly deleted: Settled['deleted'];
}

/** Said once, before anything happens. */
const introductionLines = (introduction: Introduction): readonly string[] => [
  `FleetGC ${introduction.version} on node ${introduction.subject.node}`,
  `Container runtime: ${introduction.runtime}`,
  `Event log: ${introduction.logPath}`,
  ...introduction.deleted.map((name) => `Policy ${name} of an earlier run no longer holds.`),
  holdingNow(introduction).line,
  ...(introduction.policyFiles.length === 0
    ? ["No --policy was given: these are the kubelet's defaults, to see what they would do."]
    : []),
];

/** A runtime that is away may come: the agent waits for it. */
async function runtimeText({ runtimeEndpoint }: ManagedNode): Promise<string> {
  using runtime = connectReader(runtimeEndpoint);
  try {
    const { name, version } = await runtime.version();
    return `${name} ${version} at ${runtimeEndpoint}`;
  } catch (error) {
    return `no answer yet. ${toFleetGcError(error).message}`;
  }
}
