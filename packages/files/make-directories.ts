import { mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { diskProblem } from './disk-problem.ts';

/**
 * Makes a directory and what is missing above it, level by level. Returns why that cannot be, or `null` when the
 * directory is there. Node's own recursive mode never returns where the system says ENOENT although the parent is
 * there, as below /proc.
 */
export function makeDirectories(path: string, mode = 0o777): string | null {
  try {
    for (const missing of missingLevels(resolve(path))) makeDirectory(missing, mode);
    return null;
  } catch (error) {
    return problemOf(error);
  }
}

/** From the top down. The root is always there, so this ends. */
const missingLevels = (path: string): readonly string[] =>
  isDirectory(path) ? [] : [...missingLevels(dirname(path)), path];

const isDirectory = (path: string): boolean =>
  statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;

/** Another process may make the same directory at the same time. */
function makeDirectory(path: string, mode: number): void {
  try {
    mkdirSync(path, { mode });
  } catch (error) {
    if (!isDirectory(path)) throw error;
  }
}

function problemOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  if (!('code' in error) || !('path' in error)) return error.message;
  const path = String(error.path);
  if (error.code === 'ENOENT') return `${dirname(path)} takes no new directories`;
  if (error.code === 'EEXIST') return `${path} is no directory`;
  return diskProblem(error) ?? error.message;
}
