import { dirname, join } from 'node:path';
import type { Mutant } from './mutants.ts';
import type { Covered, Task, WantedTests } from './worker/job.ts';

/** What a mutant may do more often than the source does: beyond it, it loops for ever. */
const hitLimit = (usualHits: number): number => 10_000 + 100 * usualHits;

/** A test that takes longer is run for no mutant, since it would run for thousands of them. */
const MOST_MS_OF_A_TEST = 500;
/** So much is tried for one mutant, the quickest first. */
const MOST_MS_OF_A_MUTANT = 2_000;

/** Which tests may kill each mutant. One that nothing reaches has none. */
export function planTasks(mutants: readonly Mutant[], covered: readonly Covered[]): readonly Task[] {
  const fileOf = new Map(mutants.map(({ id, file }) => [id, file]));
  const reachingSource = new Map<string, WantedTests[]>();
  const whoReaches = (source: string): WantedTests[] => {
    const known =
      reachingSource.get(source) ??
      mirrorFirst(
        source,
        covered
          .filter(({ tests }) =>
            tests.some(({ hits }) => Object.keys(hits).some((id) => fileOf.get(id) === source)),
          )
          .flatMap(wholeFile),
      );
    reachingSource.set(source, known);
    return known;
  };
  return mutants.map(({ id, key, file }) => {
    const isOutside = covered.some(({ outside }) => outside[id] !== undefined);
    const direct = covered.flatMap((each) => reaching(each, (hit) => hit === id));
    const onceOnly = new Set(covered.filter((each) => each.isOnceOnly).map((each) => each.file));
    return {
      id,
      key,
      warm: affordable(quickestFirst(direct.filter((tests) => !onceOnly.has(tests.file)))),
      cold: affordable(
        isOutside
          ? atLoad(whoReaches(file), covered, id)
          : quickestFirst(direct.filter((tests) => onceOnly.has(tests.file))),
      ),
      hitLimit: hitLimit(usualHits(covered, id)),
      proof: 'shared',
    };
  });
}

function affordable(tests: readonly WantedTests[]): WantedTests[] {
  let sumMs = 0;
  return tests.filter(({ usualMs }) => {
    sumMs += usualMs;
    return sumMs <= MOST_MS_OF_A_MUTANT;
  });
}

/** Where no test reaches anything else in the source, whole files that loaded it. */
const atLoad = (reached: WantedTests[], covered: readonly Covered[], id: string): WantedTests[] =>
  reached.length > 0
    ? reached
    : covered.filter(({ outside }) => outside[id] !== undefined).flatMap(wholeFile);

function reaching({ file, tests }: Covered, isMeant: (id: string) => boolean): WantedTests[] {
  return wanted(
    file,
    tests.filter(({ hits }) => Object.keys(hits).some(isMeant)),
  );
}

/** What is made at load can be used by tests that reach no function of the source. */
const wholeFile = ({ file, tests }: Covered): WantedTests[] => wanted(file, tests);

function wanted(file: string, tests: Covered['tests']): WantedTests[] {
  const quick = tests.filter(({ ms }) => ms <= MOST_MS_OF_A_TEST);
  const usualMs = quick.reduce((sum, { ms }) => sum + ms, 0);
  return quick.length === 0 ? [] : [{ file, ids: quick.map(({ id }) => id), usualMs }];
}

const quickestFirst = (tests: readonly WantedTests[]): WantedTests[] =>
  tests.toSorted((a, b) => a.usualMs - b.usualMs);

/** Each try loads the program anew, so the tests of the source itself come first: most of what dies, dies of them. */
function mirrorFirst(source: string, tests: readonly WantedTests[]): WantedTests[] {
  const mirror = join('test', dirname(source), '/');
  const sorted = quickestFirst([...tests]);
  return [
    ...sorted.filter(({ file }) => file.startsWith(mirror)),
    ...sorted.filter(({ file }) => !file.startsWith(mirror)),
  ];
}

function usualHits(covered: readonly Covered[], id: string): number {
  let sum = 0;
  for (const { tests, outside } of covered) {
    sum += outside[id] ?? 0;
    for (const { hits } of tests) sum += hits[id] ?? 0;
  }
  return sum;
}
