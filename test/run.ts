/** The runner behind `npm test`, `npm run test:fast` and `npm run test:world`. */
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { sweepOwn } from './support/cleanup.ts';
import { PROPERTY_PERCENT } from './support/property-runs.ts';
import { suiteEnvironment } from './support/runner/environment.ts';
import { type SuiteRow, summary } from './support/runner/report.ts';
import { runSuite, runSuites } from './support/runner/run-suites.ts';
import {
  BUILD,
  CONTAINER_SUITE,
  FAST_SUITES,
  LIGHT_SUITES,
  type Suite,
  type SuiteContext,
  WORLD_SUITE,
} from './support/runner/suites.ts';
import { imageId } from './support/toolchain/images/build-image.ts';
import { BUILT_IMAGE } from './support/toolchain/images/service-image.ts';
import {
  CORE_NEEDS,
  ensureToolchain,
  type Need,
  PREPARED,
  WORLD_NEEDS,
} from './support/toolchain/toolchain.ts';
import { SERVICE_IMAGE } from './support/toolchain/versions.ts';

const HELP = `Usage: npm test                  all that FleetGC stands on: Kafka, containerd, the kubelet, an API server
       npm run test:fast         the tests that need no container, with a twentieth of the cases of each property and without
                                 the searches through all orders (lab/exhaustive)
       npm run test:world        what people run it with: TLS and logins, several brokers, our image, Docker Compose, promtool

The container suites need a Docker Engine and Go. What is missing is installed or built where that is possible
(as root on Debian or Ubuntu) and kept in ~/.cache/fleetgc; the first run takes some minutes longer.
`;
/** A quick run is for every change; the whole run checks twenty times as many cases of each property. */
const QUICK_PROPERTIES = { [PROPERTY_PERCENT]: '5' };

const toolchain = (needs: readonly Need[]): Suite => ({
  name: 'toolchain',
  run: async () => {
    try {
      await ensureToolchain(needs);
      return { passed: 1, failed: 0, output: '' };
    } catch (error) {
      return { passed: 0, failed: 1, output: error instanceof Error ? error.message : String(error) };
    }
  },
});

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

type Selection = 'core' | 'fast' | 'world';

async function runSelected(selection: Selection, given: SuiteContext): Promise<readonly SuiteRow[]> {
  if (selection === 'fast') return runSuites(FAST_SUITES, given, 2);
  if (selection === 'world')
    return runPrepared(WORLD_NEEDS, given, (context) => runSuites([WORLD_SUITE], context, 1));
  return runPrepared(CORE_NEEDS, given, async (context) => {
    const built = await runSuite(BUILD, context);
    // What runs in containers mostly waits, so all else is done meanwhile, one after the other.
    const [inContainers, light] = await Promise.all([
      runSuites([CONTAINER_SUITE], context, 1),
      runSuites(LIGHT_SUITES, context, 1),
    ]);
    return [built, ...light, ...inContainers];
  });
}

/** Another checkout on this machine may build its own image of the same name. */
const settled = (needs: readonly Need[]): readonly Need[] => needs.filter((need) => need !== 'service');

async function runPrepared(
  needs: readonly Need[],
  context: SuiteContext,
  suites: (context: SuiteContext) => Promise<readonly SuiteRow[]>,
): Promise<readonly SuiteRow[]> {
  const prepared = await runSuite(toolchain(needs), context);
  if (prepared.failed > 0) return [prepared];
  const done = { [PREPARED]: settled(needs).join(' '), [BUILT_IMAGE]: await imageId(SERVICE_IMAGE) };
  const rows = await suites({ ...context, env: { ...context.env, ...done } });
  return [prepared, ...rows, await runSuite(leftovers, context)];
}

async function main(selection: Selection, interrupted: AbortController): Promise<void> {
  const cwd = join(import.meta.dirname, '..');
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(name, () => interrupted.abort());
  const env: Record<string, string> = {
    ...suiteEnvironment(process.env, cwd),
    ...(selection === 'fast' && QUICK_PROPERTIES),
  };
  // Where the containers of this run belong, for this process too.
  process.env.FLEETGC_TEST_OWNER = env.FLEETGC_TEST_OWNER;
  const context = { cwd, env, signal: interrupted.signal };
  const rows = await runSelected(selection, context);
  if (interrupted.signal.aborted) process.stderr.write('the run was interrupted\n');
  process.stdout.write(`${summary(rows)}\n`);
  process.exitCode = rows.some(({ failed }) => failed > 0) || interrupted.signal.aborted ? 1 : 0;
}

function asked(): Selection | 'help' | null {
  try {
    const flag = { type: 'boolean' } as const;
    const { values } = parseArgs({ options: { fast: flag, world: flag, help: { ...flag, short: 'h' } } });
    if (values.help) return 'help';
    if (values.fast && values.world) throw new Error('--fast and --world do not go together');
    if (values.world) return 'world';
    return values.fast ? 'fast' : 'core';
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : error}\n\n${HELP}`);
    return null;
  }
}

const interrupted = new AbortController();
// Who read what is printed has gone, as when the run was interrupted: it ends too, and leaves nothing behind.
for (const stream of [process.stdout, process.stderr])
  stream.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    interrupted.abort();
  });
const selection = asked();
if (selection === null) process.exitCode = 2;
else if (selection === 'help') process.stdout.write(HELP);
else await main(selection, interrupted);
