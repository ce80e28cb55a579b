import type { Logger } from 'pino';
import { type HttpSettings, type ProbeServer, serveHttp } from '../../../../packages/process/http.ts';
import { untilAborted } from '../../../../packages/process/loops.ts';
import type { Address } from '../../../../packages/process/options/options.ts';
import type { OpenFunction } from '../open-function.ts';
import { answerEvents } from './answer-events.ts';
import { boundsOf } from './bounds.ts';
import { type CallerSettings, callerWarnings, requireCallers } from './callers.ts';
import { serveFunction } from './serve.ts';

interface Running {
  readonly callers: CallerSettings;
  /** On an address of their own, so that no caller takes their connections; `null`: nobody probes. */
  readonly probes: HttpSettings | null;
  readonly logger: Logger;
  /** Told once it is served. */
  readonly onServing?: (addresses: ServedAddresses) => void;
}

export interface ServedAddresses {
  readonly callers: Address;
  /** `null` where nobody probes. */
  readonly probes: Address | null;
}

/** Answers requests until `signal` aborts. Throws `CONFIG_INVALID`. */
export async function runFunction(
  open: OpenFunction,
  { callers, probes, logger, onServing }: Running,
  signal: AbortSignal,
): Promise<void> {
  requireCallers(callers);
  const bounds = boundsOf(open.decider.topics);
  await using probed = probes && (await serveProbes(open, probes, signal));
  if (probed) logger.info({ ...probed.address }, 'serving health and metrics');
  await using serving = await serveFunction({
    callers,
    bounds,
    answer: (asked) => answerEvents(asked, { open, bounds, signal }),
    onAnswered: (status) => open.counts.answered(status),
    onConnectionRefused: () => open.counts.refusedConnection(),
    logger,
  });
  const { host, port } = serving.address;
  logger.info({ host, port, decider: open.decider.name, publishes: open.publishes }, 'serving decisions');
  for (const warning of callerWarnings(callers)) logger.warn(warning);
  onServing?.({ callers: serving.address, probes: probed?.address ?? null });
  await untilAborted(signal);
  await serving[Symbol.asyncDispose]();
  await open.end();
}

/** Whoever is not ready gets no events: what is there by now has to be looked at all the same. The next probe sees it. */
const serveProbes = (
  { policies }: OpenFunction,
  settings: HttpSettings,
  signal: AbortSignal,
): Promise<ProbeServer> =>
  serveHttp({
    ...settings,
    checks: () => {
      void policies.look(signal);
      return settings.checks();
    },
  });
