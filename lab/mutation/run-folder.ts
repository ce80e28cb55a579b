import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { accountOf, type FolderAccount, judged } from './account.ts';
import { type Explanation, explains } from './explanations.ts';
import { CHECKOUT, type Folder, sourcesOf, testsOf } from './folders.ts';
import { instrument, type Mutant } from './mutants.ts';
import { planTasks } from './plan.ts';
import { sampled } from './sample.ts';
import { KeptVerdicts } from './verdicts.ts';
import { cover, judgeAll } from './work.ts';
import type { Covered, Task, Verdict } from './worker/job.ts';

export interface Asked {
  readonly directory: string;
  readonly isMeant: (file: string) => boolean;
  /** Of the folder's tests. */
  readonly isTest: (file: string) => boolean;
  /** So many of the folder's mutants are judged: as many as there are, or a sample of them. */
  readonly sampleSize: number;
  readonly isAfresh: boolean;
  readonly explanations: readonly Explanation[];
  readonly say: (line: string) => void;
}

interface FolderRun {
  readonly account: FolderAccount;
  /** Explanations of mutants that are killed, or that there are no more. */
  readonly unused: readonly string[];
}

export async function runFolder(
  folder: Folder,
  { directory, isMeant, isTest, sampleSize, isAfresh, explanations, say }: Asked,
): Promise<FolderRun> {
  const own = join(directory, folder.name.replaceAll('/', '-'));
  mkdirSync(own, { recursive: true });
  const { mutants: all, contents, hashes } = await instrument(sourcesOf(folder).filter(isMeant));
  const mutants = sampled(all, sampleSize);
  const sources = join(own, 'sources.json');
  writeFileSync(
    sources,
    JSON.stringify(
      Object.fromEntries(Object.entries(contents).map(([file, text]) => [join(CHECKOUT, file), text])),
    ),
  );
  const covered = await cover(own, sources, testsOf(folder).filter(isTest));
  tellFailures(covered, say);
  const tasks = new Map(planTasks(mutants, covered).map((task) => [task.key, task]));
  const kept = new KeptVerdicts(join(own, 'verdicts.json'));
  const verdicts = new Map<string, Verdict>();
  const open: Task[] = [];
  for (const mutant of mutants) {
    const task = tasks.get(mutant.key);
    if (task === undefined || mutant.isSentence || isUnreached(task)) continue;
    const known = isAfresh ? null : kept.find(mutant, hashOf(mutant), task);
    if (known === null) open.push(task);
    else verdicts.set(mutant.key, known);
  }
  const byKey = new Map(mutants.map((mutant) => [mutant.key, mutant]));
  say(
    `${folder.name}: ${all.length} mutants, ${mutants.length} of them asked for, ${verdicts.size} known, ${open.length} to run`,
  );
  await judgeAll(own, sources, open, (verdict) => {
    verdicts.set(verdict.key, verdict);
    const [mutant, task] = [byKey.get(verdict.key), tasks.get(verdict.key)];
    if (mutant !== undefined && task !== undefined) kept.keep(verdict, hashOf(mutant), task);
    if (verdicts.size % 5 === 0) kept.save();
  });
  kept.save();
  const judgedMutants = judged(mutants, verdicts, explanations);
  const account = accountOf(folder.name, judgedMutants, all.length);
  writeFileSync(join(own, 'account.json'), `${JSON.stringify(account, null, 2)}\n`);
  const files = new Set(Object.keys(hashes));
  const explained = judgedMutants.filter(({ fate }) => fate === 'explained');
  return {
    account,
    unused: explanations
      .filter(
        (each) =>
          mutants.length === all.length &&
          files.has(each.file) &&
          !explained.some((mutant) => explains(each, mutant)),
      )
      .map(({ file, mutator, snippet }) => `explains nothing: ${file} ${mutator}: ${snippet}`),
  };

  function hashOf({ file }: Mutant): string {
    return hashes[file] ?? '';
  }
}

const isUnreached = ({ warm, cold }: Task): boolean => warm.length === 0 && cold.length === 0;

/** A test that fails without any mutant can kill none. */
function tellFailures(covered: readonly Covered[], say: (line: string) => void): void {
  for (const { file, failed, isOnceOnly } of covered) {
    if (isOnceOnly) say(`${file} runs only once in a process: it runs in fresh modules each time`);
    if (failed.length > 0)
      throw new Error(`${file} fails in instrumented sources that no mutant changes: ${failed.join(', ')}`);
  }
}
