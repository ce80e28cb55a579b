import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';
import { admissionManifests, celList } from './admission.ts';
import type { Manifest } from './manifest.ts';

/** The collector of kube-controller-manager, where each of its controllers has an account of its own. */
export const COLLECTOR_ACCOUNT = 'system:serviceaccount:kube-system:generic-garbage-collector';

/** What of a policy an admission policy can hold: it sees one object, and nothing of owners or cascades. */
export type GuardedPolicy = Pick<ClusterPolicy, 'heldKinds' | 'keep'>;

/** Denies the users the deletion of what a policy holds by its kind, and of what it keeps (cluster S2, S5). */
export const guardManifests = (users: readonly string[], policy: GuardedPolicy): readonly Manifest[] =>
  admissionManifests({
    name: 'fleetgc-cluster-guard',
    operations: ['DELETE'],
    users,
    variables: [
      {
        name: 'kind',
        expression: "(request.kind.group == '' ? '' : request.kind.group + '/') + request.kind.kind",
      },
    ],
    validations: [
      {
        expression: `!(variables.kind in ${celList(policy.heldKinds)})`,
        message: 'FleetGC holds objects of this kind (S2): somebody has to delete them on purpose.',
      },
      {
        expression: `!(${BEARS_KEEP('oldObject')}) && !(namespaceObject != null && ${BEARS_KEEP('namespaceObject')})`,
        message: 'It, or its namespace, has the annotation fleetgc.io/keep (S5).',
      },
      {
        expression: `!(variables.kind in ${celList(policy.keep.kinds)}) && !(${IN_NAMESPACES(policy)})`,
        message: 'It is on the keep list of the policy (S5).',
      },
    ],
  });

const BEARS_KEEP = (object: string): string =>
  `'fleetgc.io/keep' in ${object}.?metadata.?annotations.orValue({})`;

/** With a namespace goes all that lies in it. */
const IN_NAMESPACES = ({ keep }: GuardedPolicy): string =>
  `(variables.kind == 'Namespace' ? request.name : request.?namespace.orValue('')) in ${celList(keep.namespaces)}`;
