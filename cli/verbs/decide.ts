import { z } from 'zod';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import type { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { runDeciders } from '../../services/deciders/run-deciders.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb, type VerbTexts } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';

import { deciderTrustOptions, readDeciderTrust } from '../options/trust-options.ts';

interface DeciderVerb extends VerbTexts {
  /** As metrics and brokers know the process. */
  readonly service: AnyDeciderName | 'decide';
  readonly deciders: readonly AnyDeciderName[];
  /** Each verb has a port of its own, so that all can run on one machine. */
  readonly httpPort: number;
}

/** A verb that runs these decision services in one process. */
export const deciderVerb = ({ service, deciders, httpPort, ...texts }: DeciderVerb) =>
  defineVerb({
    ...texts,
    options: z.object({
      ...httpOptions(httpPort),
      ...tracingOptions,
      ...deciderTrustOptions,
      ...eventLogOptions('kafka'),
    }),
    run: async (options, context) => {
      const trust = await readDeciderTrust(options, context.signal);
      await using process = await openService(service, options, trust, context);
      const policies = process.followPolicies(POLICY_RECHECK_MS);
      await runDeciders(deciders, { process, policies, signal: context.signal });
    },
  });

export const verb = deciderVerb({
  help: [
    'The decision services, for a fleet that one process can serve. Start as many as you like, anywhere: they share nodes and clusters among themselves.',
  ],
  examples: [
    'fleetgc decide --kafka-brokers kafka-1:9092,kafka-2:9092 --trust off',
    'fleetgc decide --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file decider.pem',
  ],
  service: 'decide',
  deciders: ['pressure', 'container-gc', 'image-gc', 'graph-gc', 'pod-gc', 'expiry-gc'],
  httpPort: 9640,
});
