import { z } from 'zod';
import { pause } from '../../../packages/process/backoff.ts';
import { PRODUCT_VERSION } from '../../../packages/process/product-version.ts';
import { runChecks } from '../../../services/doctor/checks.ts';
import { DECIDER_CHECKS, lookAtDeciders } from '../../../services/doctor/decider.ts';
import { lookAtLog } from '../../../services/doctor/log.ts';
import { logAccess } from '../../framework/doctor-log-access.ts';
import { outputOptions } from '../../framework/output.ts';
import { versionLine } from '../../framework/program.ts';
import { defineVerb } from '../../framework/verb.ts';
import { eventLogOptions } from '../../options/event-log-options.ts';
import { deciderTrustOptions, readDeciderTrust } from '../../options/trust-options.ts';
import { tellReport } from '../../views/doctor.ts';

export const verb = defineVerb({
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
