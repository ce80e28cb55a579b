import { z } from 'zod';
import { isClean } from '../../lab/sim/fleet-run/account.ts';
import { runSimulatedFleet } from '../../lab/sim/fleet-run/run-fleet.ts';
import type { EventLog } from '../../packages/log/port.ts';
import type { WrittenPolicy } from '../../packages/policy/file/read-policy-file.ts';
import { policyChanges, toPolicyRecord } from '../../packages/policy/policy-changes.ts';
import { readStoredPolicies } from '../../packages/policy/stored-policies.ts';
import { writePolicies } from '../../packages/policy/write-policies.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { untilAborted } from '../../packages/process/loops.ts';
import { WholeNumber, withMeta } from '../../packages/process/options/options.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { ClusterName } from '../../schemas/events/identity.ts';
import { DurationMs } from '../../schemas/policy/quantity.ts';
import { openService } from '../framework/open-service.ts';
import { jsonText } from '../framework/output.ts';
import { openUnsignedWriter } from '../framework/policy-writer.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { loadPolicyFiles, PolicyPaths, requireValid } from '../options/policy-files.ts';
import { readTrust, trustOptions } from '../options/trust-options.ts';

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

export const verb = defineVerb({
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
