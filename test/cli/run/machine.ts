import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { openServiceOn } from '../../../cli/framework/open-service.ts';
import { runPipeline } from '../../../cli/run/pipeline.ts';
import { type SimulatedNode, startSimulatedNode } from '../../../lab/sim/node.ts';
import type { EventLog } from '../../../packages/log/port.ts';
import { linuxClock } from '../../../packages/machine/clock.ts';
import { openStateDirectory } from '../../../packages/machine/state-directory.ts';
import { readPolicyFiles } from '../../../packages/policy/file/read-policy-file.ts';
import { createLogger } from '../../../packages/process/logger.ts';
import type { NodeIdentity } from '../../../schemas/events/identity.ts';
import { logLines } from '../../support/log-lines.ts';

export const GB = 1_000_000_000n;
export const ENFORCE = 'name: mine\nmode: enforce\nimageMinimumGCAge: -1s\n';

/** A simulated machine of 10 GB with images of 1 GB that nobody uses. */
export async function machine({ images = 9 } = {}) {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-run-'));
  const node = await startSimulatedNode({
    name: 'n',
    directory,
    clock: linuxClock(),
    capacityBytes: 10n * GB,
  });
  onTestFinished(async () => {
    await node[Symbol.asyncDispose]();
    rmSync(directory, { recursive: true, force: true });
  });
  for (let number = 0; number < images; number += 1) addImage(node, number);
  return { directory, node };
}

export function addImage({ runtime }: SimulatedNode, number: number): void {
  const digit = String(number);
  runtime.addImage({
    id: `sha256:${digit.repeat(64)}`,
    repoTags: [`registry.example/app:${digit}`],
    repoDigests: [`registry.example/app@sha256:${digit.repeat(64)}`],
    sizeBytes: GB,
    pinned: false,
    isPulled: true,
    labels: {},
  });
}

export const imagesOf = ({ runtime }: SimulatedNode): readonly string[] =>
  [...runtime.images.values()]
    .flatMap(({ repoTags }) => repoTags)
    .filter((name) => name.startsWith('registry.example/app'));

export interface Run {
  readonly log: EventLog;
  readonly identity: NodeIdentity;
  readonly lines: readonly string[];
  stop(): Promise<void>;
}

export interface RunOptions {
  readonly json?: boolean;
  /** Where log and state are kept, where that is not the machine's own directory. */
  readonly kept?: string;
  readonly keepsSpace?: boolean;
}

/** Runs everything against the machine, with this policy. */
export async function start(
  { directory, node }: { readonly directory: string; readonly node: SimulatedNode },
  policy: string,
  { json = false, kept = directory, keepsSpace = false }: RunOptions = {},
): Promise<Run> {
  const logPath = join(kept, 'log.db');
  const files = readPolicyFiles([{ file: 'policy.yaml', text: policy }]);
  if (!files.valid) throw new Error('the policy of the test is not valid');
  const state = openStateDirectory(join(kept, 'state'), '3d1219c7c4c5404aaa1f6d2a48adfda4');
  const identity = { cluster: 'local', node: 'n', nodeInstance: state.nodeInstance };
  const process = await openServiceOn({
    trust: { kind: 'off' },
    service: 'run',
    eventLog: { kind: 'embedded', path: logPath, maxBytes: 64 * 1024 * 1024, keepsSpace },
    httpAddress: null,
    logger: createLogger({ service: 'run', level: 'silent' }, logLines()),
  });
  const lines: string[] = [];
  const stopping = new AbortController();
  const running = runPipeline(
    {
      process,
      node: {
        identity,
        nodeLabels: {},
        runtimeEndpoint: node.endpoint,
        imageLayers: false,
        clock: node.clock,
        state,
        filesystems: () => node.filesystems,
        podLogs: node,
        pods: { source: null, wanted: () => [], now: null },
        podSources: ['api'],
      },
      executor: {
        podLogsDir: node.podLogsDir,
        containerLogsDir: node.containerLogsDir,
        localFile: { path: join(directory, 'node.yaml'), isNamed: false },
      },
      written: files.policies,
      policyFiles: ['policy.yaml'],
      logPath,
      json,
      print: (line) => lines.push(line),
    },
    stopping.signal,
  );
  const stop = async (): Promise<void> => {
    stopping.abort();
    await running;
    await process[Symbol.asyncDispose]();
  };
  return { log: process.log, identity, lines, stop };
}

export const said = (run: Run, text: string | RegExp) => () =>
  run.lines.find((line) => line.match(text)) ?? null;

export const removals = ({ lines }: Run): readonly string[] =>
  lines.filter((line) => /- image registry\.example\/app:\d/.test(line));
