import { z } from 'zod';
import { TOPIC_NAMES } from '../../../packages/log/partition.ts';
import { DAY_MS } from '../../../packages/process/durations.ts';
import { type ClustersNeeds, readCluster, readClusters } from '../../../packages/read-model/clusters.ts';
import { readActivity, readClusterOutcomes, readFreed } from '../../../packages/read-model/history.ts';
import {
  REPOSITORY_ORDERS,
  readHolders,
  readImages,
  readRepository,
  readReturned,
} from '../../../packages/read-model/images.ts';
import { readLetter, readLetters } from '../../../packages/read-model/letters.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { search } from '../../../packages/read-model/names.ts';
import { readNode, readPlan } from '../../../packages/read-model/node.ts';
import { fleetColumns, type Grouping, pageOfNodes, storedStats } from '../../../packages/read-model/nodes.ts';
import { findObjects, readObjectLife, readOwnerGraph } from '../../../packages/read-model/objects.ts';
import { readHeld } from '../../../packages/read-model/read-holds.ts';
import { DeadLetterCause } from '../../../schemas/events/dead-letter.ts';
import { EventId } from '../../../schemas/events/event-id.ts';
import { ClusterName, NodeName, nodeKey } from '../../../schemas/events/identity.ts';
import { ActivityKind } from '../../../schemas/reports/dashboard.ts';
import type { DashboardPauses } from '../../../schemas/reports/dashboard-actions.ts';
import { HistoryKind } from '../../../schemas/reports/dashboard-history.ts';
import { HolderKind } from '../../../schemas/reports/dashboard-images.ts';
import { PlanTrigger } from '../../../schemas/reports/plan.ts';
import { OBJECT_ROUTES } from './object-routes.ts';
import { POLICY_ROUTES, readPauses } from './policies.ts';
import { REPORT_ROUTES } from './report-routes.ts';
import { type Asked, before, EpochMs, NodeKey, none, Part, type Route, route, whole } from './route.ts';

/** Ids are others', and may have any character. */
const Before = before(/^[0-9]{1,16}:.{1,200}$/su);

/** What waits for somebody, and what people did. */
const PEOPLE_ROUTES: readonly Route[] = [
  route(
    '/api/dead-letters',
    z.strictObject({
      cause: DeadLetterCause.nullable().default(null),
      topic: z.enum(TOPIC_NAMES).nullable().default(null),
      all: z.enum(['true', 'false']).default('false'),
      before: Before.nullable().default(null),
      limit: whole(1, 500).default(100),
    }),
    ({ all, ...question }, { projection }) =>
      readLetters(projection.store.db, { ...question, isAll: all === 'true' }),
  ),
  route('/api/dead-letter', z.strictObject({ id: EventId }), ({ id }, { projection, logReaders, person }) =>
    logReaders.read(person, (signal) =>
      readLetter({ db: projection.store.db, log: projection.source.from.log }, id, signal),
    ),
  ),
  route(
    '/api/history',
    z.strictObject({
      what: HistoryKind.nullable().default(null),
      before: Before.nullable().default(null),
      limit: whole(1, 500).default(100),
    }),
    (question, { history, logReaders, person }) =>
      logReaders.read(person, (signal) => history.read(question, signal)),
  ),
];

const OfCluster = z.strictObject({ cluster: ClusterName });
/** With a slash in it, it would not be asked for as a uid. */
const OfObject = OfCluster.extend({
  uid: z.string().regex(/^[\x21-\x2e\x30-\x7e]{1,128}$/, { error: 'has to be the uid of an object' }),
});
const Times = z
  .string()
  .regex(/^[0-9]{1,15}(,[0-9]{1,15}){0,3}$/, {
    error: 'has to be up to four times, in milliseconds since 1970, with commas between them',
  })
  .transform((text) => text.split(',').map(Number));

const clusterNeeds = ({ store, status, source }: Projection): ClustersNeeds => ({
  db: store.db,
  statuses: status?.clusters ?? null,
  nowMs: source.nowMs,
});

/** What is asked about clusters. */
const CLUSTER_ROUTES: readonly Route[] = [
  route(
    '/api/clusters',
    z.strictObject({
      after: ClusterName.nullable().default(null),
      limit: whole(1, 500).default(200),
      since: Times.default([]),
    }),
    (page, { projection }) =>
      readClusters(clusterNeeds(projection), page, projection.knownSinceMs('clusterResults')),
  ),
  route('/api/cluster', OfCluster, ({ cluster }, { projection }) =>
    readCluster(clusterNeeds(projection), cluster),
  ),
  route(
    '/api/cluster/outcomes',
    OfCluster.extend({ from: EpochMs, to: EpochMs.nullable().default(null) }),
    ({ cluster, from, to }, { projection }) =>
      readClusterOutcomes(
        projection.store.db,
        cluster,
        { fromMs: from, toMs: to },
        projection.knownSinceMs('clusterResults'),
      ),
  ),
  route('/api/cluster/held', OfCluster, ({ cluster }, { projection, logReaders, person }) =>
    logReaders.read(person, (signal) => readHeld(projection.source, cluster, signal)),
  ),
  route(
    '/api/cluster/objects',
    OfCluster.extend({ q: z.string().trim().max(300).default('') }),
    ({ cluster, q }, { projection, searches, person }) =>
      searches.read(person, async () => findObjects(projection.store.db, cluster, q)),
  ),
  route('/api/cluster/graph', OfObject, (named, { projection, searches, person }) =>
    searches.read(person, async () =>
      readOwnerGraph(projection.store.db, named, projection.knownSinceMs('clusterOwnership')),
    ),
  ),
  route('/api/cluster/life', OfObject, (named, { projection, logReaders, person }) =>
    logReaders.read(person, (signal) => readObjectLife(projection.source.from, named, signal)),
  ),
];

const MOST_REPOSITORIES = 1_000_000;
/** How far back is looked for images that came back. */
const RETURNED_DAYS = 7;

/** Repositories of all nodes, or of those of one cluster, pool or policy. */
const Question = z
  .strictObject({
    q: Part,
    sort: z.enum(REPOSITORY_ORDERS).default('bytes'),
    offset: whole(0, MOST_REPOSITORIES).default(0),
    limit: whole(1, 500).default(50),
    by: z.enum(['cluster', 'pool', 'policy']).optional(),
    of: z.string().max(300).optional(),
  })
  .refine(({ by, of }) => (by === undefined) === (of === undefined), 'by and of belong together');

const IMAGE_ROUTES: readonly Route[] = [
  route('/api/images', Question, ({ by, of, ...question }, { projection, readings }) => {
    const group = by === undefined || of === undefined ? null : { by, of };
    const remembered = readings.images.of(projection.held, () => projection.nodes(), group);
    return readImages(remembered, question);
  }),
  route(
    '/api/images/repository',
    z.strictObject({ name: z.string().min(1).max(1_000) }),
    ({ name }, { projection }) => readRepository(projection.held, name),
  ),
  route('/api/images/holders', z.strictObject({ by: HolderKind }), ({ by }, { projection }) =>
    readHolders(projection.held, projection.nodes(), by),
  ),
  route('/api/images/returned', none, (_, { projection, logReaders, person }) => {
    const { nowMs } = projection.source;
    const range = { fromMs: nowMs - RETURNED_DAYS * DAY_MS, toMs: nowMs };
    const { held, store } = projection;
    const knownSinceMs = projection.knownSinceMs('results');
    return logReaders.read(person, (signal) =>
      readReturned({ db: store.db, held, range, knownSinceMs }, signal),
    );
  }),
];

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
