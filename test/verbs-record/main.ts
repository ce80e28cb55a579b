/** The runner behind `npm run record:verbs`. */
import { existsSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { endProcess } from '../../packages/process/run.ts';
import { recordVerbs } from './record-verbs.ts';

const HELP = `Usage: npm run record:verbs -- --to DIRECTORY [--only PART]

Asks every verb that only looks, those that write, the help of all, and every route of the dashboard, of one recorded fleet,
with a clock that stands. Writes a file for each answer: exit code, stdout, stderr. Two checkouts that answer the same give the
same directory: compare them with "diff -r".

Options:
  --to DIRECTORY    where the answers go; it must not exist
  --only PART       help, routes, archive, verbs, or one verb, such as verbs/audit-explain
  -h, --help        show this help
`;

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

try {
  const { values } = parseArgs({
    options: {
      to: { type: 'string' },
      only: { type: 'string' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) process.stdout.write(HELP);
  else {
    const { to, only = '' } = values;
    if (to === undefined) throw new Error(`--to is missing\n\n${HELP}`);
    if (existsSync(to)) throw new Error(`${to} exists already`);
    await recordVerbs({ to, only, tell });
  }
  endProcess(0);
} catch (error) {
  tell(error instanceof Error ? (error.stack ?? error.message) : String(error));
  endProcess(2);
}
