import { expect, test } from 'vitest';
import { canInstall, install } from '../../support/toolchain/apt.ts';
import { succeeds } from '../../support/toolchain/command.ts';
import { startShell, TYPED, type TypedShell } from './typing.ts';

const QUICK_MS = 15_000;

const SHELLS: readonly (TypedShell & { readonly read: string })[] = [
  {
    name: 'zsh',
    read: 'from its output',
    command: 'zsh -f -i',
    setUp: [
      'autoload -Uz compinit && compinit -u -D',
      `fleetgc() { printf 'got\\x3c%s>\\n' "$*" }`,
      'source SCRIPT',
    ],
  },
  {
    name: 'zsh',
    read: 'from a file in fpath',
    command: 'zsh -f -i',
    setUp: [
      'mkdir functions && cp SCRIPT functions/_fleetgc && fpath=(functions $fpath)',
      'autoload -Uz compinit && compinit -u -D',
      `fleetgc() { printf 'got\\x3c%s>\\n' "$*" }`,
    ],
  },
  {
    name: 'fish',
    read: 'from its output',
    command: 'fish --no-config --interactive',
    setUp: [`function fleetgc; printf 'got\\x3c%s>\\n' "$argv"; end`, 'source SCRIPT'],
  },
];

async function ensureShell(name: string): Promise<void> {
  if (await succeeds(name, ['--version'], QUICK_MS)) return;
  if (!canInstall()) throw new Error(`completion is tried in ${name}: install it`);
  await install([name]);
}

test.each(SHELLS)('what is typed into $name is completed at TAB, with the script $read', async (shell) => {
  await ensureShell(shell.name);
  const type = await startShell(shell);

  for (const { typed, got } of TYPED) expect(await type(typed)).toBe(got);
});
