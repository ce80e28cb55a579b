import { endProcess, processControl } from '../packages/process/run.ts';
import { runCli } from './run-cli.ts';

/** A reader such as `head` that has seen enough is no failure. */
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code !== 'EPIPE') throw error;
  process.exit(0);
});

endProcess(
  await runCli(process.argv.slice(2), {
    environment: process.env,
    control: processControl,
    writeOut: (text) => new Promise((resolve) => process.stdout.write(text, () => resolve())),
    terminalColumns: process.stdout.isTTY ? process.stdout.columns : null,
    stderr: { isTerminal: process.stderr.isTTY, write: (text) => process.stderr.write(text) },
    monotonicNow: () => performance.now(),
  }),
);
