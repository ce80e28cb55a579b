/**
 * `npm run build`: makes one program of the sources, in `dist/`. It does what they do, starts in half the time and needs a
 * fifth less memory; `bin/fleetgc` runs it for as long as no source is newer. Beside it lies its bill of materials.
 */
import { copyFileSync, globSync, mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { rolldown } from 'rolldown';
import { billOfMaterials } from './supply-chain/bill-of-materials.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const BUILT = join(REPOSITORY, 'dist');
/** The command, and what it starts as a thread. */
const PROGRAMS = { cli: 'cli/main.ts', worker: 'services/audit/verify/worker.ts' };
/** What the program reads beside itself. */
const READ_AT_RUN_TIME = ['packages/cri/**/*.proto', 'services/audit/deciders/*.mjs'];
/** What the program is made of, for whoever looks for a package in it. */
const BILL = 'fleetgc.cdx.json';
/** A native library, which only the archive verbs need. */
const LEFT_OUT = [/^@duckdb\//];
/** protobufjs looks for `require` to read files with, which a module does not have by itself. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

async function buildInto(directory: string): Promise<void> {
  await using build = await rolldown({
    cwd: REPOSITORY,
    input: PROGRAMS,
    external: LEFT_OUT,
    platform: 'node',
  });
  await build.write({
    dir: directory,
    format: 'esm',
    banner: REQUIRE,
    entryFileNames: '[name].mjs',
    chunkFileNames: '[name]-[hash].mjs',
  });
  for (const file of globSync(READ_AT_RUN_TIME, { cwd: REPOSITORY }))
    copyFileSync(join(REPOSITORY, file), join(directory, basename(file)));
}

/** Whoever starts the program meanwhile finds the old one whole, none, or the new one whole. */
async function main(): Promise<void> {
  const directory = mkdtempSync(`${BUILT}-`);
  try {
    await buildInto(directory);
    writeFileSync(join(directory, BILL), await billOfMaterials(REPOSITORY));
    rmSync(BUILT, { recursive: true, force: true });
    renameSync(directory, BUILT);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

await main();
