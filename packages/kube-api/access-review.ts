import { z } from 'zod';
import { FleetGcError } from '../process/errors.ts';
import type { ApiConnection } from './connection.ts';
import { jsonOf, refusalText } from './status.ts';

/** One thing that somebody may do: a verb on a resource, or on a path that is no resource. */
export type AccessRight =
  | {
      readonly group: string;
      /** With its subresource: `pods/status`. */
      readonly resource: string;
      readonly verb: string;
      /** In all of them where it is not given. */
      readonly namespace?: string;
      /** All objects where it is not given. */
      readonly name?: string;
    }
  | { readonly path: string; readonly verb: string };

const Review = z.object({ status: z.object({ allowed: z.boolean() }) });
const REVIEWS = '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews';

/** Whether this account may do it, as the API server says; nothing is stored. Throws `API_UNREACHABLE` and `API_REFUSED`. */
export async function mayI(
  connection: ApiConnection,
  right: AccessRight,
  signal?: AbortSignal,
): Promise<boolean> {
  const body = JSON.stringify({
    apiVersion: 'authorization.k8s.io/v1',
    kind: 'SelfSubjectAccessReview',
    spec: 'path' in right ? { nonResourceAttributes: right } : { resourceAttributes: attributesOf(right) },
  });
  const answer = await connection.call({ method: 'POST', path: REVIEWS, body }, signal);
  const review = answer.status === 201 ? Review.safeParse(jsonOf(answer.body)).data : undefined;
  if (review !== undefined) return review.status.allowed;
  throw new FleetGcError(
    'API_REFUSED',
    `the API server does not say what this account may do: ${refusalText(answer)}`,
  );
}

function attributesOf({ resource, ...right }: Exclude<AccessRight, { readonly path: string }>) {
  const [plural, subresource] = resource.split('/');
  return { ...right, resource: plural, ...(subresource !== undefined && { subresource }) };
}
