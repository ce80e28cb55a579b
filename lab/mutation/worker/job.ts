import { z } from 'zod';

/** What a worker process is to do. It writes what it finds, a line each, to `progress`. */
export const Job = z.object({
  mode: z.enum(['cover', 'mutate']),
  /** The instrumented sources, by their absolute path. */
  sources: z.string(),
  tests: z.array(z.string()),
  progress: z.string(),
  tasks: z.string(),
});
export type Job = z.infer<typeof Job>;

/** Tests of one file, of which `ids` are wanted. */
const WantedTests = z.object({ file: z.string(), ids: z.array(z.string()), usualMs: z.number() });
export type WantedTests = z.infer<typeof WantedTests>;

/** One mutant and what may kill it, in the order in which to try. */
export const Task = z.object({
  id: z.string(),
  key: z.string(),
  /** Run in modules that are already loaded. */
  warm: z.array(WantedTests),
  /** Run in modules that are loaded with the mutant in them: what happens at load has no second chance otherwise. */
  cold: z.array(WantedTests),
  hitLimit: z.number(),
  /** Whether what kills it is run without it too: with others in one go; by itself; or not, where a mutant spoils its process. */
  proof: z.enum(['shared', 'alone', 'none']),
});
export type Task = z.infer<typeof Task>;

export const Covered = z.object({
  kind: z.literal('covered'),
  file: z.string(),
  /** A second run in the same process failed: only fresh modules will do. */
  isOnceOnly: z.boolean(),
  failed: z.array(z.string()),
  tests: z.array(
    z.object({ id: z.string(), name: z.string(), ms: z.number(), hits: z.record(z.string(), z.number()) }),
  ),
  /** What ran outside of tests: while the file was loaded, or in hooks of the whole file. */
  outside: z.record(z.string(), z.number()),
});
export type Covered = z.infer<typeof Covered>;

export const Verdict = z.object({
  kind: z.literal('verdict'),
  key: z.string(),
  status: z.enum(['killed', 'timed out', 'survived']),
  by: z.string().optional(),
});
export type Verdict = z.infer<typeof Verdict>;

const Begun = z.object({ kind: z.literal('begun'), key: z.string(), file: z.string(), boundMs: z.number() });
/** The process is of no more use: something of these mutants is left in it, or of the last one, which timed out. */
const Spent = z.object({ kind: z.literal('spent'), tainted: z.array(z.string()) });
const Done = z.object({ kind: z.literal('done') });
export const Progress = z.discriminatedUnion('kind', [Covered, Verdict, Begun, Spent, Done]);
export type Progress = z.infer<typeof Progress>;
