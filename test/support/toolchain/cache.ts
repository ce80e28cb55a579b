import { mkdirSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** Where everything that was built or downloaded is kept, outside the checkout. */
export function cacheDirectory(...parts: string[]): string {
  const base = process.env.XDG_CACHE_HOME || join(homedir(), '.cache');
  const directory = join(base, 'fleetgc', ...parts);
  mkdirSync(directory, { recursive: true });
  return directory;
}
