import { z } from 'zod';
import { toExecutorOptions, wholeNodeOptions } from '../../services/node/node-options.ts';
import { NODE_SHUTDOWN_LIMIT_MS, runNode } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { keptGenerations, readNodeTrust, signingOptions } from '../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'Start it once on every node that FleetGC is to clean, as root. It removes nothing by itself: it carries out commands, and only what a second look still allows. A local file on the node (--local-file) may forbid more; no command can override it.',
  ],
  examples: [
    'fleetgc node --cluster prod --kafka-brokers kafka-1:9092,kafka-2:9092 --trust off',
    'fleetgc node --cluster prod --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml',
    'fleetgc node --cluster prod --kafka-brokers kafka:9092 --trust off --kubelet-url https://127.0.0.1:10250 --kubelet-token-file token',
  ],
  options: z.object({
    ...wholeNodeOptions,
    ...httpOptions(9641),
    ...tracingOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['agent', 'executor'], context.logger);
    const seen = keptGenerations(options, thisNode.state, context.logger);
    const trust = await readNodeTrust(options, { node: thisNode.identity, seen }, context.signal);
    await using process = await openService('node', options, trust, context);
    const removing = { policies: process.followPolicies(null), options: toExecutorOptions(options) };
    await runNode({ process, node: thisNode, signal: context.signal }, removing);
  },
});
