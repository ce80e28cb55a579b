import { join } from 'node:path';
import { z } from 'zod';
import { openProjectedLog } from '../../cli/framework/audit-log.ts';
import type { VerbContext } from '../../cli/framework/verb.ts';
import { auditLogOptions, threadSource } from '../../cli/options/archive-options.ts';
import { DAY_MS } from '../../packages/process/durations.ts';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { LinkedController } from '../../packages/process/linked-controller.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { runDashboard } from '../../services/dashboard/main.ts';
import type { Output } from './view.ts';

const AuditLogOptions = z.object(auditLogOptions);
const MOST_BYTES = 256 * 1024 * 1024;

interface PageNeeds {
  readonly directory: string;
  readonly logPath: string;
  /** `null`: until the process is told to stop. */
  readonly forMs: number | null;
  readonly out: Output;
}

/** Serves the page of the demo's own log, on a port that is free. */
export async function servePage(
  { directory, logPath, forMs, out }: PageNeeds,
  context: VerbContext,
): Promise<void> {
  const choice = AuditLogOptions.parse({ log: 'embedded', logPath });
  const logger = context.logger.child({}, { level: 'error' });
  await using from = await openProjectedLog(choice, context);
  using ended = new LinkedController(context.signal);
  using timers = new DisposableStack();
  const onServing = ({ port }: { readonly port: number }): void => {
    const url = `http://127.0.0.1:${port}/`;
    out.text(['', `The page of this event log: ${url}`, ...(forMs === null ? ['Ctrl-C ends it.'] : [])]);
    out.json({ kind: 'page', url });
    if (forMs !== null)
      timers.adopt(
        setTimeout(() => ended.abort(), forMs),
        clearTimeout,
      );
  };
  try {
    await runDashboard(
      {
        access: {
          address: { host: '127.0.0.1', port: 0 },
          tokens: [],
          trustedProxies: [],
          userHeader: 'x-forwarded-user',
          operators: [],
          publicUrl: null,
        },
        probeAddress: null,
        projection: {
          from,
          roots: null,
          facts: 'off',
          path: join(directory, 'page.db'),
          historyMs: DAY_MS,
          mostBytes: MOST_BYTES,
          logger,
          sources: systemSources,
        },
        acting: null,
        pageDirectory: null,
        simulationSource: threadSource(choice),
        version: PRODUCT_VERSION,
        logger,
        onServing,
      },
      ended.signal,
    );
  } catch (thrown) {
    // Of sources that nobody has built a demo is shown all the same.
    const error = toFleetGcError(thrown);
    if (error.code !== 'NOT_FOUND') throw error;
    out.text(['', `There would be a page of this event log too, but ${error.message}.`]);
  }
}
