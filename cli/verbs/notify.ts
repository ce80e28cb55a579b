import { z } from 'zod';
import { POLICY_RECHECK_MS } from '../../packages/policy/policies.ts';
import { systemSources } from '../../packages/process/system-sources.ts';
import { openReceivers, runNotices } from '../../services/notices/main.ts';
import { requireRules } from '../../services/notices/rules-file.ts';
import { openService } from '../framework/open-service.ts';
import { defineVerb } from '../framework/verb.ts';
import { httpOptions } from '../options/common-options.ts';
import { eventLogOptions } from '../options/event-log-options.ts';
import { rulesOption } from '../options/notice-options.ts';
import { onlookerTrustOptions, readOnlookerTrust } from '../options/trust-options.ts';

export const verb = defineVerb({
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
