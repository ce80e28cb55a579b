import { z } from 'zod';
import { withMeta } from '../../packages/process/options/options.ts';
import { readHeldList } from '../../packages/read-model/read-holds.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { outputOptions, printResult } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { onEventLog } from '../options/steering-options.ts';
import { LongDuration } from '../options/time-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';
import { heldLines } from '../views/held.ts';
import { warnOfUnreadable } from '../views/policies.ts';

export const verb = defineVerb({
  help: [
    'Lists what is held in clusters, by graph-gc, pod-gc and expiry-gc, and by executors that found what no decision knew: what would go, and waits for somebody who approves it. With each it prints the command that does, for as many hours as the policy needs to let all of it go, or says that no approval ends it. It reads the last day, or as far back as --since says; what was held before is shown as held since then.',
    'Nothing of it comes from decisions, which no key signs: each fact of a cluster is decided again here, by the policies that are active now. With --trust-roots, facts without a signature of the cluster count for nothing where others have one, and the list says where none has.',
    'Approvals that are in force are listed too.',
  ],
  examples: [
    'fleetgc held',
    'fleetgc held --cluster prod --log embedded --log-path /var/lib/fleetgc/cluster-prod.db',
    'fleetgc held --output json',
  ],
  options: z.object({
    cluster: withMeta(ClusterName.optional(), {
      placeholder: 'NAME',
      description: 'Only this cluster.',
    }),
    since: withMeta(LongDuration.prefault('1d'), {
      commandLineOnly: true,
      description: 'How far back facts are read: 90m, 24h or 7d.',
    }),
    ...readingTrustOptions,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ cluster, since, trustRoots, output, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    const { signal, logger } = context;
    await using log = await openTaskEventLog({ options, context });
    const nowMs = Date.now();
    const asked = {
      cluster: cluster ?? null,
      fromMs: nowMs - since,
      roots,
      nowMs,
      onLog: (command: string) => onEventLog(command, options),
    };
    const { stored, held } = await readHeldList(log, asked, signal);
    warnOfUnreadable(stored, logger);
    const { clusters } = held;
    if (output === 'table' && clusters.every(({ holds }) => holds.length === 0))
      logger.info(
        clusters.length === 0 ? 'Nothing was told of such a cluster in that time.' : 'Nothing is held.',
      );
    const lines = output === 'table' ? heldLines(held) : [];
    if (output !== 'table' || lines.length > 0) await printResult(context, output, { value: held, lines });
  },
});
