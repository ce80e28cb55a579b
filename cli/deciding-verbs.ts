import { service, type VerbGroup } from './framework/verb.ts';

/** The decision services, together, each by itself, and as functions; `cli/verbs.ts` has them among all verbs. */
export const DECIDING_VERBS = [
  {
    heading: 'Once per fleet, in any number of replicas:',
    verbs: [
      service(
        'decide',
        'Run pressure, container-gc, image-gc, graph-gc, expiry-gc and pod-gc in one process',
        () => import('./verbs/decide.ts'),
      ),
      service('pressure', 'Watch disk usage and begin reclaims', () => import('./verbs/pressure.ts')),
      service(
        'container-gc',
        'Decide which dead containers and sandboxes go',
        () => import('./verbs/container-gc.ts'),
      ),
      service('image-gc', 'Decide which images go', () => import('./verbs/image-gc.ts')),
      service(
        'graph-gc',
        'Decide which Kubernetes objects go whose owners are gone',
        () => import('./verbs/graph-gc.ts'),
      ),
      service(
        'pod-gc',
        'Decide which pods go that ended, or whose nodes are gone',
        () => import('./verbs/pod-gc.ts'),
      ),
      service(
        'expiry-gc',
        'Decide which Kubernetes objects go whose time is over',
        () => import('./verbs/expiry-gc.ts'),
      ),
      service(
        'serve',
        'Serve one of them as a function of one event: CloudEvents in, decisions out',
        () => import('./verbs/serve.ts'),
      ),
    ],
  },
] as const satisfies readonly VerbGroup[];
