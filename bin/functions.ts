/**
 * `npm run functions`: makes of each decision service one file that needs Node.js alone, `dist/functions/<service>/index.mjs`, for AWS
 * Lambda: its handler is `index.handler`. `--into` names another folder than `dist/functions`, and `--only` one service.
 */
import { globSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { rolldown } from 'rolldown';
import { makeReadable } from './readable.ts';

const REPOSITORY = join(import.meta.dirname, '..');
const DECIDERS = 'packages/deciders/*/decider.ts';
const ENTRY = 'entry-of-a-function';
/** What is larger takes too long to be loaded when a function begins. */
const LARGEST_BYTES = 2 * 1024 * 1024;
/** Libraries look for `require`, which a module does not have by itself. */
const REQUIRE =
  "import { createRequire as requireFrom } from 'node:module'; const require = requireFrom(import.meta.url);";

/** What AWS Lambda calls. It names one decider, so that its bundle has no other one. */
const entryOf = (service: string): string => `
import { decider } from '../../packages/deciders/${service}/decider.ts';
import { lambdaHandler } from './handler.ts';
export const handler = lambdaHandler(decider);
`;

async function bundle(service: string, directory: string): Promise<number> {
  await using build = await rolldown({
    cwd: REPOSITORY,
    input: ENTRY,
    platform: 'node',
    plugins: [
      {
        name: ENTRY,
        resolveId: (id) => (id === ENTRY ? join(REPOSITORY, 'cli/lambda', ENTRY) : null),
        load: (id) => (id.endsWith(ENTRY) ? entryOf(service) : null),
      },
    ],
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
  const services = globSync(DECIDERS, { cwd: REPOSITORY })
    .map((file) => basename(dirname(file)))
    .filter((service) => (values.only ?? service) === service);
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
