import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { z } from 'zod';
import type { Measured } from './report.ts';

const Results = z.strictObject({ benchmarks: z.record(z.string(), z.unknown()) });

/** The last results of each benchmark, whichever run they are of. */
export interface ResultsFile {
  /** In place of what was measured before; the other benchmarks stay as they are. */
  put(name: string, measured: Measured): void;
}

/** Throws where the file is there and is something else. */
export function openResults(path: string): ResultsFile {
  mkdirSync(dirname(path), { recursive: true });
  let { benchmarks } = existsSync(path) ? read(path) : { benchmarks: {} };
  return {
    put: (name, measured) => {
      benchmarks = { ...benchmarks, [name]: measured };
      writeFileSync(path, `${JSON.stringify({ benchmarks }, null, 2)}\n`);
    },
  };
}

function read(path: string): z.infer<typeof Results> {
  try {
    return Results.parse(JSON.parse(readFileSync(path, 'utf8')));
  } catch (error) {
    throw new Error(`${path} holds no results of benchmarks; name another file with --output`, {
      cause: error,
    });
  }
}
