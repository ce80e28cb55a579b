import type { Finding } from '../finding.ts';
import {
  clockFinding,
  eventLogFinding,
  NOT_REACHED,
  rightsFinding,
  topicsFinding,
} from '../findings/event-log.ts';
import { keysFinding } from '../findings/steering.ts';
import type { Checks } from '../run-checks.ts';
import type { LogFacts, LookedAtRole } from './look-at-log.ts';

/** The checks that are about the event log alone, for somebody with this role there. */
export const logChecks = (role: LookedAtRole) =>
  ({
    'event-log': {
      looksAt: 'whether the event log answers this login',
      look: async ({ servers }) => eventLogFinding(await servers),
    },
    topics: {
      looksAt: 'the topics and their settings',
      look: (facts) =>
        whereReached(facts, async () => topicsFinding(await facts.topics, await knownRights(facts.rights))),
    },
    rights: {
      looksAt: 'what this login may do with topics',
      look: (facts) => whereReached(facts, async () => rightsFinding(role, await facts.rights)),
    },
    clock: {
      looksAt: 'the clock of this machine',
      look: (facts) => whereReached(facts, async () => clockFinding(await facts.clock)),
    },
    keys: { looksAt: 'signatures, roots and keys', look: keys },
  }) as const satisfies Checks<string, LogFacts>;

/** Makes a check that needs the event log. */
export const whereReached = async (
  { servers }: Pick<LogFacts, 'servers'>,
  look: () => Promise<Finding>,
): Promise<Finding> => ((await servers).ok ? await look() : NOT_REACHED);

async function knownRights(rights: LogFacts['rights']) {
  const found = await rights;
  return found?.ok ? found.value : null;
}

async function keys(facts: LogFacts): Promise<Finding> {
  const trust = await facts.trust;
  if (!trust.ok || trust.value === 'off') return keysFinding(trust, null);
  return await whereReached(facts, async () => keysFinding(trust, await facts.keys));
}
