import { z } from 'zod';
import { readKeys } from '../../../packages/records/trust/key-source.ts';
import { readTrustRoots } from '../../../packages/records/trust/roots-file.ts';
import { counted } from '../../../packages/text/counted.ts';
import { objectOptions, printObjects } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { trustRootsOption } from '../../options/key-options.ts';
import { keyLines, keyValues } from '../../views/keys.ts';

export const verb = defineVerb({
  help: [
    'Lists what the roots vouch for, and the roots themselves. Records that no root signed are counted.',
  ],
  examples: ['fleetgc keys list --trust-roots roots.yaml --kafka-brokers kafka:9092'],
  options: z.object({ ...trustRootsOption, ...objectOptions, ...eventLogOptions('kafka') }),
  run: async ({ trustRoots, output, ...options }, context) => {
    const roots = readTrustRoots(trustRoots);
    await using log = await openTaskEventLog({ options, context });
    const { ring, unreadable } = await readKeys(log, roots, context.signal);
    const keys = keyValues(ring, roots, Date.now());
    const value = { fleet: roots.fleet, keys, unreadable };
    await printObjects(context, output, {
      value,
      lines: keyLines(keys, false),
      wideLines: keyLines(keys, true),
      names: keys.map(({ keyId }) => keyId),
    });
    if (unreadable.length > 0)
      context.logger.warn(
        `gc.keys holds ${counted(unreadable.length, 'record')} that no root of this fleet made; they change nothing. "keys check" says which`,
      );
  },
});
