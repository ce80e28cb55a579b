import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import { inClusterNamespace } from '../../packages/kube-api/access.ts';
import { IN_CLUSTER, openConnection } from '../../packages/kube-api/open-connection.ts';
import type { OwnRights } from '../../packages/log/access/own-rights.ts';
import type { EventLog } from '../../packages/log/port.ts';
import { pause } from '../../packages/process/backoff.ts';
import { FleetGcError } from '../../packages/process/errors.ts';
import { readTextFile } from '../../packages/process/options/named-file.ts';
import { FilePath, withMeta } from '../../packages/process/options/options.ts';
import { PRODUCT_VERSION } from '../../packages/process/product-version.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { SeenGenerations } from '../../packages/records/trust/seen-generations.ts';
import { PARTS } from '../../services/cluster/access/rights.ts';
import { clusterOptions, leaseNamespaceOf, turnOptions } from '../../services/cluster/cluster-options.ts';
import { runChecks } from '../../services/doctor/checks.ts';
import { lookAtLog } from '../../services/doctor/log.ts';
import { wholeNodeOptions } from '../../services/node/node-options.ts';
import { outputOptions } from '../framework/output.ts';
import { versionLine } from '../framework/program.ts';
import { openTaskEventLog } from '../framework/task-event-log.ts';
import { defineVerb, type VerbContext } from '../framework/verb.ts';
import {
  type EventLogChoice,
  eventLogOptions,
  forTask,
  readEventLogSettings,
} from '../options/event-log-options.ts';
import {
  clusterTrustOptions,
  deciderTrustOptions,
  readClusterTrust,
  readDeciderTrust,
  readNodeTrust,
  signingOptions,
} from '../options/trust-options.ts';
import { tellReport } from '../run/tell-report.ts';

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

export const nodeVerb = defineVerb({
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
    const { lookAtMachine, NODE_CHECKS, policyOfNode } = await import('../../services/doctor/node.ts');
    using connections = new DisposableStack();
    await using logs = new AsyncDisposableStack();
    const machine = lookAtMachine(options, connections);
    const { name } = machine;
    const log = lookAtLog({
      role: 'node',
      ...logAccess(options, { context, logs }),
      nodeKey: name.ok ? `${name.value.cluster}/${name.value.node}` : null,
      trust: async () => {
        if (!name.ok) throw name.error;
        const { cluster, node } = name.value;
        return await readNodeTrust(
          options,
          { node: { cluster, node }, seen: new SeenGenerations() },
          context.signal,
        );
      },
    });
    const facts = {
      ...machine,
      ...log.facts,
      policy: policyOfNode(name, log.policies),
      version: versionLine(process.versions.node),
    };
    const checks = await runChecks(NODE_CHECKS, facts, pause);
    const told = name.ok ? `${name.value.cluster}/${name.value.node}` : null;
    await tellReport(
      { of: 'node', name: told, version: PRODUCT_VERSION, checks: [...checks] },
      output,
      context,
    );
  },
});

export const decideVerb = defineVerb({
  help: [
    'Run it where a decision service runs, with the options, the environment and the config file that "fleetgc decide" has there. It looks at everything that the service needs, all at once, and says for each check what it saw and what to do. It changes nothing and joins no group (docs/operating/doctor.md has all checks).',
    'Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 wrong options.',
  ],
  examples: [
    'fleetgc doctor decide --config /etc/fleetgc/decide.yaml',
    'fleetgc doctor decide --kafka-brokers kafka:9092 --trust off -o json',
  ],
  options: z.object({ ...deciderTrustOptions, ...outputOptions, ...eventLogOptions('kafka') }),
  run: async ({ output, ...options }, context) => {
    const { DECIDER_CHECKS, lookAtDeciders } = await import('../../services/doctor/decider.ts');
    await using logs = new AsyncDisposableStack();
    const log = lookAtLog({
      role: 'decider',
      ...logAccess(options, { context, logs }),
      trust: () => readDeciderTrust(options, context.signal),
    });
    const facts = lookAtDeciders(log, versionLine(process.versions.node));
    const checks = await runChecks(DECIDER_CHECKS, facts, pause);
    await tellReport(
      { of: 'decider', name: null, version: PRODUCT_VERSION, checks: [...checks] },
      output,
      context,
    );
  },
});

