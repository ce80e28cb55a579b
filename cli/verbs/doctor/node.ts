import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { ownRights } from '../../../packages/event-log/access/own-rights.ts';
import type { EventLog } from '../../../packages/event-log/port.ts';
import { pause } from '../../../packages/process/backoff.ts';
import { FleetGcError } from '../../../packages/process/errors.ts';
import { readTextFile } from '../../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { SeenGenerations } from '../../../packages/trust/seen-generations.ts';
import type { DoctorReport } from '../../../schemas/reports/doctor.ts';
import { type LogAccess, lookAtLog } from '../../../services/doctor/node/look-at-log.ts';
import { lookAtMachine } from '../../../services/doctor/node/look-at-node.ts';
import { NODE_CHECKS } from '../../../services/doctor/node/node-checks.ts';
import { runChecks } from '../../../services/doctor/run-checks.ts';
import { wholeNodeOptions } from '../../../services/node/node-options.ts';
import { formatResult, outputOptions } from '../../framework/output.ts';
import { openTaskEventLog } from '../../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../../framework/verb.ts';
import { versionLine } from '../../framework/version-line.ts';
import { eventLogOptions, forTask, readEventLogSettings } from '../../options/event-log-options.ts';
import { readNodeTrust, signingOptions } from '../../options/trust-options.ts';
import { doctorLines } from '../../views/doctor/doctor-lines.ts';

const DoctorNodeOptions = z.object({
  ...wholeNodeOptions,
  kubeletConfigFile: withMeta(FilePath.prefault('/var/lib/kubelet/config.yaml'), {
    commandLineOnly: true,
    description: 'Configuration of the kubelet, to compare its own garbage collection with the policy.',
  }),
  ...signingOptions,
  ...outputOptions,
  ...eventLogOptions('kafka'),
});
type DoctorNodeOptions = z.infer<typeof DoctorNodeOptions>;

export const verb = defineVerb({
  help: [
    'Run it on the node, as root, with the options, the environment and the config file that "fleetgc node" has there ("fleetgc run": with --log embedded). It looks at everything that the node needs, all at once, and says for each check what it saw and what to do. It changes nothing, takes no lock and writes nothing to the event log (docs/operating/doctor.md has all checks).',
    'Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 wrong options.',
  ],
  examples: [
    'fleetgc doctor node --config /etc/fleetgc/node.yaml',
    'fleetgc doctor node --cluster prod --kafka-brokers kafka:9092 --trust off',
    'fleetgc doctor node --log embedded -o json',
  ],
  options: DoctorNodeOptions,
  run: async ({ output, ...options }, context) => {
    using connections = new DisposableStack();
    await using logs = new AsyncDisposableStack();
    const machine = lookAtMachine(options, connections);
    const log = lookAtLog(logAccess(options, { context, logs }), machine.name);
    const version = versionLine(process.versions.node);
    const checks = await runChecks(NODE_CHECKS, { ...machine, ...log, version }, pause);
    const { name } = machine;
    const report: DoctorReport = {
      of: 'node',
      name: name.ok ? `${name.value.cluster}/${name.value.node}` : null,
      version: PRODUCT_VERSION,
      checks: [...checks],
    };
    await context.write(`${formatResult(output, { value: report, lines: doctorLines(report) })}\n`);
    requireNoProblem(report);
  },
});

interface LogNeeds {
  readonly context: VerbContext;
  /** Closes the log in the end. */
  readonly logs: AsyncDisposableStack;
}

function logAccess(options: Omit<DoctorNodeOptions, 'output'>, { context, logs }: LogNeeds): LogAccess {
  const { signal, logger } = context;
  return {
    open: async (): Promise<EventLog> => logs.use(await openTaskEventLog({ options, context })),
    rights: options.log === 'embedded' ? null : () => rightsOfLogin(options, logger),
    trust: ({ cluster, node }) =>
      readNodeTrust(options, { node: { cluster, node }, seen: new SeenGenerations() }, signal),
    nowMs: Date.now,
    signal,
  };
}

async function rightsOfLogin(
  options: Omit<DoctorNodeOptions, 'output'>,
  logger: VerbContext['logger'],
): ReturnType<typeof ownRights> {
  const settings = forTask(readEventLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (settings.kind === 'embedded') throw new FleetGcError('INTERNAL', 'the embedded log has no rights');
  return await ownRights(settings, {
    logger: logger.child({}, { level: 'error' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}

function requireNoProblem({ checks }: DoctorReport): void {
  const problems = checks.filter(({ outcome }) => outcome === 'problem').map(({ id }) => id);
  if (problems.length > 0)
    throw new FleetGcError('PROBLEM_FOUND', `something is wrong: ${problems.join(', ')}`);
}
