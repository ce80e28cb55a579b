import { z } from 'zod';
import {
  containerdOptions,
  executorOptions,
  kubeletOptions,
  nodeOptions,
  toExecutorOptions,
} from '../../services/node/node-options.ts';
import { NODE_SHUTDOWN_LIMIT_MS, runExecutorOnly } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { keptGenerations, readNodeTrust, signingOptions } from '../options/trust-options.ts';

export const verb = defineVerb({
  help: [
    'The removing half of a node. It shares its state directory with the agent of the same node, which must run too.',
  ],
  examples: ['fleetgc node-executor --cluster prod --kafka-brokers kafka:9092 --trust off'],
  options: z.object({
    ...nodeOptions,
    ...containerdOptions,
    ...executorOptions,
    ...kubeletOptions,
    ...httpOptions(9643),
    ...tracingOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['executor'], context.logger);
    const seen = keptGenerations(options, thisNode.state, context.logger);
    const trust = await readNodeTrust(options, { node: thisNode.identity, seen }, context.signal);
    await using process = await openService('node-executor', options, trust, context);
    const removing = { policies: process.followPolicies(null), options: toExecutorOptions(options) };
    await runExecutorOnly({ process, node: thisNode, signal: context.signal }, removing);
  },
});
