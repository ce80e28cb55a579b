/** The runner behind `npm test` and `npm run test:fast`. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sweepOwn } from './support/cleanup.ts';
import { PROPERTY_PERCENT } from './support/property-runs.ts';
import { suiteEnvironment } from './support/runner/environment.ts';
import { type SuiteRow, summary } from './support/runner/report.ts';
import { runSuite, runSuites } from './support/runner/run-suites.ts';
import {
  CONTAINER_SUITE,
  FAST_SUITES,
  LIGHT_SUITES,
  type Suite,
  type SuiteContext,
} from './support/runner/suites.ts';
import { ALL_NEEDS, ensureToolchain } from './support/toolchain/toolchain.ts';

const HELP = `Usage: npm test                  everything
       npm run test:fast         the tests that need no container, with a twentieth of the cases of each property

The container suites need a Docker Engine and Go. What is missing is installed or built where that is possible
(as root on Debian or Ubuntu) and kept in ~/.cache/fleetgc; the first run takes some minutes longer.
`;
/** What all bounds of parts together may not exceed. */
const WHOLE_RUN_MS = 2 * 60 * 60_000;
/** A quick run is for every change; the whole run checks twenty times as many cases of each property. */
const QUICK_PROPERTIES = { [PROPERTY_PERCENT]: '5' };

const toolchain: Suite = {
  name: 'toolchain',
  run: async () => {
    try {
      await ensureToolchain(ALL_NEEDS);
      return { passed: 1, failed: 0, output: '' };
    } catch (error) {
      return { passed: 0, failed: 1, output: error instanceof Error ? error.message : String(error) };
    }
  },
};

/** Nothing that the tests start may outlive them. */
const leftovers: Suite = {
  name: 'leftovers',
  run: async () => {
    const swept = await sweepOwn();
    const failed = swept.length > 0 ? 1 : 0;
    return {
      passed: 1 - failed,
      failed,
      output: `left behind by the tests, and removed now:\n${swept.join('\n')}`,
    };
  },
};

async function runAll(context: SuiteContext): Promise<readonly SuiteRow[]> {
  const prepared = await runSuite(toolchain, context);
  if (prepared.failed > 0) return [prepared];
  const light = await runSuites(LIGHT_SUITES, context, 2);
  const inContainers = await runSuites([CONTAINER_SUITE], context, 1);
  return [prepared, ...light, ...inContainers, await runSuite(leftovers, context)];
}

async function main(fast: boolean): Promise<void> {
  const cwd = join(import.meta.dirname, '..');
  const interrupted = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => interrupted.abort());
  const bound = setTimeout(() => interrupted.abort(), WHOLE_RUN_MS);
  const env: Record<string, string> = {
    ...suiteEnvironment(process.env, cwd),
    ...(fast && QUICK_PROPERTIES),
  };
  // Where the containers of this run belong, for this process too.
  process.env.FLEETGC_TEST_OWNER = env.FLEETGC_TEST_OWNER;
  const context = { cwd, env, signal: interrupted.signal };
  const rows = fast ? await runSuites(FAST_SUITES, context, 2) : await runAll(context);
  clearTimeout(bound);
  if (interrupted.signal.aborted) process.stderr.write('the run was interrupted\n');
  process.stdout.write(`${summary(rows)}\n`);
  process.exitCode = rows.some(({ failed }) => failed > 0) || interrupted.signal.aborted ? 1 : 0;
}

function options(): { readonly fast: boolean; readonly help: boolean } | null {
  try {
    const { values } = parseArgs({
      options: { fast: { type: 'boolean' }, help: { type: 'boolean', short: 'h' } },
    });
    return { fast: values.fast ?? false, help: values.help ?? false };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    return null;
  }
}

const asked = options();
if (asked === null) process.exitCode = 2;
else if (asked.help) process.stdout.write(HELP);
else await main(asked.fast);
