import { keepCorpus, keptCorpus } from './engine/corpus.ts';
import { type Account, type Fuzzed, fuzz } from './engine/fuzz.ts';
import type { Options } from './options.ts';
import { addFound, addResult, sumOf, sumsIn, tableOf } from './results.ts';
import { TARGETS } from './targets/targets.ts';

type Say = (line: string) => void;

/** What is told of a target; its members stay as they are. */
interface Report extends Account {
  readonly target: string;
  readonly readers: readonly string[];
  /** Of the inputs, in percent. */
  readonly passedPercent: number;
  readonly slowest: string;
  readonly found: Fuzzed['found'];
}

const namesIn = ({ only }: Options): readonly string[] => (only.length > 0 ? only : [...TARGETS.keys()]);

/** Resolves to whether nothing was found, and enough inputs passed everywhere. */
export async function campaign(options: Options, say: Say): Promise<boolean> {
  const { results, total } = options;
  return results === undefined || total === undefined
    ? await once(namesIn(options), options, say)
    : await untilTotal({ results, total }, options, say);
}

interface Aim {
  readonly results: string;
  readonly total: number;
}

/** One target after the other, so that all get on, over and over until none lacks inputs. */
async function untilTotal({ results, total }: Aim, options: Options, say: Say): Promise<boolean> {
  let isWell = true;
  for (;;) {
    const lacking = namesIn(options).filter((name) => sumOf(results, name).runs < total);
    if (lacking.length === 0) return isWell;
    isWell = (await once(lacking, options, say)) && isWell;
    if (options.first && !isWell) return false;
  }
}

/** What the file of results adds up to. */
export function tellTable(options: Options): void {
  const sums = sumsIn(options.results ?? '');
  process.stdout.write(`${tableOf(sums, namesIn(options)).join('\n')}\n`);
}

async function once(names: readonly string[], options: Options, say: Say): Promise<boolean> {
  let isWell = true;
  for (const name of names) {
    const report = await reportOn(name, options, say);
    if (report === null) continue;
    tell(report, options, say);
    isWell &&= report.found.length === 0 && isEnough(report);
    if (options.first && !isWell) break;
  }
  return isWell;
}

function tell(report: Report, { json }: Options, say: Say): void {
  say(lineOf(report));
  for (const { kind, what, input } of report.found) say(`  ${kind}: ${what}\n    ${beginning(input)}`);
  if (json) process.stdout.write(`${JSON.stringify(report)}\n`);
}

/** Inputs that no schema takes show little. Few runs have no share yet. */
const LEAST_PASSED_PERCENT = 30;
const FEW_RUNS = 1_000;

const isEnough = ({ runs, passedPercent }: Report): boolean =>
  runs < FEW_RUNS || passedPercent >= LEAST_PASSED_PERCENT;

async function reportOn(name: string, options: Options, say: Say): Promise<Report | null> {
  const target = TARGETS.get(name);
  if (target === undefined) return null;
  const seed = seedOf(name, options);
  const { account, found, corpus, slowest } = await fuzz(target, {
    seed,
    runs: options.runs,
    forMs: options['for-seconds'] * 1_000,
    corpus: options['no-corpus'] ? [] : keptCorpus(name),
    stopAtFirst: options.first,
    onProgress: (soFar) => say(`  ${name}: ${accountText(soFar)}`),
  });
  if (options.keep) keepCorpus(name, corpus);
  if (options.results !== undefined) {
    addResult(options.results, name, seed, account);
    addFound(options.results, name, seed, found);
  }
  return {
    target: name,
    readers: target.readers,
    ...account,
    passedPercent: percentOf(account),
    slowest: beginning(slowest),
    found,
  };
}

/** Each run of a file of results has inputs of its own. */
const seedOf = (name: string, { seed, results }: Options): number =>
  seed + (results === undefined ? 0 : sumOf(results, name).times);

const percentOf = ({ passed, runs }: Account): number =>
  Math.round((1_000 * passed) / Math.max(1, runs)) / 10;

const lineOf = (report: Report): string =>
  `${report.target} (${report.readers.join(', ')}): ${accountText(report)}`;

const accountText = (account: Account): string =>
  [
    `${account.runs} runs in ${Math.round(account.tookMs / 1_000)} s`,
    `${percentOf(account)} % passed`,
    `${account.blocks} branches`,
    `${account.corpus} kept`,
    `slowest ${Math.round(account.slowestMs)} ms`,
    `${account.crashes} crashes`,
    `${account.effects} effects`,
    ...(account.tooSlow > 0 ? [`${account.tooSlow} too slow`] : []),
  ].join(', ');

const MOST_SHOWN = 4_000;
const beginning = (input: unknown): string => JSON.stringify(input).slice(0, MOST_SHOWN);
