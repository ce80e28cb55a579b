import { chmodSync, mkdirSync, statSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { systemCode, systemProblem } from '../process/system-problem.ts';

const OWNER_ONLY = 0o700;

/**
 * Makes a directory and what is missing above it, level by level, each for its user alone whatever the umask. Returns why that cannot be,
 * or `null` when the directory is there. Node's own recursive mode never returns where the system says ENOENT although the parent is
 * there, as below /proc.
 */
export function makeDirectories(path: string): string | null {
  try {
    for (const missing of missingLevels(resolve(path))) makeDirectory(missing);
    return null;
  } catch (error) {
    return problemOf(error);
  }
}

/** From the top down. The root is always there, so this ends. */
const missingLevels = (path: string): readonly string[] =>
  isDirectory(path) ? [] : [...missingLevels(dirname(path)), path];

/** Whether one is there that this user may see. */
function isDirectory(path: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
  } catch (error) {
    if (['ENOTDIR', 'ELOOP'].includes(systemCode(error) ?? '')) return false;
    throw error;
  }
}

/** Another process may make the same directory at the same time. */
function makeDirectory(path: string): void {
  try {
    mkdirSync(path, { mode: OWNER_ONLY });
    chmodSync(path, OWNER_ONLY);
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
  return systemProblem(error) ?? error.message;
}
