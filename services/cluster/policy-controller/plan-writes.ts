import { type PolicyChange, policyChanges } from '../../../packages/policy/policy-changes.ts';
import type { ClusterIdentity } from '../../../schemas/events/identity.ts';
import {
  clusterOfKubernetesPolicy,
  kubernetesPolicyName,
} from '../../../schemas/policy/kubernetes-policies.ts';
import type { PolicyRecord } from '../../../schemas/policy/policy.ts';
import { broughtBy, type PolicyObject, writtenPolicy } from './written-policy.ts';

/** What is to become of one object. */
export type Verdict = { readonly object: PolicyObject; readonly name: string } & (
  | { readonly kind: 'invalid'; readonly problems: readonly string[] }
  /** Somebody else put a policy there: it stays. */
  | { readonly kind: 'taken'; readonly message: string }
  | { readonly kind: 'policy'; readonly change: PolicyChange; readonly warnings: readonly string[] }
);

export interface WritePlan {
  /** Of each object that is not being deleted. */
  readonly verdicts: readonly Verdict[];
  /** Policies of objects that are gone, by name. */
  readonly deletions: readonly string[];
}

export interface Compared {
  /** All that lie in the cluster: whatever is not among them is gone. */
  readonly objects: readonly PolicyObject[];
  /** All policies for nodes that count on the log. */
  readonly standing: readonly PolicyRecord[];
  readonly identity: ClusterIdentity;
}

/**
 * What makes the log say what the cluster says, of this cluster's policies alone. An object that is no policy leaves what was applied
 * before; what another cluster instance or an operator brought is neither replaced nor deleted.
 */
export function planWrites({ objects, standing, identity }: Compared): WritePlan {
  const own = new Map(
    standing
      .filter(({ policy }) => clusterOfKubernetesPolicy(policy.name) === identity.cluster)
      .map((record) => [record.policy.name, record] as const),
  );
  const alive = objects.filter(({ deletionTimestamp }) => deletionTimestamp === null);
  const wanted = new Set(alive.map(({ name }) => kubernetesPolicyName(identity.cluster, name)));
  return {
    verdicts: alive.map((object) => verdictOn(object, own, identity)),
    deletions: [...own.values()]
      .filter((record) => !wanted.has(record.policy.name) && isOurs(record, identity))
      .map(({ policy }) => policy.name),
  };
}

/** Whether anything is to be written. */
export const changesAnything = ({ verdicts, deletions }: WritePlan): boolean =>
  deletions.length > 0 ||
  verdicts.some((verdict) => verdict.kind === 'policy' && verdict.change.kind !== 'unchanged');

const isOurs = (record: PolicyRecord, { clusterInstance }: ClusterIdentity): boolean =>
  broughtBy(record) === clusterInstance;

function verdictOn(
  object: PolicyObject,
  own: ReadonlyMap<string, PolicyRecord>,
  identity: ClusterIdentity,
): Verdict {
  const name = kubernetesPolicyName(identity.cluster, object.name);
  const written = writtenPolicy(object, identity);
  if (written.kind === 'invalid') return { object, name, ...written };
  const held = own.get(name);
  if (held !== undefined && !isOurs(held, identity))
    return { object, name, kind: 'taken', message: takenText(name, held) };
  const [change] = policyChanges([written.record], own, new Set());
  return change === undefined
    ? { object, name, kind: 'invalid', problems: ['it is no policy'] }
    : { object, name, kind: 'policy', change, warnings: written.warnings };
}

function takenText(name: string, held: PolicyRecord): string {
  const by = broughtBy(held);
  const who = by === null ? 'somebody else' : `another cluster of this name (instance ${by})`;
  return `refused: a policy named ${name} was applied by ${who}. It stays until an operator of the fleet deletes it: fleetgc policy delete ${name}`;
}
