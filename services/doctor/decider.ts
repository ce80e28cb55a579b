import { DECIDER_GROUPS } from '../../packages/log/access/access-rules.ts';
import type { GroupProgress } from '../../packages/log/port.ts';
import type { StoredPolicies } from '../../packages/policy/stored-policies.ts';
import { counted } from '../../packages/text/counted.ts';
import { type Checks, type Finding, type Looked, ok, problem, skipped, warning } from './checks.ts';
import { type LogFacts, logChecks, type lookAtLog, whereReached } from './log.ts';
import { unreadableFinding } from './log-findings.ts';

/** What somebody sees who looks at what a decision service needs. */
interface DeciderFacts extends LogFacts {
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

const PREFIX = /^fleetgc-/;

export function servicesFinding(groups: Looked<readonly GroupProgress[]>): Finding {
  if (!groups.ok) return skipped(`Nobody knows which services run: ${groups.error.message}`);
  const named = groups.value.map(({ group, members }) => ({ name: group.replace(PREFIX, ''), members }));
  const seen = named.map(({ name, members }) => `${name} ${members}`).join(', ');
  const missing = named.filter(({ members }) => members === 0).map(({ name }) => name);
  if (missing.length === 0) return ok(`members: ${seen}`);
  return warning(
    `members: ${seen}`,
    `Nobody decides as ${missing.join(', ')}: start fleetgc decide. Without clusters those for clusters may be missing.`,
  );
}

interface AllPolicies extends Pick<StoredPolicies, 'unreadable' | 'lost' | 'pauses'> {
  /** Policies for nodes. */
  readonly nodes: number;
  readonly clusters: number;
}

export function policiesFinding(facts: Looked<AllPolicies>): Finding {
  if (!facts.ok) return problem(facts.error.message, 'Nothing is removed while the policies cannot be read.');
  const { nodes, clusters, pauses } = facts.value;
  const unreadable = unreadableFinding(facts.value);
  if (unreadable !== null) return unreadable;
  const seen = `${counted(nodes, 'policy', 'policies')} for nodes, ${clusters} for clusters, ${counted(pauses.size, 'pause')}`;
  if (nodes + clusters === 0)
    return warning(seen, 'Without a policy everything is kept: fleetgc policy apply.');
  if (pauses.size > 0)
    return warning(seen, 'fleetgc policy list shows for whom; fleetgc resume ends a pause.');
  return ok(seen);
}
