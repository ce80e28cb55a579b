import { kindName } from '../../../schemas/events/cluster-objects.ts';
import type { ExpiryCandidate } from '../../../schemas/events/expiry.ts';
import type { OwnRule } from '../../../schemas/policy/cluster-policy.ts';
import { HELD_KINDS } from '../../../schemas/policy/cluster-policy-defaults.ts';

/** The first rule of a policy that is for an object. */
export const ruleFor = (
  { object }: Pick<ExpiryCandidate, 'object'>,
  rules: readonly OwnRule[],
): OwnRule | undefined =>
  rules.find(
    ({ kinds, namespaces }) =>
      kinds.includes(kindName(object)) && (namespaces.length === 0 || namespaces.includes(object.namespace)),
  );

/** What no rule of a policy deletes, whatever it says: what goes with these comes back from nowhere, or takes the cluster along. */
const FORBIDDEN_KINDS: readonly string[] = [
  ...HELD_KINDS,
  'PersistentVolumeClaim',
  'ServiceAccount',
  'storage.k8s.io/StorageClass',
  'coordination.k8s.io/Lease',
];
const FORBIDDEN_GROUPS: readonly string[] = ['rbac.authorization.k8s.io', 'admissionregistration.k8s.io'];
/** Those of the cluster itself, and ours. */
const FORBIDDEN_NAMESPACES = /^(kube-|fleetgc(-|$))/;

/** Why no rule of a policy may delete the object, in a word; `null` where one may (cluster S9). */
export function forbiddenBecause({ object, isControlled }: ExpiryCandidate): string | null {
  if (FORBIDDEN_KINDS.includes(kindName(object)) || FORBIDDEN_GROUPS.includes(object.group)) return 'kind';
  if (FORBIDDEN_NAMESPACES.test(object.namespace)) return 'namespace';
  return isControlled === true ? 'controller' : null;
}

/** From so many objects on it is doubted that a rule means a tenth of a kind. */
const LEAST_FOR_TENTH = 10;

/** Of how many objects of a kind the annotations say that their time is over. */
export interface Share {
  readonly over: number;
  readonly objects: number;
}

/** Whether a rule would take so much of a kind at once that somebody has to look at it first (cluster S11). */
export const isTenth = ({ over, objects }: Share): boolean => over >= LEAST_FOR_TENTH && over * 10 >= objects;
