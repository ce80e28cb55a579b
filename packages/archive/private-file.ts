import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { FleetGcError } from '../process/errors.ts';
import { systemProblem } from '../process/system-problem.ts';

export interface PrivateFile extends AsyncDisposable {
  readonly path: string;
}

/** A path in a directory of our own. Throws as `privateDirectory`. */
export async function privateFile(): Promise<PrivateFile> {
  const directory = await privateDirectory();
  return { ...directory, path: join(directory.path, 'records.parquet') };
}

/**
 * DuckDB knows only paths, and whoever can write to the archive could put another file there in between. Throws
 * `STATE_UNWRITABLE`.
 */
export async function privateDirectory(): Promise<PrivateFile> {
  const path = await mkdtemp(join(tmpdir(), 'fleetgc-archive-')).catch((cause: unknown) => {
    throw new FleetGcError(
      'STATE_UNWRITABLE',
      `no temporary file can be made in ${tmpdir()}: ${systemProblem(cause, tmpdir()) ?? (cause instanceof Error ? cause.message : cause)}. TMPDIR names another directory`,
      { cause },
    );
  });
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }) };
}
