import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { patiently } from '../../../test/support/patience.ts';
import { PLANTED, type ReadingBug } from './planted.ts';

const HERE = import.meta.dirname;
const USUAL_MS = 120_000;
/** Several times as many as it took. */
const RUNS = 60_000;

/** Fuzzes in a process whose sources have the bug in them; resolves to what was found, or `null`. */
function findPlanted({ name, target }: ReadingBug): Promise<string | null> {
  const args = [
    '--disable-warning=ExperimentalWarning',
    '--import',
    join(HERE, 'load-planted.ts'),
    '--import',
    join(HERE, '..', 'branches', 'instrument-sources.ts'),
    join(HERE, '..', 'main.ts'),
    '--first',
    '--no-corpus',
    '--only',
    target,
    '--runs',
    String(RUNS),
  ];
  const options = { env: { ...process.env, PLANTED_BUG: name }, timeout: patiently(USUAL_MS) };
  return new Promise((resolve, reject) => {
    execFile(process.execPath, args, options, (error, _stdout, stderr) => {
      const [, found = null] = /^ {2}((?:crash|effect|too-slow): .+)$/m.exec(stderr) ?? [];
      // What was found ends the process with 1, as does what it could not load.
      if (error !== null && found === null && !error.killed)
        reject(new Error(`${name}: ${stderr || error.message}`));
      else resolve(found);
    });
  });
}

/** Resolves to whether all were found. */
export async function plantedCampaign(say: (line: string) => void): Promise<boolean> {
  let found = 0;
  for (const bug of PLANTED) {
    const what = await findPlanted(bug);
    say(`${bug.name}: ${what ?? 'NOT FOUND'}`);
    if (what !== null) found += 1;
  }
  say(`${found} of ${PLANTED.length} found`);
  return found === PLANTED.length;
}
