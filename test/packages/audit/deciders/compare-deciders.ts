import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import fc from 'fast-check';
import type { FrozenDecider } from '../../../../packages/audit/deciders/deciders.ts';
import { canonicalJson, sha256Hex } from '../../../../packages/canonical/ids.ts';
import { ARBITRARY_CASES } from './arbitrary-cases.ts';
import { bundleDecider } from './bundle.ts';
import {
  answerTo,
  answerToOvertaking,
  type CorpusCase,
  type OvertakingCase,
  questionOf,
  readCorpus,
  readOvertaking,
} from './corpus.ts';
import { SOURCE_DECIDERS, type SourceDecider } from './source-deciders.ts';

type Bundle = Pick<FrozenDecider, 'read' | 'decide' | 'passOver'>;

interface CompareOptions {
  /** A directory of bundles (`image-gc-1.mjs`), or one such file: the deciders of an earlier commit. */
  readonly before: string;
  readonly deciders: readonly string[];
  /** Arbitrary messages for each decider, beside all recorded ones. */
  readonly runs: number;
  readonly seed: number;
  readonly tell: (line: string) => void;
}

interface Difference {
  /** The recorded case, or the arbitrary one, made as small as it goes. */
  readonly case: CorpusCase | OvertakingCase;
  readonly before: string;
  readonly now: string;
}

interface Compared {
  readonly decider: string;
  /** SHA-256 of both bundles. Bundles of one text give one answer, so they are asked nothing. */
  readonly bundles: { readonly before: string; readonly now: string };
  readonly recorded: number;
  readonly arbitrary: number;
  /** Answers with a command or an order to look: a comparison that meets none proves little. */
  readonly orders: number;
  readonly refused: number;
  readonly difference: Difference | null;
}

/**
 * Gives messages to the deciders of an earlier commit and to those that the sources are now. Both have to give the same bytes: of
 * the record, of its hash, and of all that follows from it.
 */
export async function compareDeciders(options: CompareOptions): Promise<readonly Compared[]> {
  const files = bundleFiles(options.before);
  const compared: Compared[] = [];
  for (const decider of SOURCE_DECIDERS) {
    if (!options.deciders.includes(decider.name)) continue;
    const file = files.get(decider.name);
    if (file === undefined) throw new Error(`there is no bundle of ${decider.name} in ${options.before}`);
    const texts = { before: readFileSync(file, 'utf8'), now: await bundleDecider(decider.name) };
    const found = await compareBundles(decider, texts, options);
    const isSame = found.bundles.before === found.bundles.now;
    const outcome = isSame ? 'the same bundle' : found.difference === null ? 'no difference' : 'DIFFERENT';
    options.tell(`${decider.name}: ${outcome}`);
    compared.push(found);
  }
  return compared;
}

/** By the name of its decider, the bundle of its newest version. */
function bundleFiles(before: string): ReadonlyMap<string, string> {
  const path = resolve(before);
  const files = statSync(path).isDirectory() ? readdirSync(path).map((file) => join(path, file)) : [path];
  const found = files.flatMap((file) => {
    const [, name, version] = /^(.+)-(\d+)\.mjs$/.exec(basename(file)) ?? [];
    return name === undefined ? [] : [{ name, version: Number(version), file }];
  });
  return new Map(
    found.toSorted((one, other) => one.version - other.version).map(({ name, file }) => [name, file]),
  );
}

async function compareBundles(
  { name, topic }: SourceDecider,
  texts: { readonly before: string; readonly now: string },
  { runs, seed, tell }: CompareOptions,
): Promise<Compared> {
  const counts = { recorded: 0, arbitrary: 0, orders: 0, refused: 0 };
  const bundles = { before: sha256Hex(texts.before), now: sha256Hex(texts.now) };
  const ended = (difference: Difference | null): Compared => ({
    decider: name,
    bundles,
    ...counts,
    difference,
  });
  if (bundles.before === bundles.now) return ended(null);
  const [before, now] = await Promise.all([loaded(name, texts.before), loaded(name, texts.now)]);

  const differenceIn = <Case extends CorpusCase | OvertakingCase>(
    given: Case,
    answer: (given: Case, bundle: Bundle) => string,
  ): Difference | null => {
    const [old, found] = [answerOf(given, before, answer), answerOf(given, now, answer)];
    counts.orders += /"type":"fleetgc\.(?:node|cluster)\.(?:command|observe)"/.test(found) ? 1 : 0;
    counts.refused += found.startsWith(REFUSED) ? 1 : 0;
    return old === found ? null : { case: given, before: old, now: found };
  };
  const ofCase = (given: CorpusCase) => differenceIn(given, (each, by) => answerTo(questionOf(each), by));

  for (const given of readCorpus().filter((each) => each.topic === topic)) {
    counts.recorded += 1;
    const difference = ofCase(given);
    if (difference !== null) return ended(difference);
  }
  for (const given of readOvertaking().filter((each) => each.topic === topic)) {
    counts.recorded += 1;
    const difference = differenceIn(given, answerToOvertaking);
    if (difference !== null) return ended(difference);
  }
  const arbitraries = ARBITRARY_CASES[topic];
  for (const arbitrary of arbitraries) {
    let smallest: Difference | null = null;
    const isSame = fc.property(arbitrary, (unnamed) => {
      counts.arbitrary += 1;
      if (counts.arbitrary % TELL_EVERY === 0) tell(`${name}: ${counts.arbitrary} arbitrary messages`);
      const difference = ofCase({ name: 'arbitrary', ...unnamed });
      smallest = difference ?? smallest;
      return difference === null;
    });
    if (fc.check(isSame, { numRuns: Math.ceil(runs / arbitraries.length), seed }).failed)
      return ended(smallest);
  }
  return ended(null);
}

const TELL_EVERY = 10_000;
const REFUSED = 'refused: ';

/** Both have to refuse the same messages too, in the same words. */
function answerOf<Case>(
  given: Case,
  bundle: Bundle,
  answer: (given: Case, bundle: Bundle) => string,
): string {
  try {
    return answer(given, bundle);
  } catch (error) {
    return `${REFUSED}${error instanceof Error ? error.message : String(error)}`;
  }
}

async function loaded(name: string, text: string): Promise<Bundle> {
  const directory = mkdtempSync(join(tmpdir(), 'fleetgc-compared-'));
  try {
    const file = join(directory, `${name}.mjs`);
    writeFileSync(file, text);
    return await import(pathToFileURL(file).href);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** What somebody reads of a difference: the case, and both answers from a little before they part. */
export function differenceLines({ decider, difference }: Compared): readonly string[] {
  if (difference === null) return [];
  const { before, now } = difference;
  const shared = [...before].findIndex((character, index) => now[index] !== character);
  const from = Math.max(0, (shared === -1 ? before.length : shared) - 100);
  return [
    `${decider} differs for ${canonicalJson(difference.case)}`,
    `  before …${before.slice(from, from + 300)}`,
    `  now    …${now.slice(from, from + 300)}`,
  ];
}
