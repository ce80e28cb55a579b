import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import type { CommandProcess } from '../../cli/framework/run-verb.ts';
import { ONGOING } from '../../cli/framework/verb.ts';
import { runCli } from '../../cli/run-cli.ts';
import { openEmbeddedLog } from '../../packages/log/embedded.ts';
import type { EventLog } from '../../packages/log/port.ts';
import type { StopSignal } from '../../packages/process/run.ts';
import { FakeProcess } from '../support/fake-process.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT, UNSIGNED_FLEET } from '../support/program.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  /** Without lines of progress, which come where a machine is slow. */
  readonly stderr: string;
}

/** The lines of a verb on stderr that are there however fast the machine is. */
export const withoutProgress = (stderr: string): string =>
  stderr
    .split('\n')
    .filter((line) => !line.endsWith(ONGOING))
    .join('\n');

interface Given {
  readonly environment?: Readonly<Record<string, string>>;
  readonly stdin?: string;
}

/** Runs the command as a user does, in a process of its own and with nothing of ours in its environment. */
export function fleetgc(
  args: readonly string[],
  { environment = {}, stdin = '' }: Given = {},
): Promise<Ended> {
  const child = spawn(PROGRAM, args, { env: { ...PROGRAM_ENVIRONMENT, ...environment } });
  const output = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr'] as const)
    child[stream].setEncoding('utf8').on('data', (text) => {
      output[stream] += text;
    });
  child.stdin.end(stdin);
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (exitCode) =>
      resolve({ exitCode, stdout: output.stdout, stderr: withoutProgress(output.stderr) }),
    );
  });
}

/** The same without a process of its own, where many commands follow each other. */
export const inProcess = (
  args: readonly string[],
  environment: Readonly<Record<string, string>> = UNSIGNED_FLEET,
  platform: NodeJS.Platform = process.platform,
  monotonicNow: CommandProcess['monotonicNow'] = () => 0,
  node: string = process.versions.node,
): Promise<Ended> =>
  running(args, { environment, platform, monotonicNow, node, stop: { signal: 'SIGINT', once: () => false } });

/** A signal that comes once stderr, which begins empty, is so. */
interface Stop {
  readonly signal: StopSignal;
  readonly once: (stderr: string) => boolean;
}

/** The same, stopped by a signal. Every line of progress is due. */
export function stoppedInProcess(args: readonly string[], stop: Stop): Promise<Ended> {
  let nowMs = 0;
  const monotonicNow = (): number => (nowMs += 10_000);
  return running(args, { ...HERE, monotonicNow, stop });
}

interface Surroundings {
  readonly environment: Readonly<Record<string, string>>;
  readonly platform: NodeJS.Platform;
  readonly monotonicNow: CommandProcess['monotonicNow'];
  readonly node: string;
  readonly stop: Stop;
}

const HERE = { environment: UNSIGNED_FLEET, platform: process.platform, node: process.versions.node };

async function running(
  args: readonly string[],
  { environment, platform, monotonicNow, node, stop }: Surroundings,
): Promise<Ended> {
  const output = { stdout: '', stderr: '' };
  const isStopped = { yet: false };
  const control = new FakeProcess();
  const stopInTime = (): void => {
    if (isStopped.yet || !stop.once(output.stderr)) return;
    isStopped.yet = true;
    control.signal(stop.signal);
  };
  const commandProcess: CommandProcess = {
    environment,
    control: {
      onStopSignal: (listener) => {
        const forget = control.onStopSignal(listener);
        stopInTime();
        return forget;
      },
      onUncaught: (listener) => control.onUncaught(listener),
      exit: (code) => control.exit(code),
      after: (delayMs, listener) => control.after(delayMs, listener),
    },
    terminalColumns: null,
    monotonicNow,
    writeOut: async (text) => {
      output.stdout += text;
    },
    stderr: {
      isTerminal: false,
      write: (text) => {
        output.stderr += text;
        stopInTime();
      },
    },
  };
  const exitCode = await runCli(args, commandProcess, platform, node);
  return { exitCode, ...output };
}

export interface OwnLog {
  readonly log: EventLog;
  readonly path: string;
  /** Runs a verb against the log. */
  readonly run: (...args: readonly string[]) => Promise<Ended>;
}

/** An embedded log of this test's own, with all topics. */
export async function ownLog(): Promise<OwnLog> {
  const path = join(temporaryDirectory(), 'event-log.db');
  const log = await openEmbeddedLog(
    { path, maxBytes: 64 * 1024 * 1024 },
    { logger: pino({ level: 'silent' }), now: Date.now, random: Math.random, newId: randomUUID },
  );
  onTestFinished(() => log[Symbol.asyncDispose]());
  await log.createTopics();
  return { log, path, run: (...args) => inProcess([...args, '--log', 'embedded', '--log-path', path]) };
}
