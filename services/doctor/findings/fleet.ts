import type { GroupProgress } from '../../../packages/log/port.ts';
import type { StoredPolicies } from '../../../packages/policy/stored-policies.ts';
import { counted } from '../../../packages/text/counted.ts';
import { type Finding, type Looked, ok, problem, skipped, warning } from '../finding.ts';
import { unreadableFinding } from './steering.ts';

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

export interface AllPolicies extends Pick<StoredPolicies, 'unreadable' | 'lost' | 'pauses'> {
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
