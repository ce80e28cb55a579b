import type { FileRuns } from './file-runs.ts';
import type { Covered } from './job.ts';
import { type Hits, switchOff, takeCovered } from './switches.ts';

/** No test is bounded while nothing is changed in the sources. */
const UNBOUNDED_MS = 600_000;

/** Which mutants each test of a file reaches; and whether the file can run a second time in the same process. */
export async function coverFile(runs: FileRuns, file: string): Promise<Covered> {
  switchOff();
  const first = await runs.run({ file, stopsAtFailure: false, boundMs: UNBOUNDED_MS });
  const hits = new Map(first.tests.map(({ id }) => [id, takeCovered(id)]));
  const outside = takeCovered(file);
  const second = await runs.run({ file, stopsAtFailure: false, boundMs: UNBOUNDED_MS });
  const usual = new Map(second.tests.map(({ id, ms }) => [id, ms]));
  const again = new Map(second.tests.map(({ id }) => [id, takeCovered(id)]));
  takeCovered(file);
  return {
    kind: 'covered',
    file,
    isOnceOnly: first.failed.length === 0 && second.failed.length > 0,
    failed: [...first.failed],
    tests: first.tests.map(({ id, name, ms }) => ({
      id,
      name,
      ms: usual.get(id) ?? ms,
      hits: again.get(id) ?? hits.get(id) ?? {},
    })),
    outside: Object.assign({}, outside, ...[...hits].map(([id, once]) => onlyAtFirst(once, again.get(id)))),
  };
}

/** What a test reaches once in a process: it loads a module as it runs, or what it does is remembered from then on. */
const onlyAtFirst = (first: Hits, again: Hits = first): Hits =>
  Object.fromEntries(Object.entries(first).filter(([mutant]) => again[mutant] === undefined));
