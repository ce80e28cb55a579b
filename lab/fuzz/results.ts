import { appendFileSync, readFileSync } from 'node:fs';
import { z } from 'zod';
import type { Found } from './engine/findings.ts';
import type { Account } from './engine/fuzz.ts';

const count = z.int().nonnegative();

/** What came of one run of one target: a line of the file. */
const Result = z.object({
  target: z.string(),
  seed: count,
  runs: count,
  passed: count,
  blocks: count,
  corpus: count,
  crashes: count,
  effects: count,
  tooSlow: count,
  slowestMs: z.number().nonnegative(),
  tookMs: z.number().nonnegative(),
});
type Result = z.infer<typeof Result>;

/** What came of all runs of one target. */
export type Sum = Omit<Result, 'target' | 'seed'> & { readonly times: number };

const NOTHING: Sum = {
  times: 0,
  runs: 0,
  passed: 0,
  blocks: 0,
  corpus: 0,
  crashes: 0,
  effects: 0,
  tooSlow: 0,
  slowestMs: 0,
  tookMs: 0,
};

/** By target; nothing where there is no file yet. */
export function sumsIn(file: string): ReadonlyMap<string, Sum> {
  const sums = new Map<string, Sum>();
  for (const line of contentOf(file).trimEnd().split('\n')) {
    if (line === '') continue;
    const result = Result.parse(JSON.parse(line));
    sums.set(result.target, added(sums.get(result.target) ?? NOTHING, result));
  }
  return sums;
}

export const sumOf = (file: string, target: string): Sum => sumsIn(file).get(target) ?? NOTHING;

export function addResult(file: string, target: string, seed: number, account: Account): void {
  appendFileSync(file, `${JSON.stringify(Result.parse({ ...account, target, seed }))}\n`);
}

/** Whole, since the seed alone does not lead to an input again once the corpus has grown. */
export function addFound(file: string, target: string, seed: number, found: readonly Found[]): void {
  for (const one of found) appendFileSync(`${file}.found`, `${JSON.stringify({ target, seed, ...one })}\n`);
}

/** What is counted adds up; of what was reached, the most that one run reached. */
const added = (sum: Sum, result: Result): Sum => ({
  times: sum.times + 1,
  runs: sum.runs + result.runs,
  passed: sum.passed + result.passed,
  blocks: Math.max(sum.blocks, result.blocks),
  corpus: Math.max(sum.corpus, result.corpus),
  crashes: sum.crashes + result.crashes,
  effects: sum.effects + result.effects,
  tooSlow: sum.tooSlow + result.tooSlow,
  slowestMs: Math.max(sum.slowestMs, result.slowestMs),
  tookMs: sum.tookMs + result.tookMs,
});

function contentOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return '';
    throw error;
  }
}

const HEADER = [
  '| target | inputs | passed | branches | kept | slowest | crashes | effects |',
  '| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |',
];

/** The table of the documentation. */
export function tableOf(sums: ReadonlyMap<string, Sum>, targets: readonly string[]): readonly string[] {
  const rows = targets.flatMap((target) => {
    const sum = sums.get(target);
    return sum === undefined ? [] : [rowOf(target, sum)];
  });
  return [...HEADER, ...rows];
}

function rowOf(target: string, sum: Sum): string {
  const cells = [
    `\`${target}\``,
    numberText(sum.runs),
    `${Math.floor((100 * sum.passed) / Math.max(1, sum.runs))} %`,
    numberText(sum.blocks),
    numberText(sum.corpus),
    `${Math.ceil(sum.slowestMs)} ms`,
    numberText(sum.crashes),
    numberText(sum.effects),
  ];
  return `| ${cells.join(' | ')} |`;
}

const numberText = (number: number): string => number.toLocaleString('en-US');
