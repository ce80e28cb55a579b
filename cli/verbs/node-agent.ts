import { z } from 'zod';
import { containerdOptions, kubeletOptions, nodeOptions } from '../../services/node/node-options.ts';
import { runAgentOnly } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-node.ts';
import { openProcess } from '../framework/open-process.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, logOptions } from '../options/option-groups.ts';

export const verb = defineVerb({
  help: [
    'The reading half of a node. Alone it lets you see what FleetGC would decide, with nothing on the node that could remove anything.',
  ],
  examples: ['fleetgc node-agent --cluster prod --kafka-brokers kafka:9092'],
  options: z.object({
    ...nodeOptions,
    ...containerdOptions,
    ...kubeletOptions,
    ...httpOptions(9642),
    ...logOptions('kafka'),
  }),
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['agent']);
    await using process = await openProcess('node-agent', options, context);
    const policies = process.followPolicies(null);
    await runAgentOnly({ process, node: thisNode, signal: context.signal }, policies);
  },
});
