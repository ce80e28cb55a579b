import { z } from 'zod';
import { AGENT_GENERATIONS_FILE } from '../../packages/records/trust/seen-generations.ts';
import {
  containerdOptions,
  executorOptions,
  kubeletOptions,
  nodeOptions,
  toExecutorOptions,
  wholeNodeOptions,
} from '../../services/node/node-options.ts';
import {
  NODE_SHUTDOWN_LIMIT_MS,
  runAgentOnly,
  runExecutorOnly,
  runNode,
} from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { keptGenerations, readNodeTrust, signingOptions } from '../options/trust-options.ts';

export const nodeVerb = defineVerb({
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

export const nodeAgentVerb = defineVerb({
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

export const nodeExecutorVerb = defineVerb({
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
