import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM } from '../../support/program.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { run } from '../../support/toolchain/command.ts';
import { ensureHelm } from '../../support/toolchain/helm.ts';
import { ensureKubectl } from '../../support/toolchain/kubectl.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { REPOSITORY } from '../files.ts';

/** `helm --wait` waits for pods; it ends by itself after the ten minutes that the page gives it. */
const COMMAND_MS = 90_000;

/** Somebody in a folder with the checkout's `deploy`, who has helm, kubectl, fleetgc and a kubeconfig. */
export interface Shell {
  /** The path of a file in that folder. */
  readonly file: (name: string) => string;
  readonly writes: (name: string, text: string) => void;
  readonly reads: (name: string) => string;
  /** Resolves to what a command prints on stdout, with these variables. Rejects with all that it said when it fails. */
  readonly types: (command: string, variables?: Readonly<Record<string, string>>) => Promise<string>;
}

export async function openShell(kubeconfig: string): Promise<Shell> {
  const folder = temporaryDirectory();
  const file = (name: string): string => join(folder, name);
  for (const name of ['home', 'bin']) mkdirSync(file(name));
  symlinkSync(join(REPOSITORY, 'deploy'), file('deploy'));
  symlinkSync(await ensureHelm(), file('bin/helm'));
  symlinkSync(await ensureKubectl(), file('bin/kubectl'));
  symlinkSync(PROGRAM, file('bin/fleetgc'));
  const environment = [
    `PATH=${file('bin')}:${process.env.PATH ?? ''}`,
    `HOME=${file('home')}`,
    `KUBECONFIG=${kubeconfig}`,
  ];
  return {
    file,
    writes: (name, text) => writeFileSync(file(name), text),
    reads: (name) => readFileSync(file(name), 'utf8'),
    types: async (command, variables = {}) => {
      const more = Object.entries(variables).map(([name, value]) => `${name}=${value}`);
      const words = ['-i', ...environment, ...more, 'sh', '-e', '-c', command];
      return (await run('env', words, { usualMs: COMMAND_MS, cwd: folder })).stdout;
    },
  };
}

/** kubectl refuses to wait for a condition while an object's status has none yet, so it is asked again. */
export async function establishDefinitions(shell: Shell): Promise<void> {
  await waitUntil('the definitions of kinds are established', COMMAND_MS, () =>
    shell.types('kubectl wait crd --all --for=condition=Established --timeout=30s'),
  );
}
