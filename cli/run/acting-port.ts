import { z } from 'zod';
import { toFleetGcError } from '../../packages/process/errors.ts';
import { Switch, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import type { ActingPort } from '../../services/dashboard/actions/desk.ts';
import { openPolicyWriter } from '../framework/policy-writer.ts';
import { openTaskEventLog, operatorPublication } from '../framework/task-event-log.ts';
import type { VerbContext } from '../framework/verb.ts';
import { WrittenRecords } from '../framework/written-records.ts';
import { auditLogOptions } from '../options/archive-options.ts';
import { readDashboardTrust, signingOptions } from '../options/trust-options.ts';

/** The options of a process from which people act. */
export const actingOptions = {
  allowActions: withMeta(Switch.prefault('false'), {
    description:
      'Let operators pause, resume, approve, and put dead letters back from the page. It needs a sign-in, and with --trust required a key of role dashboard.',
  }),
  ...signingOptions,
  trust: withMeta(signingOptions.trust, {
    description:
      'Whether what people do from the page is signed, since it counts only so; it has no effect without --allow-actions. Needed with --allow-actions on Kafka; off without it.',
  }),
};

const Given = z.object({ ...actingOptions, ...auditLogOptions });
type Given = z.infer<typeof Given>;

/** With what people act from the page. Throws `CONFIG_INVALID`, and `KEY_UNUSABLE` where nobody would believe its key. */
export async function actingPort(given: Given, context: VerbContext): Promise<ActingPort | null> {
  const { log, allowActions, trust, signingKeyFile, signingKeyCommand } = given;
  if (!allowActions) {
    if (trust !== undefined && trust !== 'off') throw configError([TRUST_WITHOUT_ACTIONS]);
    if ((signingKeyFile ?? signingKeyCommand) !== undefined) throw configError([KEY_WITHOUT_ACTIONS]);
    return null;
  }
  if (log === 'archive') throw configError([NOTHING_TO_WRITE_TO]);
  const choice = { ...given, log };
  const own = await readDashboardTrust(choice, context.signal);
  const port: ActingPort = {
    roots: own.kind === 'required' ? own.roots : null,
    openLog: (signal) =>
      openTaskEventLog({ options: choice, context: { ...context, signal, written: new WrittenRecords() } }),
    openWriter: async (acting, signal) =>
      await openPolicyWriter(
        acting,
        await readDashboardTrust(choice, signal),
        { signal, logger: context.logger },
        { publication: operatorPublication('dashboard') },
      ),
  };
  await requireKey(port, context);
  return port;
}

/** What passes is told; a key that nobody believes ends the process before anybody relies on it. */
async function requireKey(port: ActingPort, { signal, logger }: VerbContext): Promise<void> {
  try {
    await using log = await port.openLog(signal);
    await port.openWriter(log, signal);
  } catch (thrown) {
    const error = toFleetGcError(thrown);
    if (!error.retry || error.code === 'INTERRUPTED') throw error;
    logger.warn({ problem: error.message }, 'whether people can act is not known yet');
  }
}

const TRUST_WITHOUT_ACTIONS =
  '--trust has no effect without --allow-actions: leave it out. With --trust-roots alone the page says what no key signed that may do so';
const KEY_WITHOUT_ACTIONS =
  '--signing-key-file and --signing-key-command have no effect without --allow-actions: leave them out, so that this process has no key';
const NOTHING_TO_WRITE_TO = '--allow-actions has no effect on an archive, which nobody writes to';
