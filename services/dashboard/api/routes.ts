import { z } from 'zod';
import { readActivity, readFreed } from '../../../packages/read-model/history.ts';
import { search } from '../../../packages/read-model/names.ts';

import { readNode, readPlan } from '../../../packages/read-model/node.ts';
import { fleetColumns, type Grouping, pageOfNodes, storedStats } from '../../../packages/read-model/nodes.ts';
import { ClusterName, NodeName, nodeKey } from '../../../schemas/events/identity.ts';
import { ActivityKind } from '../../../schemas/reports/dashboard.ts';
import type { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import { PlanTrigger } from '../../../schemas/reports/plan.ts';
import { CLUSTER_ROUTES } from './cluster-routes.ts';
import { IMAGE_ROUTES } from './image-routes.ts';
import { OBJECT_ROUTES } from './object-routes.ts';
import { PEOPLE_ROUTES } from './people-routes.ts';
import { readPauses } from './policies.ts';
import { POLICY_ROUTES } from './policy-routes.ts';
import { REPORT_ROUTES } from './report-routes.ts';
import { type Asked, before, EpochMs, NodeKey, none, type Route, route, whole } from './route.ts';

const Group = z.union(
  [z.enum(['cluster', 'pool', 'policy']), z.templateLiteral(['label:', z.string().min(1).max(317)])],
  { error: 'has to be cluster, pool, policy, or label:NAME' },
);

/** Of all, or of a node that is known. */
function pausesOf(
  { node: key }: { readonly node: string | null },
  { projection }: Asked,
): DashboardPauses | null {
  if (key === null) return readPauses(projection.standing.pauses, null);
  const node = projection.nodes().nodes.find((each) => nodeKey(each) === key);
  return node === undefined ? null : readPauses(projection.standing.pauses, node);
}

/** Every question, in the order of the page. */
export const ROUTES: readonly Route[] = [
  route('/api/session', none, (_, { session }) => session),
  route('/api/progress', none, (_, { projection }) => projection.progress()),
  route('/api/fleet', z.strictObject({ group: Group.default('cluster') }), ({ group }, { projection }) =>
    fleetColumns(projection.nodes(), group satisfies Grouping),
  ),
  route(
    '/api/nodes',
    z.strictObject({ after: NodeKey.nullable().default(null), limit: whole(1, 1_000).default(200) }),
    (page, { projection }) => pageOfNodes(projection.nodes(), page),
  ),
  route('/api/status', none, (_, { projection }) => ({ status: projection.status })),
  route(
    '/api/freed',
    z.strictObject({ from: EpochMs, to: EpochMs.nullable().default(null) }),
    ({ from, to }, { projection }) =>
      readFreed(projection.store.db, { fromMs: from, toMs: to }, projection.knownSinceMs('results')),
  ),
  route('/api/node', z.strictObject({ cluster: ClusterName, node: NodeName }), (named, { projection }) => {
    const key = nodeKey(named);
    const node = projection.nodes().nodes.find((each) => nodeKey(each) === key);
    const stats = storedStats(projection.store.db, key);
    if (node === undefined || stats === null) return null;
    const hasInventory = projection.store.inventoryOf(key) !== null;
    return readNode({ db: projection.store.db, node, stats, hasInventory, policies: projection.policies });
  }),
  route('/api/pauses', z.strictObject({ node: NodeKey.nullable().default(null) }), pausesOf),
  route(
    '/api/plan',
    z.strictObject({ cluster: ClusterName, node: NodeName, trigger: PlanTrigger.default('periodic') }),
    async ({ trigger, ...named }, { projection, logReaders, person }) => {
      const place = projection.store.inventoryOf(nodeKey(named));
      if (place === null) return null;
      const { policies, source } = projection;
      const { log } = source.from;
      return await logReaders.read(person, (signal) => readPlan({ log, place, policies, trigger }, signal));
    },
  ),
  ...POLICY_ROUTES,
  route(
    '/api/activity',
    z.strictObject({
      node: NodeKey.nullable().default(null),
      what: ActivityKind.nullable().default(null),
      before: before(/^[0-9]{1,16}:[\x21-\x7e]{1,200}$/)
        .nullable()
        .default(null),
      limit: whole(1, 500).default(100),
    }),
    (question, { projection }) => readActivity(projection.store.db, question),
  ),
  ...PEOPLE_ROUTES,
  route(
    '/api/search',
    z.strictObject({ q: z.string().trim().min(2).max(300) }),
    ({ q }, { projection, searches, person }) =>
      searches.read(person, () =>
        search(
          {
            db: projection.store.db,
            nodes: projection.nodes().nodes,
            policies: projection.policies,
            clusterPolicies: projection.standing.clusterPolicies,
          },
          q,
        ),
      ),
  ),
  ...CLUSTER_ROUTES,
  ...OBJECT_ROUTES,
  ...IMAGE_ROUTES,
  ...REPORT_ROUTES,
];
