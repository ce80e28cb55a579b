import { z } from 'zod';
import {
  containerdOptions,
  executorOptions,
  kubeletOptions,
  nodeOptions,
  toExecutorOptions,
  wholeNodeOptions,
} from '../../services/node/node-options.ts';
import { NODE_SHUTDOWN_LIMIT_MS } from '../../services/node/node-parts.ts';
import { runAgentOnly, runExecutorOnly, runNode } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-node.ts';
import { openProcess } from '../framework/open-process.ts';
import { defineVerb } from '../framework/verb.ts';
import { about } from '../framework/verb-list.ts';
import { httpOptions, logOptions } from '../options/option-groups.ts';

export const node = defineVerb({
  ...about('node'),
  options: z.object({
    ...wholeNodeOptions,
    ...httpOptions(9641),
    ...logOptions('kafka'),
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['agent', 'executor']);
    await using process = await openProcess('node', options, context);
    const removing = {
      policies: process.followPolicies(null),
      options: toExecutorOptions(options),
    };
    await runNode({ process, node: thisNode, signal: context.signal }, removing);
  },
});

export const nodeAgent = defineVerb({
  ...about('node-agent'),
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

export const nodeExecutor = defineVerb({
  ...about('node-executor'),
  options: z.object({
    ...nodeOptions,
    ...containerdOptions,
    ...executorOptions,
    ...kubeletOptions,
    ...httpOptions(9643),
    ...logOptions('kafka'),
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async (options, context) => {
    using thisNode = openThisNode(options, ['executor']);
    await using process = await openProcess('node-executor', options, context);
    const removing = { policies: process.followPolicies(null), options: toExecutorOptions(options) };
    await runExecutorOnly({ process, node: thisNode, signal: context.signal }, removing);
  },
});
