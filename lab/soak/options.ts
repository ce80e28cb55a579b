import { parseArgs } from 'node:util';

export const HELP = `Usage: npm run soak [-- OPTIONS]

A fleet on a real broker, every part a process of its own, with --trust required; nodes live in a hurry, so that each gets
through the messages and removals of a day within half an hour. Beside them one "fleetgc run" with a small event log.
Looks at each process all the time: memory, heap once garbage is collected, compiled code, open files, sockets, state
directory, logger output, connections to the broker. Prints what is flat and what grows as a table on stderr and as JSON
on stdout.
Needs root and what the container suites of npm test need. Nothing is accelerated but the lives of the nodes: what goes by
the clock (rereading of keys and policies, saving of histories) comes as often as in any half hour.

Options:
  --minutes NUMBER    how long, after the warm-up (default: 30)
  --warm-up MINUTES   how long all starts, and caches fill, before anything counts (default: 15)
  --nodes NUMBER      how many nodes (default: 4)
  --step MS           how long between two steps in the life of a node (default: 300)
  --strangers NUMBER  how many images with names that nobody has seen a node gets every two seconds, in place of those
                      before them: so whatever remembers names is full within the warm-up (default: 150; 0: none)
  -h, --help          show this help

Ends with 0 when everything is flat, 1 when something grows or a process ended by itself, 2 when it could not be done.
`;

export interface SoakOptions {
  readonly minutes: number;
  readonly warmUpMinutes: number;
  readonly strangers: number;
  readonly nodes: number;
  readonly stepMs: number;
}

/** Throws an `Error` with one sentence for what it does not know; `null` for whoever wants help. */
export function parseOptions(args: readonly string[]): SoakOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '30' },
      'warm-up': { type: 'string', default: '15' },
      nodes: { type: 'string', default: '4' },
      strangers: { type: 'string', default: '150' },
      step: { type: 'string', default: '300' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return null;
  return {
    minutes: positive('--minutes', values.minutes),
    warmUpMinutes: positive('--warm-up', values['warm-up']),
    strangers: values.strangers === '0' ? 0 : positive('--strangers', values.strangers),
    nodes: positive('--nodes', values.nodes),
    stepMs: positive('--step', values.step),
  };
}

function positive(option: string, text: string): number {
  if (/^[1-9]\d{0,5}$/.test(text)) return Number(text);
  throw new Error(`${option} is ${text}; it must be a whole number above 0`);
}
