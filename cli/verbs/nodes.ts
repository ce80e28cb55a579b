import { z } from 'zod';
import { readPoliciesBy } from '../../packages/policy/stored-policies.ts';
import { readFleetNodes } from '../../packages/read-model/nodes.ts';
import { objectOptions, printObjects } from '../framework/output.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb } from '../framework/verb.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { readingTrustOptions, readReadingRoots } from '../options/trust-options.ts';
import { nodeLines } from '../views/nodes.ts';
import { warnOfUnreadable } from '../views/policies.ts';

export const verb = defineVerb({
  help: [
    'Lists the nodes that were heard in the last day, from its newest disk statistics: when it was last heard, how full its image filesystem is (rounded up, and without the space reserved for root, as the kubelet counts), which policy is in force and in which mode, its version, and warnings: a wrong clock, two machines with one name, a cluster name that looks misspelt, silence. It reads the last minutes whole, and before them only samples (from 15 minutes, 1, 4, 12 and 24 hours ago), however large the fleet is: a node that ran only in between and is gone can be missing where others are there.',
  ],
  examples: [
    'fleetgc nodes',
    'fleetgc nodes -o wide',
    'fleetgc nodes -o name',
    'fleetgc nodes -o json --log embedded',
  ],
  options: z.object({
    ...objectOptions,
    ...readingTrustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ output, trustRoots, ...options }, context) => {
    const roots = readReadingRoots({ trustRoots });
    const { logger, signal } = context;
    await using log = await openTaskEventLog({ options, context });
    const nowMs = Date.now();
    const stored = await readPoliciesBy(roots, log, signal);
    warnOfUnreadable(stored, logger);
    const reading = { log, nowMs, onProgress: (line: string) => context.progress.report(() => line) };
    const found = await readFleetNodes(reading, stored.sets.node, signal);
    if (found.unreadable > 0) logger.warn(`${found.unreadable} records could not be read, and are left out`);
    const isDocument = output === 'json' || output === 'yaml';
    if (found.nodes.length === 0 && !isDocument) return logger.info('No node was heard in the last day.');
    await printObjects(context, output, {
      value: found,
      lines: nodeLines(found, false),
      wideLines: nodeLines(found, true),
      names: found.nodes.map(({ cluster, node }) => `node/${cluster}/${node}`),
    });
  },
});
