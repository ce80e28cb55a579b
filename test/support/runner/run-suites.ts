import type { SuiteRow } from './report.ts';
import type { Suite, SuiteContext } from './suites.ts';

const HEARTBEAT_MS = 30_000;

/** Runs the suites, at most `atOnce` of them side by side; their rows come in the order of the suites. */
export async function runSuites(
  suites: readonly Suite[],
  context: SuiteContext,
  atOnce: number,
): Promise<readonly SuiteRow[]> {
  const rows = new Map<Suite, SuiteRow>();
  const waiting = [...suites];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next && !context.signal.aborted; next = waiting.shift()) {
      rows.set(next, await runSuite(next, context));
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return suites.flatMap((suite) => rows.get(suite) ?? []);
}

/** Runs one suite: a line when it begins, one now and then while it runs, one at its end, and its output if it failed. */
export async function runSuite(suite: Suite, context: SuiteContext): Promise<SuiteRow> {
  const startedAt = performance.now();
  const seconds = (): number => (performance.now() - startedAt) / 1000;
  say(`${suite.name} …`);
  const heartbeat = setInterval(() => say(`${suite.name} … ${seconds().toFixed(0)} s`), HEARTBEAT_MS);
  try {
    const { passed, failed, output } = await suite.run(context);
    if (failed > 0) say(`\n===== ${suite.name} =====\n${output}\n===== end of ${suite.name} =====\n`);
    say(`${suite.name}: ${passed} passed, ${failed} failed (${seconds().toFixed(1)} s)`);
    return { name: suite.name, passed, failed, seconds: seconds() };
  } finally {
    clearInterval(heartbeat);
  }
}

/** Progress goes to stderr; stdout holds the summary alone. */
function say(text: string): void {
  process.stderr.write(`${text}\n`);
}
