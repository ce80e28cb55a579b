import { parseArgs } from 'node:util';
import { COMPARED_NAMES, type ComparedName } from './subjects.ts';

export const HELP = `Usage: npm run compare:kcm [-- OPTIONS]

Plays random histories on a real API server: with the collectors of kube-controller-manager alone (three times), with
"fleetgc cluster run" in profile kubernetes, and with nobody who collects. What survives, its references, its finalizers and
what is said of pods must be the same. Needs what the container suites of npm test need; the first run builds kube-controller-manager.

Options:
  --seeds N|A-B     plays seeds 1 to N, or A to B (default: 20)
  --seed N          plays this seed alone
  --only NAME       compares this alone: ${COMPARED_NAMES.join(', ')}
  --batch N         so many seeds lie side by side on one API server (default: 10)
  --lanes L         so many API servers run beside each other (default: 1)
  --planted NAME    on a copy of the sources with that bug in it, which is to be found (lab/compare/planted.ts);
                    plays what the bug is about
  --json            prints the account as JSON on stdout, in place of the table
  -h, --help        show this help

Progress goes to stderr, the account to stdout. A signal ends it after the batches that are under way. Ends with 0 when all
seeds ended the same, 1 when one did not, 2 when some could not be played. With --planted: 0 when a seed ended differently, 1 when none did.
`;

export interface CompareOptions {
  readonly seeds: readonly number[];
  /** `null`: all, or that in which a planted bug is to be found. */
  readonly subjects: readonly ComparedName[] | null;
  readonly batch: number;
  readonly lanes: number;
  readonly planted: string | null;
  readonly json: boolean;
}

/** `null` for whoever wants help. Throws an `Error` with one sentence for what it does not know. */
export function parseOptions(args: readonly string[]): CompareOptions | null {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      seeds: text,
      seed: text,
      only: text,
      batch: text,
      lanes: text,
      planted: text,
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return null;
  const { seeds, seed, only, batch = '10', lanes = '1', planted = null, json = false } = values;
  if (seeds !== undefined && seed !== undefined) throw new Error('give either --seeds or --seed');
  return {
    seeds: seed === undefined ? seedsIn(seeds ?? '20') : [positive('--seed', seed)],
    subjects: only === undefined ? null : [subjectNamed(only)],
    batch: positive('--batch', batch),
    lanes: positive('--lanes', lanes),
    planted,
    json,
  };
}

function seedsIn(text: string): readonly number[] {
  const [, from = '1', to = text] = /^(\d+)-(\d+)$/.exec(text) ?? [];
  const first = positive('--seeds', from);
  const count = positive('--seeds', to) - first + 1;
  if (count < 1) throw new Error(`--seeds is ${text}; the first number must not be the larger one`);
  return Array.from({ length: count }, (_, index) => first + index);
}

function subjectNamed(name: string): ComparedName {
  const found = COMPARED_NAMES.find((each) => each === name);
  if (found !== undefined) return found;
  throw new Error(`--only is ${name}; it must be one of ${COMPARED_NAMES.join(', ')}`);
}

function positive(option: string, text: string): number {
  if (/^[1-9]\d{0,8}$/.test(text)) return Number(text);
  throw new Error(`${option} is ${text}; it must be a whole number above 0`);
}
