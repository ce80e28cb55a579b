import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { onTestFinished } from 'vitest';
import { temporaryDirectory } from '../../support/temporary-directory.ts';
import { waitUntil } from '../../support/wait-until.ts';
import { inProcess } from '../fleetgc.ts';

/** A shell that somebody types into. */
export interface TypedShell {
  readonly name: 'bash' | 'zsh' | 'fish';
  /** With nothing that this machine or its user has set up. */
  readonly command: string;
  /** What makes it ready; SCRIPT is the file of the completion. `fleetgc` then says its arguments, and runs nothing. */
  readonly setUp: readonly string[];
  /** What is typed before the rest; `fleetgc` when not given. */
  readonly program?: string;
  /** Folders with programs, which come before all others. */
  readonly path?: readonly string[];
}

export const TAB = '\t';

/** What is typed behind `fleetgc `, and the arguments that the command then gets. */
export const TYPED: readonly { readonly typed: string; readonly got: string }[] = [
  { typed: `pla${TAB}`, got: 'plan' },
  { typed: `dead${TAB}li${TAB}`, got: 'dead-letters list' },
  { typed: `policy val${TAB}gent${TAB}`, got: 'policy validate gentle.yaml' },
  { typed: `policy list --outp${TAB}j${TAB}`, got: 'policy list --output json' },
  { typed: `policy list -o y${TAB}`, got: 'policy list -o yaml' },
  { typed: `policy list --output=y${TAB}`, got: 'policy list --output=yaml' },
  { typed: `audit archive ch${TAB}`, got: 'audit archive check' },
  { typed: `audit archive --fol${TAB}`, got: 'audit archive --follow' },
  { typed: `help topics cr${TAB}`, got: 'help topics create' },
  { typed: `completion fi${TAB}`, got: 'completion fish' },
  { typed: `node --no-ima${TAB}`, got: 'node --no-image-layers' },
  { typed: `plan --state-d${TAB}kee${TAB}`, got: 'plan --state-directory keep' },
  { typed: `--vers${TAB}`, got: '--version' },
  { typed: `node --no-such${TAB}`, got: 'node --no-such' },
];

/** Starts the shell on a terminal of its own; the result types one line, and resolves to the arguments that the command got. */
export async function startShell({ name, command, setUp, program = 'fleetgc', path = [] }: TypedShell) {
  const directory = temporaryDirectory();
  const script = join(directory, 'completion');
  writeFileSync(script, (await inProcess(['completion', name])).stdout);
  const work = join(directory, 'work');
  mkdirSync(join(work, 'keep'), { recursive: true });
  writeFileSync(join(work, 'gentle.yaml'), '');
  const terminal = spawn('script', ['-qec', command, '/dev/null'], {
    cwd: work,
    env: { PATH: [...path, process.env.PATH ?? ''].join(':'), HOME: directory, TERM: 'xterm' },
  });
  let shown = '';
  terminal.stdout.setEncoding('utf8').on('data', (text: string) => {
    shown += text;
  });
  const enter = (line: string): boolean => terminal.stdin.write(`${line}\r`);
  const closed = once(terminal, 'close');
  onTestFinished(async () => {
    // A shell that is cut off writes its history, and the directory is gone by then.
    enter(`${KILL_LINE}exit`);
    await closed;
  });
  for (const line of setUp) enter(line.replace('SCRIPT', script));
  enter(`${program} set up`);
  const answered = async (what: string): Promise<string> =>
    await waitUntil(what, 10_000, () => {
      const [, got] = GOT.exec(shown) ?? [];
      if (got === undefined) throw new Error(shown);
      // zsh takes the slash of a directory away when the line is entered.
      return got.replace(/\/$/, '');
    });
  await answered(`${name} to be set up`);
  return async (typed: string): Promise<string> => {
    shown = '';
    enter(`${program} ${typed}`);
    return await answered(`${name} to run the line`);
  };
}

const KILL_LINE = '\x15';
const GOT = /got<([^>]*)>/;
