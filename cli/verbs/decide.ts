import { z } from 'zod';
import { DECIDERS } from '../../packages/deciders/registry.ts';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb, type VerbTexts } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { deciderTrustOptions, readDeciderTrust } from '../options/trust-options.ts';

interface DeciderProcess extends VerbTexts {
  /** As metrics and brokers know the process. */
  readonly service: AnyDeciderName | 'decide';
  readonly deciders: readonly AnyDeciderName[];
  readonly httpPort: number;
}

/** A verb that runs these decision services in one process. */
const deciderProcess = ({ service, deciders, httpPort, ...texts }: DeciderProcess) =>
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

/** The verb of one decision service. */
export const deciderVerb = (name: AnyDeciderName) =>
  deciderProcess({
    help: [DECIDERS[name].does],
    examples: [`fleetgc ${name} --kafka-brokers kafka:9092 --trust off --http-address 0.0.0.0:9640`],
    service: name,
    deciders: [name],
    httpPort: DECIDERS[name].httpPort,
  });

export const verb = deciderProcess({
  help: [
    'The decision services, for a fleet that one process can serve. Start as many as you like, anywhere: they share nodes and clusters among themselves.',
  ],
  examples: [
    'fleetgc decide --kafka-brokers kafka-1:9092,kafka-2:9092 --trust off',
    'fleetgc decide --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --signing-key-file decider.pem',
  ],
  service: 'decide',
  deciders: AnyDeciderName.options,
  httpPort: 9640,
});
