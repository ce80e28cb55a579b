import { ClusterName } from '../events/identity.ts';
import type { Policy } from './policy.ts';

/*
 * Policies for nodes that lie in a cluster as Kubernetes objects, and are brought to the log by a controller of that cluster (decision 19).
 * Their names and their priorities tell them from all others, also for releases that know nothing of them.
 */

/**
 * Above it a policy is none of Kubernetes: what an operator of the fleet applies has a higher one unless it is to give way.
 * @limit Highest priority of a policy written as a Kubernetes object. Policies of the fleet must lie above it.
 */
export const MOST_PRIORITY_OF_KUBERNETES = -1_000;

/** No name of a cluster ends with a dot, and none that an operator of one cluster gives has a dot behind that of the cluster. */
const BETWEEN = '..';

/** The name of an object in the name of its policy: no dot, so that the last two dots end the name of the cluster. */
const OBJECT_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?$/;

/** What the policy of an object is called on the log. */
export const kubernetesPolicyName = (cluster: string, object: string): string =>
  `${cluster}${BETWEEN}${object}`;

/** Of which cluster a policy of this name is, where it comes from Kubernetes; `null` for every other name. */
export function clusterOfKubernetesPolicy(name: string): string | null {
  const at = name.lastIndexOf(BETWEEN);
  if (at < 0 || !OBJECT_NAME.test(name.slice(at + BETWEEN.length))) return null;
  const cluster = name.slice(0, at);
  return ClusterName.safeParse(cluster).success ? cluster : null;
}

/** Whether it can change nothing but its own cluster, and nothing that the fleet's operators have settled there. */
export const isOfKubernetes = ({
  name,
  priority,
  selector: { clusters },
}: Pick<Policy, 'name' | 'priority' | 'selector'>): boolean =>
  priority <= MOST_PRIORITY_OF_KUBERNETES &&
  clusters.length === 1 &&
  clusters[0] === clusterOfKubernetesPolicy(name);
