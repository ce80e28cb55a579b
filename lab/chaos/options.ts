import { parseArgs } from 'node:util';
import { SUBJECTS, type Subject } from './schedule/schedule.ts';

export const HELP = `Usage: npm run chaos -- [OPTIONS]

Plays random faults on a real fleet: each part a process of its own, and a real Kafka broker. Two rounds of three are about nodes
whose runtimes are made up, or in four rounds of ten real containerd, and one is about a cluster whose API server is made up. Their own
truth is written down. Needs root (it mounts small filesystems) and what the container suites of npm test need.

Options:
  --seed N          of the campaign; each round has a schedule of its own that follows from it (default: 1)
  --rounds R        how many (default: 10)
  --subject S       nodes or cluster: all rounds are about that
  --lanes L         so many rounds run beside each other, each on a broker of its own (default: 1)
  --schedule FILE   plays the one schedule in this file, as it stands under "schedule" in a line of the outcomes
  --out FILE        a line of JSON for each round is added to it (default: .fleetgc/chaos/outcomes.ndjson); what a round
                    left behind that did not hold is kept in a folder beside it
  --shrink          leaves out faults of the first schedule that does not hold, for as long as it still does not;
                    the shortest is written to shrunk.json beside the outcomes
  --planted NAME    on a copy of the sources with that bug in it, until a round finds it (lab/chaos/planted)
  --keep            keeps what every round left behind
  -h, --help        show this help

Ends with 0 when every round held, 1 when one did not, 2 when the campaign could not be played. With --planted: 0 when the
bug was found, 1 when it was not.
`;

export interface ChaosOptions {
  readonly seed: number;
  readonly rounds: number;
  /** `null`: of both kinds. */
  readonly subject: Subject | null;
  readonly lanes: number;
  readonly schedule: string | null;
  readonly out: string;
  readonly keepAll: boolean;
  readonly shrink: boolean;
  readonly planted: string | null;
  readonly help: boolean;
}

/** Throws an `Error` with one sentence for an option that is not known, or is no number. */
export function parseOptions(args: readonly string[]): ChaosOptions {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seed: text,
      rounds: text,
      subject: text,
      lanes: text,
      schedule: text,
      out: text,
      keep: { type: 'boolean' },
      shrink: { type: 'boolean' },
      planted: text,
      help: { type: 'boolean', short: 'h' },
    },
  });
  const {
    seed = '1',
    rounds = '10',
    lanes = '1',
    schedule = null,
    out = '.fleetgc/chaos/outcomes.ndjson',
  } = values;
  const { planted = null, shrink = false, keep: keepAll = false, help = false } = values;
  return {
    seed: wholeNumber('--seed', seed),
    rounds: wholeNumber('--rounds', rounds),
    subject: subjectIn(values.subject),
    lanes: Math.max(1, wholeNumber('--lanes', lanes)),
    schedule,
    out,
    keepAll,
    shrink,
    planted,
    help,
  };
}

function subjectIn(text: string | undefined): Subject | null {
  if (text === undefined) return null;
  const subject = SUBJECTS.find((each) => each === text);
  if (subject) return subject;
  throw new Error(`--subject is ${text}; it must be ${SUBJECTS.join(' or ')}`);
}

function wholeNumber(option: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new Error(`${option} is ${text}; it must be a whole number`);
}
