import type { KeyRole } from '../../schemas/keys/key-statement.ts';
import { clusterOfApprovalKey, isApprovalKey } from '../../schemas/policy/approval.ts';
import {
  clusterOfKubernetesPolicy,
  isOfKubernetes,
  MOST_PRIORITY_OF_KUBERNETES,
} from '../../schemas/policy/kubernetes-policies.ts';
import {
  isPauseKey,
  keyOfPolicyNamed,
  type NodeSelector,
  type PolicyTopicRecord,
  selectorOfPauseKey,
} from '../../schemas/policy/policy.ts';
import type { Principal } from '../records/trust/trust.ts';

/** Why whoever signed this may not say it, in a sentence; `null` when they may. */
export function objectionToStating(principal: Principal, event: PolicyTopicRecord): string | null {
  if (principal.kind === 'unauthenticated') return null;
  const { role, clusters } = principal;
  if (role === 'policy-controller') return objectionToController(event, clusters);
  const objection = objectionToRole(role, event);
  if (objection !== null) return objection;
  return clusters.length === 0 || staysWithin(event, clusters)
    ? null
    : `its key is for the clusters ${clusters.join(', ')} alone. A policy of such a key is called ${clusters[0]}.SOMETHING, without another dot, and selects these clusters alone`;
}

function objectionToRole(
  role: Exclude<KeyRole, 'policy-controller'>,
  event: PolicyTopicRecord,
): string | null {
  switch (role) {
    case 'operator':
      return null;
    case 'pauser':
      return event.type === 'fleetgc.pause'
        ? null
        : 'a key that may only pause signed it, and it is no pause';
    case 'dashboard':
      return isAct(event)
        ? null
        : 'the key of a dashboard signed it, and it is no pause, no approval and no end of one';
    default:
      return `the key of a ${role} signed it, who may not say this`;
  }
}

/**
 * It brings the policies that lie in Kubernetes, of its own cluster alone: nothing else that stands on the topic can have such a name, and
 * whatever the operators of the fleet say of the same nodes outranks it.
 */
function objectionToController(event: PolicyTopicRecord, clusters: readonly string[]): string | null {
  if (event.type === 'fleetgc.policy')
    return isOfKubernetes(event.policy) && isOfOne(event.policy.name, clusters) ? null : NOT_OF_KUBERNETES;
  if (event.type === 'fleetgc.policy-deletion')
    return isOfOne(event.key, clusters) ? null : NOT_OF_KUBERNETES;
  return NOT_OF_KUBERNETES;
}

const isOfOne = (name: string, clusters: readonly string[]): boolean => {
  const cluster = clusterOfKubernetesPolicy(name);
  return cluster !== null && clusters.includes(cluster);
};

const NOT_OF_KUBERNETES = `the key of a policy controller signed it, and it is no policy of its own cluster: such a policy is called CLUSTER..NAME, selects that cluster alone, and has a priority of ${MOST_PRIORITY_OF_KUBERNETES} or less`;

/** What people do with what others have set: nothing that says what may be removed. */
function isAct(event: PolicyTopicRecord): boolean {
  switch (event.type) {
    case 'fleetgc.pause':
    case 'fleetgc.approval':
      return true;
    case 'fleetgc.policy-deletion':
      return selectorOfPauseKey(event.key) !== null || clusterOfApprovalKey(event.key) !== null;
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return false;
  }
}

function staysWithin(event: PolicyTopicRecord, clusters: readonly string[]): boolean {
  switch (event.type) {
    case 'fleetgc.pause':
      return selectsWithin(event.selector, clusters);
    case 'fleetgc.approval':
      return clusters.includes(event.cluster);
    case 'fleetgc.policy':
    case 'fleetgc.cluster-policy':
      return isNamedFor(event.policy.name, clusters) && selectsWithin(event.policy.selector, clusters);
    case 'fleetgc.policy-deletion':
      return deletesWithin(event.key, clusters);
  }
}

/** The record does not say what stood there, so the key has to say for which cluster it was. */
function deletesWithin(key: string, clusters: readonly string[]): boolean {
  if (isApprovalKey(key)) return clusters.some((cluster) => cluster === clusterOfApprovalKey(key));
  if (!isPauseKey(key)) return isNamedFor(nameOfPolicy(key), clusters);
  const selector = selectorOfPauseKey(key);
  return selector !== null && selectsWithin(selector, clusters);
}

const OF_CLUSTERS = keyOfPolicyNamed('cluster', '');
const nameOfPolicy = (key: string): string =>
  key.startsWith(OF_CLUSTERS) ? key.slice(OF_CLUSTERS.length) : key;

const isNamedFor = (name: string, clusters: readonly string[]): boolean =>
  clusters.some((cluster) => name.startsWith(`${cluster}.`) && !name.slice(cluster.length + 1).includes('.'));

const selectsWithin = (
  { clusters: selected }: Pick<NodeSelector, 'clusters'>,
  clusters: readonly string[],
): boolean => selected.length > 0 && selected.every((cluster) => clusters.includes(cluster));
