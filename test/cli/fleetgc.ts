import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { join } from 'node:path';
import pino from 'pino';
import { onTestFinished } from 'vitest';
import type { CommandProcess } from '../../cli/framework/run-verb.ts';
import { runCli } from '../../cli/run-cli.ts';
import { openEmbeddedLog } from '../../packages/event-log/embedded.ts';
import type { EventLog } from '../../packages/event-log/port.ts';
import { FakeProcess } from '../support/fake-process.ts';
import { PROGRAM, PROGRAM_ENVIRONMENT, UNSIGNED_FLEET } from '../support/program.ts';
import { temporaryDirectory } from '../support/temporary-directory.ts';

export interface Ended {
  readonly exitCode: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

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
    child.on('close', (exitCode) => resolve({ exitCode, ...output }));
  });
}

/** The same without a process of its own, where many commands follow each other. */
export async function inProcess(
  args: readonly string[],
  environment: Readonly<Record<string, string>> = UNSIGNED_FLEET,
  platform: NodeJS.Platform = process.platform,
): Promise<Ended> {
  const output = { stdout: '', stderr: '' };
  const commandProcess: CommandProcess = {
    environment,
    control: new FakeProcess(),
    terminalColumns: null,
    writeOut: async (text) => {
      output.stdout += text;
    },
    stderr: {
      isTerminal: false,
      write: (text) => {
        output.stderr += text;
      },
    },
  };
  const exitCode = await runCli(args, commandProcess, platform);
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
