import { parseArgs } from 'node:util';

export const COLLECTORS = ['images', 'containers'] as const;
export type CollectorName = (typeof COLLECTORS)[number];

export const HELP = `Usage: npm run compare:kubelet [-- OPTIONS]

Draws random nodes, and compares what profile kubelet removes of them with what the kubelet's own collectors of images and containers
remove. Needs Go; the first run builds the collectors from the Go module of Kubernetes, and keeps them.

Options:
  --nodes N     so many nodes for each collector (default: 2000)
  --seed N      of the draw: the same seed draws the same nodes (default: 1)
  --only NAME   compares this collector alone: ${COLLECTORS.join(', ')}
  --json        prints the account as JSON on stdout, in place of the table
  -h, --help    show this help

Progress goes to stderr, the account to stdout, with the first ten nodes that differ. Ends with 0 when all nodes came out the same, 1
when one did not, 2 when they could not be compared.
`;

export interface KubeletOptions {
  readonly nodes: number;
  readonly seed: number;
  readonly collectors: readonly CollectorName[];
  readonly json: boolean;
}

/** `null` for whoever wants help. Throws an `Error` with one sentence for what it does not know. */
export function parseOptions(args: readonly string[]): KubeletOptions | null {
  const text = { type: 'string' } as const;
  const { values } = parseArgs({
    args: [...args],
    options: {
      nodes: text,
      seed: text,
      only: text,
      json: { type: 'boolean' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help) return null;
  const { nodes = '2000', seed = '1', only, json = false } = values;
  return {
    nodes: positive('--nodes', nodes),
    seed: positive('--seed', seed),
    collectors: only === undefined ? COLLECTORS : [collectorNamed(only)],
    json,
  };
}

function collectorNamed(name: string): CollectorName {
  const found = COLLECTORS.find((each) => each === name);
  if (found !== undefined) return found;
  throw new Error(`--only is ${name}; it must be one of ${COLLECTORS.join(', ')}`);
}

function positive(option: string, text: string): number {
  if (/^[1-9]\d{0,6}$/.test(text)) return Number(text);
  throw new Error(`${option} is ${text}; it must be a whole number above 0 and below 10000000`);
}
