import { z } from 'zod';
import { FleetGcError } from '../../packages/process/errors.ts';
import { fileText } from '../../packages/process/options/named-file.ts';
import { FilePath, Text, withMeta } from '../../packages/process/options/options.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { manifestOptions, outputOptions, printResult } from '../framework/output.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { onlookerTrustOptions, readOnlookerTrust } from '../options/trust-options.ts';

/** Who is told what. */
const rulesOption = withMeta(FilePath, {
  placeholder: 'FILE',
  description: 'File that names receivers and rules, in YAML or JSON.',
});

export const notifyVerb = defineVerb({
  help: [
    'Tells people what happens: it follows the event log and sends notices to webhooks (CloudEvents 1.0, signed by HMAC), to chats with Slack’s text form, and as Kubernetes Events on nodes. A rule file says who is told what; "fleetgc notify check" checks it. It writes nothing to the event log.',
    'The first time it begins at the end of the event log, so that nobody is told of the past. From then on it goes on where it was, also after a restart: each notice is delivered at least once, and has the same id when it comes again. A receiver that is away or hangs holds up no other one. What is older than its maxAge (1h) when its turn comes is dropped, counted, and told with the next notice that gets through.',
    'Any number of replicas can run; they share the work.',
  ],
  examples: [
    'fleetgc notify --rules notices.yaml --kafka-brokers kafka:9092 --trust off',
    'fleetgc notify --rules notices.yaml --kafka-brokers kafka:9092 --trust required --trust-roots roots.yaml --trust-facts required',
    'fleetgc notify --rules notices.yaml --log embedded --log-path ./fleetgc.db',
  ],
  options: z.object({
    rules: rulesOption,
    ...httpOptions(9661),
    ...onlookerTrustOptions,
    ...eventLogOptions('kafka'),
  }),
  run: async ({ rules: path, ...options }, context) => {
    const { requireRules } = await import('../../services/notices/rules-file.ts');
    const { POLICY_RECHECK_MS } = await import('../../packages/policy/policies.ts');
    const { openService } = await import('../framework/open-service.ts');
    const { openReceivers, runNotices } = await import('../../services/notices/main.ts');
    const { environment, logger, signal } = context;
    const rules = requireRules(path);
    const trust = readOnlookerTrust(options);
    using open = openReceivers(rules, { environment, logger, sources: systemSources });
    await using process = await openService('notify', options, trust, context);
    const { receivers } = open;
    // What is held is decided again here, by the policies that are active.
    const tellsHeld = receivers.some((each) => each.rules.some(({ kinds }) => kinds.includes('held')));
    const followed = tellsHeld ? process.followPolicies(POLICY_RECHECK_MS) : null;
    await runNotices({ process, policies: followed?.current.cluster ?? null, receivers }, signal);
  },
});

export const checkVerb = defineVerb({
  help: [
    'Checks a rule file of fleetgc notify, and the files that it names: secrets, certificates, kubeconfigs. Reports every problem of the rule file at once. Nothing is sent, and no receiver is asked. If there is a problem, the exit code is 2.',
  ],
  examples: ['fleetgc notify check notices.yaml', 'fleetgc notify check notices.yaml --output json'],
  options: z.object({
    file: withMeta(FilePath, { positional: true, placeholder: 'FILE', description: 'The rule file.' }),
    ...outputOptions,
  }),
  run: async ({ file, output }, { environment, logger, write }) => {
    const { rulesLines, rulesValue } = await import('../../packages/documents/notices.ts');
    const { readRulesFile } = await import('../../services/notices/rules-file.ts');
    const { openReceivers } = await import('../../services/notices/main.ts');
    const read = readRulesFile(file);
    if (!read.ok) {
      for (const problem of read.problems) logger.error(`${fileText(file)}: ${problem}`);
      throw new FleetGcError('CONFIG_INVALID', 'with this file no notice would be sent');
    }
    using _open = openReceivers(read.rules, { environment, logger, sources: systemSources });
    await printResult({ write }, output, { value: rulesValue(read.rules), lines: rulesLines(read.rules) });
  },
});

export const rbacVerb = defineVerb({
  help: [
    'Prints what fleetgc notify needs to write Events on nodes, and no more: a service account that may create and patch Events in the namespace default, where Kubernetes keeps those about nodes. Nothing is changed: kubectl apply -f - puts it into force.',
  ],
  examples: [
    'fleetgc notify rbac | kubectl apply -f -',
    'fleetgc notify rbac --namespace fleetgc --output json',
  ],
  options: z.object({
    namespace: withMeta(Text.prefault('kube-system'), {
      commandLineOnly: true,
      placeholder: 'NAME',
      description: 'Namespace of the service account.',
    }),
    ...manifestOptions,
  }),
  run: async ({ namespace, output }, { write }) => {
    const { manifestText } = await import('../run/manifests.ts');
    const { noticesManifests } = await import('../../services/cluster/access/manifests.ts');
    const remarks = ['Rights of fleetgc notify, as fleetgc notify rbac prints them.'];
    await write(`${manifestText(output, noticesManifests(namespace), remarks)}\n`);
  },
});
