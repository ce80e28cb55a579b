import { spawn } from 'node:child_process';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { stringify } from 'yaml';
import type { ApiServer } from '../../support/nodes/api-server.ts';
import { PROGRAM } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from '../../support/toolchain/command.ts';
import { ensureKubectl } from '../../support/toolchain/kubectl.ts';

const COMMAND_MS = 60_000;
/** Where the page says that the event log lies. */
const STATE = '/var/lib/fleetgc';

/** Somebody with a shell, kubectl and a kubeconfig in their home, who types what a page says. */
export interface Newcomer {
  readonly file: (name: string) => string;
  /** Resolves to what a command prints on stdout and stderr. Rejects with it when the command fails. */
  readonly types: (command: string) => Promise<string>;
  /** Leaves a command running. */
  readonly leavesRunning: (command: string) => LeftRunning;
}

export interface LeftRunning {
  /** What it has printed so far. */
  readonly said: () => string;
  /** As by Ctrl+C; resolves to its exit code. */
  readonly interrupt: () => Promise<number | null>;
}

export async function startNewcomer(server: ApiServer): Promise<Newcomer> {
  const home = temporaryDirectory();
  const file = (name: string): string => join(home, name);
  for (const folder of ['.kube', 'bin', 'state']) mkdirSync(file(folder));
  writeFileSync(file('.kube/config'), stringify(server.localKubeconfig), { mode: 0o600 });
  symlinkSync(PROGRAM, file('bin/fleetgc'));
  symlinkSync(await ensureKubectl(), file('bin/kubectl'));
  const environment = {
    PATH: `${file('bin')}:${process.env.PATH ?? ''}`,
    HOME: home,
    FLEETGC_TRUST: 'off',
    // The page leaves it out, since root may write there.
    FLEETGC_LOG_PATH: file('state/cluster-prod.db'),
  };
  const here = (command: string): string => command.replaceAll(STATE, file('state'));
  const types = async (command: string): Promise<string> => {
    const variables = Object.entries(environment).map(([name, value]) => `${name}=${value}`);
    const inShell = ['-i', ...variables, 'sh', '-c', `set -e\n${here(command)}`];
    return (await run('env', inShell, { usualMs: COMMAND_MS, cwd: home })).output;
  };
  const leavesRunning = (command: string): LeftRunning => {
    const child = spawn('sh', ['-c', `exec ${here(command)}`], { cwd: home, env: environment });
    onTestFinished(() => void child.kill('SIGKILL'));
    let said = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text;
      });
    const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
    const interrupt = (): Promise<number | null> => {
      child.kill('SIGINT');
      return ended;
    };
    return { said: () => said, interrupt };
  };
  return { file, types, leavesRunning };
}
