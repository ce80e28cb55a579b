/**
 * `npm run functions`: makes of each decision service one file that needs Node.js alone, `dist/functions/<service>/index.mjs`, for AWS
 * Lambda: its handler is `index.handler`. `--into` names another folder than `dist/functions`, and `--only` one service.
 */
import { globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { makeReadable } from './readable.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const ENTRIES = 'cli/lambda/*.ts';
/** It makes handlers of services, and is none. */
const NO_ENTRY = 'handler';
/** What is larger takes too long to be loaded when a function begins. */
const LARGEST_BYTES = 2 * 1024 * 1024;
/** Libraries look for `require`, which a module does not have by itself. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

async function bundle(service: string, directory: string): Promise<number> {
  await using build = await rolldown({
    cwd: REPOSITORY,
    input: join(REPOSITORY, 'cli/lambda', `${service}.ts`),
    platform: 'node',
  });
  const { output } = await build.generate({
    format: 'esm',
    minify: true,
    codeSplitting: false,
    banner: REQUIRE,
  });
  const [{ code }, ...more] = output;
  if (more.length > 0) throw new Error(`the bundle of ${service} is more than one file`);
  const made = mkdirSync(directory, { recursive: true });
  const file = join(directory, 'index.mjs');
  writeFileSync(file, code);
  makeReadable(made ?? directory);
  return statSync(file).size;
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { into: { type: 'string' }, only: { type: 'string' } } });
  const services = globSync(ENTRIES, { cwd: REPOSITORY })
    .map((file) => basename(file, '.ts'))
    .filter((service) => service !== NO_ENTRY && (values.only ?? service) === service);
  if (services.length === 0) throw new Error(`there is no decision service ${values.only}`);
  for (const service of services.toSorted()) {
    const into = join(values.into ?? join(REPOSITORY, 'dist/functions'), service);
    const bytes = await bundle(service, into);
    if (bytes > LARGEST_BYTES)
      throw new Error(`the bundle of ${service} has ${bytes} bytes; it may have ${LARGEST_BYTES}`);
    process.stdout.write(`${service}  ${bytes} bytes\n`);
  }
}

await main();
