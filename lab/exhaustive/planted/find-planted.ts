import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { patiently } from '../../../test/support/patience.ts';
import type { MomentaryBug } from './planted.ts';

const MAIN = join(import.meta.dirname, '..', 'main.ts');
const LOADER = join(import.meta.dirname, 'load-planted.ts');
const USUAL_MS = 60_000;

/** Searches in a process whose sources have the bug in them; resolves to what was wrong, or `null` where nothing was found. */
export function findPlanted({ name, of }: MomentaryBug): Promise<string | null> {
  const args = ['--disable-warning=ExperimentalWarning', '--import', LOADER, MAIN, '--first', '--of', of];
  const options = { env: { ...process.env, PLANTED_BUG: name }, timeout: patiently(USUAL_MS) };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, stdout, stderr) => {
      const [, problem = null] = /^ {2}(.+)$/m.exec(stdout) ?? [];
      // What was found ends the process with 1, as does what it could not load.
      if (error !== null && problem === null) reject(new Error(`${name}: ${stderr || error.message}`));
      else resolve(problem);
    });
  });
}
