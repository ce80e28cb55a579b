import { z } from 'zod';
import { type ClustersNeeds, readCluster, readClusters } from '../../../packages/read-model/clusters.ts';
import { readClusterOutcomes } from '../../../packages/read-model/history.ts';
import type { Projection } from '../../../packages/read-model/model.ts';
import { findObjects, readObjectLife, readOwnerGraph } from '../../../packages/read-model/objects.ts';
import { readHeld } from '../../../packages/read-model/read-holds.ts';

import { ClusterName } from '../../../schemas/events/identity.ts';
import { EpochMs, type Route, route, whole } from './route.ts';

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
export const CLUSTER_ROUTES: readonly Route[] = [
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
