import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { z } from 'zod';
import { isClean } from '../../lab/sim/fleet-run/account.ts';
import type { EventLog } from '../../packages/log/port.ts';
import type { WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { policyChanges, toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import { writePolicies } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { untilAborted } from '../../packages/process/loops.ts';
import { Switch, WholeNumber, withMeta } from '../../packages/process/options/options.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { jsonText } from '../../packages/text/json-text.ts';
import { ClusterName, NodeName } from '../../schemas/events/identity.ts';
import { Bytes, DurationMs } from '../../schemas/policy/quantity.ts';
import { executorOptions } from '../../services/node/node-options.ts';
import { openService } from '../framework/open-service.ts';
import { loadPolicyFiles, requireValid } from '../framework/policy-files.ts';
import { openUnsignedWriter } from '../framework/policy-writer.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { PolicyPaths } from '../options/policy-options.ts';
import { readNodeTrust, readTrust, signingOptions, trustOptions } from '../options/trust-options.ts';

const SHORTEST_MS = 1_000;
const LONGEST_MS = 600_000;
const LONGEST_PAGE_MS = 86_400_000;

export const demoVerb = defineVerb({
  help: [
    'Two acts: three simulated nodes whose disks fill up, and a small simulated cluster in which somebody deletes things.',
    'Needs neither a container runtime, a cluster nor Kafka. It writes only to a temporary directory of its own, which stays. At the end it says where the event log is and what you can ask it. On a terminal it then serves the page of that log until Ctrl-C.',
  ],
  examples: ['fleetgc demo', 'fleetgc demo --for 30s', 'fleetgc demo --duration 20s --json'],
  options: z.object({
    duration: withMeta(
      DurationMs.refine((ms) => ms >= SHORTEST_MS && ms <= LONGEST_MS, {
        error: 'must be from 1s to 10m',
      }).prefault('28s'),
      { placeholder: 'DURATION', description: 'How long to watch the nodes.' },
    ),
    for: withMeta(
      DurationMs.refine((ms) => ms >= 0 && ms <= LONGEST_PAGE_MS, {
        error: 'must be from 0s to 24h',
      }).optional(),
      {
        commandLineOnly: true,
        placeholder: 'DURATION',
        description:
          'How long to serve the page at the end. Default: until Ctrl-C on a terminal, and else 0s.',
      },
    ),
    json: withMeta(Switch.prefault('false'), { description: 'One JSON document a line, for machines.' }),
    plain: withMeta(Switch.prefault('false'), { description: 'Plain lines, also on a terminal.' }),
  }),
  run: async (options, context) => {
    const { runDemo } = await import('../../lab/demo/run-demo.ts');
    await runDemo(options, context);
  },
});

const START_PERCENT = 70;

export const simulateNodeVerb = defineVerb({
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
    const { runSimulatedNode } = await import('../../lab/sim/workload.ts');
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

/** A reclaim has five rounds. */
const DRAIN_LIMIT_MS = 600_000;
/** What was begun is ended, and accounted for, also when the run is told to stop. */
const SHUTDOWN_LIMIT_MS = 300_000;

const Rate = z
  .string()
  .regex(/^[0-9]+(\.[0-9]+)?x$/, { error: 'must be a number and an x, such as 1x or 0.5x' })
  .transform((text) => Number(text.slice(0, -1)))
  .refine((rate) => rate > 0, { error: 'must be above 0x' });

const share = (byDefault: string, description: string) =>
  withMeta(
    z
      .string()
      .regex(/^[0-9]+(\.[0-9]+)?$/, { error: 'must be a number of percent, such as 2.5' })
      .transform(Number)
      .refine((percent) => percent <= 100, { error: 'must be at most 100' })
      .prefault(byDefault),
    { placeholder: 'PERCENT', description },
  );

export const simulateFleetVerb = defineVerb({
  help: [
    'Each node runs a real agent and executor on a runtime in memory; the seed decides what happens to it. Start the decision services beside it, as for any fleet. At the end, also after Ctrl-C, it prints an account as JSON: everything that was commanded, refused and removed, and whatever was wrong, lost or done twice, judged by what was really on each node. Unless these three are 0, the exit code is 1. Do not use the event log of real nodes: each side would follow the policies of the other.',
  ],
  examples: [
    'fleetgc simulate-fleet --nodes 1000 --duration 10m --policy policy.yaml --kafka-brokers kafka:9092 --trust off',
    'fleetgc simulate-fleet --nodes 30 --rate 20x --log embedded --log-path fleet.db --policy policy.yaml',
  ],
  shutdownLimitMs: SHUTDOWN_LIMIT_MS,
  options: z.object({
    cluster: withMeta(ClusterName.prefault('simulated'), {
      placeholder: 'NAME',
      description: 'Name of the cluster; no real node may have it.',
    }),
    nodes: withMeta(
      WholeNumber.refine((nodes) => nodes >= 1, { error: 'must be at least 1' }).prefault('100'),
      { description: 'How many nodes.' },
    ),
    seed: withMeta(WholeNumber.prefault('7'), {
      description: 'The same seed gives every node the same history.',
    }),
    rate: withMeta(Rate.prefault('1x'), {
      placeholder: 'NUMBERx',
      description:
        'How fast the fleet lives; orders live as long on its nodes, so be gentle: 60x for some dozen nodes.',
    }),
    duration: withMeta(DurationMs.prefault('10m'), {
      placeholder: 'DURATION',
      description: 'How long the fleet lives, by its own time.',
    }),
    policy: withMeta(PolicyPaths.optional(), {
      kind: 'list',
      placeholder: 'FILE',
      description: 'Policies to apply first; may be repeated. Without any: those that hold.',
    }),
    killedPercent: share('3', 'Nodes whose FleetGC is killed and started again.'),
    rebootedPercent: share('2', 'Nodes that reboot.'),
    vanishedPercent: share('1', 'Nodes that go for good.'),
    oldClockPercent: share('1', 'Nodes that go, and come back minutes later with an old clock.'),
    failedRemovalPercent: share('2', 'Removals that the runtime fails.'),
    slowRemovalPercent: share('3', 'Removals that take the runtime 5 s to 40 s.'),
    usedMeanwhilePercent: share('5', 'Commands for images of which a pod begins to use one meanwhile.'),
    ...httpOptions(9648),
    ...tracingOptions,
    ...trustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async (options, context) => {
    const { runSimulatedFleet } = await import('../../lab/sim/fleet-run/run-fleet.ts');
    const { cluster, nodes, seed, rate, duration: durationMs } = options;
    const { logger, signal, write, environment } = context;
    const quiet = {
      environment,
      logger: logger.level === 'info' ? logger.child({}, { level: 'error' }) : logger,
    };
    const written = requireValid(loadPolicyFiles(options.policy ?? []), logger, 'nothing was started');
    await using process = await openService(
      'simulate-fleet',
      options,
      readTrust(options, new SeenGenerations()),
      quiet,
    );
    await process.log.createTopics();
    if (written.length > 0) await applyPolicies(process.log, written, signal);
    const policies = process.followPolicies(null);
    await Promise.race([policies.caughtUp, untilAborted(signal)]);
    if (signal.aborted) return;
    const account = await runSimulatedFleet(
      {
        process,
        policies,
        cluster,
        nodes,
        seed,
        rate,
        durationMs,
        drainMs: DRAIN_LIMIT_MS,
        faults: options,
        say: (line) => logger.info(line),
      },
      signal,
    );
    await write(`${jsonText(account)}\n`);
    if (isClean(account)) return;
    const { wrong, lost, twice } = account.removals;
    throw new FleetGcError(
      'FLEET_HARMED',
      `the account is not clean: ${wrong} removals were wrong, ${lost} commands or orders were lost, ${twice} removals were done twice`,
    );
  },
});

async function applyPolicies(
  log: EventLog,
  written: readonly WrittenPolicy[],
  signal: AbortSignal,
): Promise<void> {
  const { policies } = await readStoredPolicies(log, signal);
  await writePolicies(
    await openUnsignedWriter(log, signal),
    policyChanges(written.map(toPolicyRecord), policies, new Set()),
  );
}
