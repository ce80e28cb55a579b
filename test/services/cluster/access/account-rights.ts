import { expect } from 'vitest';
import { z } from 'zod';
import type { ApiConnection } from '../../../../packages/kube-api/connection.ts';

const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';
const Review = z.object({ status: z.object({ allowed: z.boolean() }) });

/** What the API server itself says of the account: `verb group/resource`, with the part of an object behind a dot. */
async function may(connection: ApiConnection, right: string): Promise<boolean> {
  const [verb = '', named = ''] = right.split(' ');
  const [group = '', whole = ''] = named.split('/');
  const [resource = '', subresource = ''] = whole.split('.');
  const resourceAttributes = { verb, group, resource, subresource };
  const spec = {
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: { resourceAttributes },
  };
  const { status, body } = await connection.call({
    method: 'POST',
    path: REVIEWS,
    body: JSON.stringify(spec),
  });
  expect(status, body).toBe(201);
  return Review.parse(JSON.parse(body)).status.allowed;
}

/** Which of these rights the account has, in their order. */
export async function allowedOf(
  connection: ApiConnection,
  rights: readonly string[],
): Promise<readonly string[]> {
  const allowed: string[] = [];
  for (const right of rights) if (await may(connection, right)) allowed.push(right);
  return allowed;
}

/** By these an account would be more than it is for: it could lift its own limits, become another, or read what lets in others. */
export const NEVER = [
  ...['get', 'list', 'watch', 'create', 'patch', 'delete'].map((verb) => `${verb} /secrets`),
  'get /nodes.proxy',
  'create /nodes.proxy',
  'get /pods.exec',
  'create /pods.exec',
  'get /pods.log',
  'create /pods.attach',
  'create /pods.portforward',
  'create /pods.eviction',
  'create /pods.ephemeralcontainers',
  'create /pods',
  'create /serviceaccounts.token',
  'get /services.proxy',
  'impersonate /users',
  'impersonate /serviceaccounts',
  ...[
    'validatingadmissionpolicies',
    'validatingadmissionpolicybindings',
    'validatingwebhookconfigurations',
    'mutatingwebhookconfigurations',
  ].flatMap((resource) =>
    ['get', 'list', 'patch', 'delete'].map((verb) => `${verb} admissionregistration.k8s.io/${resource}`),
  ),
  ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].flatMap((resource) =>
    ['get', 'list', 'patch', 'delete', 'bind', 'escalate'].map(
      (verb) => `${verb} rbac.authorization.k8s.io/${resource}`,
    ),
  ),
  'delete apiregistration.k8s.io/apiservices',
  'patch apiregistration.k8s.io/apiservices',
  'approve certificates.k8s.io/signers',
  '* */*',
  'get */*',
  'deletecollection /configmaps',
];