export const clusterVerb = defineVerb({
  help: [
    'Run it where the agent or the executor of a cluster runs, with the options, the environment and the config file that they have there ("fleetgc cluster run": with --log embedded). It looks at everything that they need, all at once, and says for each check what it saw and what to do. It changes nothing in the cluster and writes nothing to the event log (docs/operating/doctor.md has all checks).',
    'Exit codes: 0 no problem (there may be warnings), 1 a problem, 2 wrong options.',
  ],
  examples: [
    'fleetgc doctor cluster --cluster prod --kubeconfig in-cluster --part agent --kafka-brokers kafka:9092 --trust off',
    'fleetgc doctor cluster --cluster prod --kubeconfig ~/.kube/config --log embedded -o json',
  ],
  options: z.object({
    ...clusterOptions,
    part: withMeta(z.enum(PARTS).prefault('run'), {
      commandLineOnly: true,
      description: 'What runs with these options: cluster run, or one of its halves.',
    }),
    ...turnOptions,
    ...clusterTrustOptions,
    ...outputOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ output, part, ...options }, context) => {
    const { CLUSTER_CHECKS, lookAtCluster } = await import('../../services/doctor/cluster.ts');
    using connections = new DisposableStack();
    await using logs = new AsyncDisposableStack();
    const { cluster, kubeconfig } = options;
    const { environment, signal } = context;
    const log = lookAtLog({
      role: 'cluster',
      ...logAccess(options, { context, logs }),
      trust: () => readClusterTrust(options, { cluster, seen: new SeenGenerations() }, signal),
    });
    const facts = lookAtCluster({
      cluster,
      part,
      leaseNamespace: leaseNamespaceOf(options, kubeconfig === IN_CLUSTER ? inClusterNamespace() : null),
      open: () => {
        const open = openConnection(options, { environment, sources: systemSources });
        connections.use(open.connection);
        return open;
      },
      log,
      version: versionLine(process.versions.node),
      sources: systemSources,
      signal,
    });
    const checks = await runChecks(CLUSTER_CHECKS, facts, pause);
    await tellReport(
      { of: 'cluster', name: cluster, version: PRODUCT_VERSION, checks: [...checks] },
      output,
      context,
    );
  },
});

interface LogNeeds {
  readonly context: VerbContext;
  /** Closes the log in the end. */
  readonly logs: AsyncDisposableStack;
}

/** How `doctor` comes by the event log that these options name. */
function logAccess(options: EventLogChoice, { context, logs }: LogNeeds) {
  const { signal, logger } = context;
  return {
    prefix: options.log === 'embedded' ? '' : (options.kafkaPrefix ?? ''),
    open: async (): Promise<EventLog> => logs.use(await openTaskEventLog({ options, context })),
    rights: options.log === 'embedded' ? null : () => rightsOfLogin(options, logger),
    nowMs: Date.now,
    signal,
  };
}

async function rightsOfLogin(options: EventLogChoice, logger: VerbContext['logger']): Promise<OwnRights> {
  const settings = forTask(readEventLogSettings(options, { clientId: 'fleetgc-cli', readTextFile }));
  if (settings.kind === 'embedded') throw new FleetGcError('INTERNAL', 'the embedded log has no rights');
  const { ownRights } = await import('../../packages/log/access/own-rights.ts');
  return await ownRights(settings, {
    logger: logger.child({}, { level: 'error' }),
    now: Date.now,
    random: Math.random,
    newId: randomUUID,
  });
}
