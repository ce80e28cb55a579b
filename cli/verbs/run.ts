import { join } from 'node:path';
import { z } from 'zod';
import { FilePath, Switch, withMeta } from '../../packages/process/options/options.ts';
import { toExecutorOptions, wholeNodeOptions } from '../../services/node/node-options.ts';
import { NODE_SHUTDOWN_LIMIT_MS } from '../../services/node/run-node.ts';
import { openThisNode } from '../../services/node/this-machine.ts';
import { openServiceOn, quieter, tracingOf } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { PolicyPaths } from '../options/policy-files.ts';
import { runPipeline } from '../run/pipeline.ts';
import { policiesOf } from '../run/policies.ts';

const { logMaxSize } = eventLogOptions('embedded');

/** Beside the rest of what this node keeps, so that a directory of one's own holds all of it. */
const logPath = withMeta(FilePath.optional(), {
  description: 'File of the embedded log; event-log.db in the state directory when not given.',
});

export const verb = defineVerb({
  help: [
    'Agent, decision services and executor in one process, with the event log in a file. Nothing is removed unless a policy given with --policy says "mode: enforce".',
  ],
  examples: [
    'fleetgc run',
    'fleetgc run --policy policy.yaml',
    'fleetgc run --policy policy.yaml --runtime-endpoint unix:///run/k3s/containerd/containerd.sock --json',
  ],
  options: z.object({
    policy: withMeta(PolicyPaths.optional(), {
      kind: 'list',
      placeholder: 'FILE',
      description:
        "Policies that hold, and no others; may be repeated. Without any: the kubelet's defaults in dry-run.",
    }),
    json: withMeta(Switch.prefault('false'), {
      description: 'Print decisions and results themselves, one JSON document a line.',
    }),
    ...wholeNodeOptions,
    ...httpOptions(9647),
    ...tracingOptions,
    logPath,
    logMaxSize,
  }),
  shutdownLimitMs: NODE_SHUTDOWN_LIMIT_MS,
  run: async ({ policy: policyFiles = [], json, httpAddress, ...options }, context) => {
    const { logger, print, signal } = context;
    const path = options.logPath ?? join(options.stateDirectory, 'event-log.db');
    const written = policiesOf(policyFiles, { logger, consequence: 'nothing was started' });
    using node = openThisNode({ ...options, log: 'embedded' }, ['agent', 'executor'], logger);
    await using process = await openServiceOn({
      service: 'run',
      eventLog: {
        kind: 'embedded',
        path,
        maxBytes: Number(options.logMaxSize),
        keepsSpace: true,
      },
      trust: { kind: 'off' },
      httpAddress,
      tracing: tracingOf(options, context),
      logger: quieter(logger),
    });
    const executor = toExecutorOptions(options);
    await runPipeline({ process, node, executor, written, policyFiles, logPath: path, json, print }, signal);
  },
});
