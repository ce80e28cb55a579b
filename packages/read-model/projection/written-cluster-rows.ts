import type { SQLInputValue } from 'node:sqlite';
import { zstdCompressSync } from 'node:zlib';
import type { ClusterRow } from './cluster-rows.ts';

type ClusterTable = ClusterRow['table'];

/** Of two rows of one key the newest stays; the columns in their order, the key first. */
function newest(table: ClusterTable, key: readonly string[], others: readonly string[]): string {
  const columns = [...key, 'at_ms', 'offset', ...others];
  const changes = ['at_ms', 'offset', ...others].map((column) => `${column} = excluded.${column}`);
  return `INSERT INTO ${table} (${columns.join(', ')}) VALUES (${columns.map(() => '?').join(', ')})
    ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${changes.join(', ')}
    WHERE (excluded.at_ms, excluded.offset) > (${table}.at_ms, ${table}.offset)`;
}

const OBJECT = ['cluster', 'uid'];
const NAME = ['kind', 'namespace', 'name'];

const WRITTEN: Readonly<Record<ClusterTable, string>> = {
  censuses: newest('censuses', ['cluster'], ['session', 'found', 'census']),
  census_points: newest('census_points', ['cluster', 'step_ms', 'slot'], ['session', 'objects', 'kinds']),
  cluster_outcomes: `INSERT INTO cluster_outcomes VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
    ON CONFLICT DO UPDATE SET at_ms = min(at_ms, excluded.at_ms)`,
  cluster_objects: newest('cluster_objects', OBJECT, [...NAME, 'deleting', 'finalizers']),
  cluster_settled: newest('cluster_settled', OBJECT, ['how']),
  cluster_owners: newest(
    'cluster_owners',
    ['cluster', 'owner_uid', 'uid'],
    ['owner_kind', 'owner_name', 'state'],
  ),
  cluster_deeds: newest('cluster_deeds', OBJECT, [...NAME, 'action', 'rule', 'outcome', 'message']),
};

/** How a row about a cluster is written. */
export const writtenOfCluster = (
  row: ClusterRow,
): { readonly sql: string; readonly values: readonly SQLInputValue[] } => ({
  sql: WRITTEN[row.table],
  values: valuesOf(row),
});

function valuesOf(row: ClusterRow): readonly SQLInputValue[] {
  const { cluster, atMs } = row;
  switch (row.table) {
    case 'censuses':
      return [
        ...[cluster, atMs, row.offset, row.census.session, JSON.stringify(row.found)],
        zstdCompressSync(JSON.stringify(row.census)),
      ];
    case 'census_points': {
      const kinds = row.kinds === null ? null : JSON.stringify(row.kinds);
      return [cluster, row.stepMs, row.slot, atMs, row.offset, row.session, row.objects, kinds];
    }
    case 'cluster_outcomes': {
      const { id, position, kind, action, rule, ownRule, outcome, reason, objects } = row;
      return [cluster, id, position, atMs, kind, action, rule, ownRule, outcome, reason, objects];
    }
    case 'cluster_objects': {
      const { uid, offset, kind, namespace, name, isBeingDeleted, finalizers } = row;
      const deleting = isBeingDeleted ? 1 : 0;
      return [cluster, uid, atMs, offset, kind, namespace, name, deleting, JSON.stringify(finalizers)];
    }
    case 'cluster_settled':
      return [cluster, row.uid, atMs, row.offset, row.how];
    case 'cluster_owners': {
      const { ownerUid, uid, offset, ownerKind, ownerName, state } = row;
      return [cluster, ownerUid, uid, atMs, offset, ownerKind, ownerName, state];
    }
    case 'cluster_deeds': {
      const { uid, offset, kind, namespace, name, action, rule, outcome, message } = row;
      return [cluster, uid, atMs, offset, kind, namespace, name, action, rule, outcome, message];
    }
  }
}
