import { task } from './framework/verb.ts';

/** What is done and asked about one Kubernetes cluster. */
export const CLUSTER_VERBS = {
  heading: 'One Kubernetes cluster:',
  verbs: [
    task(
      'cluster run',
      'Collect the objects of one cluster whose owners are gone, without Kafka',
      () => import('./verbs/cluster/run.ts'),
    ),
    task(
      'cluster rbac',
      'Print the account, the rights and the limits that cluster run needs',
      () => import('./verbs/cluster/rbac.ts'),
    ),
    task(
      'cluster guard',
      'Print what denies the collector of kube-controller-manager what a policy holds or keeps',
      () => import('./verbs/cluster/guard.ts'),
    ),
  ],
} as const;
