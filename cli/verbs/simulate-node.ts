import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { runSimulatedNode } from '../../lab/sim/workload.ts';
import { withMeta } from '../../packages/process/options/options.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { ClusterName, NodeName } from '../../schemas/events/identity.ts';
import { Bytes, DurationMs } from '../../schemas/policy/quantity.ts';
import { executorOptions } from '../../services/node/node-options.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { readNodeTrust, signingOptions } from '../options/trust-options.ts';

const START_PERCENT = 70;

export const verb = defineVerb({
  help: [
    'Joins a fleet like any other node. Its images, containers and disk are simulated; its CRI socket, agent and executor are real.',
  ],
  examples: [
    'fleetgc simulate-node --cluster demo --node-name node-1 --kafka-brokers kafka:9092 --trust off',
  ],
  options: z.object({
    cluster: withMeta(ClusterName, { placeholder: 'NAME', description: 'Name of the cluster.' }),
    nodeName: withMeta(NodeName, { placeholder: 'NAME', description: 'Name of the node.' }),
    capacity: withMeta(Bytes.prefault('20G'), { placeholder: 'BYTES', description: 'Size of its disk.' }),
    step: withMeta(DurationMs.prefault('1s'), {
      placeholder: 'DURATION',
      description: 'How long between two steps of its life.',
    }),
    localFile: withMeta(executorOptions.localFile, {
      description:
        "The node's own rules, which no order can widen (keepPatterns, maxRemovalsPerHour, hold). It has to be there.",
    }),
    ...httpOptions(9641),
    ...tracingOptions,
    ...signingOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (given, context) => {
    const { cluster, nodeName: name, capacity: capacityBytes, step: stepMs, localFile, ...options } = given;
    const directory = await mkdtemp(join(tmpdir(), 'fleetgc-node-'));
    const node = {
      cluster,
      name,
      directory,
      capacityBytes,
      startPercent: START_PERCENT,
      seed: seedOf(name),
      stepMs,
      localFile,
    };
    try {
      const signer = { node: { cluster, node: name }, seen: new SeenGenerations() };
      const trust = await readNodeTrust(options, signer, context.signal);
      await using process = await openService('simulate-node', options, trust, context);
      await runSimulatedNode(process, node, context.signal);
    } finally {
      await rm(directory, { recursive: true, force: true });
    }
  },
});

/** Nodes of different names live different lives, and the same one every time. */
const seedOf = (name: string): number =>
  [...name].reduce((sum, letter) => sum * 31 + letter.charCodeAt(0), 7) % 1_000_003;
