import { z } from 'zod';
import type { Projection } from '../../../packages/read-model/model.ts';
import { SubjectKind } from '../../../schemas/events/identity.ts';
import { type PoliciesNeeds, readPolicies, readPolicy } from './policies.ts';
import { type Route, route } from './route.ts';

const needsOf = (projection: Projection): PoliciesNeeds => ({
  policies: projection.policies,
  clusterPolicies: projection.standing.clusterPolicies,
  nodes: projection.nodes().nodes,
});

const none = z.strictObject({});

/** What is asked about policies, and about what they would have done. */
export const POLICY_ROUTES: readonly Route[] = [
  route('/api/policies', none, (_, { projection }) => readPolicies(needsOf(projection))),
  route(
    '/api/policy',
    z.strictObject({ subject: SubjectKind.default('node'), name: z.string().min(1).max(253) }),
    (named, { projection }) => readPolicy(needsOf(projection), named),
  ),
  route('/api/simulations', none, (_, { simulations }) => simulations.told()),
  route('/api/simulation', z.strictObject({ id: z.string().min(1).max(100) }), ({ id }, { simulations }) =>
    simulations.find(id),
  ),
];
