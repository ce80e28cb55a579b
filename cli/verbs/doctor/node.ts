import { z } from 'zod';
import { pause } from '../../../packages/process/backoff.ts';
import { FilePath, withMeta } from '../../../packages/process/options/options.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { SeenGenerations } from '../../../packages/records/trust/seen-generations.ts';
import { runChecks } from '../../../services/doctor/checks.ts';
import { lookAtLog } from '../../../services/doctor/log.ts';
import { lookAtMachine, NODE_CHECKS, policyOfNode } from '../../../services/doctor/node.ts';
import { wholeNodeOptions } from '../../../services/node/node-options.ts';
import { logAccess } from '../../framework/doctor-log-access.ts';
import { outputOptions } from '../../framework/output.ts';
import { versionLine } from '../../framework/program.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { readNodeTrust, signingOptions } from '../../options/trust-options.ts';
import { tellReport } from '../../views/doctor.ts';

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
