import type { DatabaseSync } from 'node:sqlite';
import type { Found } from '../../../schemas/reports/dashboard.ts';

const CLUSTERS = `SELECT cluster FROM censuses WHERE instr(lower(cluster), ?1) > 0 ORDER BY cluster LIMIT ?2`;

/** Clusters that told of themselves. The nodes of others are found by the name of theirs. */
export const clustersNamed = (db: DatabaseSync, text: string, most: number): readonly Found[] =>
  db
    .prepare(CLUSTERS)
    .all(text, most)
    .map(({ cluster }) => String(cluster))
    .map((cluster) => ({ kind: 'cluster', id: cluster, name: cluster, node: null, cluster }));

const OBJECTS = `SELECT cluster, uid, kind, namespace, name FROM cluster_objects
  WHERE instr(lower(name), ?1) > 0 OR substr(uid, 1, length(?1)) = ?1 ORDER BY at_ms DESC, cluster, uid LIMIT ?2`;

/** Objects of clusters, as far as the event log names any. */
export const clusterObjectsNamed = (db: DatabaseSync, text: string, most: number): readonly Found[] =>
  db
    .prepare(OBJECTS)
    .all(text, most)
    .map(({ cluster, uid, kind, namespace, name }) => ({
      kind: 'cluster-object',
      id: String(uid),
      name: `${kind} ${namespace === '' ? '' : `${namespace}/`}${name}`,
      node: null,
      cluster: String(cluster),
    }));
