import { runCli } from '../../../cli/run-cli.ts';
import { endProcess } from '../../../packages/process/run.ts';
import { FakeProcess } from '../../support/fake-process.ts';
import { UNSIGNED_FLEET } from '../../support/program.ts';

/** What a command that does not end by itself is given. */
const BOUND_MS = 20_000;

export interface Ran {
  readonly exitCode: number;
  readonly output: string;
}

/** Runs one command in this process, and stops it where it goes on. */
async function ran(args: readonly string[]): Promise<Ran> {
  const said: string[] = [];
  const control = new FakeProcess();
  const late = setTimeout(() => control.signal('SIGTERM'), BOUND_MS);
  const exitCode = await runCli(args, {
    environment: UNSIGNED_FLEET,
    control,
    terminalColumns: null,
    monotonicNow: () => 0,
    writeOut: async (text) => void said.push(text),
    stderr: { isTerminal: false, write: (text) => void said.push(text) },
  });
  clearTimeout(late);
  return { exitCode, output: said.join('') };
}

/** Commands, one after the other, in a process that another user may be given. */
const results: Ran[] = [];
for (const args of JSON.parse(process.argv[2] ?? '[]')) results.push(await ran(args));
process.stdout.write(JSON.stringify(results), () => endProcess(0));
