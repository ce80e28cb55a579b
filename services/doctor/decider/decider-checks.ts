import { DECIDER_GROUPS } from '../../../packages/log/access/access-rules.ts';
import type { GroupProgress } from '../../../packages/log/port.ts';
import { type Looked, ok } from '../finding.ts';
import { type AllPolicies, policiesFinding, servicesFinding } from '../findings/fleet.ts';
import { logChecks, whereReached } from '../log/log-checks.ts';
import type { LogFacts, lookAtLog } from '../log/look-at-log.ts';
import type { Checks } from '../run-checks.ts';

/** What somebody sees who looks at what a decision service needs. */
export interface DeciderFacts extends LogFacts {
  /** Which program looks. */
  readonly version: string;
  readonly services: Promise<Looked<readonly GroupProgress[]>>;
  readonly policies: Promise<Looked<AllPolicies>>;
}

/** Begins to look at what decision services share. */
export const lookAtDeciders = (
  { facts, further, policies }: ReturnType<typeof lookAtLog>,
  version: string,
): DeciderFacts => ({
  ...facts,
  version,
  services: further((log) => log.groups(DECIDER_GROUPS)),
  policies: policies().then((found) =>
    found.ok
      ? {
          ok: true,
          value: {
            ...found.value.stored,
            nodes: found.value.stored.sets.node.policies.length,
            clusters: found.value.stored.sets.cluster.policies.length,
          },
        }
      : found,
  ),
});

/** The checks of a decision service, in the order in which they are told. */
export const DECIDER_CHECKS = {
  version: { looksAt: 'this program', look: ({ version }) => ok(version) },
  ...logChecks('decider'),
  services: {
    looksAt: 'which decision services run',
    look: (facts) => whereReached(facts, async () => servicesFinding(await facts.services)),
  },
  policies: {
    looksAt: 'the policies and pauses of the fleet',
    look: (facts) => whereReached(facts, async () => policiesFinding(await facts.policies)),
  },
} as const satisfies Checks<string, DeciderFacts>;
