import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';
import { CHECKOUT } from './folders.ts';
import { sha256 } from './mutants.ts';
import { Covered } from './worker/job.ts';

const Kept = z.object({
  sources: z.string(),
  covered: z.array(z.object({ test: z.string(), found: Covered })),
});

/** What test files reach in sources that have not changed since. */
export class KeptCoverage {
  readonly #file: string;
  readonly #sources: string;
  readonly #found = new Map<string, { readonly test: string; readonly found: Covered }>();

  constructor(directory: string, sources: string) {
    this.#file = join(directory, 'coverage.json');
    this.#sources = sha256(readFileSync(sources, 'utf8'));
    if (!existsSync(this.#file)) return;
    const kept = Kept.parse(JSON.parse(readFileSync(this.#file, 'utf8')));
    if (kept.sources === this.#sources)
      for (const each of kept.covered) this.#found.set(each.found.file, each);
  }

  find(file: string): Covered | null {
    const known = this.#found.get(file);
    return known !== undefined && known.test === hashOf(file) ? known.found : null;
  }

  keep(found: Covered): void {
    this.#found.set(found.file, { test: hashOf(found.file), found });
  }

  /** Where a test failed, the next run looks again. */
  save(): void {
    const covered = [...this.#found.values()].filter(({ found }) => found.failed.length === 0);
    writeFileSync(this.#file, JSON.stringify({ sources: this.#sources, covered }));
  }
}

const hashOf = (file: string): string => sha256(readFileSync(join(CHECKOUT, file), 'utf8'));
