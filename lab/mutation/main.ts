/** Changes the sources one place at a time and runs the tests that reach it. `--only FOLDER`, `--files GLOB`, `--tests GLOB`, `--sample COUNT`; see docs/how-it-works/mutation.md. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { type FolderAccount, reachesAim } from './account.ts';
import { readExplanations } from './explanations.ts';
import { CHECKOUT, FOLDERS } from './folders.ts';
import { tableOf } from './report.ts';
import { runFolder } from './run-folder.ts';

const { values } = parseArgs({
  options: {
    only: { type: 'string', multiple: true },
    files: { type: 'string' },
    // Only these tests of a folder; all without it.
    tests: { type: 'string' },
    // Of each folder, so many mutants; all without it.
    sample: { type: 'string' },
    // Also what an earlier run has found already.
    afresh: { type: 'boolean', default: false },
  },
});

const say = (line: string): void => void process.stdout.write(`${line}\n`);

const asked = FOLDERS.filter(({ name }) => values.only === undefined || values.only.includes(name));
if (asked.length === 0) throw new Error(`--only is one of: ${FOLDERS.map(({ name }) => name).join(', ')}`);

const directory = join(CHECKOUT, '.mutation');
mkdirSync(directory, { recursive: true });
const { files, tests } = values;
const sampleSize =
  values.sample === undefined
    ? Number.POSITIVE_INFINITY
    : z.coerce.number().int().min(1).parse(values.sample);
const matching =
  (glob: string | undefined) =>
  (file: string): boolean =>
    glob === undefined || matchesGlob(file, glob);
const accounts: FolderAccount[] = [];
const useless: string[] = [];
for (const folder of asked) {
  const { account, unused } = await runFolder(folder, {
    directory,
    isMeant: matching(files),
    isTest: matching(tests),
    sampleSize,
    isAfresh: values.afresh,
    explanations: readExplanations(),
    say,
  });
  accounts.push(account);
  useless.push(...unused);
  say(tableOf([account]));
}
writeFileSync(join(directory, 'account.json'), `${JSON.stringify(accounts, null, 2)}\n`);
for (const { left } of accounts)
  for (const { file, line, mutator, original, replacement, fate } of left)
    say(`${fate}: ${file}:${line} ${mutator}: ${short(original)} -> ${short(replacement)}`);
for (const line of useless) say(line);
say(tableOf(accounts));
process.exitCode = accounts.every(reachesAim) && useless.length === 0 ? 0 : 1;

function short(text: string): string {
  const one = text.replaceAll(/\s+/g, ' ');
  return one.length > 100 ? `${one.slice(0, 97)}...` : one;
}
