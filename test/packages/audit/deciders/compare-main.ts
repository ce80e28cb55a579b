/** The runner behind `npm run compare:deciders`. */
import { parseArgs } from 'node:util';
import { compareDeciders, differenceLines } from './compare-deciders.ts';
import { SOURCE_DECIDERS } from './source-deciders.ts';

const NAMES = SOURCE_DECIDERS.map(({ name }) => name);

const HELP = `Usage: npm run compare:deciders -- --before PATH [OPTIONS]

Gives all recorded and many arbitrary messages to the frozen deciders of an earlier commit and to those that the sources are
now. Both must give the same bytes: records, their hashes, and all that follows. A summary goes to stdout as JSON. Exit code 1
means a difference; stderr says what message shows it.

Options:
  --before PATH     a directory of bundles of the earlier commit, or one bundle, such as image-gc-1.mjs
  --decider NAME    compares this alone; may be given again: ${NAMES.join(', ')}
  --runs N          arbitrary messages for each decider (default: 1000)
  --seed N          other seeds give other messages (default: 1)
  -h, --help        show this help
`;

const tell = (text: string): void => void process.stderr.write(`${text}\n`);

const count = (name: string, text: string): number => {
  if (!/^\d{1,9}$/.test(text)) throw new Error(`--${name} takes a number, not ${text}`);
  return Number(text);
};

try {
  const { values } = parseArgs({
    options: {
      before: { type: 'string' },
      decider: { type: 'string', multiple: true, default: NAMES },
      runs: { type: 'string', default: '1000' },
      seed: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  if (values.help) process.stdout.write(HELP);
  else {
    const { before, decider: deciders } = values;
    if (before === undefined) throw new Error(`--before is missing\n\n${HELP}`);
    for (const name of deciders)
      if (!NAMES.includes(name))
        throw new Error(`there is no decider ${name}; there are ${NAMES.join(', ')}`);
    const [runs, seed] = [count('runs', values.runs), count('seed', values.seed)];
    const compared = await compareDeciders({ before, deciders, runs, seed, tell });
    process.stdout.write(`${JSON.stringify(compared, null, 2)}\n`);
    for (const line of compared.flatMap(differenceLines)) tell(line);
    process.exitCode = compared.some(({ difference }) => difference !== null) ? 1 : 0;
  }
} catch (error) {
  tell(error instanceof Error ? error.message : String(error));
  process.exitCode = 2;
}
