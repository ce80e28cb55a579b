import { existsSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CHECKOUT } from './folders.ts';
import { type Mutant, sha256 } from './mutants.ts';
import type { Task, Verdict } from './worker/job.ts';

const Kept = z.record(
  z.string(),
  z.object({
    status: z.enum(['killed', 'timed out', 'survived']),
    by: z.string().optional(),
    source: z.string(),
    tests: z.string(),
  }),
);
type Kept = z.infer<typeof Kept>;

/** What earlier runs found. It holds while the source and the tests in question are as they were. */
export class KeptVerdicts {
  readonly #file: string;
  readonly #kept: Kept;
  readonly #hashes = new Map<string, string>();

  constructor(file: string) {
    this.#file = file;
    this.#kept = existsSync(file) ? Kept.parse(JSON.parse(readFileSync(file, 'utf8'))) : {};
  }

  /** A killed mutant stays so while the test that killed it does; a survivor while no test that reaches it changes. */
  find({ key }: Mutant, sourceHash: string, task: Task): Verdict | null {
    const kept = this.#kept[key];
    if (kept === undefined || kept.source !== sourceHash) return null;
    if (kept.tests !== this.#testsHash(testsInQuestion(kept.by, task))) return null;
    return { kind: 'verdict', key, status: kept.status, ...(kept.by === undefined ? {} : { by: kept.by }) };
  }

  keep({ key, status, by }: Verdict, sourceHash: string, task: Task): void {
    this.#kept[key] = {
      status,
      ...(by === undefined ? {} : { by }),
      source: sourceHash,
      tests: this.#testsHash(testsInQuestion(by, task)),
    };
  }

  save(): void {
    writeFileSync(`${this.#file}.new`, JSON.stringify(this.#kept, null, 1));
    renameSync(`${this.#file}.new`, this.#file);
  }

  #testsHash(files: readonly string[]): string {
    return sha256(files.map((file) => this.#hashOf(file)).join(' '));
  }

  #hashOf(file: string): string {
    const known =
      this.#hashes.get(file) ??
      (existsSync(join(CHECKOUT, file)) ? sha256(readFileSync(join(CHECKOUT, file), 'utf8')) : 'gone');
    this.#hashes.set(file, known);
    return known;
  }
}

const testsInQuestion = (by: string | undefined, { warm, cold }: Task): readonly string[] =>
  by === undefined ? [...new Set([...warm, ...cold].map(({ file }) => file))].toSorted() : [by];
