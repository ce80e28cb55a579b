import { POD_STATUS_FIELDS } from '../../../packages/kube-api/pods.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import type { ClusterPolicy } from '../../../schemas/policy/cluster-policy.ts';

/** The collector of kube-controller-manager, where each of its controllers has an account of its own. */
export const COLLECTOR_ACCOUNT = 'system:serviceaccount:kube-system:generic-garbage-collector';

/** What of a policy an admission policy can hold: it sees one object, and nothing of owners or cascades. */
type GuardedPolicy = Pick<ClusterPolicy, 'heldKinds' | 'keep'>;

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

/** A condition in CEL, and what is said where it does not hold. */
interface Validation {
  readonly expression: string;
  readonly message: string;
}

interface Admission {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT')[];
  /** Only requests of these users are looked at. */
  readonly users: readonly string[];
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** A ValidatingAdmissionPolicy for every resource, and the binding that puts it into force. */
function admissionManifests({
  name,
  operations,
  users,
  variables,
  validations,
}: Admission): readonly Manifest[] {
  return [
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicy',
      metadata: { name },
      spec: {
        failurePolicy: 'Fail',
        matchConstraints: {
          resourceRules: [{ apiGroups: ['*'], apiVersions: ['*'], operations, resources: ['*/*'] }],
        },
        matchConditions: [{ name: 'who', expression: `request.userInfo.username in ${celList(users)}` }],
        variables,
        validations: validations.map((each) => ({ ...each, reason: 'Forbidden' })),
      },
    },
    {
      apiVersion: API_VERSION,
      kind: 'ValidatingAdmissionPolicyBinding',
      metadata: { name },
      spec: { policyName: name, validationActions: ['Deny'] },
    },
  ];
}

/** Texts come from policies and options: as JSON nothing in them ends the literal. */
const celText = (text: string): string => JSON.stringify(text);
const celList = (texts: readonly string[]): string => `[${texts.map(celText).join(', ')}]`;

/** What the API server itself changes when metadata is written. */
const OF_THE_SERVER = ['resourceVersion', 'managedFields', 'generation'];
const WRITTEN = celList(['ownerReferences', 'finalizers', ...OF_THE_SERVER]);

const SAME_BESIDE = (listed: string, part: string): string =>
  [
    `object${part}.all(k, k in ${listed} || (k in oldObject${part} && object${part}[k] == oldObject${part}[k]))`,
    `oldObject${part}.all(k, k in ${listed} || k in object${part})`,
  ].join(' && ');

const SAME_REFERENCE = ['uid', 'name', 'kind', 'apiVersion']
  .map((field) => `o.${field} == n.${field}`)
  .join(' && ');

interface LimitedAccount {
  /** Of its Lease, too. */
  readonly name: string;
  readonly namespace: string;
  readonly user: string;
}

/** Who has no rights but these may write nothing else, whatever the role says (cluster D11, D12, D18). */
export const patchPolicy = ({ name, namespace, user }: LimitedAccount): readonly Manifest[] =>
  admissionManifests({
    name,
    operations: ['CREATE', 'UPDATE', 'CONNECT'],
    users: [user],
    variables: [...VARIABLES, { name: 'isOwnLease', expression: isLease(namespace, name) }],
    validations: [
      {
        expression:
          "variables.isOwnLease || (request.operation == 'UPDATE' && (variables.isWhole || variables.isPodStatus))",
        message: 'This account changes objects and the status of pods, and nothing else.',
      },
      {
        expression: `!variables.isWhole || variables.isOwnLease || (${SAME_BESIDE(celList(['metadata', 'apiVersion', 'kind']), '')} && ${SAME_BESIDE(WRITTEN, '.metadata')})`,
        message: 'This account changes owner references and finalizers, and nothing else.',
      },
      {
        expression: `!variables.isWhole || (variables.finalizers.all(f, f in variables.finalizersBefore) && variables.finalizersBefore.all(f, f in variables.finalizers || f in ${celList([ORPHAN, FOREGROUND])}))`,
        message: `This account takes the finalizers ${ORPHAN} and ${FOREGROUND} away, and no other.`,
      },
      {
        expression: `!variables.isWhole || variables.references.all(n, variables.referencesBefore.exists(o, ${SAME_REFERENCE}))`,
        message: 'This account takes owner references away, and adds none.',
      },
      {
        expression: `!variables.isPodStatus || (${SAME_BESIDE(celList(['metadata', 'status', 'apiVersion', 'kind']), '')} && ${SAME_BESIDE(celList(OF_THE_SERVER), '.metadata')} && ${SAME_BESIDE(celList(POD_STATUS_FIELDS), '.status')})`,
        message: `Of the status of a pod this account changes ${POD_STATUS_FIELDS.join(', ')}, and nothing else.`,
      },
    ],
  });

/** By it replicas take turns; it is made by the first one. */
const isLease = (namespace: string, name: string): string =>
  [
    "request.operation in ['CREATE', 'UPDATE']",
    "request.resource.group == 'coordination.k8s.io'",
    "request.resource.resource == 'leases'",
    `request.namespace == ${celText(namespace)}`,
    `object.metadata.name == ${celText(name)}`,
  ].join(' && ');

const listOf = (object: 'object' | 'oldObject', field: string): string =>
  `request.operation == 'UPDATE' ? ${object}.metadata.?${field}.orValue([]) : []`;

const VARIABLES = [
  { name: 'isWhole', expression: "request.operation == 'UPDATE' && request.?subResource.orValue('') == ''" },
  {
    name: 'isPodStatus',
    expression:
      "request.operation == 'UPDATE' && request.?subResource.orValue('') == 'status' && request.resource.group == '' && request.resource.resource == 'pods'",
  },
  { name: 'finalizers', expression: listOf('object', 'finalizers') },
  { name: 'finalizersBefore', expression: listOf('oldObject', 'finalizers') },
  { name: 'references', expression: listOf('object', 'ownerReferences') },
  { name: 'referencesBefore', expression: listOf('oldObject', 'ownerReferences') },
];

/** An object of Kubernetes as it is written. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string; readonly namespace?: string | undefined };
  readonly [field: string]: unknown;
}
