import { z } from 'zod';
import { AGENT_GENERATIONS_FILE } from '../../packages/records/trust/seen-generations.ts';
import { containerdOptions, kubeletOptions, nodeOptions } from '../../services/node/node-options.ts';
import { runAgentOnly } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { keptGenerations, readNodeTrust, signingOptions } from '../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'The reading half of a node. Run it alone to see what FleetGC would decide, with nothing on the node that could remove anything.',
  ],
  examples: ['fleetgc node-agent --cluster prod --kafka-brokers kafka:9092 --trust off'],
  options: z.object({
    ...nodeOptions,
    ...containerdOptions,
    ...kubeletOptions,
    ...httpOptions(9642),
    ...tracingOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['agent'], context.logger);
    const seen = keptGenerations(options, thisNode.state, context.logger, AGENT_GENERATIONS_FILE);
    const trust = await readNodeTrust(options, { node: thisNode.identity, seen }, context.signal);
    await using process = await openService('node-agent', options, trust, context);
    const policies = process.followPolicies(null);
    await runAgentOnly({ process, node: thisNode, signal: context.signal }, policies);
  },
});
