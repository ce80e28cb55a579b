import { POD_STATUS_FIELDS } from '../../../packages/kube-api/pod-status.ts';
import { FOREGROUND, ORPHAN } from '../../../schemas/events/cluster-objects.ts';
import { admissionManifests, celList, celText } from './admission.ts';
import type { Manifest } from './manifest.ts';

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
