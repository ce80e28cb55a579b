import { cpSync, mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { run } from '../../../test/support/toolchain/command.ts';
import type { PlantedBug } from './planted.ts';

const CHECKOUT = join(import.meta.dirname, '..', '..', '..');
/** What a program is made of. */
const SOURCES = [
  'bin',
  'cli',
  'packages',
  'schemas',
  'services',
  'lab/demo',
  'lab/sim',
  'package.json',
  'package-lock.json',
  'tsconfig.json',
];
const BUILD_MS = 60_000;

/** Copies the sources to a directory and builds them there, with the bug in them if there is to be one; resolves to the program. */
export async function buildCopy(bug: PlantedBug | null, directory: string): Promise<string> {
  mkdirSync(directory, { recursive: true });
  for (const source of SOURCES) cpSync(join(CHECKOUT, source), join(directory, source), { recursive: true });
  symlinkSync(join(CHECKOUT, 'node_modules'), join(directory, 'node_modules'));
  for (const { file, old, now } of bug?.edits ?? []) {
    const path = join(directory, file);
    writeFileSync(path, replacedOnce(readFileSync(path, 'utf8'), old, now, file));
  }
  await run(process.execPath, [join(directory, 'bin', 'build.ts')], { usualMs: BUILD_MS, cwd: directory });
  return join(directory, 'bin', 'fleetgc');
}

/** Throws when it is not there exactly once: sources change, and what is not planted cannot be found. */
export function replacedOnce(text: string, old: string, now: string, file: string): string {
  const parts = text.split(old);
  if (parts.length === 2) return parts.join(now);
  throw new Error(`${file} has this ${parts.length - 1} times: ${old}`);
}
