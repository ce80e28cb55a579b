import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { CompleteInventory } from '../../../schemas/events/inventory.ts';
import { say } from '../context.ts';
import type { Figure, Findings } from '../figure.ts';
import { fullNode } from '../inventories.ts';
import { spreadOf } from '../statistics.ts';

const NODES = 64;
const LINES = 1024;
const ROUNDS = 6;
/** The first part of a round warms up. */
const WARM_UP_LINES = 256;
const LOOK_MS = 5;
const LINE_FEED = 0x0a;
const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
const PLANS = [join(CHECKOUT, 'bin', 'fleetgc'), 'plan', '-o', 'ndjson'] as const;
const READS = [process.execPath, join(import.meta.dirname, '..', 'processes', 'read-lines.ts')] as const;

const KINDS: readonly {
  readonly name: string;
  readonly lineOf: (node: CompleteInventory, index: number) => unknown;
}[] = [
  { name: 'plans of inventories', lineOf: (node) => node },
  {
    name: 'plans, each under its own policy',
    lineOf: (inventory, index) => ({
      inventory,
      policy: {
        name: `policy-${index % 10}`,
        mode: 'enforce',
        profile: index % 2 === 0 ? 'kubelet' : 'fleetgc',
      },
      trigger: index % 3 === 0 ? 'forced' : 'eviction:imagefs.available',
    }),
  },
];

/** `fleetgc plan -o ndjson` beside reading, parsing and checking the same lines. */
export async function benchPlan(): Promise<Findings> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-bench-'));
  try {
    const nodes = Array.from({ length: NODES }, (_, index) =>
      fullNode(`node-${index}`, { images: 200, containers: 30 }),
    );
    const figures: Figure[] = [];
    for (const { name, lineOf } of KINDS) {
      const path = join(directory, 'lines.ndjson');
      const lines = Array.from({ length: LINES }, (_, index) =>
        JSON.stringify(lineOf(nodes[index % NODES] ?? fullNode('node', { images: 0, containers: 0 }), index)),
      );
      writeFileSync(path, `${lines.join('\n')}\n`);
      figures.push(await figureOf(name, path));
    }
    return {
      figures,
      notes: [
        `${LINES} lines of one inventory of 200 images and 30 containers each, in a new process each round; the first ${WARM_UP_LINES} warm it up.`,
        'The baseline reads, parses and checks the same lines with the same functions, and writes a word for each.',
      ],
    };
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function figureOf(name: string, path: string): Promise<Figure> {
  const planned: number[] = [];
  const read: number[] = [];
  for (let round = 1; round <= ROUNDS; round += 1) {
    say(`${name}, round ${round} of ${ROUNDS}`);
    read.push(await rateOf(READS, path));
    planned.push(await rateOf(PLANS, path));
  }
  return {
    benchmark: 'plan',
    name,
    unit: 'lines/s',
    value: spreadOf(planned),
    baseline: spreadOf(read),
    baselineName: 'parses and checks, plans nothing',
    samples: ROUNDS * (LINES - WARM_UP_LINES),
    aim: { kind: 'ratio-at-least', limit: 0.5 },
  };
}

interface Sample {
  readonly atMs: number;
  readonly bytes: number;
}

/**
 * Lines a second that a process answers after the warm-up, from one file into another, as one uses it: a reader beside it
 * would be measured too.
 */
async function rateOf([program, ...args]: readonly [string, ...string[]], path: string): Promise<number> {
  const answers = `${path}.answers`;
  const [input, output] = [openSync(path, 'r'), openSync(answers, 'w')];
  const child = spawn(program, args, { cwd: CHECKOUT, stdio: [input, output, 'inherit'] });
  for (const file of [input, output]) closeSync(file);
  const samples: Sample[] = [];
  const look = () => samples.push({ atMs: performance.now(), bytes: statSync(answers).size });
  const looking = setInterval(look, LOOK_MS);
  await once(child, 'exit');
  clearInterval(looking);
  look();
  return rateIn(samples, lineEnds(readFileSync(answers)));
}

function lineEnds(bytes: Buffer): readonly number[] {
  const ends: number[] = [];
  for (let at = bytes.indexOf(LINE_FEED); at >= 0; at = bytes.indexOf(LINE_FEED, at + 1)) ends.push(at + 1);
  if (ends.length !== LINES) throw new Error(`${ends.length} of ${LINES} lines were answered`);
  return ends;
}

/** From the first look after the warm-up to the first at which everything was there. */
function rateIn(samples: readonly Sample[], ends: readonly number[]): number {
  const linesAt = ({ bytes }: Sample): number => ends.filter((end) => end <= bytes).length;
  const warm = samples.find((sample) => linesAt(sample) >= WARM_UP_LINES);
  const end = samples.find((sample) => linesAt(sample) === LINES);
  if (!warm || !end || end === warm) throw new Error('it was too fast to be looked at');
  return ((LINES - linesAt(warm)) * 1000) / (end.atMs - warm.atMs);
}
