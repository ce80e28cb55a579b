import { z } from 'zod';
import { DECIDERS } from '../../packages/deciders/registry.ts';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import { ProxyList } from '../../packages/process/http-server.ts';
import { FilePath, ListenAddress, TextList, withMeta } from '../../packages/process/options/options.ts';
import { configError } from '../../packages/process/options/read-options.ts';
import { readTokenFile } from '../../packages/process/token-file.ts';
import { AnyDeciderName } from '../../schemas/events/deciders.ts';
import { loadFunction } from '../../services/deciders/functions/decision-function.ts';
import {
  CALLER_ROLES,
  type CallerSettings,
  requireCallers,
} from '../../services/deciders/functions/http/callers.ts';
import { runDeciders } from '../../services/deciders/run.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb, type VerbTexts } from '../framework/verb.ts';
import { httpOptions, tracingOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { functionOptions, textOf } from '../options/function-options.ts';
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

export const decideVerb = deciderProcess({
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

const options = z.object({
  service: withMeta(AnyDeciderName, {
    positional: true,
    placeholder: 'SERVICE',
    description: `Which decision service to serve: ${AnyDeciderName.options.join(', ')}.`,
  }),
  http: withMeta(ListenAddress.prefault('127.0.0.1:9670'), {
    mayBeBare: true,
    description:
      'Where to take events, at the path /. The default holds without the option too, and where no address follows it. Probes and metrics are at --http-address.',
  }),
  ...httpOptions(9671),
  tokenFile: withMeta(FilePath.optional(), {
    description:
      'Who may call: a line "caller NAME TOKEN" for each. Other users must not be able to open it.',
  }),
  tlsCertificateFile: withMeta(FilePath.optional(), { description: 'Own certificate, PEM: serves HTTPS.' }),
  tlsKeyFile: withMeta(FilePath.optional(), { description: 'Key of the own certificate, PEM.' }),
  tlsCallerCaFile: withMeta(FilePath.optional(), {
    description: 'Certificate authorities, PEM: who calls needs a certificate that one of them signed.',
  }),
  trustedProxy: withMeta(TextList.prefault(''), {
    placeholder: 'ADDRESS,…',
    description:
      'Proxies that append X-Forwarded-For: addresses, or networks such as 10.1.0.0/16. Requests behind them are limited by the address of the caller.',
  }),
  ...functionOptions,
  ...deciderTrustOptions,
  ...eventLogOptions('kafka'),
});

export const serveVerb = defineVerb({
  help: [
    'A decision is a function of one event. This serves one decision service as such a function: whoever has an event sends it as a CloudEvent with POST, in binary or structured mode or several in a batch, and gets the decision and what follows from it in the answer, or has it written to the event log (--publish). It decides as the service does that reads the event log: the same bytes give the same bytes.',
    'The attributes fleetgctopic, fleetgcpartition and fleetgcoffset say where an event lies on the event log, since each decision names it. Who may call can have decisions made about whatever they send, unless facts count with the signature of their node alone (--trust-facts required).',
  ],
  examples: [
    'fleetgc serve image-gc --http --policy policies.jsonl --trust off',
    'fleetgc serve image-gc --http 0.0.0.0:9670 --token-file callers --tls-certificate-file tls.pem --tls-key-file tls.key --policy https://config.example/policies.jsonl --trust required --trust-roots roots.yaml --signing-key-file decider.pem',
    'fleetgc serve pressure --policy topic --publish --kafka-brokers kafka:9092 --trust off',
  ],
  options,
  run: async (given, context) => {
    const { runFunction } = await import('../../services/deciders/functions/http/run-function.ts');
    const { openServedFunction } = await import('../framework/open-function.ts');
    const { logger, signal } = context;
    const trust = await readDeciderTrust(given, signal);
    const callers = callersOf(given);
    requireCallers(callers);
    const decider = await loadFunction(given.service);
    await using served = await openServedFunction(decider, given, trust, context);
    const { open, metrics, checks } = served;
    const probes = given.httpAddress && { address: given.httpAddress, metrics, checks };
    await runFunction(open, { callers, probes, logger }, signal);
  },
});

/** Throws `CONFIG_INVALID`. */
function callersOf(given: z.infer<typeof options>): CallerSettings {
  return {
    address: given.http,
    tokens: given.tokenFile === undefined ? [] : readTokenFile(given.tokenFile, CALLER_ROLES),
    tls: tlsOf(given),
    proxies: new ProxyList(given.trustedProxy, '--trusted-proxy'),
    factsAreSigned: given.trust === 'required' && given.trustFacts === 'required',
  };
}

function tlsOf({
  tlsCertificateFile,
  tlsKeyFile,
  tlsCallerCaFile,
}: z.infer<typeof options>): CallerSettings['tls'] {
  const cert = textOf('--tls-certificate-file', tlsCertificateFile);
  const key = textOf('--tls-key-file', tlsKeyFile);
  const callerCa = textOf('--tls-caller-ca-file', tlsCallerCaFile);
  if (cert !== null && key !== null) return { cert, key, callerCa };
  if (cert === null && key === null && callerCa === null) return null;
  throw configError(['TLS needs --tls-certificate-file and --tls-key-file']);
}
