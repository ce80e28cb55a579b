import type { Logger } from 'pino';
import type { HttpSettings } from '../../../packages/process/http.ts';
import { untilAborted } from '../../../packages/process/loops.ts';
import type { Address } from '../../../packages/process/options/options.ts';
import type { OpenFunction } from '../open-function.ts';
import { answerEvents } from './answer-events.ts';
import { boundsOf } from './bounds.ts';
import { type CallerSettings, callerWarnings, requireCallers } from './callers.ts';
import { serveFunction } from './serve.ts';

interface Running {
  readonly callers: CallerSettings;
  readonly probes: Omit<HttpSettings, 'address'>;
  readonly logger: Logger;
  /** Told once it is served. */
  readonly onServing?: (address: Address) => void;
}

/** Answers requests until `signal` aborts. Throws `CONFIG_INVALID`. */
export async function runFunction(
  open: OpenFunction,
  { callers, probes, logger, onServing }: Running,
  signal: AbortSignal,
): Promise<void> {
  requireCallers(callers);
  const bounds = boundsOf(open.decider.topics);
  await using serving = await serveFunction({
    callers,
    bounds,
    probes: { ...probes, checks: () => lookedAt(open, signal, probes.checks) },
    answer: (asked) => answerEvents(asked, { open, bounds, signal }),
    onAnswered: (status) => open.counts.answered(status),
    logger,
  });
  const { host, port } = serving.address;
  logger.info({ host, port, decider: open.decider.name, publishes: open.publishes }, 'serving decisions');
  for (const warning of callerWarnings(callers)) logger.warn(warning);
  onServing?.(serving.address);
  await untilAborted(signal);
  await serving[Symbol.asyncDispose]();
  await open.end();
}

/** Whoever is not ready gets no events: what is there by now has to be looked at all the same. The next probe sees it. */
function lookedAt(
  { policies }: OpenFunction,
  signal: AbortSignal,
  checks: HttpSettings['checks'],
): ReturnType<HttpSettings['checks']> {
  void policies.look(signal);
  return checks();
}
