import type { Setting } from '../../fleet/operator.ts';
import type { Violation } from '../../judge/evidence.ts';
import { possibleSettings } from '../../judge/settings.ts';
import { KEPT_NAMESPACE } from '../fleet/life.ts';
import { CLUSTER_POLICIES, type ClusterPolicyFacts, type ClusterPolicyId } from '../policies.ts';
import type { TrueObject } from '../truth.ts';
import { policyDelays } from './delays.ts';
import type { ClusterEvidence } from './evidence.ts';
import { clusterViolation } from './violation.ts';
import { type Deed, textOf, type World } from './world.ts';

/** Nothing goes or changes that each policy and pause which may have been in force keeps. */
export function keptByClusterPolicy(
  { acts, played }: ClusterEvidence,
  { deeds }: World,
): readonly Violation[] {
  const delays = policyDelays(played);
  return deeds.flatMap((deed): Violation[] => {
    const settings = possibleSettings(acts, delays, deed.atMs);
    const enforced = settings.map(enforcedIn).filter((facts) => facts !== null);
    const why = reasonToKeep(deed, enforced);
    if (why === null) return [];
    const seen = `settings that may have been in force: ${JSON.stringify(settings)}`;
    const when = new Date(deed.atMs).toISOString();
    return [
      clusterViolation('policy', `${textOf(deed.before)} was ${deed.kind} at ${when}: ${why}; ${seen}`),
    ];
  });
}

/** The policy of a setting, where it lets anything go. */
export function enforcedIn({ policy, paused }: Setting<ClusterPolicyId>): ClusterPolicyFacts | null {
  if (policy === null || paused.length > 0) return null;
  const facts = CLUSTER_POLICIES[policy];
  return facts.enforces ? facts : null;
}

function reasonToKeep(deed: Deed, enforced: readonly ClusterPolicyFacts[]): string | null {
  const { before, kind } = deed;
  if (enforced.length === 0) return 'nothing may go under any setting that may have been in force';
  if (kind !== 'deleted') return null;
  if (isMarked(before)) return 'it or its namespace bears the annotation that keeps it';
  if (enforced.every((facts) => isListed(before, facts))) return 'it is on the keep list';
  const isBare = before.isEnded && before.references.length === 0;
  const isOneTooMany = enforced.some(({ endedPods }) => deed.endedPods > endedPods);
  return isBare && !isOneTooMany ? `only ${deed.endedPods} pods had ended` : null;
}

export const isMarked = ({ isKept, namespace }: TrueObject): boolean =>
  isKept || namespace === KEPT_NAMESPACE;

export const isListed = (
  { namespace, kind, name }: TrueObject,
  { keptNamespaces, keptKinds }: ClusterPolicyFacts,
): boolean =>
  keptKinds.includes(kind) ||
  keptNamespaces.includes(namespace) ||
  (kind === 'Namespace' && keptNamespaces.includes(name));
