import type { Manifest } from './manifest.ts';

/** A condition in CEL, and what is said where it does not hold. */
export interface Validation {
  readonly expression: string;
  readonly message: string;
}

export interface Admission {
  readonly name: string;
  readonly operations: readonly ('CREATE' | 'UPDATE' | 'DELETE' | 'CONNECT')[];
  /** Only requests of these users are looked at. */
  readonly users: readonly string[];
  readonly variables: readonly { readonly name: string; readonly expression: string }[];
  readonly validations: readonly Validation[];
}

const API_VERSION = 'admissionregistration.k8s.io/v1';

/** A ValidatingAdmissionPolicy for every resource, and the binding that puts it into force. */
export function admissionManifests({
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
export const celText = (text: string): string => JSON.stringify(text);
export const celList = (texts: readonly string[]): string => `[${texts.map(celText).join(', ')}]`;
