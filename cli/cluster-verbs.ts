import { service, task, type VerbGroup } from './framework/verb.ts';

/** Of the list of verbs, those about the objects of Kubernetes clusters. */
export const CLUSTER_VERBS = [
  {
    heading: 'One Kubernetes cluster:',
    verbs: [
      task(
        'cluster run',
        'Collect the objects of one cluster that nobody needs, without Kafka',
        () => import('./verbs/cluster/run.ts'),
      ),
      task(
        'cluster plan',
        'Show what would be done in a cluster now, and why; changes nothing',
        () => import('./verbs/cluster/plan.ts'),
      ),
      task(
        'cascade',
        'Show what the deletion of one object would take along; changes nothing',
        () => import('./verbs/cascade.ts'),
      ),
      task(
        'cluster report',
        'Show what is stuck in a cluster, and which references lead nowhere',
        () => import('./verbs/cluster/report.ts'),
      ),
      task(
        'cluster leftovers',
        'Show volumes, Jobs, Nodes, Leases, ConfigMaps and Secrets that seem to be left over',
        () => import('./verbs/cluster/leftovers.ts'),
      ),
      task(
        'cluster rbac',
        'Print the account, the rights and the limits that cluster run needs',
        () => import('./verbs/cluster/rbac.ts'),
      ),
      task(
        'cluster guard',
        'Print what stops kube-controller-manager from deleting what a policy holds or keeps',
        () => import('./verbs/cluster/guard.ts'),
      ),
    ],
  },
  {
    heading: 'What is held in Kubernetes clusters, and what went:',
    verbs: [
      task('held', 'List what is held, by which rule, and what approves it', () => import('./verbs/held.ts')),
      task('approve', 'Let go what is held, as wide as it is now', () => import('./verbs/approve.ts')),
      task(
        'undo',
        'Print what creates deleted objects again; changes nothing',
        () => import('./verbs/undo.ts'),
      ),
    ],
  },
  {
    heading: 'For each Kubernetes cluster of a fleet:',
    verbs: [
      service(
        'cluster agent',
        'Report objects for which something may have to be done; cannot change any',
        () => import('./verbs/cluster/agent.ts'),
      ),
      service(
        'cluster executor',
        'Carry out commands about objects, looking again before each removal',
        () => import('./verbs/cluster/executor.ts'),
      ),
      service(
        'policy-controller',
        'Bring policies that lie in a cluster as Kubernetes objects to the event log',
        () => import('./verbs/policy-controller.ts'),
      ),
    ],
  },
] as const satisfies readonly VerbGroup[];
