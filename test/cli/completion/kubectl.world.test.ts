import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, expect, test } from 'vitest';
import { REPOSITORY } from '../../deploy/files.ts';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { canInstall, install } from '../../support/toolchain/apt.ts';
import { run, succeeds } from '../../support/toolchain/command.ts';
import { ensureKubectl } from '../../support/toolchain/kubectl.ts';
import { startShell, TAB, type TypedShell } from './typing.ts';

const QUICK_MS = 15_000;
const BIN = join(REPOSITORY, 'bin');
const BASH_COMPLETION = '/usr/share/bash-completion/bash_completion';

let kubectl: string;
beforeAll(async () => {
  kubectl = await ensureKubectl();
});

/** kubectl with the programs of these folders beside it. */
const typed = async (args: readonly string[], ...folders: readonly string[]): Promise<string> => {
  const path = [...folders, process.env.PATH ?? ''].join(':');
  const env = { PATH: path, HOME: temporaryDirectory() };
  return (await run(kubectl, args, { usualMs: QUICK_MS, env })).stdout;
};

test('kubectl finds the plugin, which names itself as it was called', async () => {
  expect(await typed(['plugin', 'list'], BIN)).toContain(join(BIN, 'kubectl-fleetgc'));
  expect(await typed(['fleetgc', 'version'], BIN)).toMatch(/^fleetgc 0\.1\.0/);
  expect(await typed(['fleetgc', '--help'], BIN)).toContain('Usage: kubectl fleetgc <verb> [options]');
  const help = await typed(['fleetgc', 'cluster', 'plan', '--help'], BIN);
  expect(help).toContain('Usage: kubectl fleetgc cluster plan ');
  expect(help).not.toMatch(/(?<!kubectl )\bfleetgc cluster plan/);
  await expect(typed(['fleetgc', 'stauts'], BIN)).rejects.toThrow('did you mean "status"');
});

test('a verb that asks an API server goes by the kubeconfig of kubectl, and another one refuses a context', async () => {
  await expect(typed(['fleetgc', 'cluster', 'plan'], BIN)).rejects.toThrow(/kubeconfig .*\.kube\/config/);
  await expect(typed(['fleetgc', 'status', '--context', 'x'], BIN)).rejects.toThrow(
    'there is no option --context: this verb asks no API server, and the event log has no contexts; see kubectl fleetgc status --help',
  );
});

test('kubectl is told what can follow', async () => {
  const told = async (...words: readonly string[]) =>
    (await typed(['__complete', 'fleetgc', ...words], BIN))
      .split('\n')
      .map((line) => line.split('\t')[0] ?? '')
      .filter((line) => /^(:\d+|-|[a-z])/.test(line));
  const lines: readonly (readonly [line: string, words: readonly string[]])[] = [
    ['polic', ['policy-controller', 'policy', ':4']],
    ['policy val', ['validate', ':4']],
    ['policy list -o ', ['table', 'wide', 'name', 'json', 'yaml', ':4']],
    ['status -o y', ['yaml', ':4']],
    ['notify rbac -n ', [':4']],
    ['policy list --outp', ['--output', ':4']],
    ['policy validate ', [':0']],
  ];
  expect(await Promise.all(lines.map(([line]) => told(...line.split(' '))))).toEqual(
    lines.map(([, words]) => words),
  );
});

/** The real kubectl and its real completion; in place of the program one that says its arguments. */
function shells(): readonly (TypedShell & { readonly needs: string })[] {
  const folder = temporaryDirectory();
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'kubectl-fleetgc'), `#!/bin/sh\nprintf 'got<%s>\\n' "$*"\n`);
  chmodSync(join(folder, 'kubectl-fleetgc'), 0o755);
  symlinkSync(join(BIN, 'kubectl_complete-fleetgc'), join(folder, 'kubectl_complete-fleetgc'));
  symlinkSync(kubectl, join(folder, 'kubectl'));
  const common = { program: 'kubectl fleetgc', path: [folder] };
  return [
    {
      ...common,
      name: 'bash',
      needs: 'bash-completion',
      command: 'bash --norc --noprofile -i',
      setUp: [`source ${BASH_COMPLETION}`, 'source <(kubectl completion bash)'],
    },
    {
      ...common,
      name: 'zsh',
      needs: 'zsh',
      command: 'zsh -f -i',
      setUp: ['autoload -Uz compinit && compinit -u -D', 'source <(kubectl completion zsh)'],
    },
    {
      ...common,
      name: 'fish',
      needs: 'fish',
      command: 'fish --no-config --interactive',
      setUp: ['kubectl completion fish | source'],
    },
  ];
}

const TYPED = [
  { typed: `pla${TAB}`, got: 'plan' },
  { typed: `policy val${TAB}gent${TAB}`, got: 'policy validate gentle.yaml' },
  { typed: `policy list --outp${TAB}j${TAB}`, got: 'policy list --output json' },
];

async function ensure(name: string): Promise<void> {
  const isThere =
    name === 'bash-completion'
      ? await succeeds('test', ['-r', BASH_COMPLETION], QUICK_MS)
      : await succeeds(name, ['--version'], QUICK_MS);
  if (isThere) return;
  if (!canInstall()) throw new Error(`completion is tried with ${name}: install it`);
  await install([name]);
}

test.each(['bash', 'zsh', 'fish'])(
  'what is typed behind kubectl into %s is completed at TAB',
  async (name) => {
    const shell = shells().find((each) => each.name === name);
    if (shell === undefined) throw new Error(`there is no ${name}`);
    await ensure(shell.needs);
    const type = await startShell(shell);
    for (const { typed: line, got } of TYPED) expect(await type(line)).toBe(got);
  },
);
